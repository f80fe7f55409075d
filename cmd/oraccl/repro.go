package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/testdata/published"
)

// experiment is a published result that can be made again.
type experiment struct {
	name, title string
	source      string // the paper, with its address
	about       string
	// fill computes the rows and figures of a report. What it computes it keeps in the
	// bench's store; it returns the context's error when that ends.
	fill func(ctx context.Context, b *bench, r *repro.Report) error
}

// experiments are in the order in which they are shown.
func experiments() []*experiment {
	return []*experiment{stragglarExperiment(), tacosExperiment(), scclExperiment(), tecclExperiment(), forestcollExperiment()}
}

// bench is what an experiment works with.
type bench struct {
	*certify.Evaluator
	full   bool
	tables fs.FS  // of published values
	where  string // the directory of the tables, as it is printed
	store  *repro.Store
}

// table names a table of published values.
func (b *bench) table(name string) string { return b.where + "/" + name }

// keep computes a value, or takes it from the store. The key names all that the value
// depends on beside the program, the seed and the limits.
func keep[T any](b *bench, key string, compute func() (T, error)) (T, error) {
	o := b.Options
	return repro.Keep(b.store, fmt.Sprintf("%s, seed %d, %v, %d tries, effort %d", key, o.Seed, o.TimeLimit, o.Tries, o.Effort), compute)
}

// reproduction is what the flags of repro say.
type reproduction struct {
	work   effort
	full   bool
	out    string
	tables string
}

// allOut is where repro all writes if nothing else is said.
const allOut = "repro"

func newRepro() *cobra.Command {
	var x reproduction
	cmd := &cobra.Command{
		Use:   "repro list | NAME... | all",
		Short: "Published results compared with ours and with the certified bound",
		Long: `repro recomputes published tables and figures and compares them with ours. Every row has
the published value with its source and its certainty, our value, the certified bound
if there is one, a verdict (agrees, better, worse, not comparable, not published) and
the difference in a sentence. Schedules are proved by replay and by SMT, and bounds are
checked, before they are printed.

"repro list" names the experiments. Without -o the report is printed as Markdown. With
-o DIR there is a directory for each in DIR, with report.md, rows.csv and the figures as
CSV and SVG; "repro all" writes index.html, too, one page with all of it (by default to
the directory ` + allOut + `). What is finished is kept in DIR, and a run with the same program,
seed and limits goes on from there, after Ctrl-C, too: "oraccl repro stragglar tacos
sccl -o repro", "oraccl repro all --full".

The published values are in the program. --published names a directory with tables of
the same form, <paper>/<table>.csv, to be used in their place.`,
		Example: "  oraccl repro list",
		Args:    cobra.MinimumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(experimentNames(), "all", "list"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return x.run(cmd, args) },
	}
	x.work.addFlags(cmd)
	f := cmd.Flags()
	x.work.timeLimit = 5 * time.Minute // what takes seconds is not to depend on how busy the machine is
	f.Lookup("time-limit").DefValue = x.work.timeLimit.String()
	f.BoolVar(&x.full, "full", false, "larger instances and longer searches, too: hours")
	f.StringVarP(&x.out, "output", "o", "", "write reports, tables and figures to this `directory`")
	f.StringVar(&x.tables, "published", "", "a `directory` with tables of published values to use in place of those in the program")
	return cmd
}

func experimentNames() []string {
	var names []string
	for _, e := range experiments() {
		names = append(names, e.name)
	}
	return names
}

// chosen returns the experiments that the arguments name, once each, in order.
func chosen(args []string) (all []*experiment, err error) {
	for _, name := range args {
		known := experiments()
		i := slices.IndexFunc(known, func(e *experiment) bool { return e.name == name })
		switch {
		case name == "all" && len(args) == 1:
			return known, nil
		case i < 0:
			hint := "oraccl repro list states what they are"
			if near := nearest(name, append(experimentNames(), "all", "list")); len(near) > 0 {
				hint = "did you mean " + strings.Join(near, " or ") + "?"
			}
			return nil, exit.Hint(fmt.Errorf("experiment %q: want one or more of %s, or all or list alone", name, strings.Join(experimentNames(), ", ")), hint)
		}
		if !slices.ContainsFunc(all, func(e *experiment) bool { return e.name == name }) {
			all = append(all, known[i])
		}
	}
	return all, nil
}

func (x *reproduction) run(cmd *cobra.Command, args []string) error {
	out := cmd.OutOrStdout()
	if slices.Equal(args, []string{"list"}) {
		return listExperiments(out)
	}
	all, err := chosen(args)
	if err != nil {
		return err
	}
	index := slices.Equal(args, []string{"all"})
	if index && x.out == "" {
		x.out = allOut
	}
	e, err := x.work.evaluator(cmd, "")
	if err != nil {
		return err
	}
	defer e.Close()
	e.Named = true
	b := &bench{Evaluator: e, full: x.full, tables: published.Tables, where: "testdata/published"}
	if x.tables != "" {
		dir, err := files.OpenDir(cmd.Context(), x.tables)
		if err != nil {
			return fmt.Errorf("--published %w; want a directory with tables of published values", err)
		}
		defer dir.Close()
		b.tables, b.where = dir, filepath.ToSlash(x.tables)
	}
	made, stamp, err := x.madeBy(b)
	if err != nil {
		return err
	}
	var reports []*repro.Report
	var failed []error
	for _, e := range all {
		r, err := x.one(cmd, b, e, made, stamp)
		if cmd.Context().Err() != nil {
			return x.interrupted(cmd.ErrOrStderr(), e, b)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", e.name, err))
			continue // the others may work
		}
		reports = append(reports, r)
	}
	if index && len(reports) > 0 {
		name := filepath.Join(x.out, "index.html")
		if err := files.Write(name, func(w io.Writer) error { return repro.WriteIndex(w, reports) }); err != nil {
			return err
		}
		fmt.Fprintf(out, "wrote %s\n", name)
	}
	return errors.Join(failed...)
}

// one makes the report of an experiment, and writes or prints it.
func (x *reproduction) one(cmd *cobra.Command, b *bench, e *experiment, made repro.Made, stamp string) (*repro.Report, error) {
	b.store = &repro.Store{}
	dir := filepath.Join(x.out, e.name)
	if x.out != "" {
		var err error
		if b.store, err = repro.Open(filepath.Join(dir, "kept"), stamp); err != nil {
			return nil, fmt.Errorf("--output: %w", err)
		}
	}
	r := &repro.Report{Name: e.name, Title: e.title, Source: e.source, About: e.about, Made: made}
	if err := e.fill(cmd.Context(), b, r); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	out := cmd.OutOrStdout()
	if x.out == "" {
		return r, r.WriteMarkdown(out, false)
	}
	if err := r.Write(dir); err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%s: %s\n", e.name, r.Summary())
	if b.store.Kept > 0 {
		fmt.Fprintf(out, "%d results computed and verified now, %d taken from an earlier run in %s\n", b.store.Made, b.store.Kept, filepath.Join(dir, "kept"))
	}
	fmt.Fprintf(out, "wrote %s\n", filepath.Join(dir, "report.md"))
	return r, nil
}

// interrupted states what is kept.
func (x *reproduction) interrupted(w io.Writer, e *experiment, b *bench) error {
	if x.out == "" {
		fmt.Fprintf(w, "oraccl: interrupted in %s; with -o DIR what is finished would have been kept\n", e.name)
	} else {
		fmt.Fprintf(w, "oraccl: interrupted in %s; what is finished is kept in %s, and the same command goes on from there\n", e.name, x.out)
	}
	return exit.Status(exit.Unknown)
}

func listExperiments(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range experiments() {
		fmt.Fprintf(t, "%s\t%s\n\t%s\n", e.name, e.title, e.source)
	}
	return t.Flush()
}
