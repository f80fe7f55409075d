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
	cmd.Flags().IntVar(&f.times, "effort", 0, "how many `times` the usual work goes into improving schedules, -1 for none (default: once): tacos, forest, paths, cayley, exact")
	cmd.Flags().IntVar(&f.tries, "tries", 0, "tacos: how many `seeds` to try, keeping the best schedule (default: as many as a fixed amount of work allows)")
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
