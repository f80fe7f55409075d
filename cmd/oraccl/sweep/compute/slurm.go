package compute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/model/quote"
)

// Slurm computes cells by an array of tasks of Slurm.
type Slurm struct {
	Args           string        // more arguments for sbatch
	Tasks          int           // at most; 0: one per cell, if Slurm's MaxArraySize allows
	Submit         bool          // submit the script and wait; otherwise it is only written
	Poll           time.Duration // how often to look
	Stdout, Stderr io.Writer
}

// Run has the missing cells computed by Slurm. Those that jobs of an earlier run still have
// are left to them. It returns when Slurm has no job of this directory any more, or when
// all is there; or at once, and true, if nothing was to be submitted.
func (s *Slurm) Run(ctx context.Context, store *sweep.Store, missing []sweep.Cell) (onlyWritten bool, err error) {
	if len(missing) == 0 {
		return false, nil
	}
	args, err := sweep.Arguments(s.Args)
	if err != nil {
		return false, fmt.Errorf("--slurm-args %w", err)
	}
	var jobs []*sweep.Job
	if s.Submit {
		if jobs, err = store.Jobs(ctx); err != nil {
			return false, err
		}
	}
	underWay := map[string]bool{}
	for _, j := range jobs {
		for i := range j.Cells {
			underWay[j.Cells[i].Key()] = true
		}
		fmt.Fprintf(s.Stderr, "oraccl: job %s of an earlier run is still there\n", j.ID)
	}
	todo := slices.DeleteFunc(slices.Clone(missing), func(c sweep.Cell) bool { return underWay[c.Key()] })
	tasks := min(len(todo), sweep.ArraySize(ctx))
	if s.Tasks > 0 {
		tasks = min(tasks, s.Tasks)
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
		if !s.Submit {
			fmt.Fprintf(s.Stdout, "%d cells in %d tasks; submit them by\n  sbatch %s\nand when they are done, the same command without --submit=false writes the table\n",
				len(todo), tasks, strings.TrimLeft(s.Args+" "+Quoted(filepath.Join(store.Dir(), "slurm", filepath.Base(job.Dir), "job.sh")), " "))
			return true, nil
		}
		if err := store.Submit(ctx, job, args); err != nil {
			return false, err
		}
		fmt.Fprintf(s.Stderr, "oraccl: job %s: %d cells in %d tasks; what they print is in %s\n", job.ID, len(todo), tasks, job.Dir)
		jobs = append(jobs, job)
	} else if !s.Submit {
		return true, errors.New("--submit=false: there is nothing to submit")
	}
	if err := s.wait(ctx, store, missing, jobs); err != nil {
		return false, err
	}
	return false, s.lost(store, job, tasks)
}

// Quoted returns a path as a shell reads it back.
func Quoted(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// wait waits until all cells are kept, or Slurm has none of the jobs any more.
func (s *Slurm) wait(ctx context.Context, store *sweep.Store, missing []sweep.Cell, jobs []*sweep.Job) error {
	bar := newBar(s.Stderr, len(missing))
	defer bar.end()
	said, looked := map[string]bool{}, false
	say := func(text string) { // once
		if text = strings.ReplaceAll(text, "\n", " "); !said[text] {
			said[text] = true
			fmt.Fprintf(s.Stderr, "oraccl: %s\n", text)
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
		case <-time.After(s.Poll):
		case <-ctx.Done():
			var ids []string
			for _, j := range alive {
				ids = append(ids, j.ID)
			}
			fmt.Fprintf(s.Stderr, "oraccl: the tasks go on without me; scancel %s ends them\n", strings.Join(ids, " "))
			return context.Canceled
		}
	}
}

// lost states what is missing although the job is at its end.
func (s *Slurm) lost(store *sweep.Store, job *sweep.Job, tasks int) error {
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
	fmt.Fprintf(s.Stderr, "oraccl: job %s is at its end; %s, the first that lost a cell, ends with: %s\n", job.ID, quote.Name(file), quote.Line(words))
	return nil
}
