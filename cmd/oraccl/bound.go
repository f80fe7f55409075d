package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/session"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
)

func newBound() *cobra.Command {
	var in problemFlags
	var out, problem string
	var limit time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bound TOPO --collective C",
		Short: "Lower bounds on the makespan, with certificates",
		Long: `bound prints lower bounds on the makespan of all schedules. The certificate of each
is checked in exact arithmetic before it is printed; -o writes the best one to a
file for check. Without --chunks a bound holds for every number and size of chunks. Each kind gets an equal share of the time that is left; when
the time limit is reached, or after Ctrl-C, the best bounds found by then are printed,
and the exit status is 3.

With a range for --alpha or --bandwidth, such as 600ns..900ns or nic=20GB/s..25GB/s, the bounds are
those of the fastest network of the range, which hold for all others, too.

In place of TOPO may stand the file of a workload, several operations over groups of ranks.`,
		Example: "  oraccl bound dgx1 --collective allgather --size 8MiB -o bound.json\n" +
			"  oraccl bound dgx1 --collective alltoall --write-problem problem.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			several := ofWorkload{flags: []string{"output", "time-limit", "json"}, bound: true, out: out, limit: limit, asJSON: asJSON}
			if done, err := several.run(cmd, args); done {
				return err
			}
			p, ctx, done, err := in.begin(cmd, args, limit, "bounding")
			if err != nil {
				return err
			}
			defer done()
			if problem != "" {
				if err := files.Write(problem, func(w io.Writer) error { return native.WriteProblem(w, p) }); err != nil {
					return err
				}
			}
			all, stop, err := boundsOf(ctx, p)
			if err != nil {
				return err
			}
			var throughout *certify.Throughout
			if ranges := in.uncertain(cmd.Context(), args); ranges != nil {
				all = slices.DeleteFunc(all, func(c *model.Certificate) bool { return !certify.HoldsThroughout(c) })
				if throughout, err = ranges.Bounds(ctx, all); err != nil {
					return err
				}
			}
			if out != "" {
				if err := files.Write(out, func(w io.Writer) error { return native.WriteCertificate(w, all[0]) }); err != nil {
					return err
				}
			}
			err = session.Of(ctx).Report(func() error {
				if asJSON {
					j := report.BoundsToJSON(p, all, stop)
					j.Throughout = report.ThroughoutToJSON(throughout)
					return report.PrintJSON(cmd.OutOrStdout(), j)
				}
				report.PrintBounds(cmd.OutOrStdout(), p, all)
				report.PrintThroughout(cmd.OutOrStdout(), throughout)
				if stop != 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "\nThese are the best bounds found in the time: %s.\n", report.Why(stop))
				}
				if out != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "\nwritten to %s\n", quote.Name(out))
				}
				return nil
			})
			if err == nil && stop != 0 {
				return exit.Status(exit.Unknown)
			}
			return err
		},
	}
	in.figure = func(r instance.Range) int64 { return r.Fast }
	in.addFlags(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the best bound's certificate to this `file`")
	cmd.Flags().StringVar(&problem, "write-problem", "", "write the problem, with its topology and sizes, to this `file`, which --problem takes")
	addTimeLimit(cmd, &limit, time.Minute, "wall `time` for all kinds of bounds together")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/bound/1")
	return cmd
}

// boundsOf returns what certify.Bounds does. That there is none is an error.
func boundsOf(ctx context.Context, p *model.Problem) ([]*model.Certificate, solve.Stop, error) {
	all, stop, err := certify.Bounds(ctx, p)
	switch {
	case err != nil:
	case len(all) == 0 && stop != 0:
		err = exit.Early(fmt.Errorf("no lower bound was found for %v before %s", p, report.Why(stop)))
	case len(all) == 0:
		err = fmt.Errorf("no lower bound above zero for %v", p)
	}
	return all, stop, err
}
