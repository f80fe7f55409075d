package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

func newRepro() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "repro NAME",
		Short:   "Published results beside ours and the certified bound",
		Example: "  oraccl repro stragglar --ranks 4,8 --rounds-to 8",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newReproTECCL(), newReproStragglar(), newReproTACOS())
	return cmd
}

// published is a transfer time of TE-CCL's (Liu et al., SIGCOMM 2024), from the results
// in its repository: the best of its variants.
type published struct {
	topology   string // as ours is called
	collective model.Kind
	size       string
	bytes      int64
	seconds    float64
	variant    string
}

func newReproTECCL() *cobra.Command {
	var file, methods string
	var work effort
	cmd := &cobra.Command{
		Use:   "teccl --published FILE.csv",
		Short: "TE-CCL's schedules of NDv2 and DGX-2: the bound, ours, theirs",
		Long: `teccl reads a table of TE-CCL's results with the columns topology, chassis, collective,
epoch, size and 4-Collective_Finish_Time, as its repository has them, and sets beside
the best of each instance the certified bound and the best of our methods, proved by
both engines. One chunk for each rank, or pair of ranks, as there; sizes are decimal.

Runs that stopped early are left out: those of DGX-2 hold twice the data that their
names say. So are all-to-alls and all-gathers among NDv2's 2 chassis, whose files leave
out a rank.`,
		Example: "  printf 'topology,chassis,collective,epoch,size,4-Collective_Finish_Time\\nNDv2,4,AllGather,Slow,1GB,0.065\\n' > teccl.csv\n" +
			"  oraccl repro teccl --published teccl.csv --methods tacos",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return errors.New("--published: want the table of TE-CCL's results")
			}
			in, err := os.Open(file)
			if err != nil {
				return err
			}
			defer in.Close()
			rows, err := readTECCL(file, in)
			if err != nil {
				return err
			}
			e, err := work.evaluator(cmd, methods)
			if err != nil {
				return err
			}
			defer e.close()
			return e.printTECCL(cmd.Context(), cmd.OutOrStdout(), rows)
		},
	}
	work.addFlags(cmd)
	cmd.Flags().StringVar(&file, "published", "", "the `file` with the published results")
	cmd.Flags().StringVar(&methods, "methods", "tacos,cayley,paths,forest,direct", "our methods, separated by commas")
	return cmd
}

// readTECCL keeps the best of each instance, in the order of the file.
func readTECCL(name string, r io.Reader) ([]published, error) {
	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var at [6]int
	for i, column := range []string{"topology", "chassis", "collective", "epoch", "size", "4-Collective_Finish_Time"} {
		if at[i] = slices.Index(head, column); at[i] < 0 {
			return nil, fmt.Errorf("%s:1: no column %q", name, column)
		}
	}
	var all []published
	for {
		line, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		n, _ := c.FieldPos(0)
		field := func(i int) string { return line[at[i]] }
		p := published{topology: strings.ToLower(field(0)) + ":" + field(1), size: field(4), variant: field(3)}
		if strings.Contains(p.variant, "Early_Stop") || p.topology == "ndv2:2" {
			continue
		}
		if p.collective, err = model.ParseKind(strings.ToLower(field(2))); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if p.bytes, err = model.ParseBytes(p.size); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if p.seconds, err = strconv.ParseFloat(field(5), 64); err != nil || !(p.seconds > 0) || p.seconds > 1e6 {
			return nil, fmt.Errorf("%s:%d: a time of %q s", name, n, field(5))
		}
		i := slices.IndexFunc(all, func(q published) bool {
			return q.topology == p.topology && q.collective == p.collective && q.bytes == p.bytes
		})
		switch {
		case i < 0:
			all = append(all, p)
		case p.seconds < all[i].seconds:
			all[i] = p
		}
	}
	slices.SortStableFunc(all, func(a, b published) int {
		return cmp.Or(strings.Compare(b.topology, a.topology), cmp.Compare(a.collective, b.collective), cmp.Compare(a.bytes, b.bytes))
	})
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no instance that can be compared", name)
	}
	return all, nil
}

func (e *evaluator) printTECCL(ctx context.Context, w io.Writer, rows []published) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "topology\tcollective\tsize\tbound us\tours us\tgap\t\tmethod\tTE-CCL us\tgap\tvariant\t")
	for _, x := range rows {
		tp, err := topo.Parse(x.topology, topo.Options{})
		if err != nil {
			return err
		}
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: x.collective}, Size: x.bytes, Cost: model.Pipelined}
		p = p.WithChunks(p.DefaultChunks(1))
		if err := p.Validate(); err != nil {
			return err
		}
		ev, err := e.evaluate(ctx, p)
		if err != nil {
			return err
		}
		best := ev.best()
		if best == nil || best.bound == nil {
			return fmt.Errorf("%v: no proved schedule, or no bound", p)
		}
		theirs := x.seconds * 1e6
		bound := float64(best.bound.Bound) / 1e6
		fmt.Fprintf(t, "%s\t%v\t%s\t%s\t%s\t%.1f%%\t%s\t%s\t%.3f\t%.1f%%\t%s\t\n", x.topology, x.collective, x.size, micros(best.bound.Bound), micros(best.makespan),
			100*gapOf(best.makespan, best.bound.Bound), best.evidence(), best.method, theirs, 100*(theirs/bound-1), strings.ToLower(x.variant))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nTheirs are multiples of an epoch. Where they are below the bound, their model has left\nout latencies that are short beside an epoch (alpha_threshold in their input).")
	return nil
}
