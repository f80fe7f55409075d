//go:build !js

package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/slurm"
)

// onSlurm holds the flags of verbs that an array of tasks of Slurm can compute.
type onSlurm struct {
	slurm.Array
	on string
}

// addFlags adds the flags; what is what a task computes at least one of.
func (s *onSlurm) addFlags(cmd *cobra.Command, what string) {
	f := cmd.Flags()
	f.StringVar(&s.on, "on", "", "compute on an `engine` instead of this machine: slurm")
	f.StringVar(&s.Args, "slurm-args", "", "more `arguments` for sbatch, such as '--partition=x --time=1:00:00 --cpus-per-task=4'")
	f.IntVar(&s.Tasks, "tasks", 0, "with --on slurm: at most this many tasks (default: one per "+what+", at most Slurm's MaxArraySize)")
	f.BoolVar(&s.Submit, "submit", true, "with --on slurm: submit the script and wait; --submit=false only writes it")
	f.DurationVar(&s.Poll, "poll", 5*time.Second, "with --on slurm: how often to look")
}

// check refuses flags that cannot be.
func (s *onSlurm) check() error {
	switch s.on {
	case "":
		return nil
	case "slurm":
		return s.Check()
	}
	return fmt.Errorf("--on %q: want slurm", s.on)
}
