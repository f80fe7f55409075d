//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep/compute"
)

// newSweepCells is what a task of an array runs.
func newSweepCells() *cobra.Command {
	var dir string
	var cpus int
	cmd := &cobra.Command{
		Use:   "cells CELLS.jsonl I/N --dir DIR",
		Short: "Compute one part of a list of cells: what a task of sweep --on slurm runs",
		Long: `cells computes every N-th line of a list of cells, from the I-th on, counted from 0, and
keeps them in DIR. sweep --on slurm writes the list, and a script that runs this in an
array of tasks; any other scheduler can do so as well.`,
		Example: "  oraccl sweep --topologies ring:4 --collectives allgather --methods ring,direct --dir results --on slurm --submit=false\n" +
			"  oraccl sweep cells results/slurm/1/cells.jsonl 0/2 --dir results",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			i, n, err := splitPart(args[1])
			switch {
			case err != nil:
				return err
			case dir == "":
				return errors.New("--dir: missing, want the directory to keep finished cells in")
			case cpus < 1:
				return fmt.Errorf("--cpus %d: want 1 or more", cpus)
			}
			store, err := sweep.Open(dir, built.Tool())
			if err != nil {
				return err
			}
			err = compute.Part(cmd.Context(), store, args[0], i, n, cpus, cmd.OutOrStdout())
			if errors.Is(err, context.Canceled) {
				fmt.Fprintln(cmd.ErrOrStderr(), "oraccl: interrupted; finished cells are kept")
				return exit.Status(exit.Unknown)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the `directory` of finished cells")
	cmd.Flags().IntVar(&cpus, "cpus", 1, "cores to share out among the cells")
	return cmd
}

// newSweepWorker is the process in which cells are computed: cells in, a line each, rows
// out.
func newSweepWorker() *cobra.Command {
	var dir, scratch string
	var threads int
	cmd := &cobra.Command{
		Use:    "worker --dir DIR --scratch DIR",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := sweep.Open(dir, built.Tool())
			if err != nil {
				return err
			}
			err = compute.Work(cmd.Context(), store, threads, scratch, func() { os.Exit(exit.Unknown) })
			if errors.Is(err, compute.ErrInterrupted) {
				return exit.Status(exit.Unknown)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the `directory` of finished cells")
	cmd.Flags().StringVar(&scratch, "scratch", "", "a temporary `directory` of its own, which it removes")
	cmd.Flags().IntVar(&threads, "threads", 1, "threads to use")
	return cmd
}

// splitPart reads the part I of N.
func splitPart(s string) (i, n int, err error) {
	first, of, _ := strings.Cut(s, "/")
	i, ierr := strconv.Atoi(first)
	n, nerr := strconv.Atoi(of)
	if ierr != nil || nerr != nil || i < 0 || i >= n {
		return 0, 0, fmt.Errorf("part %q: want I/N with I from 0 to N-1, such as 3/16", s)
	}
	return i, n, nil
}
