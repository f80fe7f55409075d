package certify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
)

// Tried is a method of a portfolio that found a schedule.
type Tried struct {
	Method   string
	Makespan model.Time
	Solving  time.Duration
}

// UsuallyEnough is how far above the bound a schedule is at most for which a portfolio does
// not look for a better one: half a percent.
const UsuallyEnough = 0.005

// portfolio runs methods until a proved schedule is within e.Enough of the bound, and proves
// only what may be the best. Quick methods come first: of what these find, only the best is
// proved. Each of the others may use half of the time that is left.
//
// What it answers does not depend on the clock as long as no limit is reached: methods run
// in one order, each ends by itself, and what ends the work is a makespan.
func (e *Evaluator) portfolio(b *solve.Budget, p *model.Problem, methods []solve.Solver, ev *Report) error {
	var quick []*Row
	isQuick := func(m solve.Solver) bool { return m.About().Quick }
	methods = slices.Concat(slices.DeleteFunc(slices.Clone(methods), func(m solve.Solver) bool { return !isQuick(m) }),
		slices.DeleteFunc(slices.Clone(methods), isQuick))
	for _, m := range methods {
		if !isQuick(m) && len(quick) > 0 {
			if err := e.proveBest(b, quick, ev); err != nil {
				return err
			}
			quick = nil
		}
		switch stop := b.Stop(); {
		case e.enough(b, p, ev):
			ev.LeftOut = append(ev.LeftOut, LeftOut{m.Name(), fmt.Sprintf("not needed: %s is within %g %% of the bound", ev.Best().Method, 100*e.Enough), 0})
			continue
		case stop != 0:
			ev.LeftOut = append(ev.LeftOut, LeftOut{m.Name(), tooLate(stop), stop})
			continue
		}
		if reason := e.cannotWin(b, m, p, ev); reason != "" {
			ev.LeftOut = append(ev.LeftOut, LeftOut{m.Name(), reason, 0})
			continue
		}
		share, done := portfolioShare(b, isQuick(m))
		r, err := e.find(share, m, p, ev.Rows)
		done()
		switch {
		case err != nil && (errors.Is(err, solve.ErrNotServed) || len(methods) > 1):
			ev.LeftOut = append(ev.LeftOut, LeftOut{m.Name(), err.Error(), 0})
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", m.Name(), err)
		case r.Result.Schedule == nil:
			ev.LeftOut = append(ev.LeftOut, LeftOut{m.Name(), "found no schedule: " + r.StopReason(), r.Result.Stop})
			continue
		}
		ev.Tried = append(ev.Tried, Tried{m.Name(), r.Makespan, r.Solving})
		quick = append(quick, r)
		if !isQuick(m) {
			if err := e.proveBest(b, quick, ev); err != nil {
				return err
			}
			quick = nil
		}
	}
	return e.proveBest(b, quick, ev)
}

// portfolioShare returns the share of the time of a method.
func portfolioShare(b *solve.Budget, quick bool) (*solve.Budget, context.CancelFunc) {
	left := b.Left()
	if left == math.MaxInt64 {
		return solve.NewBudget(b.Context(), 0, b.Threads())
	}
	if left /= 2; quick {
		left = min(left/4, time.Second)
	}
	return solve.NewBudget(b.Context(), max(1, left), b.Threads())
}

// proveBest has found schedules verified, the shortest first, until one is proved, and keeps
// that as the row. Those that are not shorter than the row that there is are not looked at.
func (e *Evaluator) proveBest(b *solve.Budget, found []*Row, ev *Report) error {
	slices.SortStableFunc(found, func(x, y *Row) int { return int(min(max(x.Makespan-y.Makespan, -1), 1)) })
	for _, r := range found {
		if best := ev.Best(); best != nil && r.Makespan >= best.Makespan {
			return nil
		}
		share, done := b, func() {}
		if b.Left() != math.MaxInt64 && !e.within(r.Makespan, e.known(b, ev.Problem)) {
			var cancel context.CancelFunc
			share, cancel = b.Share(2)
			done = cancel
		}
		err := e.prove(share, r)
		done()
		if err != nil {
			return fmt.Errorf("%s: %w", r.Method, err)
		}
		ev.Rows = append(slices.DeleteFunc(ev.Rows, func(x *Row) bool { return x.Outcome() == verify.Proved && r.Outcome() == verify.Proved }), r)
		if e.Found != nil {
			e.Found(ev.soFar())
		}
		if r.Outcome() == verify.Proved {
			return nil
		}
	}
	return nil
}

// known returns the largest bound that holds for p, of every cut where p leaves that open.
func (e *Evaluator) known(b *solve.Budget, p *model.Problem) model.Time {
	if c, err := e.boundBefore(b, p); err == nil && c != nil {
		return c.Bound
	}
	return 0
}

// within reports whether a makespan is so close to a bound that nothing better is needed.
func (e *Evaluator) within(makespan, bound model.Time) bool {
	return bound > 0 && float64(makespan-bound) <= e.Enough*float64(bound)
}

// enough reports whether the best proved schedule is close enough to the bound.
func (e *Evaluator) enough(b *solve.Budget, p *model.Problem, ev *Report) bool {
	best := ev.Best()
	return best != nil && e.within(best.Makespan, e.known(b, p))
}

// cannotWin returns why a method that does not choose the cut cannot find a better schedule
// than the best, or "".
func (e *Evaluator) cannotWin(b *solve.Budget, m solve.Solver, p *model.Problem, ev *Report) string {
	best, about := ev.Best(), m.About()
	if best == nil || about.NeedsCut == nil || !about.NeedsCut(p) || e.searchesCut(m, p) {
		return ""
	}
	q := solve.Cut(p, max(1, e.Options.Chunks))
	if bound := e.known(b, q); bound >= best.Makespan {
		return fmt.Sprintf("not needed: with %d chunks nothing is faster than %v, and %s has %v", len(q.Chunks), bound, best.Method, best.Makespan)
	}
	return ""
}
