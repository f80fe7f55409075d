package slurm

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model/quote"
)

// Array is how jobs are submitted and waited for.
type Array struct {
	Args           string        // more arguments for sbatch
	Tasks          int           // at most; 0: one for each thing to compute, if Slurm's MaxArraySize allows
	Submit         bool          // submit the script and wait; otherwise it is only written
	Poll           time.Duration // how often to look
	Stdout, Stderr io.Writer
}

// Check returns an error about fields that cannot be, by the names of their flags.
func (a *Array) Check() error {
	switch {
	case a.Tasks < 0:
		return fmt.Errorf("--tasks %d: want 1 or more", a.Tasks)
	case a.Poll <= 0:
		return fmt.Errorf("--poll %v: want more than zero", a.Poll)
	}
	if _, err := Arguments(a.Args); err != nil {
		return fmt.Errorf("--slurm-args %w", err)
	}
	return nil
}

// Size returns how many tasks compute n things.
func (a *Array) Size(ctx context.Context, n int) int {
	tasks := min(n, ArraySize(ctx))
	if a.Tasks > 0 {
		tasks = min(tasks, a.Tasks)
	}
	return tasks
}

// Earlier returns the jobs of earlier runs that Slurm still has, and reports them. Where
// nothing is to be submitted there are none to be asked for.
func (a *Array) Earlier(ctx context.Context, dir string) ([]*Job, error) {
	if !a.Submit {
		return nil, nil
	}
	jobs, err := Jobs(ctx, dir)
	for _, j := range jobs {
		fmt.Fprintf(a.Stderr, "oraccl: job %s of an earlier run is still there\n", j.ID)
	}
	return jobs, err
}

// Begin writes a new job below dir and submits it. What states what it computes, as "12 cells",
// and makes what the command writes at the end, as "table". Job is nil if the script is
// only written.
func (a *Array) Begin(ctx context.Context, dir string, s *Script, what, makes string) (*Job, error) {
	args, err := Arguments(a.Args)
	if err != nil {
		return nil, fmt.Errorf("--slurm-args %w", err)
	}
	job, err := NewJob(dir, s)
	if err != nil {
		return nil, err
	}
	if !a.Submit {
		fmt.Fprintf(a.Stdout, "%s in %d tasks; submit them by\n  sbatch %s\nand when they are done, the same command without --submit=false writes the %s\n",
			what, len(s.Tasks), strings.TrimLeft(a.Args+" "+Quoted(filepath.Join(dir, "slurm", filepath.Base(job.Dir), "job.sh")), " "), makes)
		return nil, nil
	}
	if err := job.submit(ctx, args); err != nil {
		return nil, err
	}
	fmt.Fprintf(a.Stderr, "oraccl: job %s: %s in %d tasks; what they print is in %s\n", job.ID, what, len(s.Tasks), job.Dir)
	return job, nil
}

// Wait waits until left returns that nothing is left to compute, or Slurm has none of the jobs
// any more. If ctx ends, the jobs go on, and the error is context.Canceled.
func (a *Array) Wait(ctx context.Context, jobs []*Job, left func() (int, error)) error {
	said, looked := map[string]bool{}, false
	say := func(text string) { // once
		if text = strings.ReplaceAll(text, "\n", " "); !said[text] {
			said[text] = true
			fmt.Fprintf(a.Stderr, "oraccl: %s\n", text)
		}
	}
	for {
		alive := slices.DeleteFunc(slices.Clone(jobs), func(j *Job) bool {
			is, waitsFor, err := j.Alive(ctx)
			switch {
			case err != nil && ctx.Err() == nil:
				say(err.Error() + "; waiting")
			case waitsFor != "":
				say(fmt.Sprintf("job %s: tasks do not begin: %s", j.ID, waitsFor))
			}
			return err == nil && !is
		})
		n, err := left()
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && (n == 0 || len(alive) == 0 && looked) {
			return nil
		}
		looked = len(alive) == 0 // once more: a shared file system may show files late
		select {
		case <-time.After(a.Poll):
		case <-ctx.Done():
			var ids []string
			for _, j := range alive {
				ids = append(ids, j.ID)
			}
			fmt.Fprintf(a.Stderr, "oraccl: the tasks go on without me; scancel %s ends them\n", strings.Join(ids, " "))
			return context.Canceled
		}
	}
}

// Lost reports that a job is at its end, and the end of what a task printed that was the
// first to lose something, as "a cell".
func (a *Array) Lost(j *Job, task int, what string) {
	file, words := j.LastWords(task)
	if words == "" {
		words = "nothing"
	}
	fmt.Fprintf(a.Stderr, "oraccl: job %s is at its end; %s, the first that lost %s, ends with: %s\n", j.ID, quote.Name(file), what, quote.Line(words))
}

// All returns the numbers of n tasks.
func All(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Quoted returns a path as a shell reads it back.
func Quoted(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
