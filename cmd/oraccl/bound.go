package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/solve/certify"
)

// The JSON of bound, schema oraccl/bound/1.
type boundsJSON struct {
	Schema     string       `json:"schema"`
	Topology   string       `json:"topology"`
	Collective string       `json:"collective"`
	Ranks      int          `json:"ranks"`
	SizeBytes  int64        `json:"size_bytes"`
	Cost       string       `json:"cost"`
	Bound      *boundJSON   `json:"bound"`
	All        []*boundJSON `json:"all"`
}

func newBound() *cobra.Command {
	var in problemFlags
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bound TOPO --collective C",
		Short: "Lower bounds on the makespan, with certificates",
		Long: `bound prints the lower bounds on the makespan of every schedule, each with a
certificate that was checked in exact arithmetic before it is printed, and can
write the best one to a file for check. Without --chunks a bound holds for every
number and size of chunks.`,
		Example: "  oraccl bound dgx1 --collective allgather --size 8MiB -o bound.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := in.problem(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			all, err := certify.Bounds(cmd.Context(), p)
			if err == nil && len(all) == 0 {
				err = fmt.Errorf("no lower bound above zero for %v", p)
			}
			if err != nil {
				return err
			}
			if out != "" {
				if err := writeFile(out, func(w io.Writer) error { return native.WriteCertificate(w, all[0]) }); err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), boundsToJSON(p, all))
			}
			printBounds(cmd.OutOrStdout(), p, all)
			if out != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "\nwritten to %s\n", out)
			}
			return nil
		},
	}
	in.addFlags(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the best bound's certificate to this `file`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/bound/1")
	return cmd
}

func boundsToJSON(p *model.Problem, all []*model.Certificate) boundsJSON {
	j := boundsJSON{
		Schema: "oraccl/bound/1", Topology: p.Topology.Name, Collective: p.Collective.Kind.String(),
		Ranks: len(p.Members()), SizeBytes: p.Size, Cost: p.Cost.String(), Bound: boundToJSON(all[0]),
	}
	for _, c := range all {
		j.All = append(j.All, boundToJSON(c))
	}
	return j
}

func printBounds(w io.Writer, p *model.Problem, all []*model.Certificate) {
	fmt.Fprintln(w, p)
	fmt.Fprintln(w, boundLine(all[0]))
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "bound us\tkind\talgbw at most GB/s\twhy")
	for _, c := range all {
		fmt.Fprintf(t, "%s\t%s\t%.3f\t%s\n", micros(c.Bound), c.Witness.Kind(), gbps(p.Size, c.Bound), describe(c))
	}
	t.Flush()
}
