package experiment

import (
	"context"
	"fmt"
	"math/big"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
	"github.com/oraccl/oraccl/solve/certify"
)

// rate is the fluid limit of an instance.
type rate struct {
	PerByte *big.Rat // seconds
	Kind    string   // of the certificate
}

// throughput measures how fast a collective can be where latencies vanish and chunks are
// infinitely divisible. It fails unless the rate is exact, by two computations that agree
// where there are two, and certified.
func throughput() *Measure {
	return &Measure{"seconds per byte and bytes per second in the fluid limit, exact and certified", []string{"seconds_per_byte", "algbw", "kind", "reason"},
		"the bound is kept with its certificate; that the rate is reached rests on two computations that agree", fluid}
}

func fluid(ctx context.Context, x *Runner, s spec) (expression.Record, error) {
	k, err := keep(ctx, x, s.label("throughput"), "throughput "+s.key(), func(e *evidence) (*rate, error) {
		p, err := s.problem(ctx)
		if err != nil {
			return nil, err
		}
		limit, err := certify.Throughput(ctx, p)
		if err != nil {
			return nil, err
		}
		if limit.Status != certify.FluidExact || len(limit.By) < 2 && limit.Note == "" {
			return nil, fmt.Errorf("%s: the rate is not exact by two computations", p.Topology.Name)
		}
		if limit.Rate == nil {
			return nil, fmt.Errorf("%s: the rate is not certified", p.Topology.Name)
		}
		// The certificate bounds the time of the whole buffer, rounded up to a picosecond.
		exact := new(big.Rat).Mul(limit.Exact, new(big.Rat).SetInt64(p.Size))
		exact.Mul(exact, big.NewRat(1e12, 1))
		if bound := new(big.Rat).SetInt64(int64(limit.Rate.Bound)); bound.Cmp(exact) < 0 || bound.Cmp(exact.Add(exact, big.NewRat(1, 1))) > 0 {
			return nil, fmt.Errorf("%s: the certified bound of %v is not that of the rate", p.Topology.Name, limit.Rate.Bound)
		}
		e.bound(limit.Rate)
		return &rate{limit.Exact, limit.Rate.Witness.Kind()}, nil
	})
	if err != nil {
		return nil, err
	}
	return expression.Record{
		"seconds_per_byte": expression.Fraction(k.PerByte), "algbw": expression.Fraction(new(big.Rat).Inv(k.PerByte)),
		"kind": expression.Text(k.Kind), "reason": expression.Text(""),
	}, nil
}
