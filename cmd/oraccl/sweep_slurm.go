package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/model/table"
)

// slurm holds the flags of a sweep on Slurm.
type slurm struct {
	on     string
	args   string
	tasks  int
	submit bool
	poll   time.Duration
}

func (s *slurm) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.on, "on", "", "compute on an `engine` instead of this machine: slurm")
	f.StringVar(&s.args, "slurm-args", "", "more `arguments` for sbatch, such as '--partition=x --time=1:00:00 --cpus-per-task=4'")
	f.IntVar(&s.tasks, "tasks", 0, "with --on slurm: at most this many tasks (default: one per cell, at most Slurm's MaxArraySize)")
	f.BoolVar(&s.submit, "submit", true, "with --on slurm: submit the script and wait; --submit=false only writes it")
	f.DurationVar(&s.poll, "poll", 5*time.Second, "with --on slurm: how often to look")
}

func (s *slurm) check() error {
	switch {
	case s.on == "":
	case s.on != "slurm":
		return fmt.Errorf("--on %q: want slurm", s.on)
	case s.tasks < 0:
		return fmt.Errorf("--tasks %d: want 1 or more", s.tasks)
	case s.poll <= 0:
		return fmt.Errorf("--poll %v: want more than zero", s.poll)
	}
	return nil
}

// run has the missing cells computed by Slurm. Those that jobs of an earlier run still have
// are left to them. It returns when Slurm has no job of this directory any more, or when
// all is there; or at once, and true, if nothing was to be submitted.
func (s *slurm) run(cmd *cobra.Command, store *sweep.Store, missing []sweep.Cell) (onlyWritten bool, err error) {
	if len(missing) == 0 {
		return false, nil
	}
	ctx, errs := cmd.Context(), cmd.ErrOrStderr()
	args, err := sweep.Arguments(s.args)
	if err != nil {
		return false, fmt.Errorf("--slurm-args %w", err)
	}
	var jobs []*sweep.Job
	if s.submit {
		if jobs, err = store.Jobs(ctx); err != nil {
			return false, err
		}
	}
	underWay := map[string]bool{}
	for _, j := range jobs {
		for i := range j.Cells {
			underWay[j.Cells[i].Key()] = true
		}
		fmt.Fprintf(errs, "oraccl: job %s of an earlier run is still there\n", j.ID)
	}
	todo := slices.DeleteFunc(slices.Clone(missing), func(c sweep.Cell) bool { return underWay[c.Key()] })
	tasks := min(len(todo), sweep.ArraySize(ctx))
	if s.tasks > 0 {
		tasks = min(tasks, s.tasks)
	}
	var job *sweep.Job
	if len(todo) > 0 {
		program, err := os.Executable()
		if err != nil {
			return false, err
		}
		work, err := os.Getwd()
		if err != nil {
			return false, err
		}
		if job, err = store.WriteJob(todo, tasks, program, work); err != nil {
			return false, err
		}
		if !s.submit {
			fmt.Fprintf(cmd.OutOrStdout(), "%d cells in %d tasks; submit them by\n  sbatch %s\nand when they are done, the same command without --submit=false writes the table\n",
				len(todo), tasks, strings.TrimLeft(s.args+" "+shellQuoted(filepath.Join(store.Dir(), "slurm", filepath.Base(job.Dir), "job.sh")), " "))
			return true, nil
		}
		if err := store.Submit(ctx, job, args); err != nil {
			return false, err
		}
		fmt.Fprintf(errs, "oraccl: job %s: %d cells in %d tasks; what they print is in %s\n", job.ID, len(todo), tasks, job.Dir)
		jobs = append(jobs, job)
	} else if !s.submit {
		return true, errors.New("--submit=false: there is nothing to submit")
	}
	if err := s.wait(cmd, store, missing, jobs); err != nil {
		return false, err
	}
	return false, s.lost(cmd, store, job, tasks)
}

// shellQuoted returns a path as a shell reads it back.
func shellQuoted(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// wait waits until all cells are kept, or Slurm has none of the jobs any more.
func (s *slurm) wait(cmd *cobra.Command, store *sweep.Store, missing []sweep.Cell, jobs []*sweep.Job) error {
	ctx := cmd.Context()
	bar := newSweepBar(cmd.ErrOrStderr(), len(missing))
	defer bar.end()
	said, looked := map[string]bool{}, false
	say := func(text string) { // once
		if text = strings.ReplaceAll(text, "\n", " "); !said[text] {
			said[text] = true
			fmt.Fprintf(cmd.ErrOrStderr(), "oraccl: %s\n", text)
		}
	}
	for {
		alive := slices.DeleteFunc(slices.Clone(jobs), func(j *sweep.Job) bool {
			is, waitsFor, err := j.Alive(ctx)
			switch {
			case err != nil && ctx.Err() == nil:
				say(err.Error() + "; waiting")
			case waitsFor != "":
				say(fmt.Sprintf("job %s: tasks do not begin: %s", j.ID, waitsFor))
			}
			return err == nil && !is
		})
		left, err := store.Missing(missing)
		if err != nil {
			return err
		}
		if err := bar.addAll(store, missing, left); err != nil {
			return err
		}
		if missing = left; len(missing) == 0 || len(alive) == 0 && looked {
			return nil
		}
		looked = len(alive) == 0 // once more: a shared file system may show files late
		select {
		case <-time.After(s.poll):
		case <-ctx.Done():
			var ids []string
			for _, j := range alive {
				ids = append(ids, j.ID)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "oraccl: the tasks go on without me; scancel %s ends them\n", strings.Join(ids, " "))
			return context.Canceled
		}
	}
}

// lost states what is missing although the job is at its end.
func (s *slurm) lost(cmd *cobra.Command, store *sweep.Store, job *sweep.Job, tasks int) error {
	if job == nil {
		return nil
	}
	left, err := store.Missing(job.Cells)
	if err != nil || len(left) == 0 {
		return err
	}
	first := slices.IndexFunc(job.Cells, func(c sweep.Cell) bool { return c.Key() == left[0].Key() })
	file, words := job.LastWords(first, tasks)
	if words == "" {
		words = "nothing"
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "oraccl: job %s is at its end; %s, the first that lost a cell, ends with: %s\n", job.ID, file, words)
	return nil
}

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
			first, of, _ := strings.Cut(args[1], "/")
			i, ierr := strconv.Atoi(first)
			n, nerr := strconv.Atoi(of)
			switch {
			case ierr != nil || nerr != nil || i < 0 || i >= n:
				return fmt.Errorf("part %q: want I/N with I from 0 to N-1, such as 3/16", args[1])
			case dir == "":
				return errors.New("--dir: missing, want the directory to keep finished cells in")
			case cpus < 1:
				return fmt.Errorf("--cpus %d: want 1 or more", cpus)
			}
			all, err := sweep.ReadCells(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			part := sweep.Part(all, i, n)
			if err := sweep.Unchanged(cmd.Context(), part); err != nil {
				return err
			}
			store, err := sweep.Open(dir, built.Tool())
			if err != nil {
				return err
			}
			workers := max(1, min(cpus, len(part)))
			x := newWorkers(store, workers, max(1, cpus/workers))
			defer x.close()
			err = store.Run(cmd.Context(), part, workers, x.compute, func(c *sweep.Cell, r *table.Row) {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\n", r.Status, c.Text())
			})
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
