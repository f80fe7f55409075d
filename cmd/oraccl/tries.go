package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// maxTries and maxEffort limit --tries and --effort.
const (
	maxTries  = 1 << 20
	maxEffort = 1 << 20
)

// addTries declares the flag for methods that make random choices.
func (f *effort) addTries(cmd *cobra.Command) {
	f.addUnwind(cmd)
	cmd.Flags().IntVar(&f.times, "effort", 0, "effort of improving schedules, in `times` the default; -1 for none (default: 1): tacos, forest, paths, cayley, exact, quotient")
	cmd.Flags().IntVar(&f.tries, "tries", 0, "tacos: number of `seeds` to try, of which the best schedule is kept (default: as many as fit a fixed amount of work)")
}

func (f *effort) checkTries() error {
	if f.tries < 0 || f.tries > maxTries {
		return fmt.Errorf("--tries %d: want 1 to %d, or 0 for the method's own", f.tries, maxTries)
	}
	if f.times < -1 || f.times > maxEffort {
		return fmt.Errorf("--effort %d: want 1 to %d, -1 for none, or 0 for the method's own", f.times, maxEffort)
	}
	return f.checkUnwind()
}
