package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// maxTries limits --tries.
const maxTries = 1 << 20

// addTries declares the flag for methods that make random choices.
func (f *effort) addTries(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.tries, "tries", 0, "tacos: how many `seeds` to try, keeping the best schedule (default: as many as a fixed amount of work allows)")
}

func (f *effort) checkTries() error {
	if f.tries < 0 || f.tries > maxTries {
		return fmt.Errorf("--tries %d: want 1 to %d, or 0 for the method's own", f.tries, maxTries)
	}
	return nil
}
