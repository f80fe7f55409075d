//go:build !js

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/trace"
)

func newTrace() *cobra.Command {
	var asJSON, values bool
	var figure, steps string
	cmd := &cobra.Command{
		Use:   "trace FILE...",
		Short: "What a training run does: its period, compute, communication, buckets, late ranks",
		Long: `trace reads what training runs write of themselves: timelines of Horovod, profiles (Kineto)
and execution traces of PyTorch, Chakra's execution traces (binary, also in a tar file, and
JSON), Muri's table of jobs, the log of StragglAR, and logs of NCCL and RCCL with the
collectives that were called. Any of them may be compressed with gzip.

For each job it prints the period of an iteration, compute, communication, the part of it
that is exposed, the buckets with their bytes and when they are ready, and which rank comes
last by how much. Times are lower medians over iterations without the first one. What a
format does not contain is said to be absent.

Several profiles of the ranks of one run are also brought together: their clocks are
compared by the ends of the collectives. A file that is cut off is read up to there.`,
		Example: "  oraccl solve ring:4 --collective allreduce --method ring -o ar.json\n  oraccl convert ar.json --to chakra -o ar\n  oraccl trace ar.0.et ar.1.et --values",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := trace.ParseSteps(steps)
			if err != nil {
				return fmt.Errorf("--steps %w", err)
			}
			if err := checkPlot(figure); err != nil {
				return err
			}
			var all []*trace.Trace
			var jobs []trace.Job
			for _, file := range args {
				enter(cmd, "reading "+file)
				t, err := readTrace(cmd.Context(), file, o)
				if err != nil && (t == nil || cmd.Context().Err() == nil) {
					return err
				}
				if steps != "" && !t.ByIteration() {
					return fmt.Errorf("--steps: is for timelines of Horovod and logs of StragglAR; %s is a %s", file, t.Format)
				}
				all, jobs = append(all, t), append(jobs, t.Jobs...)
				perr := session.Of(cmd.Context()).Report(func() error {
					if asJSON {
						return report.PrintJSON(cmd.OutOrStdout(), report.TraceToJSON(t))
					}
					report.PrintTrace(cmd.OutOrStdout(), t, values)
					return nil
				})
				if perr != nil {
					return perr
				}
				if err != nil { // interrupted
					return exit.Status(exit.Unknown)
				}
			}
			if err := joinTraces(cmd, all, asJSON); err != nil {
				return err
			}
			if figure != "" {
				enter(cmd, "drawing")
				return report.DrawTraces(jobs, figure)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/trace/1, one object for each file, and one for several ranks together")
	f.BoolVar(&values, "values", false, "print every quantity that was found, too")
	f.StringVar(&steps, "steps", "", "the `iterations` that are counted, such as 1..23, of a timeline of Horovod or a log of StragglAR (default: all but the first)")
	f.StringVar(&figure, "plot", "", "draw the times of the jobs to this `file`, .svg, .png or .pdf")
	return cmd
}

// readTrace reads a file.
func readTrace(ctx context.Context, file string, o trace.Options) (*trace.Trace, error) {
	f, err := files.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return trace.Read(ctx, file, f, o)
}

// joinTraces brings the profiles of several ranks together. That they cannot be is said, unless there
// is only one.
func joinTraces(cmd *cobra.Command, all []*trace.Trace, asJSON bool) error {
	var ranks []*trace.Trace
	for _, t := range all {
		if t.Rank >= 0 && len(t.Calls) > 0 {
			ranks = append(ranks, t)
		}
	}
	if len(ranks) < 2 {
		return nil
	}
	x, err := trace.Join(ranks)
	if err != nil {
		report.Line(cmd.ErrOrStderr(), "oraccl: not brought together: %v", err)
		return nil
	}
	return session.Of(cmd.Context()).Report(func() error {
		if asJSON {
			return report.PrintJSON(cmd.OutOrStdout(), report.JoinedToJSON(ranks, x))
		}
		report.PrintJoined(cmd.OutOrStdout(), x)
		return nil
	})
}
