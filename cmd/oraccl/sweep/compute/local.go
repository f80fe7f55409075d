package compute

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/model/table"
)

// Local computes cells on this machine, at most n at once, each with the given threads, or
// with an equal share of the cores where that is 0. It shows how far it is if stderr is a
// terminal.
func Local(ctx context.Context, store *sweep.Store, missing []sweep.Cell, n, threads int, stderr io.Writer) error {
	n = min(n, max(1, len(missing)))
	if threads == 0 {
		threads = max(1, runtime.NumCPU()/n)
	}
	x := NewWorkers(store, n, threads)
	defer x.Close()
	b := newBar(stderr, len(missing))
	defer b.end()
	return store.Run(ctx, missing, n, x.Compute, func(_ *sweep.Cell, r *table.Row) { b.add(r) })
}

// Part computes the i-th of n parts of the cells in a file, with the given cores in all, and
// prints a line for each.
func Part(ctx context.Context, store *sweep.Store, file string, i, n, cpus int, stdout io.Writer) error {
	all, err := sweep.ReadCells(ctx, file)
	if err != nil {
		return err
	}
	part := sweep.Part(all, i, n)
	if err := sweep.Unchanged(ctx, part); err != nil {
		return err
	}
	workers := max(1, min(cpus, len(part)))
	x := NewWorkers(store, workers, max(1, cpus/workers))
	defer x.Close()
	return store.Run(ctx, part, workers, x.Compute, func(c *sweep.Cell, r *table.Row) {
		fmt.Fprintf(stdout, "%s\t%s\n", r.Status, c.Text())
	})
}
