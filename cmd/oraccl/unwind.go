package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/model"
)

// addUnwind declares the flag for methods that can leave switches out of account.
func (f *effort) addUnwind(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.unwind, "unwind", 0, "tacos: plan as if each rank had, in place of switches, links to the next `D` ranks with a D-th of the bandwidth each; "+
		"what comes of that is timed and verified over the switches as they are (default: plan for these)")
}

func (f *effort) checkUnwind() error {
	if f.unwind < 0 || f.unwind > model.MaxNodes {
		return fmt.Errorf("--unwind %d: want a degree of 1 to %d, or 0 to leave switches as they are", f.unwind, model.MaxNodes)
	}
	return nil
}
