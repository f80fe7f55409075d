package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"

	"github.com/spf13/cobra"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// The JSON of throughput, schema oraccl/throughput/1.
type throughputJSON struct {
	Schema      string     `json:"schema"`
	Topology    string     `json:"topology"`
	Collective  string     `json:"collective"`
	Ranks       int        `json:"ranks"`
	SizeBytes   int64      `json:"size_bytes"`
	Microsecs   float64    `json:"time_us"`          // in the fluid limit
	AlgbwGbps   float64    `json:"algbw_gbps"`       //
	Exact       string     `json:"seconds_per_byte"` // as a fraction; empty where only floating point knows
	Status      string     `json:"status"`           // what the number is: see the text
	Routes      []string   `json:"computed_by"`      // independent computations that agree
	Cut         *cutJSON   `json:"cut"`              // what binds, where it is a cut
	Bound       *boundJSON `json:"bound"`            // of the size, with latencies; checked
	Seconds     float64    `json:"seconds"`          // that it took
	Note        string     `json:"note,omitempty"`   //
	certificate *model.Certificate
}

// cutJSON is a set of nodes and what leaves it.
type cutJSON struct {
	Nodes     []int `json:"nodes"`
	Shares    int64 `json:"shares"` // of Of equal ones must cross
	Of        int64 `json:"of"`
	Bandwidth int64 `json:"bandwidth_bytes_per_second"`
}

func newThroughput() *cobra.Command {
	var in instance
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "throughput TOPO --collective C",
		Short: "How fast a collective can be in the fluid limit, and what binds",
		Long: `throughput says how many bytes of the buffer can pass in a second where latencies
vanish and chunks are infinitely divisible: no schedule of any number of chunks is
faster.

For allgather, reducescatter, broadcast and reduce the number is exact. It is computed
twice, by minimum cuts in whole numbers and, up to 64 ranks, by linear programs, which
must agree. For alltoall it is a maximum concurrent flow by HiGHS, with an exact bound
from its dual. For allreduce it is the best that in-trees and out-trees can do, by HiGHS;
other shapes of algorithms have only the bound below it.`,
		Example: "  oraccl throughput dgx1 --collective allgather\n  oraccl throughput torus:8x8 --collective reducescatter --size 1GiB",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := in.problem(args[0])
			if err != nil {
				return err
			}
			j, err := throughput(cmd.Context(), p)
			if err != nil {
				if errors.Is(err, solve.ErrNotServed) {
					err = errors.New(err.Error())
				}
				return err
			}
			if out != "" {
				if j.certificate == nil {
					return errors.New("-o: there is no certificate")
				}
				if err := writeFile(out, func(w io.Writer) error { return native.WriteCertificate(w, j.certificate) }); err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), j)
			}
			j.print(cmd.OutOrStdout(), p)
			return nil
		},
	}
	in.addFlags(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the certificate of the bound to this `file`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, schema oraccl/throughput/1")
	return cmd
}

// maxProgrammed is for how many ranks the linear programs run beside the cuts.
const maxProgrammed = 64

// throughput computes the fluid limit of p, whose cut, latencies and late ranks only the
// bound looks at.
func throughput(ctx context.Context, p *model.Problem) (*throughputJSON, error) {
	begin := time.Now()
	j := &throughputJSON{Schema: "oraccl/throughput/1", Topology: p.Topology.Name, Collective: p.Collective.Kind.String(),
		Ranks: len(p.Members()), SizeBytes: p.Size}
	var witness model.Witness
	var err error
	switch p.Collective.Kind {
	case model.AllToAll:
		witness, err = j.allToAll(ctx, p)
	case model.AllReduce:
		err = j.allReduce(ctx, p)
	case model.AllGather, model.ReduceScatter, model.Broadcast, model.Reduce:
		witness, err = j.cut(ctx, p)
	default:
		return nil, fmt.Errorf("--collective: throughput serves broadcast, reduce, allgather, reducescatter, allreduce and alltoall, not %v", p.Collective.Kind)
	}
	if err != nil {
		return nil, err
	}
	if j.certificate, err = boundBy(ctx, p, witness); err != nil {
		return nil, err
	}
	j.Bound = boundToJSON(j.certificate)
	j.Microsecs = float64(p.Size) / j.AlgbwGbps / 1e3
	j.Seconds = time.Since(begin).Seconds()
	return j, nil
}

func (j *throughputJSON) cut(ctx context.Context, p *model.Problem) (model.Witness, error) {
	l, err := fluid.Rate(ctx, p)
	if err != nil {
		return nil, err
	}
	j.Status, j.Routes = "exact", []string{"minimum cuts"}
	j.Exact = l.TimeOf(1).RatString()
	j.AlgbwGbps, _ = new(big.Rat).Quo(l.Algbw(), big.NewRat(1e9, 1)).Float64()
	j.Cut = &cutJSON{l.Nodes, l.Shares, l.Of, l.Bandwidth}
	if len(p.Members()) > maxProgrammed {
		j.Note = fmt.Sprintf("the linear programs were left out: %d ranks, at most %d", len(p.Members()), maxProgrammed)
		return l.Witness(), nil
	}
	other, _, err := fluid.RateByLP(ctx, p)
	if errors.Is(err, highs.ErrNotInBuild) {
		j.Note = "the linear programs were left out: " + highs.ErrNotInBuild.Error()
		return l.Witness(), nil
	}
	if err != nil {
		return nil, err
	}
	if l.TimeOf(1).Cmp(other.TimeOf(1)) != 0 {
		return nil, fmt.Errorf("minimum cuts give %s s a byte and linear programs %s: one of the two is wrong; please report this", l.TimeOf(1).RatString(), other.TimeOf(1).RatString())
	}
	j.Routes = append(j.Routes, "linear programs")
	return l.Witness(), nil
}

func (j *throughputJSON) allToAll(ctx context.Context, p *model.Problem) (model.Witness, error) {
	c, err := fluid.AllToAll(ctx, p)
	if err != nil {
		return nil, err
	}
	j.AlgbwGbps, j.Status, j.Routes = c.Algbw/1e9, "solver", []string{"concurrent flow"}
	if c.Bound == nil {
		return nil, nil
	}
	if exact, _ := c.Bound.Float64(); exact < c.Algbw*(1+1e-9) {
		j.AlgbwGbps, j.Status = exact/1e9, "exact dual"
		j.Exact = new(big.Rat).Inv(c.Bound).RatString()
	}
	return c.Prices, nil
}

func (j *throughputJSON) allReduce(ctx context.Context, p *model.Problem) error {
	algbw, err := fluid.AllReduce(ctx, p)
	j.AlgbwGbps, j.Status, j.Routes = algbw/1e9, "in-trees and out-trees, solver", []string{"linear program"}
	return err
}

// boundBy returns the best checked bound of p: that of witness, if there is one, or another.
func boundBy(ctx context.Context, p *model.Problem, witness model.Witness) (*model.Certificate, error) {
	best, err := certify.Bound(ctx, p)
	if err != nil || witness == nil {
		return best, err
	}
	c := &model.Certificate{Problem: p, Witness: witness}
	if c.Bound, err = cert.Yield(context.WithoutCancel(ctx), c); err != nil {
		return nil, err
	}
	if v := cert.Check(context.WithoutCancel(ctx), c); v.Outcome != verify.Proved {
		return nil, fmt.Errorf("the %s bound of %v failed its check and is not used: %s", c.Witness.Kind(), c.Bound, v.Reason)
	}
	if best == nil || c.Bound > best.Bound {
		return c, nil
	}
	return best, nil
}

func (j *throughputJSON) print(w io.Writer, p *model.Problem) {
	fmt.Fprintf(w, "%v\n", p)
	what := map[string]string{
		"exact":      "exactly, by " + joined(j.Routes),
		"exact dual": "by a concurrent flow, with an exact dual of the same value",
		"solver":     "by a concurrent flow, by the solver's word",
	}[j.Status]
	if what == "" {
		what = "by in-trees and out-trees, by the solver's word"
	}
	fmt.Fprintf(w, "fluid limit  %.3f us, %.3f GB/s  %s\n", j.Microsecs, j.AlgbwGbps, what)
	if j.Cut != nil {
		fmt.Fprintf(w, "Limit: %d of %d shares have to leave %s over %.3f GB/s.\n", j.Cut.Shares, j.Cut.Of, nodeSet(p.Topology, j.Cut.Nodes), float64(j.Cut.Bandwidth)/1e9)
	}
	fmt.Fprintln(w, boundLine(j.certificate))
	if j.Note != "" {
		fmt.Fprintln(w, j.Note)
	}
}

func joined(words []string) string {
	if len(words) == 2 {
		return words[0] + " and by " + words[1]
	}
	return words[0]
}
