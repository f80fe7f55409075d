package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/slurm"
	"github.com/oraccl/oraccl/model/files"
)

// errMissing is the error of a store that only looks, where nothing is kept.
var errMissing = errors.New("not kept")

// place is a line of an experiment, counted as its parts count them.
type place struct{ experiment, line int }

// missing returns the places of an experiment's lines of which a result is not kept, and how
// many lines there are. Of the lines in known nothing is missing: they are not looked at,
// unless another line may follow from them. Nothing is computed. An error that is not the
// context's is left to the report.
func (x *Runner) missing(ctx context.Context, f *File, known func(line int) bool) (lines []int, all int, err error) {
	if _, err := x.prepare(f); err != nil {
		return nil, 0, ctx.Err()
	}
	for _, s := range f.Sections {
		if len(s.Compute) == 0 {
			continue
		}
		follow := false
		for _, r := range s.Compute {
			follow = follow || r.Measure == "point" // decided by points before it, which are not kept for it
		}
		for _, l := range x.sections[s.Name] {
			if follow || !known(all) {
				if err := x.look(ctx, s, l); errors.Is(err, errMissing) {
					lines = append(lines, all)
				}
				if ctx.Err() != nil {
					return nil, 0, ctx.Err()
				}
			}
			all++
		}
	}
	return lines, all, nil
}

// unkept are the measures of which the store has nothing: they are computed with the report.
var unkept = []string{"least-steps", "rounds-per-chunk"}

// look has the runs of a line take their results from a store that only looks.
func (x *Runner) look(ctx context.Context, s *Section, l *line) error {
	for _, name := range slices.Sorted(maps.Keys(s.Compute)) {
		if slices.Contains(unkept, s.Compute[name].Measure) {
			continue
		}
		if err := x.runOf(ctx, s, name, l); err != nil {
			return err
		}
	}
	return nil
}

// tasks is what a job's file lists: which parts of which command its tasks compute.
type tasks struct {
	Command []string `json:"command"` // with the directory in which it runs, and the program's stamp
	Parts   []int    `json:"parts"`
	Of      int      `json:"of"`
}

// tasksFile is the name of that file.
const tasksFile = "parts.json"

// array is a job with what it lists.
type array struct {
	*slurm.Job
	tasks
}

func openArray(ctx context.Context, j *slurm.Job) (*array, error) {
	b, err := files.ReadRegular(ctx, j.File(tasksFile))
	if err != nil {
		return nil, err
	}
	a := &array{Job: j}
	if err := json.Unmarshal(b, &a.tasks); err != nil {
		return nil, fmt.Errorf("%s: %w", j.File(tasksFile), err)
	}
	if a.Of < 1 {
		return nil, fmt.Errorf("%s: of %d: want 1 part or more", j.File(tasksFile), a.Of)
	}
	return a, nil
}

// has reports whether a task of the array computes a line.
func (a *array) has(p place) bool { return slices.Contains(a.Parts, p.line%a.Of) }

// arrays has tasks of Slurm compute the lines of some experiments.
type arrays struct {
	*Suite
	all     []*File
	stamp   string
	command []string
	done    map[place]bool // all results are kept
	count   int            // of all lines
	longest int            // how many lines the longest experiment has
	missing []place
}

// look updates what is missing, and returns how much that is.
func (s *arrays) look(ctx context.Context) (int, error) {
	s.missing, s.count = nil, 0
	for i, f := range s.all {
		x := &Runner{Evaluator: s.Evaluator, Full: s.Full, Store: &Store{dir: filepath.Join(s.Out, f.Name, "kept"), stamp: s.stamp, look: true}}
		if s.Proofs {
			x.Store.proofs = filepath.Join(s.Out, f.Name, ProofsDir)
		}
		lines, n, err := x.missing(ctx, f, func(line int) bool { return s.done[place{i, line}] })
		if err != nil {
			return 0, fmt.Errorf("%s: %w", f.Name, err)
		}
		for line := range n {
			s.done[place{i, line}] = !slices.Contains(lines, line)
		}
		for _, line := range lines {
			s.missing = append(s.missing, place{i, line})
		}
		s.count, s.longest = s.count+n, max(s.longest, n)
	}
	return len(s.missing), nil
}

// errNothing is the error of a script that would compute nothing.
var errNothing = errors.New("--submit=false: there is nothing to submit")

// onSlurm has tasks of Slurm compute what is missing: each the part of the command that its
// number names, as with Part and Parts. Lines that a job of the same command still has are
// left to it; jobs of other commands, which may compute the same, are waited for first. It
// returns when all is kept or Slurm has no job of the directory any more; or at once, and
// true, if the script was only written. The error is an *IncompleteError if a task did not
// come to its end.
func (x *Suite) onSlurm(ctx context.Context, all []*File, stamp string) (onlyWritten bool, err error) {
	work, err := os.Getwd()
	if err != nil {
		return false, err
	}
	s := &arrays{Suite: x, all: all, stamp: stamp, command: append([]string{work, stamp}, x.Again...), done: map[place]bool{}}
	if n, err := s.look(ctx); err != nil || n == 0 {
		return false, err
	}
	look := func() (int, error) { return s.look(ctx) }
	earlier, err := x.Slurm.Earlier(ctx, x.Out)
	if err != nil {
		return false, err
	}
	var ours []*array
	var others, jobs []*slurm.Job
	for _, j := range earlier {
		a, err := openArray(ctx, j)
		switch {
		case err != nil:
			return false, err
		case slices.Equal(a.Command, s.command):
			ours, jobs = append(ours, a), append(jobs, j)
		default:
			others = append(others, j)
		}
	}
	if len(others) > 0 {
		if err := x.Slurm.Wait(ctx, others, look); err != nil {
			return false, err
		}
	}
	job, err := s.begin(ctx, ours)
	if err != nil || job == nil && !x.Slurm.Submit {
		return err == nil, err
	}
	if job != nil {
		ours, jobs = append(ours, job), append(jobs, job.Job)
	}
	if err := x.Slurm.Wait(ctx, jobs, look); err != nil {
		return false, err
	}
	return false, s.lost(ours)
}

// begin submits a job for what is missing and no other job has, if there is any.
func (s *arrays) begin(ctx context.Context, ours []*array) (*array, error) {
	t := tasks{Command: s.command, Of: s.Slurm.Size(ctx, s.longest)}
	lines := 0
	for _, p := range s.missing {
		if slices.ContainsFunc(ours, func(a *array) bool { return a.has(p) }) {
			continue
		}
		t.Parts = append(t.Parts, p.line%t.Of)
		lines++
	}
	slices.Sort(t.Parts)
	t.Parts = slices.Compact(t.Parts)
	if lines == 0 {
		if !s.Slurm.Submit {
			return nil, errNothing
		}
		return nil, nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%d lines", lines)
	j, err := s.Slurm.Begin(ctx, s.Out, &slurm.Script{
		Name: "oraccl-repro", About: fmt.Sprintf("%s in %d tasks", what, len(t.Parts)),
		Args:  append(slices.Clone(s.Again), "--part", slurm.Part, "--threads", slurm.CPUs),
		Tasks: t.Parts, Of: t.Of, List: tasksFile, Text: append(text, '\n'),
	}, what, "report")
	if err != nil || j == nil {
		return nil, err
	}
	return &array{j, t}, nil
}

// IncompleteError is the error of a run of which tasks of Slurm did not compute all.
type IncompleteError struct {
	Kept, All int // lines
	Out       string
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("some are missing: %d of %d lines are kept in %s; the same command goes on from there", e.Kept, e.All, e.Out)
}

// lost returns an *IncompleteError if a line is missing whose task did not come to its end.
// What is missing all the same has no answer within its limit, which is not kept.
func (s *arrays) lost(ours []*array) error {
	last := s.all[len(s.all)-1].Name
	for _, p := range s.missing {
		ended := false
		var at *array
		for _, a := range ours {
			if a.has(p) {
				at = a
				_, words := a.LastWords(p.line % a.Of)
				ended = ended || strings.HasPrefix(words, partKept(last, p.line%a.Of, a.Of))
			}
		}
		if ended {
			continue
		}
		if at != nil {
			s.Slurm.Lost(at.Job, p.line%at.Of, "a line")
		}
		return &IncompleteError{s.count - len(s.missing), s.count, s.Out}
	}
	if n := len(s.missing); n > 0 {
		fmt.Fprintf(s.Stderr, "oraccl: %d of %d lines have no answer within the limit; they are computed once more, here\n", n, s.count)
	}
	return nil
}

// partKept is how the line begins that reports that a part was computed.
func partKept(name string, part, parts int) string {
	return fmt.Sprintf("%s: part %d of %d is kept in ", name, part, parts)
}
