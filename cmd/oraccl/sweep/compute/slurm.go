package compute

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/oraccl/oraccl/cmd/oraccl/slurm"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
)

// Slurm has the missing cells computed by an array of tasks of Slurm. Those that jobs of an
// earlier run still have are left to them. It returns when Slurm has no job of this directory
// any more, or when all is there; or at once, and true, if nothing was to be submitted.
func Slurm(ctx context.Context, a *slurm.Array, store *sweep.Store, missing []sweep.Cell) (onlyWritten bool, err error) {
	if len(missing) == 0 {
		return false, nil
	}
	if err := a.Check(); err != nil {
		return false, err
	}
	jobs, err := a.Earlier(ctx, store.Dir())
	if err != nil {
		return false, err
	}
	underWay := map[string]bool{}
	for _, j := range jobs {
		cells, err := sweep.JobCells(ctx, j)
		if err != nil {
			return false, err
		}
		for i := range cells {
			underWay[cells[i].Key()] = true
		}
	}
	todo := slices.DeleteFunc(slices.Clone(missing), func(c sweep.Cell) bool { return underWay[c.Key()] })
	tasks := a.Size(ctx, len(todo))
	var job *slurm.Job
	if len(todo) > 0 {
		dir, err := filepath.Abs(store.Dir())
		if err != nil {
			return false, err
		}
		var script *slurm.Script
		script, todo = sweep.Job(todo, tasks, dir)
		job, err = a.Begin(ctx, store.Dir(), script, fmt.Sprintf("%d cells", len(todo)), "table")
		if err != nil || job == nil {
			return err == nil, err
		}
		jobs = append(jobs, job)
	} else if !a.Submit {
		return true, errors.New("--submit=false: there is nothing to submit")
	}
	if err := wait(ctx, a, store, missing, jobs); err != nil || job == nil {
		return false, err
	}
	left, err := store.Missing(todo)
	if err == nil && len(left) > 0 {
		first := slices.IndexFunc(todo, func(c sweep.Cell) bool { return c.Key() == left[0].Key() })
		a.Lost(job, first%tasks, "a cell")
	}
	return false, err
}

// wait waits until all cells are kept, or Slurm has none of the jobs any more.
func wait(ctx context.Context, a *slurm.Array, store *sweep.Store, missing []sweep.Cell, jobs []*slurm.Job) error {
	bar := newBar(a.Stderr, len(missing))
	defer bar.end()
	return a.Wait(ctx, jobs, func() (int, error) {
		left, err := store.Missing(missing)
		if err != nil {
			return 0, err
		}
		err = bar.addAll(store, missing, left)
		missing = left
		return len(missing), err
	})
}
