package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/report"
	"github.com/oraccl/oraccl/cmd/oraccl/slurm"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/quote"
)

// Suite runs experiments, and prints or writes their reports.
type Suite struct {
	Runner
	Out            string // the directory to write to, one below it for each experiment; "": reports are printed
	Stdout, Stderr io.Writer

	// Workers is how many processes compute at once, each a part, before the reports are made.
	// Again are the arguments that have this program run the same experiments; to them a
	// worker's part and its threads are added.
	Workers int
	Proofs  bool // what rows rest on is kept, in a directory of the name ProofsDir beside each report
	Again   []string

	Slurm *slurm.Array // computes before the reports are made, in place of Workers; nil: this machine

	before map[string]written // by experiment: what was kept before the workers computed
}

// InterruptedError is the error of a run that ended with its context.
type InterruptedError struct {
	Name string // of the experiment
	Out  string // where what was finished is kept; "": it is not
}

func (e *InterruptedError) Error() string {
	if e.Out == "" {
		return fmt.Sprintf("interrupted in %s; with -o DIR what is finished would have been kept", e.Name)
	}
	return fmt.Sprintf("interrupted in %s; what is finished is kept in %s, and the same command goes on from there", e.Name, e.Out)
}

// Run runs the experiments, and writes index.html with all of them if index is set. One that
// fails does not keep the others from being run. The error is an *InterruptedError if ctx
// ended, and an *IncompleteError if tasks of Slurm did not compute all.
func (x *Suite) Run(ctx context.Context, all []*File, index bool) error {
	made, stamp, err := x.madeBy()
	if err != nil {
		return err
	}
	if x.Slurm == nil && x.Workers > 1 {
		x.before = map[string]written{}
		for _, f := range all {
			x.before[f.Name] = writtenIn(x.kept(f))
		}
	}
	switch {
	case x.Slurm != nil:
		onlyWritten, err := x.onSlurm(ctx, all, stamp)
		if ctx.Err() != nil {
			return &InterruptedError{all[0].Name, x.Out}
		}
		if err != nil || onlyWritten {
			return err
		}
	case x.Workers > 1:
		x.work(ctx)
	}
	var reports []*report.Report
	var failed []error
	for _, f := range all {
		r, err := x.one(ctx, f, made, stamp)
		if ctx.Err() != nil {
			return &InterruptedError{f.Name, x.Out}
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", f.Name, err))
			continue
		}
		if r != nil {
			reports = append(reports, r)
		}
	}
	if index && len(reports) > 0 {
		name := filepath.Join(x.Out, "index.html")
		if err := files.Write(name, func(w io.Writer) error { return report.WriteIndex(w, reports) }); err != nil {
			return err
		}
		fmt.Fprintf(x.Stdout, "wrote %s\n", name)
	}
	return errors.Join(failed...)
}

// work has processes compute parts, and waits for them. What one that ends early leaves is
// computed by this process.
func (x *Suite) work(ctx context.Context) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range x.Workers {
		all.Go(func() {
			said, err := x.worker(ctx, i)
			if err == nil || ctx.Err() != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(x.Stderr, "oraccl: part %d of %d ended with %v: %s\n", i, x.Workers, err, said)
		})
	}
	all.Wait()
}

// workerGrace is how long a worker has to end when it is told to: less than the program
// itself has.
const workerGrace = 600 * time.Millisecond

// worker runs the process of a part, and returns what it said of its errors: a line or, of a panic, all that there is.
func (x *Suite) worker(ctx context.Context, part int) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	threads := x.Options.Threads
	if threads == 0 {
		threads = max(1, runtime.NumCPU()/x.Workers)
	}
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(x.Again), fmt.Sprintf("--part=%d/%d", part, x.Workers), fmt.Sprintf("--threads=%d", threads))...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = workerGrace
	err = cmd.Run()
	return strings.TrimSpace(errs.String()), err
}

// one makes the report of an experiment, and writes or prints it.
func (x *Suite) one(ctx context.Context, f *File, made report.Made, stamp string) (*report.Report, error) {
	x.Store = &Store{}
	dir := filepath.Join(x.Out, f.Name)
	if x.Out != "" {
		var err error
		if x.Store, err = OpenStore(x.kept(f), stamp); err != nil {
			return nil, fmt.Errorf("--output: %w", err)
		}
		x.Store.before = x.before[f.Name]
		if x.Proofs {
			x.Store.proofs = filepath.Join(dir, ProofsDir)
		}
	}
	if x.Parts > 0 {
		if err := x.Compute(ctx, f); err != nil {
			return nil, err
		}
		_, err := fmt.Fprintf(x.Stdout, "%s%s: %d results computed and verified now, %d from before\n", partKept(f.Name, x.Part, x.Parts), x.kept(f), x.Store.Made, x.Store.Kept)
		return nil, err
	}
	r, err := x.Report(ctx, f)
	if err != nil {
		return nil, err
	}
	r.Made = made
	if err := r.Check(); err != nil {
		return nil, err
	}
	if x.Out == "" {
		return r, r.WriteMarkdown(x.Stdout, false)
	}
	if err := r.Write(dir); err != nil {
		return nil, err
	}
	fmt.Fprintf(x.Stdout, "%s: %s\n", f.Name, r.Summary())
	if x.Store.Kept > 0 {
		fmt.Fprintf(x.Stdout, "%d results computed and verified now, %d taken from an earlier run in %s\n", x.Store.Made, x.Store.Kept, x.kept(f))
	}
	fmt.Fprintf(x.Stdout, "wrote %s\n", filepath.Join(dir, "report.md"))
	x.aboutProofs(f)
	return r, nil
}

// kept is the directory in which the results of an experiment are kept.
func (x *Suite) kept(f *File) string { return filepath.Join(x.Out, f.Name, "kept") }

// aboutProofs prints where proofs are, what decides them, and what they leave out.
func (x *Suite) aboutProofs(f *File) {
	if !x.Proofs {
		return
	}
	dir := filepath.Join(x.Out, f.Name, ProofsDir)
	if n := dossiers(dir); n > 0 {
		fmt.Fprintf(x.Stdout, "proofs are in %s: dossiers: %d; oraccl check %s%c* decides them\n", quote.Name(dir), n, quote.Line(slurm.Quoted(dir)), filepath.Separator)
	} else {
		fmt.Fprintf(x.Stdout, "%s: nothing that a dossier holds was computed\n", f.Name)
	}
	for _, why := range f.unproved() {
		fmt.Fprintf(x.Stdout, "not in the proofs: measure %s\n", why)
	}
}

// List writes the names of experiments, with their titles and sources.
func List(w io.Writer, all []*File) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range all {
		fmt.Fprintf(t, "%s\t%s\n\t%s\n", f.Name, f.Title, f.Source)
	}
	return t.Flush()
}
