package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/cmd/oraccl/convert"
	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/machine"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/streamed"
)

// mostFrontier is up to how many chunks per rank solve --pareto looks where --chunks is not given.
const mostFrontier = 6

func newSolve() *cobra.Command {
	var in problemFlags
	var work effort
	var method, out, proofs, fits string
	var asJSON, pareto bool
	cmd := &cobra.Command{
		Use:   "solve TOPO --collective C",
		Short: "Find a schedule, verify it and write it",
		Long: `solve finds a schedule, verifies it by replay and by SMT, and writes it with its problem
to a file.

Without --method, methods run one after the other, those first that usually win, until a
schedule is proved to be at most 0.5 % above the bound for every cut. Only schedules that
are shorter than the best so far are verified; "Tried" lists what all of them found. The
result does not depend on the speed of the machine unless the time limit is reached.

When the time limit is reached, or after Ctrl-C, the best schedule so far is verified and
written within a second, and the exit status is 3. With -o a sixth of the time is left for the
file, and methods that could make millions of transfers make no more than are written in it.

With --fits RUNTIME, or -o FILE.xml, it looks for the schedule that the runtime loads and that takes
least once it is loaded, where a threadblock does in turn what links could do at once: it has as many
threadblocks, channels, steps and chunks as there is room for. What that costs is printed beside it.

With --objective rounds --pareto it lists the Pareto-optimal numbers of chunks per rank,
steps and rounds, up to --chunks (by default 6), with proofs that no better ones exist.

In place of TOPO may stand the file of a workload, several operations over groups of ranks; "oraccl help
workloads" has its methods.`,
		Example: "  oraccl solve dgx1 --collective allgather --method exact -o ag.json\n  oraccl solve ring:4 --collective allgather --method ring -o ag.xml\n" +
			"  oraccl crossover A=7ms/4ms B=5ms/6ms --iterations 2 -o turns.json\n  oraccl solve turns.json -o again.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			several := ofWorkload{flags: []string{"method", "output", "time-limit", "json"}, methods: method, best: true, out: out, limit: work.timeLimit, asJSON: asJSON}
			if method == "best" {
				several.methods = ""
			}
			if done, err := several.run(cmd, args); done {
				return err
			}
			maxChunks := in.Chunks
			if pareto {
				in.Chunks = 0
				if maxChunks == 0 {
					maxChunks = mostFrontier
				}
			}
			p, err := in.problem(cmd, args)
			if err != nil {
				return err
			}
			if (pareto || method != "best") && !cmd.Flags().Changed("time-limit") {
				work.timeLimit = time.Minute
			}
			names := method
			if method == "best" {
				names = ""
			}
			e, err := work.evaluator(cmd, names)
			if err != nil {
				return err
			}
			defer e.Close()
			e.WarmStart, e.ChooseCuts = true, true
			if method == "best" {
				e.Enough = certify.UsuallyEnough
			}
			if e.Fits, err = convert.FitsOf(fits, out); err != nil {
				return err
			}
			session := session.Of(cmd.Context())
			if pareto {
				ctx, done := session.Limited(cmd.Context(), work.timeLimit)
				defer done()
				return runPareto(ctx, cmd, e, p, maxChunks, proofs, asJSON)
			}
			if out != "" {
				if err := machine.EnoughRoom(out, schedules.LeastBytes(out, p)); err != nil {
					return err
				}
			}
			if s := streamed.Find(cmd.Context(), e, p, cmd.Flags().Changed("time-limit")); s != nil {
				if convert.IsDeployed(out) {
					return fmt.Errorf("-o %s: a schedule that is made as a stream is too large for MSCCL-IR and execution plans; want .oraccl", out)
				}
				return solveStreamed(cmd, s, out, asJSON)
			}
			ctx, done := session.Limited(cmd.Context(), work.timeLimit)
			defer done()
			late, cancel := solve.Grace(ctx, writeGrace)
			defer cancel()
			e.Found = func(ev *certify.Report) {
				session.Keep(func(why solve.Stop) error { return keepSolved(ev.EndedFor(why), cmd.OutOrStdout(), asJSON, out) })
			}
			e.Found(&certify.Report{Problem: p})
			finding, found := ctx, context.CancelFunc(func() {})
			if out != "" {
				finding, found = e.ToWrite(ctx, work.timeLimit, writeGrace)
			}
			ev, err := e.Evaluate(finding, p)
			found()
			if err == nil {
				ev.KeepFitting()
			}
			switch {
			case err != nil:
				return err
			case len(ev.Rows) == 0 && ev.Free != nil:
				return report.NothingFits(ev)
			case len(ev.Rows) == 0 && ev.Undecided() == 0:
				return report.NothingFound(ev)
			case len(ev.Rows) == 0:
				return errors.Join(session.Report(func() error { return show(ev, cmd.OutOrStdout(), asJSON, "") }), exit.Status(exit.Unknown))
			}
			var deployed string
			if r := ev.Best(); r != nil {
				enter(cmd, "writing "+out)
				session.Keep(func(why solve.Stop) error {
					return keepSolved(ev.OnlyBest().EndedFor(why), cmd.OutOrStdout(), asJSON, "")
				})
				if convert.IsDeployed(out) {
					if r, deployed, err = convert.Best(late, ev, fits, out); err != nil {
						return err
					}
				} else if out != "" {
					err := writeSolution(late, out, r)
					if errors.Is(err, context.Canceled) { // a method was late: what there is is written all the same
						err = writeSolution(context.Background(), out, r)
					}
					if err != nil {
						return err
					}
				}
				ev.Rows = []*certify.Row{r}
			}
			err = session.Report(func() error {
				if err := show(ev, cmd.OutOrStdout(), asJSON, out); err != nil {
					return err
				}
				if deployed != "" && !asJSON {
					fmt.Fprintln(cmd.OutOrStdout(), deployed)
				}
				return nil
			})
			if err != nil {
				return err
			}
			r := ev.Rows[0]
			known := r.NoneFaster() != "" || r.Fewest() != ""
			switch {
			case ev.AnyRefuted():
				return exit.Status(exit.Refuted)
			case ev.Stopped == solve.Interrupted:
				return exit.Status(exit.Unknown)
			case known, e.Enough > 0 && r.Within(e.Enough):
				return nil
			case r.Result.Stop == solve.TimeLimit || r.Result.Stop == solve.Interrupted:
				return exit.Status(exit.Unknown)
			}
			return statusOf(ev)
		},
	}
	in.addFlags(cmd)
	work.addFlags(cmd, 10*time.Second, "; 1m0s with --method or --pareto")
	cmd.Flags().StringVar(&method, "method", "best", "the `method`, or best: those that usually win first, until one is proved to be within 0.5 % of the bound")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the schedule with its problem to this `file`; JSON, or compact if its name ends in .oraccl, or as MSCCL-IR if in .xml, or as an execution plan of MSCCL++ if in plan.json")
	addFits(cmd, &fits, "; an output in .xml asks for all but mscclpp, one in plan.json for that")
	cmd.Flags().BoolVar(&pareto, "pareto", false, "list the Pareto-optimal chunks, steps and rounds up to --chunks; with --objective rounds")
	cmd.Flags().StringVar(&proofs, "proofs", "", "with --pareto: write schedules, certificates and proofs to this `directory`, for check")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/gap/2 with one row, or with --pareto oraccl/pareto/1")
	return cmd
}

// addFits adds the flag --fits with a remark.
func addFits(cmd *cobra.Command, fits *string, remark string) {
	cmd.Flags().StringVar(fits, "fits", "", "look for the best schedule that this `runtime` loads, too: "+strings.Join(convert.FitsNames(), ", ")+remark)
}

// writeGrace is how long after the time is over what was found is written at most.
const writeGrace = certify.Grace + 300*time.Millisecond

// keepSolved writes and prints the best of what was found when the program is ended.
func keepSolved(ev *certify.Report, w io.Writer, asJSON bool, out string) error {
	ev = ev.OnlyBest()
	if out != "" && ev.Best() != nil {
		if convert.IsDeployed(out) {
			kept := out
			out = ""
			defer fmt.Fprintln(w, "\n"+kept+" is not written: there was no time for it")
		} else if err := writeSolution(context.Background(), out, ev.Best()); err != nil {
			return err
		}
	}
	return show(ev, w, asJSON, out)
}

// show prints the best of what was found, or what is known where the time was not enough for
// a schedule: the bound, and what became of each method.
func show(ev *certify.Report, w io.Writer, asJSON bool, out string) error {
	switch {
	case asJSON:
		return report.PrintJSON(w, report.GapToJSON(ev))
	case len(ev.Rows) == 0:
		report.PrintGap(w, ev)
	default:
		report.PrintSolved(w, ev, out)
	}
	return nil
}

// writeSolution writes a verified row to a file, whole or, if ctx ends before, not at all.
func writeSolution(ctx context.Context, name string, r *certify.Row) error {
	sol := r.Solution(built.Tool())
	return files.WriteUntil(ctx, name, func(w io.Writer) error { return schedules.Encode(name, w, sol) })
}
