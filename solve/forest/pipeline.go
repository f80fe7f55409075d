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
	// order or several, or in that with an index alone. The programs end with ctx.
	programs(ctx context.Context, p *model.Problem, own bool, order int) []*place.Program
	// rate tells flows of one problem apart: the larger it is, the shorter the time if chunks
	// are fine enough.
	rate() float64
	// most is how many transfers are placed at most, except for the first number of chunks.
	most() int
	// orderly reports whether the order that is the best of many moves is the best of more, and
	// finer chunks are better until they are not.
	orderly() bool
	// String states what there is.
	String() string
}

// tried is a flow with what came of it so far.
type tried struct {
	flow
	ends, before model.Time // of the last number of chunks and of half as many; MaxTime: of none
	order        int        // the best of its orders where only that is placed; all: every one is
}

// all is no order's index.
const all = -1

// hopeless reports whether a flow that is behind a makespan will hardly beat it with finer chunks:
// what they save is about halved each time.
func (f *tried) hopeless(best model.Time) bool {
	return f.before != model.MaxTime && f.ends-2*max(0, f.before-f.ends) > best
}

// someCuts is how many pieces each part has at least before a flow is thought hopeless, and manyCuts
// those of one that is not orderly.
const someCuts, manyCuts = 8, 32

// tells reports whether what came of that number of pieces tells what will come of more.
func (f *tried) tells(pieces int64) bool {
	return pieces >= manyCuts || pieces >= someCuts && f.orderly()
}

// fixed reports whether p or o leaves no choice of the cut.
func fixed(p *model.Problem, o solve.Options) bool {
	return p.Chunks != nil || o.Chunks > 0 || !p.Collective.Cuttable()
}

// pipelined returns the best schedule over several numbers of chunks: they are doubled until
// that gains less than a thousandth twice. A flow is left out where one of a larger rate is
// better already, and where finer chunks do not make it the best.
func pipelined(ctx context.Context, p *model.Problem, o solve.Options, list []flow) (solve.Result, error) {
	best := solve.Result{Stop: solve.Done}
	fixed := fixed(p, o)
	var flows []*tried
	for _, f := range list {
		flows = append(flows, &tried{f, model.MaxTime, model.MaxTime, all})
	}
	for pieces, idle := int64(1), 0; idle < 2; pieces *= 2 {
		old := model.MaxTime
		if best.Schedule != nil {
			old = best.Makespan()
		}
		for _, f := range flows {
			q := *p
			if fixed {
				q = *solve.Cut(p, o.Chunks)
			} else {
				q.Chunks = f.cut(p, pieces)
			}
			orders := f.programs(ctx, &q, !fixed, f.order)
			if f.ends, f.before = model.MaxTime, f.ends; best.Schedule != nil && (orders[0].Len() > f.most() || ctx.Err() != nil) {
				continue
			}
			s, order, err := placed(ctx, &q, o, old, orders...)
			if ctx.Err() != nil && s == nil {
				break
			}
			if err != nil {
				return solve.Result{}, solve.NotServed("%v", err)
			}
			if f.order == all && orders[0].Len() > fewMoves && f.orderly() {
				f.order = order
			}
			if f.ends = q.Makespan(s); best.Schedule == nil || f.ends < best.Makespan() {
				best.Problem, best.Schedule, best.Note = &q, s, f.String()
			}
		}
		if stop := solve.StopOf(ctx); stop != 0 {
			if best.Schedule == nil {
				return solve.Stopped(ctx, p), nil
			}
			best.Stop = stop
			break
		}
		mayTell := func(f *tried) bool { return f.orderly() || f.tells(pieces) }
		if idle++; best.Makespan() < old-old/1000 || !slices.ContainsFunc(flows, mayTell) {
			idle = 0
		}
		if fixed || best.Makespan() <= o.Bound {
			break
		}
		faster := func(f *tried) bool {
			return slices.ContainsFunc(flows, func(g *tried) bool { return g.rate() > f.rate() && g.ends < f.ends })
		}
		var left []*tried
		for _, f := range flows {
			if f.ends < model.MaxTime && !faster(f) && !(f.tells(pieces) && f.hopeless(best.Makespan())) {
				left = append(left, f)
			}
		}
		if flows = left; len(flows) == 0 {
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
// there are few, what can start first first; justified if that decides whether the makespan old is beaten; and
// which of the orders is the best. When ctx is done it returns the best by then, or its error.
func placed(ctx context.Context, p *model.Problem, o solve.Options, old model.Time, programs ...*place.Program) (best *model.Schedule, order int, err error) {
	better := func(s *model.Schedule, err2 error) bool {
		if err2 != nil {
			err = err2
			return false
		}
		if best != nil && p.Makespan(s) >= p.Makespan(best) {
			return false
		}
		best = s
		return true
	}
	for i, g := range programs {
		if better(g.PlaceInOrder()) {
			order = i
		}
	}
	if g := programs[0]; g.Len() <= fewMoves {
		better(g.Place())
	}
	if ctx.Err() != nil && best != nil {
		return best, order, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if end := p.Makespan(best); o.Effort >= 0 && end-end/10 <= old && (old == model.MaxTime || end >= old-old/50) {
		best = improve.Schedule(ctx, p, best, improve.Options{Effort: -1, Bound: o.Bound})
	}
	return best, order, err
}
