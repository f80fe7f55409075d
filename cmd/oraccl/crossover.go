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
	var change, topology, picture string
	cmd := sharing("crossover JOBS...", "Training jobs that share GPUs in turns: one computes while another communicates", turns.CrossoverHelp,
		"  oraccl crossover vgg16=67ms/131ms gpt2=414ms/216ms bert=166ms/133ms -o turns.json\n  oraccl verify turns.json",
		func(cmd *cobra.Command, args []string, out turns.Output) (err error) {
			if asked.Switch, err = model.ParseTime(change); err != nil {
				return fmt.Errorf("--switch: %w", err)
			}
			if asked.Iterations < 0 {
				return fmt.Errorf("--iterations: %d, want 1 or more", asked.Iterations)
			}
			if topology != "" {
				if asked.Topology, err = loadTopology(cmd.Context(), topology, "", ""); err != nil {
					return err
				}
			}
			out.Picture = picture
			return turns.Crossover(cmd.Context(), args, asked, out)
		})
	cmd.Args = cobra.MinimumNArgs(1)
	f := cmd.Flags()
	f.StringVar(&asked.Only, "jobs", "", "the `names` of the jobs to take, with commas, each as often as it is named: vgg16:32,gpt2; default: all")
	f.StringVar(&asked.Rates, "rates", "", "`NAME=N` with commas: jobs with several iterations a period; default: one")
	f.IntVar(&asked.Iterations, "iterations", 0, "how many iterations each job does; default: for ever")
	f.StringVar(&topology, "topology", "", "the `network`, a name or a file, on which buckets with a size are all-reduced; one bucket has it at a time")
	f.StringVar(&change, "switch", "0", "`time` that it costs to switch to another job, such as 5ms; it is added to each computation")
	f.StringVar(&picture, "picture", "", "write the picture of GPUs and network over time to this `file`, as SVG")
	return cmd
}

func newWorkload() *cobra.Command {
	cmd := sharing("workload FILE", "Several operations over groups of ranks: a schedule of all of them, verified, with bounds", turns.WorkloadHelp,
		"  oraccl crossover A=7ms/4ms B=5ms/6ms --iterations 2 -o turns.json\n  oraccl workload turns.json -o again.json",
		func(cmd *cobra.Command, args []string, out turns.Output) error {
			return turns.Workload(cmd.Context(), args[0], out)
		})
	cmd.Args = cobra.ExactArgs(1)
	return cmd
}

// sharing returns a verb about workloads, with the flags that both have.
func sharing(use, short, long, example string, run func(*cobra.Command, []string, turns.Output) error) *cobra.Command {
	var out turns.Output
	var limit time.Duration
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Example: example, RunE: func(cmd *cobra.Command, args []string) error {
		if err := checkTimeLimit(limit); err != nil {
			return err
		}
		ctx, done := session.Of(cmd.Context()).Limited(cmd.Context(), limit)
		defer done()
		cmd.SetContext(ctx)
		enter(cmd, "scheduling")
		out.To = cmd.OutOrStdout()
		return run(cmd, args, out)
	}}
	cmd.Flags().StringVarP(&out.File, "output", "o", "", "write the schedule to this `file`, for verify")
	cmd.Flags().StringVar(&out.Proofs, "proofs", "", "write the workload, the schedule, the bound and what is claimed of them to this `directory`, for check")
	addTimeLimit(cmd, &limit, time.Minute, "wall `time` for scheduling and verification")
	cmd.Flags().BoolVar(&out.JSON, "json", false, "print JSON")
	return cmd
}
