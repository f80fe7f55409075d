package forest

import (
	"context"
	"errors"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/place"
)

// flow is what a fluid optimum was split into; it can be cut more or less finely.
type flow interface {
	// cut returns p's space in chunks, pieces for each part with a flow of its own.
	cut(p *model.Problem, pieces int64) []model.Chunk
	// program writes the transfers of p, which has chunks: those of cut or others.
	program(p *model.Problem, own bool) *place.Program
	// most is how many transfers are placed at most, but for the first number of chunks.
	most() int
	// String says what there is.
	String() string
}

// stopped is the result of a method that did not get as far as a schedule.
func stopped(ctx context.Context, p *model.Problem) solve.Result {
	return solve.Result{Problem: solve.Cut(p, 1), Stop: stopOf(ctx)}
}

func stopOf(ctx context.Context) solve.Stop {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return solve.TimeLimit
	}
	return solve.Interrupted
}

// pipelined returns the best schedule over several numbers of chunks: they are doubled until
// that gains less than a thousandth twice.
func pipelined(ctx context.Context, p *model.Problem, o solve.Options, f flow) (solve.Result, error) {
	best := solve.Result{Stop: solve.Done, Note: f.String()}
	fixed := p.Chunks != nil || o.Chunks > 0
	for pieces, idle := int64(1), 0; idle < 2; pieces *= 2 {
		q := *p
		if fixed {
			q = *solve.Cut(p, o.Chunks)
		} else {
			q.Chunks = f.cut(p, pieces)
		}
		g := f.program(&q, !fixed)
		if best.Schedule != nil && g.Len() > f.most() {
			break
		}
		s, err := placed(&q, g)
		if err != nil {
			return solve.Result{}, solve.NotServed("%v", err)
		}
		old, end := model.MaxTime, q.Makespan(s)
		if best.Schedule != nil {
			old = best.Makespan()
		}
		if idle++; end < old {
			best.Problem, best.Schedule = &q, s
			if end < old-old/1000 {
				idle = 0
			}
		}
		if ctx.Err() != nil {
			best.Stop = stopOf(ctx)
			break
		}
		if fixed || end <= o.Bound {
			break
		}
	}
	return best, nil
}

// fewMoves is up to how many of them a second order is tried.
const fewMoves = 1 << 13

// placed places a program in its order or, if there are few moves and that is shorter, what
// can start first first.
func placed(p *model.Problem, g *place.Program) (*model.Schedule, error) {
	s, err := g.PlaceInOrder()
	if err != nil || g.Len() > fewMoves {
		return s, err
	}
	other, err := g.Place()
	if err == nil && p.Makespan(other) < p.Makespan(s) {
		s = other
	}
	return s, err
}
