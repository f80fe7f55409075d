package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/convert"
	"github.com/oraccl/oraccl/cmd/oraccl/drawing"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/usage"
	"github.com/oraccl/oraccl/cmd/oraccl/view"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/verify"
)

func newView() *cobra.Command {
	var out, problem string
	var noBound bool
	var by foreign.Truth
	cmd := &cobra.Command{
		Use:   "view FILE [FILE] -o OUT",
		Short: "Draw a schedule: an HTML page with a time slider, or an SVG",
		Long: `view reads a schedule, executes it, and draws it, right or wrong:

  OUT.html  one page that works offline: the network with the current transfers, one
            timeline per link or rank, the data of each rank, the critical path
  OUT.svg   one drawing for a paper: the network, and one row per link over time; above a
            few thousand transfers, the load of the links
  OUT.png   the same in dots, two for each of its pixels
  OUT.json  trace events for Perfetto, as convert --to chrome (right schedules only)

A sum or a multicast that switches make is one bar on each link, and named as one. Two files
come into one page, beside each other on one clock.

The page shows the verdict of the replay engine and the best bound for every cut of the
buffer into chunks, as gap prints it, with its certificate checked. A note tells what is
known for the cut of the schedule. If a file cannot be read, the page explains why.

An execution plan of MSCCL++ is drawn as its threadblocks: a row for each, and arrows from what
signals to what waits. Of one that deadlocks the circle of waits is red, of a race the two operations.
So is wrong MSCCL-IR of which no execution ends.`,
		Example: "  oraccl solve ring:4 --collective allgather --method ring -o ag.json\n" +
			"  oraccl view ag.json -o ag.html\n" +
			"  oraccl view ag.json -o ag.svg\n" +
			"  oraccl view ag.json -o ag.trace.json\n" +
			"  oraccl solve ring:4 --collective allgather --method tacos -o faster.json\n" +
			"  oraccl view ag.json faster.json -o both.html",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && filepath.Ext(out) != ".html" {
				return fmt.Errorf("-o %q: two schedules come into a page, whose name ends in .html", out)
			}
			switch filepath.Ext(out) {
			case ".html", ".svg", ".png":
			case ".json":
				if problem != "" {
					return errors.New("--problem: goes with .html, .svg and .png; trace events are those of the file's own problem")
				}
				return viewTrace(cmd, args[0], out, &by)
			default:
				return fmt.Errorf("-o %q: want a name that ends in .html, .svg, .png or .json", out)
			}
			draw, drawPlan, fail := view.HTML, view.PlanHTML, view.Failure
			if filepath.Ext(out) == ".svg" {
				draw, drawPlan, fail = view.SVG, view.PlanSVG, view.FailureSVG
			}
			if filepath.Ext(out) == ".png" {
				draw, drawPlan = report.DotsOf(view.SVG), report.DotsOf(view.PlanSVG)
				fail = func(w io.Writer, title string, why error) error {
					return report.DotsOf(func(w io.Writer, why error) error { return view.FailureSVG(w, title, why) })(w, why)
				}
			}
			if len(args) == 1 && judge.IsPlan(cmd.Context(), args[0]) {
				enter(cmd, "reading and executing "+args[0])
				return viewPlan(cmd, args[0], out, &by, drawPlan, fail)
			}
			var asked *model.Problem
			if problem != "" {
				var err error
				if asked, err = readProblem(cmd.Context(), problem); err != nil {
					return err
				}
			}
			read := func(file string) (*drawing.Drawing, error) {
				enter(cmd, "reading and executing "+file)
				d, err := drawing.Read(cmd.Context(), file, asked, &by)
				if err == nil && !noBound {
					enter(cmd, "bounding")
					err = d.Bound(cmd.Context())
				}
				return d, err
			}
			if len(args) == 2 {
				return viewBoth(cmd, args, out, read)
			}
			d, err := read(args[0])
			var wrong *judge.NotRightError
			if errors.As(err, &wrong) && judge.IsDeployed(cmd.Context(), args[0]) {
				if stuck, serr := drawing.ReadStuck(cmd.Context(), args[0], &by); serr == nil {
					return viewThreadblocks(cmd, stuck, out, drawPlan)
				}
			}
			enter(cmd, "drawing")
			if err == nil {
				err = files.Write(out, func(w io.Writer) error { return draw(w, d.Picture) })
			} else {
				if werr := files.Write(out, func(w io.Writer) error { return fail(w, filepath.Base(args[0]), onPage(err)) }); werr != nil {
					return werr
				}
			}
			if err != nil {
				return notRight(cmd, err, "drawn")
			}
			err = drawn(cmd.OutOrStdout(), d)
			fmt.Fprintf(cmd.OutOrStdout(), "written to %s\n", quote.Name(out))
			if err == nil && cmd.Context().Err() != nil {
				return exit.Status(exit.Unknown) // there may be a larger bound
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "the `file` to write: .html, .svg, .png or .json")
	f.StringVar(&problem, "problem", "", "execute against the problem in this `file`, not the one that the schedule's file states")
	f.BoolVar(&noBound, "no-bound", false, "do not look for a lower bound")
	by.Define(cmd.Flags())
	_ = cmd.MarkFlagRequired("output")
	return cmd
}

// viewPlan draws an execution plan, right or wrong, or why there is no execution of it.
func viewPlan(cmd *cobra.Command, file, out string, by *foreign.Truth, draw func(io.Writer, *view.PlanPicture) error, fail func(io.Writer, string, error) error) error {
	d, err := drawing.ReadPlan(cmd.Context(), file, by)
	enter(cmd, "drawing")
	if err != nil {
		if werr := files.Write(out, func(w io.Writer) error { return fail(w, filepath.Base(file), onPage(err)) }); werr != nil {
			return werr
		}
		return notRight(cmd, err, "drawn")
	}
	return viewThreadblocks(cmd, d, out, draw)
}

// viewThreadblocks draws what a plan, or a program that gets stuck, does.
func viewThreadblocks(cmd *cobra.Command, d *drawing.Plan, out string, draw func(io.Writer, *view.PlanPicture) error) error {
	enter(cmd, "drawing")
	if err := files.Write(out, func(w io.Writer) error { return draw(w, d.Picture) }); err != nil {
		return err
	}
	err := announce(cmd.OutOrStdout(), d.Verdict, d.Picture.Verdict.Claim)
	fmt.Fprintf(cmd.OutOrStdout(), "written to %s\n", quote.Name(out))
	return err
}

// viewBoth draws two schedules on one page. It has the status of the one that is worse.
func viewBoth(cmd *cobra.Command, names []string, out string, read func(file string) (*drawing.Drawing, error)) error {
	var both [2]*drawing.Drawing
	var worse error
	for i, file := range names {
		if judge.IsPlan(cmd.Context(), file) {
			return fmt.Errorf("%s is an execution plan, which has threadblocks and no links: it is drawn alone", quote.Name(file))
		}
		d, err := read(file)
		if err != nil {
			return notRight(cmd, err, "drawn")
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: ", quote.Name(file))
		if err := drawn(cmd.OutOrStdout(), d); err != nil && (worse == nil || d.Verdict.Outcome == verify.Refuted) {
			worse = err
		}
		both[i] = d
	}
	enter(cmd, "drawing")
	if err := files.Write(out, func(w io.Writer) error { return view.Compare(w, both[0].Picture, both[1].Picture) }); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "written to %s\n", quote.Name(out))
	if worse == nil && cmd.Context().Err() != nil {
		return exit.Status(exit.Unknown)
	}
	return worse
}

// onPage returns an error as a page shows it, which has one place for it and for its way out.
func onPage(err error) error {
	var wrong *judge.NotRightError
	if errors.As(err, &wrong) {
		return errors.New(strings.Join(wrong.Lines("drawn"), "\n"))
	}
	if h := usage.Hint(err); h != "" {
		return fmt.Errorf("%w (%s)", err, h)
	}
	return err
}

// viewTrace writes trace events, as convert does.
func viewTrace(cmd *cobra.Command, file, out string, by *foreign.Truth) error {
	r, err := right(cmd, file, by)
	if err != nil {
		return err
	}
	target, err := convert.Named("chrome")
	if err != nil {
		return err
	}
	return convertTo(cmd, file, r, target, out, &convert.Options{})
}

// drawn states what was drawn, with the verdict, and returns its exit status.
func drawn(w io.Writer, d *drawing.Drawing) error {
	return announce(w, d.Verdict, d.Picture.Verdict.Claim, func() {
		if d.Partial {
			fmt.Fprintln(w, "the file is marked as partial")
		}
		if x := d.Standing; x != nil {
			report.Line(w, "makespan %s us; %s", report.Micros(x.Makespan), report.StandingLine(x))
		}
		report.PrintNotes(w, d.Notes)
	})
}

// announce states a verdict and what else there is, and returns the exit status.
func announce(w io.Writer, v verify.Verdict, claim string, more ...func()) error {
	fmt.Fprintf(w, "%s %s\n", strings.ToUpper(v.Outcome.String()), claim)
	if len(v.Violations) > 0 {
		fmt.Fprintln(w, v.Violations[0])
	}
	if v.Reason != "" {
		fmt.Fprintln(w, v.Reason)
	}
	for _, f := range more {
		f()
	}
	if code := exit.Of(v.Outcome); code != exit.Done {
		return exit.Status(code)
	}
	return nil
}
