//go:build !js

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/turns"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/machines"
	"github.com/oraccl/oraccl/solve/certify/workloads"
)

func newWorkload() *cobra.Command {
	cmd := &cobra.Command{
		Use: "workload", Short: "Make files of workloads: several operations over groups of ranks",
		Long: `workload makes files of workloads, oraccl/workload/1, from parameters: collectives on groups of ranks,
computations, what each waits for, and what must be where at the end. solve, gap and bound take
such a file in place of a topology. crossover --write-workload makes one of training jobs.`,
		Example: "  oraccl workload summa dgxh100:2 --side 2 --depth 4 --x 1MiB --w 4MiB --y 1MiB -o summa.json\n  oraccl solve summa.json -o timetable.json\n  oraccl verify timetable.json",
	}
	for _, f := range workloads.Families() { // each is a verb, and its parameters are flags
		var cost, out string
		given := map[string]*string{}
		verb := &cobra.Command{
			Use: f.Name + " TOPO", Short: strings.ToUpper(f.Summary[:1]) + f.Summary[1:], Example: fmt.Sprintf("  oraccl workload %s %s -o %[1]s.json", f.Name, f.Example),
			Long: fmt.Sprintf("%s makes %s (%s).", f.Name, f.Summary, f.Source),
			Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				t, err := loadTopology(cmd.Context(), args[0], "", "")
				if err != nil {
					return err
				}
				by, err := model.ParseCostModel(cost)
				if err != nil {
					return err
				}
				w, err := workloads.Make(f.Name, func(name string) string { return *given[name] }, t, by, machines.Ranks(t))
				if err != nil {
					return err
				}
				return turns.WriteWorkload(cmd.OutOrStdout(), out, w)
			},
		}
		for _, p := range f.Parameters {
			flag := strings.ReplaceAll(p.Name, "_", "-")
			given[p.Name] = verb.Flags().String(flag, p.Default, p.Usage)
			if p.Needed() {
				_ = verb.MarkFlagRequired(flag)
			}
		}
		verb.Flags().StringVar(&cost, "cost", model.Pipelined.String(), "what occupies a link: pipelined or blocking")
		verb.Flags().StringVarP(&out, "output", "o", "", "the `file` to write; default: the output")
		cmd.AddCommand(verb)
	}
	return cmd
}
