package certify

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// FluidLimit is how fast a collective can be where latencies vanish and chunks are
// infinitely divisible.
type FluidLimit struct {
	Algbw  float64            // bytes of the buffer per second
	Exact  *big.Rat           // seconds per byte; nil: only floating point knows
	Status FluidStatus        // what is certain of the number
	By     []string           // independent computations that agree
	Cut    *fluid.Limit       // the cut that limits; nil: it is no cut
	Bound  *model.Certificate // for the size of the problem, with latencies; checked; nil: none
	Rate   *model.Certificate // that nothing is faster than the limit, for the size of the problem; checked; nil: none
	Note   string             // what was left out, and why

	// Stopped is why the work ended before all was done, 0 if all was. Then the limit may
	// be FluidUnknown, and there may be a larger bound.
	Stopped solve.Stop
}

// FluidStatus is what is certain of a fluid limit.
type FluidStatus string

// The statuses, as they are written in JSON.
const (
	FluidExact  FluidStatus = "exact"                          // computed in whole numbers
	FluidDual   FluidStatus = "exact dual"                     // a solver's, with an exact dual of the same value
	FluidSolver FluidStatus = "solver"                         // a solver's
	FluidTrees  FluidStatus = "in-trees and out-trees, solver" // a solver's, for one shape of algorithms

	FluidUnknown FluidStatus = "unknown" // there was not enough time
)

// maxProgrammed is for how many ranks the linear programs run beside the cuts.
const maxProgrammed = 64

// Throughput computes the fluid limit of p. Only its bound depends on the cut, the latencies
// and the late ranks of p. For an allgather, reducescatter, broadcast or reduce, or a custom
// collective that is like one with parts of their own sizes, it is exact,
// and computed twice, by minimum cuts and, up to 64 ranks, by linear programs; if they differ
// the error is a *verify.Contradiction. An error that matches solve.ErrNotServed means that
// the collective is not served.
//
// When ctx is done it returns what it has within Grace. A quarter of the time until the
// deadline of ctx is kept for the bound.
func Throughput(ctx context.Context, p *model.Problem) (*FluidLimit, error) {
	late, cancel := solve.Grace(ctx, Grace)
	defer cancel()
	if deadline, limited := ctx.Deadline(); limited {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, time.Until(deadline)/4*3)
		defer end()
	}
	f := &FluidLimit{}
	var witness model.Witness
	var err error
	switch p.Collective.Kind {
	case model.AllToAll, model.Gather, model.Scatter:
		witness, err = f.allToAll(ctx, p)
	case model.Custom:
		if witness, err = f.allToAll(ctx, p); errors.Is(err, solve.ErrNotServed) {
			apart := err
			if witness, err = f.cut(ctx, p); errors.Is(err, solve.ErrNotServed) {
				err = solve.NotServed("throughput serves custom collectives whose parts go from one rank to one, or from one to all, or are summed up from all at one; here %v; %v", apart, err)
			}
		}
	case model.AllReduce:
		err = f.allReduce(ctx, p)
	case model.AllGather, model.ReduceScatter, model.Broadcast, model.Reduce:
		witness, err = f.cut(ctx, p)
	default:
		return nil, solve.NotServed("throughput serves the standard collectives and custom ones, not %v", p.Collective.Kind)
	}
	switch stop := solve.StopOf(ctx); {
	case err != nil && stop == 0:
		return nil, err
	case err != nil:
		f, witness = &FluidLimit{Status: FluidUnknown, By: []string{}, Stopped: stop}, nil
	default:
		f.Stopped = stop
	}
	f.Bound, f.Rate, err = boundBy(late, p, witness)
	return f, err
}

func (f *FluidLimit) cut(ctx context.Context, p *model.Problem) (model.Witness, error) {
	l, err := fluid.Rate(ctx, p)
	if err != nil {
		return nil, err
	}
	f.Status, f.By, f.Exact, f.Cut = FluidExact, []string{"minimum cuts"}, l.TimeOf(1), &l
	f.Algbw, _ = l.Algbw().Float64()
	if len(p.Members()) > maxProgrammed {
		f.Note = fmt.Sprintf("the linear programs were left out: %d ranks, at most %d", len(p.Members()), maxProgrammed)
		return l.Witness(), nil
	}
	other, _, err := fluid.RateByLP(ctx, p)
	if errors.Is(err, highs.ErrNotInBuild) {
		f.Note = "the linear programs were left out: " + highs.ErrNotInBuild.Error()
		return l.Witness(), nil
	}
	if err != nil && ctx.Err() != nil {
		f.Note = "the linear programs had not ended in the time"
		return l.Witness(), nil
	}
	if err != nil {
		return nil, err
	}
	if l.TimeOf(1).Cmp(other.TimeOf(1)) != 0 {
		return nil, &verify.Contradiction{What: fmt.Sprintf("minimum cuts give %s s a byte and linear programs %s", l.TimeOf(1).RatString(), other.TimeOf(1).RatString())}
	}
	f.By = append(f.By, "linear programs")
	return l.Witness(), nil
}

func (f *FluidLimit) allToAll(ctx context.Context, p *model.Problem) (model.Witness, error) {
	c, err := fluid.AllToAll(ctx, p)
	if err != nil {
		return nil, err
	}
	f.Algbw, f.Status, f.By = c.Algbw, FluidSolver, []string{"concurrent flow"}
	if c.Bound == nil {
		return nil, nil
	}
	if exact, _ := c.Bound.Float64(); exact < c.Algbw*(1+1e-9) {
		f.Algbw, f.Status, f.Exact = exact, FluidDual, new(big.Rat).Inv(c.Bound)
	}
	return c.Prices, nil
}

func (f *FluidLimit) allReduce(ctx context.Context, p *model.Problem) (err error) {
	f.Status, f.By = FluidTrees, []string{"linear program"}
	f.Algbw, err = fluid.AllReduce(ctx, p)
	return err
}

// boundBy returns the best checked bound of p, that of witness or another, and that of witness,
// if there is one.
func boundBy(ctx context.Context, p *model.Problem, witness model.Witness) (best, rate *model.Certificate, err error) {
	best, err = Bound(ctx, p)
	if err != nil || witness == nil {
		return best, nil, err
	}
	c := &model.Certificate{Problem: p, Witness: witness}
	if c.Bound, err = cert.Yield(ctx, c); err != nil {
		if ctx.Err() != nil {
			return best, nil, nil
		}
		return nil, nil, err
	}
	if c, err = Checked(ctx, c); err != nil {
		return nil, nil, err
	}
	if c != nil && (best == nil || c.Bound > best.Bound) {
		best = c
	}
	return best, c, nil
}
