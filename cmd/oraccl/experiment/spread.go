package experiment

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// spread measures how many rounds a problem whose last rank is late has after its arrival at
// least, by a certificate of its own that is checked.
func spread() *Measure {
	return &Measure{"rounds that are needed at least after the last rank, which is late, has come", []string{"rounds", "kind", "reason"}, "",
		func(ctx context.Context, x *Runner, s spec) (expression.Record, error) {
			p, err := s.problem(ctx)
			if err != nil {
				return nil, err
			}
			w := model.Spread{Source: p.Topology.Ranks - 1}
			c := &model.Certificate{Problem: p, Witness: w}
			if c.Bound, err = cert.Yield(ctx, c); err != nil {
				return nil, err
			}
			if v := cert.Check(ctx, c); v.Outcome != verify.Proved {
				return nil, fmt.Errorf("the %s bound of %v failed its check: %s", w.Kind(), p, v.Reason)
			}
			var e evidence
			e.bound(c)
			if err := x.rests(ctx, s.label("spread"), "spread "+s.key(), &e); err != nil {
				return nil, err
			}
			rounds, err := cert.SpreadRounds(ctx, p, w)
			return expression.Record{"rounds": expression.Number(rounds), "kind": expression.Text(w.Kind()), "reason": expression.Text("")}, err
		}}
}
