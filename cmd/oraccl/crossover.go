//go:build !js

package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/cmd/oraccl/turns"
	"github.com/oraccl/oraccl/model"
)

func newCrossover() *cobra.Command {
	asked := turns.Asked{Cost: model.Pipelined}
	var out turns.Output
	var limit time.Duration
	var change, topology string
	cmd := &cobra.Command{
		Use: "crossover JOBS...", Short: "Training jobs that share GPUs in turns: one computes while another communicates", Long: turns.CrossoverHelp,
		Example: "  oraccl crossover vgg16=67ms/131ms gpt2=414ms/216ms bert=166ms/133ms -o turns.json\n  oraccl verify turns.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := checkTimeLimit(limit); err != nil {
				return err
			}
			if asked.Switch, err = model.ParseTime(change); err != nil {
				return fmt.Errorf("--switch: %w", err)
			}
			if asked.Iterations < 0 {
				return fmt.Errorf("--iterations: %d, want 1 or more", asked.Iterations)
			}
			ctx, done := session.Of(cmd.Context()).Limited(cmd.Context(), limit)
			defer done()
			if topology != "" {
				if asked.Topology, err = loadTopology(ctx, topology, "", ""); err != nil {
					return err
				}
			}
			enter(cmd, "scheduling")
			out.To = cmd.OutOrStdout()
			return turns.Crossover(ctx, args, asked, out)
		},
	}
	f := cmd.Flags()
	f.StringVar(&asked.Only, "jobs", "", "the `names` of the jobs to take, with commas, each as often as it is named: vgg16:32,gpt2; default: all")
	f.StringVar(&asked.Rates, "rates", "", "`NAME=N` with commas: jobs with several iterations a period; default: one")
	f.IntVar(&asked.Iterations, "iterations", 0, "how many iterations each job does; default: for ever")
	f.StringVar(&topology, "topology", "", "the `network`, a name or a file, on which buckets with a size are all-reduced; one bucket has it at a time")
	f.StringVar(&change, "switch", "0", "`time` that it costs to switch to another job, such as 5ms; it is added to each computation")
	f.StringVar(&out.Picture, "picture", "", "write the picture of GPUs and network over time to this `file`, as SVG")
	f.StringVarP(&out.File, "output", "o", "", "write the schedule to this `file`, for verify")
	f.StringVar(&out.Jobs, "write-workload", "", "write the jobs as a workload to this `file`, for solve, gap and bound")
	f.StringVar(&out.Proofs, "proofs", "", "write the workload, the schedule, the bound and what is claimed of them to this `directory`, for check")
	addTimeLimit(cmd, &limit, time.Minute, "wall `time` for scheduling and verification")
	f.BoolVar(&out.JSON, "json", false, "print JSON, schema oraccl/crossover/1")
	return cmd
}
