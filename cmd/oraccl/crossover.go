package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/cmd/oraccl/turns"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
)

func newCrossover() *cobra.Command {
	var asked turns.Asked
	var out, picture, change, topology string
	var limit time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "crossover JOBS...",
		Short: "Training jobs that share GPUs in turns: one computes while another communicates",
		Long: `crossover schedules training jobs that share all GPUs and one network in turns. JOBS are
words, NAME=COMPUTE/NETWORK, files of ours (schema oraccl/jobs/1), or traces of runs, from which
it takes how long an iteration computes and communicates: timelines of Horovod, profiles of
PyTorch, Muri's table and others (see trace).

With one iteration of each job in a period, the least period is the largest of all
computation, all communication, and the slowest job alone; the schedule attains it, in
the order of the jobs. It is verified by two engines, which prove that it can be repeated
for ever, and that each job's own order is that of the job alone; the bound is checked.
Beside it stand time slicing and the best order in lock-step, which is Muri's estimate.

With --rates jobs have several iterations a period; the least period is then strongly NP-hard
to find, and the best of a search is set beside the bound. With --iterations jobs end after
that many, and what counts is the makespan.`,
		Example: "  oraccl crossover vgg16=67ms/131ms gpt2=414ms/216ms bert=166ms/133ms -o turns.json\n" +
			"  oraccl verify turns.json",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkTimeLimit(limit); err != nil {
				return err
			}
			ctx, done := session.Of(cmd.Context()).Limited(cmd.Context(), limit)
			defer done()
			enter(cmd, "crossover")
			if change != "" {
				var err error
				if asked.Switch, err = model.ParseTime(change); err != nil {
					return fmt.Errorf("--switch: %w", err)
				}
			}
			if asked.Iterations < 0 {
				return fmt.Errorf("--iterations: %d, want 1 or more", asked.Iterations)
			}
			if topology != "" {
				var err error
				if asked.Topology, err = loadTopology(ctx, topology, "", ""); err != nil {
					return err
				}
				asked.Cost = model.Pipelined
			}
			jobs, err := turns.Read(ctx, args, asked)
			if err != nil {
				return err
			}
			r, err := turns.Compare(ctx, jobs, asked)
			if err != nil {
				return err
			}
			if out != "" {
				if err := files.Write(out, func(w io.Writer) error { return native.WriteTimetable(w, r.Timetable()) }); err != nil {
					return err
				}
			}
			if picture != "" {
				if err := files.Write(picture, r.SVG); err != nil {
					return err
				}
			}
			if asJSON {
				err = report.PrintJSON(cmd.OutOrStdout(), r)
			} else {
				r.Print(cmd.OutOrStdout())
				if out != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "written to %s\n", quote.Name(out))
				}
			}
			if s := exit.Of(r.Verified.Verdict.Outcome); err == nil && s != exit.Done {
				return exit.Status(s)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&asked.Only, "jobs", "", "the `names` of the jobs to take, with commas, each as often as it is named: vgg16:32,gpt2; default: all")
	f.StringVar(&asked.Rates, "rates", "", "`NAME=N` with commas: jobs with several iterations a period; default: one")
	f.IntVar(&asked.Iterations, "iterations", 0, "how many iterations each job does; default: for ever")
	f.StringVar(&topology, "topology", "", "the `network`, a name or a file, on which buckets with a size are all-reduced; one bucket has it at a time")
	f.StringVar(&change, "switch", "", "`time` that it costs to switch to another job, such as 5ms; it is added to each computation")
	f.StringVarP(&out, "output", "o", "", "write the schedule to this `file`, for verify")
	f.StringVar(&picture, "picture", "", "write the picture of GPUs and network over time to this `file`, as SVG")
	addTimeLimit(cmd, &limit, time.Minute, "wall `time` for search and verification")
	f.BoolVar(&asJSON, "json", false, "print JSON, schema "+turns.Schema)
	return cmd
}
