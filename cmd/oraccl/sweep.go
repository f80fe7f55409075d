//go:build !js

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep/compute"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep/driver"
)

// sweeping holds the flags of sweep.
type sweeping struct {
	driver.Sweep
	slurm onSlurm
}

func newSweep() *cobra.Command {
	var s sweeping
	cmd := &cobra.Command{
		Use:   "sweep [GRID.yaml] --dir DIR",
		Short: "A table of instances and methods, every schedule proved; can be interrupted and resumed",
		Long: `sweep runs every method on every instance of a grid of topologies, sizes, chunks,
delays and more. It verifies each schedule by replay and by SMT and certifies each bound.
It writes DIR/table.csv and DIR/table.jsonl, one row per cell, and figures: makespan and
bandwidth by size, gap and synthesis time by ranks, with the fitted exponent, and Pareto
fronts of transfers and makespan.

The grid is a file, or flags, or both; a flag replaces the list in the file. The file
has a key for each axis, with a value or a list of values:

  topologies: [ring:4, ring:8, "mesh:4x4"]
  collectives: [allgather, allreduce]
  sizes: 64KiB..16MiB*4        # 64KiB, 256KiB, 1MiB, 4MiB, 16MiB; without *4 it doubles
  chunks: [auto, 1, 4]         # per rank; auto: each method's own
  methods: [tacos, ring, rhd]  # or all

and optionally fails, alphas, bandwidths, costs, delays, seeds, and for all cells
straggler, time_limit, cell_limit, tries, effort, dual. Rows come in the order of the
axes topologies, fails, alphas, bandwidths, collectives, costs, sizes, chunks, delays,
seeds, methods, the last one fastest.

A collective with sizes of its own names their file: alltoallv:moe.csv. problems: [moe.json]
takes whole problems from files; then only chunks, seeds and methods vary beside them.

Every finished cell is kept in DIR at once. After Ctrl-C, a kill or a power cut the same
command computes the missing cells; with a changed grid it computes the new ones. Several
sweeps may share one DIR. If a cell fails, its row gives the reason, and the sweep goes on:
cells run in processes of their own, so that one may exhaust memory or crash a solver.
--retry computes cells that failed again.

With --proofs every cell also keeps its schedule and its certificate, and DIR/proofs has all
of them with the table: check DIR, or oraccl-check DIR, makes every instance again from its
words, and accepts the table only if every number in it follows.

The last two columns, solved_ns and verified_ns, are measured times. All other columns
are reproducible, unless a cell reaches its time limit. --no-times omits the two.

With --on slurm an array of Slurm tasks computes the cells, on machines that share DIR
and the working directory. If a node is lost, the same command submits only the missing
cells, and waits for jobs that exist already.`,
		Example: "  oraccl sweep --topologies ring:4,ring:8 --collectives allgather --sizes 64KiB..1MiB*4 --methods tacos,ring,direct --dir results\n" +
			"  printf 'topologies: [ring:4, ring:8]\\ncollectives: allreduce\\nmethods: [ring, rhd]\\n' > grid.yaml\n" +
			"  oraccl sweep grid.yaml --dir more -j 2\n" +
			"  oraccl sweep grid.yaml --dir array --on slurm --submit=false --slurm-args '--partition=long --time=2:00:00'",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) },
	}
	s.addFlags(cmd)
	cmd.AddCommand(newSweepCells(), newSweepWorker())
	return cmd
}

// checkFlags refuses flags that cannot be.
func (s *sweeping) checkFlags() error {
	switch {
	case s.Dir == "":
		return errors.New("--dir: missing, want the directory to keep finished cells in")
	case s.Workers < 1:
		return fmt.Errorf("-j %d: want 1 or more", s.Workers)
	case s.Threads < 0:
		return fmt.Errorf("--threads %d: want 0 or more", s.Threads)
	}
	return s.slurm.check()
}

func (s *sweeping) run(cmd *cobra.Command, args []string) error {
	if err := s.checkFlags(); err != nil {
		return err
	}
	var grid sweep.Grid
	if len(args) == 1 {
		g, err := sweep.OpenGrid(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		grid = *g
	}
	for _, g := range slices.Concat(gridFlags, optionFlags) {
		if f := cmd.Flags().Lookup(g.name); f.Changed {
			values := []string{f.Value.String()}
			if list, ok := f.Value.(interface{ GetSlice() []string }); ok {
				values = list.GetSlice()
			}
			grid.Set(g.name, values)
		}
	}
	cells, err := grid.Expand(cmd.Context(), compute.Names())
	if err != nil {
		return err
	}
	s.Stdout, s.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	s.slurm.Stdout, s.slurm.Stderr = s.Stdout, s.Stderr
	if s.slurm.on != "" {
		s.Slurm = &s.slurm.Array
	}
	session.Of(cmd.Context()).Quiet() // there is a bar
	return s.Run(cmd.Context(), cells)
}
