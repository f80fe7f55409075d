package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/report"
	"github.com/oraccl/oraccl/model/files"
)

// Suite runs experiments, and prints or writes their reports.
type Suite struct {
	Runner
	Out    string // the directory to write to, one below it for each experiment; "": reports are printed
	Stdout io.Writer
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
// ended.
func (x *Suite) Run(ctx context.Context, all []*File, index bool) error {
	made, stamp, err := x.madeBy()
	if err != nil {
		return err
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
		reports = append(reports, r)
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

// one makes the report of an experiment, and writes or prints it.
func (x *Suite) one(ctx context.Context, f *File, made report.Made, stamp string) (*report.Report, error) {
	x.Store = &Store{}
	dir := filepath.Join(x.Out, f.Name)
	if x.Out != "" {
		var err error
		if x.Store, err = OpenStore(filepath.Join(dir, "kept"), stamp); err != nil {
			return nil, fmt.Errorf("--output: %w", err)
		}
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
		fmt.Fprintf(x.Stdout, "%d results computed and verified now, %d taken from an earlier run in %s\n", x.Store.Made, x.Store.Kept, filepath.Join(dir, "kept"))
	}
	fmt.Fprintf(x.Stdout, "wrote %s\n", filepath.Join(dir, "report.md"))
	return r, nil
}

// List writes the names of experiments, with their titles and sources.
func List(w io.Writer, all []*File) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range all {
		fmt.Fprintf(t, "%s\t%s\n\t%s\n", f.Name, f.Title, f.Source)
	}
	return t.Flush()
}
