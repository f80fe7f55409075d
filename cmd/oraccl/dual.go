package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/dual"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// dualTime is how long at most a bound by prices at instants is looked for.
const dualTime = 10 * time.Second

// dualBound returns the best certificate of kind lp-dual that beats what is known, as far
// as one is found within the limits, or nil. below is a makespan that is reached, beyond
// which there is nothing to find, or 0. The bound is what the checker finds the witness
// to yield, and the certificate has passed its check.
func dualBound(ctx context.Context, p *model.Problem, known, below model.Time, limit time.Duration) (*model.Certificate, error) {
	if p.Chunks == nil || below > 0 && known >= below {
		return nil, nil
	}
	found, err := dual.Find(ctx, p, dual.Options{TimeLimit: min(limit, dualTime), Known: known, Below: below})
	if err != nil && !errors.Is(err, solve.ErrNotServed) && len(found) == 0 {
		return nil, err
	}
	var best *model.Certificate
	for _, f := range found {
		c := &model.Certificate{Problem: p, Witness: f.Witness}
		yield, err := cert.Yield(context.WithoutCancel(ctx), c)
		if err != nil {
			return nil, fmt.Errorf("a witness of kind %s is none: %w", f.Witness.Kind(), err)
		}
		if yield > known && yield < model.MaxTime {
			c.Bound, known, best = yield, yield, c
		}
	}
	if best == nil {
		return nil, nil
	}
	if v := cert.Check(context.WithoutCancel(ctx), best); v.Outcome != verify.Proved {
		return nil, fmt.Errorf("the %s bound of %v failed its check and is not used: %s", best.Witness.Kind(), best.Bound, v.Reason)
	}
	return best, nil
}

// improved returns a certificate of kind lp-dual if one is found that beats c for the cut
// of p, and c otherwise. Nothing is looked for where a row's makespan meets c already.
func (e *evaluator) improved(ctx context.Context, c *model.Certificate, p *model.Problem, rows []*row) (*model.Certificate, error) {
	known, below := model.Time(0), model.Time(0)
	if c != nil {
		known = c.Bound
	}
	for _, r := range rows {
		if r.outcome() == verify.Proved && slices.Equal(r.result.Problem.Chunks, p.Chunks) && (below == 0 || r.makespan < below) {
			below = r.makespan
		}
	}
	if ctx.Err() != nil || below == 0 {
		return c, nil
	}
	d, err := dualBound(ctx, p, known, below, e.options.TimeLimit)
	if d == nil {
		d = c
	}
	return d, err
}
