package forest

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/improve"
	"github.com/oraccl/oraccl/solve/place"
)

// flow is what a fluid optimum was split into; it can be cut more or less finely.
type flow interface {
	// cut returns p's space in chunks, pieces for each part with a flow of its own.
	cut(p *model.Problem, pieces int64) []model.Chunk
	// programs writes the transfers of p, which has chunks: those of cut or others, in one
	// order or several. The programs end with ctx.
	programs(ctx context.Context, p *model.Problem, own bool) []*place.Program
	// rate tells flows of one problem apart: the larger it is, the shorter the time if chunks
	// are fine enough.
	rate() float64
	// most is how many transfers are placed at most, except for the first number of chunks.
	most() int
	// String states what there is.
	String() string
}

// stopped is the result of a method that stopped before it had a schedule.
func stopped(ctx context.Context, p *model.Problem) solve.Result {
	return solve.Result{Problem: solve.Cut(p, 1), Stop: solve.StopOf(ctx)}
}

// pipelined returns the best schedule over several numbers of chunks: they are doubled until
// that gains less than a thousandth twice. A flow is left out where one of a larger rate is
// better already.
func pipelined(ctx context.Context, p *model.Problem, o solve.Options, flows []flow) (solve.Result, error) {
	best := solve.Result{Stop: solve.Done}
	fixed := p.Chunks != nil || o.Chunks > 0 || !p.Collective.Cuttable()
	for pieces, idle := int64(1), 0; idle < 2; pieces *= 2 {
		old := model.MaxTime
		if best.Schedule != nil {
			old = best.Makespan()
		}
		ends := map[flow]model.Time{}
		for _, f := range flows {
			q := *p
			if fixed {
				q = *solve.Cut(p, o.Chunks)
			} else {
				q.Chunks = f.cut(p, pieces)
			}
			orders := f.programs(ctx, &q, !fixed)
			if ends[f] = model.MaxTime; best.Schedule != nil && (orders[0].Len() > f.most() || ctx.Err() != nil) {
				continue
			}
			s, err := placed(ctx, &q, o, old, orders...)
			if ctx.Err() != nil && s == nil {
				break
			}
			if err != nil {
				return solve.Result{}, solve.NotServed("%v", err)
			}
			if ends[f] = q.Makespan(s); best.Schedule == nil || ends[f] < best.Makespan() {
				best.Problem, best.Schedule, best.Note = &q, s, f.String()
			}
		}
		if stop := solve.StopOf(ctx); stop != 0 {
			if best.Schedule == nil {
				return stopped(ctx, p), nil
			}
			best.Stop = stop
			break
		}
		if idle++; best.Makespan() < old-old/1000 {
			idle = 0
		}
		if fixed || best.Makespan() <= o.Bound {
			break
		}
		flows = slices.DeleteFunc(slices.Clone(flows), func(f flow) bool {
			return ends[f] == model.MaxTime || slices.ContainsFunc(flows, func(g flow) bool { return g.rate() > f.rate() && ends[g] < ends[f] })
		})
		if len(flows) == 0 {
			break // there is no room for finer ones
		}
	}
	if len(best.Schedule.Transfers) > improve.MaxRerouted { // it is justified already
		return best, nil
	}
	return improve.Result(ctx, best, o), nil
}

// fewMoves is up to how many of them a second order is tried.
const fewMoves = 1 << 13

// placed returns the best schedule of programs with the same moves: in their orders or, if
// there are few, what can start first first; justified if that may beat the makespan old. When
// ctx is done it returns the best by then, or its error.
func placed(ctx context.Context, p *model.Problem, o solve.Options, old model.Time, programs ...*place.Program) (best *model.Schedule, err error) {
	better := func(s *model.Schedule, err2 error) {
		switch {
		case err2 != nil:
			err = err2
		case best == nil || p.Makespan(s) < p.Makespan(best):
			best = s
		}
	}
	for _, g := range programs {
		better(g.PlaceInOrder())
	}
	if g := programs[0]; g.Len() <= fewMoves {
		better(g.Place())
	}
	if ctx.Err() != nil && best != nil {
		return best, nil
	}
	if err != nil {
		return nil, err
	}
	if end := p.Makespan(best); o.Effort >= 0 && end-end/10 <= old {
		best = improve.Schedule(ctx, p, best, improve.Options{Effort: -1, Bound: o.Bound})
	}
	return best, err
}
