package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/convert"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/proofs"
	"github.com/oraccl/oraccl/verify/dossier"
)

func newGap() *cobra.Command {
	var in problemFlags
	var work effort
	var methods, dir, figure, most, fits string
	var compared []string
	var fromLog string
	var guess bool
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gap TOPO --collective C",
		Short: "All methods compared with the certified bound",
		Long: `gap runs every method that serves the problem, verifies every schedule by replay
and by SMT, and prints the gap of each to a lower bound whose certificate is
checked before it is printed.

The bound and the gap are for every cut of the buffer into chunks. The next column
tells what is known for the cut of the row. With --chunks all methods use the same cut.

Schedules in files (--schedule) become rows beside those of the methods, at the size that is
asked for: ours, MSCCL-IR, execution plans, and those of ` + strings.ReplaceAll(foreign.Tools(), "\n", " ") + `. One without times, or for another
size, gets the best times that its order, its threadblocks and the links allow. It is judged as
verify judges it, with its slots and deadlocks; what is refuted is left out, with exit status 1.

With --fits RUNTIME a column tells which schedules the runtime loads; of a method whose best
does not fit, the one with fewer chunks that fits and takes least once it is loaded is another row.

What NCCL runs stands beside them, as nccl-ring and nccl-tree, with --nccl-log, the rings and
trees of its log; on named machines --nccl has a model of its choice. Where switches add, its
algorithms NVLS on one host and NVLSTree on several do, too: nccl-nvls and nccl-nvls-tree. All are
timed with what this network allows, and the protocol Simple: no other one is faster at large sizes.

A range for --alpha or --bandwidth, such as 600ns..900ns or nic=20GB/s..25GB/s, is for figures that
are not known better. The table is for the middle of it. Below stand the bound and the gap of each schedule
as intervals that hold for every figure within, each schedule run in its order.

In place of TOPO may stand the file of a workload, several operations over groups of ranks; "oraccl help
workloads" has its methods.

Methods run one after the other, quick ones first, each with an equal share of the time
that is left. When the time limit is reached, or after Ctrl-C, what was found by then
is printed within a second, and the exit status is 3.`,
		Example: "  oraccl gap dgx1 --collective allgather --size 8MiB --methods tacos,direct,ring\n  oraccl gap torus:4x4 --collective allgather --size 16MiB --cost blocking --methods cayley,ring --json\n  oraccl gap dgx1 --collective allgather --methods tacos,direct,ring --plot methods.svg\n  oraccl solve ring:4 --collective allreduce --method ring -o ar.xml\n  oraccl gap ring:4 --collective allreduce --size 64MiB --schedule ar.xml --methods quotient --max-gap 110%",
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := parseMaxGap(cmd, most)
			if err != nil {
				return err
			}
			several := ofWorkload{flags: []string{"methods", "proofs", "max-gap", "time-limit", "json"}, methods: methods, proofs: dir, gate: limit, limit: work.timeLimit, asJSON: asJSON}
			if done, err := several.run(cmd, args); done {
				return err
			}
			p, err := in.problem(cmd, args)
			if err != nil {
				return err
			}
			if err := checkPlot(figure); err != nil {
				return err
			}
			if err := checkProofs(dir); err != nil {
				return err
			}
			e, err := work.evaluator(cmd, methods)
			if err != nil {
				return err
			}
			defer e.Close()
			if e.Fits, err = convert.FitsOf(fits, ""); err != nil {
				return err
			}
			e.Refute, e.WarmStart, e.ChooseCuts = dir != "", true, true
			for _, file := range compared {
				enter(cmd, "reading "+file)
				g, err := judge.Given(cmd.Context(), file, p, work.timeLimit)
				if err != nil {
					return err
				}
				if slices.ContainsFunc(e.Given, func(x certify.Given) bool { return x.Name == g.Name }) {
					g.Name = file
				}
				e.Given = append(e.Given, *g)
			}
			if fromLog != "" || guess {
				enter(cmd, "reading "+fromLog)
				rows, err := judge.NCCL(cmd.Context(), fromLog, p)
				if err != nil {
					return err
				}
				e.Given = append(e.Given, rows...)
			}
			var throughout *certify.Throughout
			print := func(ev *certify.Report) error {
				if asJSON {
					j := report.GapToJSON(ev)
					j.Throughout = report.ThroughoutToJSON(throughout)
					return report.PrintJSON(cmd.OutOrStdout(), j)
				}
				report.PrintGap(cmd.OutOrStdout(), ev)
				report.PrintThroughout(cmd.OutOrStdout(), throughout)
				return nil
			}
			s := session.Of(cmd.Context())
			ctx, done := s.Limited(cmd.Context(), work.timeLimit)
			defer done()
			late, cancel := solve.Grace(ctx, writeGrace)
			defer cancel()
			e.Found = func(ev *certify.Report) { s.Keep(func(why solve.Stop) error { return print(ev.EndedFor(why)) }) }
			e.Found(&certify.Report{Problem: p})
			ev, err := e.Evaluate(ctx, p)
			if err != nil {
				return err
			}
			ranges := in.uncertain(cmd.Context(), args)
			if ranges != nil {
				enter(cmd, "bounding throughout the ranges")
				if ctx.Err() == nil {
					if throughout, err = ranges.Evaluate(ctx, ev); err != nil && ctx.Err() == nil {
						return err
					}
				}
				if throughout == nil || err != nil { // the table stands
					throughout = nil
					report.Line(cmd.ErrOrStderr(), "oraccl: nothing is known throughout the ranges: the time was over")
					ev = ev.EndedFor(solve.StopOf(ctx))
				}
			}
			err = s.Report(func() error { return print(ev) })
			if err == nil && dir != "" {
				enter(cmd, "writing proofs")
				err = proofs.Write(late, dir, ev, e.Scratch, built.Tool(), true)
			}
			if err == nil && figure != "" && len(ev.Rows) > 0 {
				enter(cmd, "drawing")
				err = report.DrawGap(ev, figure)
			}
			if err != nil {
				return err
			}
			if limit == nil {
				return statusOf(ev)
			}
			switch {
			case throughout != nil:
				return beyond(cmd, *limit, throughout.Beyond(ev, float64(*limit)), statusOf(ev))
			case ranges != nil:
				return beyond(cmd, *limit, []string{"the ranges"}, statusOf(ev))
			}
			return beyond(cmd, *limit, ev.Beyond(float64(*limit)), statusOf(ev))
		},
	}
	in.figure = instance.Range.Middle
	in.addFlags(cmd)
	cmd.Flags().StringSliceVar(&compared, "schedule", nil, "schedules to compare, in `files` separated by commas, of any format that verify reads")
	cmd.Flags().StringVar(&fromLog, "nccl-log", "", "compare what NCCL runs: over the rings and trees in this `file`, its log (NCCL_DEBUG=INFO) or the dump of its graphs")
	cmd.Flags().BoolVar(&guess, "nccl", false, "compare what NCCL would run on a named machine, by a model of its choice, where there is no log")
	addMaxGap(cmd, &most, "the schedules of --schedule, or the best row where there are none")
	work.addFlags(cmd, time.Minute, "")
	cmd.Flags().StringVar(&methods, "methods", "", "the `methods` to compare, separated by commas (default: all that serve)")
	addFits(cmd, &fits, "")
	cmd.Flags().StringVar(&dir, "proofs", "", "write problem, schedules, certificates and formulas to this `directory`, for check")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/gap/2")
	cmd.Flags().StringVar(&figure, "plot", "", "draw the methods beside the bound to this `file`, .svg, .png or .pdf")
	return cmd
}

// addMaxGap adds the flag --max-gap.
func addMaxGap(cmd *cobra.Command, most *string, of string) {
	cmd.Flags().StringVar(most, "max-gap", "", "the exit status is 1 where the gap to the bound for every cut is `more` than this, such as 5%, or not known: "+of)
}

// parseMaxGap returns the value of --max-gap, nil if it is not given.
func parseMaxGap(cmd *cobra.Command, most string) (*model.Gap, error) {
	if !cmd.Flags().Changed("max-gap") {
		return nil, nil
	}
	g, err := model.ParseGap(most)
	if err != nil {
		return nil, fmt.Errorf("--max-gap: %w", err)
	}
	return &g, nil
}

// beyond is the exit status of a verb with --max-gap: that of the verb, unless names are those of
// schedules that exceed it.
func beyond(cmd *cobra.Command, limit model.Gap, names []string, status error) error {
	if len(names) == 0 {
		return status
	}
	for i := range names {
		names[i] = quote.Name(names[i])
	}
	report.Line(cmd.ErrOrStderr(), "oraccl: --max-gap %v: exceeded, or not known, for %s", limit, strings.Join(names, ", "))
	return exit.Status(exit.Refuted)
}

// statusOf is the exit status of an evaluation.
func statusOf(ev *certify.Report) error {
	switch {
	case ev.AnyRefuted():
		return exit.Status(exit.Refuted)
	case ev.Stopped != 0 || ev.Undecided() != 0 || ev.GivenUndecided():
		return exit.Status(exit.Unknown)
	case len(ev.Rows) == 0:
		return report.NothingFound(ev)
	case ev.Best() == nil:
		return exit.Status(exit.Unknown)
	}
	return nil
}

// checkProofs refuses, before any work, a directory that no dossier can be written to. ""
// asks for none.
func checkProofs(dir string) error {
	if dir == "" {
		return nil
	}
	if err := dossier.Free(dir); err != nil {
		return fmt.Errorf("--proofs: %w", err)
	}
	return nil
}

// checkPlot refuses, before any work, the name of a figure that could not be written. ""
// asks for none.
func checkPlot(name string) error {
	if name == "" {
		return nil
	}
	if err := report.CanDraw(name); err != nil {
		return fmt.Errorf("--plot %w", err)
	}
	switch d, err := os.Stat(filepath.Dir(name)); {
	case err != nil:
		return fmt.Errorf("--plot %s: %w", name, err)
	case !d.IsDir():
		return fmt.Errorf("--plot %s: %s is no directory", name, filepath.Dir(name))
	}
	return nil
}
