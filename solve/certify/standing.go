package certify

import (
	"context"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
)

// Standing is how a schedule that is right stands to what is known below all of them.
type Standing struct {
	Problem  *model.Problem
	Schedule *model.Schedule // with times, where it had only an order
	Makespan model.Time
	Known
}

// Gap returns how far the makespan is above the largest bound that holds for every cut, +Inf where there
// is none.
func (s *Standing) Gap() model.Gap {
	if s.EveryCut == nil {
		return model.GapOf(s.Makespan, 0)
	}
	return model.GapOf(s.Makespan, s.EveryCut.Bound)
}

// Bounded reports whether there is a bound above zero for every cut.
func (s *Standing) Bounded() bool { return s.EveryCut != nil && s.EveryCut.Bound > 0 }

// wideNetwork and manyChunks are from how many links and chunks on only the bounds that take no search are
// looked for.
const (
	wideNetwork = 1 << 14
	manyChunks  = 1 << 16
)

// standingTime is how long bounds are looked for at most.
const standingTime = 10 * time.Second

// Below returns the best checked bounds for every cut and for that of p that are found within ten
// seconds: those that gap prints.
func Below(ctx context.Context, p *model.Problem) (b Known, err error) {
	find := Bound
	if len(p.Topology.Links) >= wideNetwork || len(p.Chunks) >= manyChunks {
		find = QuickBound
	}
	budget, cancel := solve.NewBudget(ctx, standingTime, 1)
	defer cancel()
	half, done := budget.Share(2)
	defer done()
	if b.EveryCut, err = find(half.Context(), AnyCut(p)); err == nil {
		b.Bound, err = find(budget.Context(), p)
	}
	return b, err
}

// Stand returns how a schedule that is right for p stands. One that has only an order, or is given what its
// transfers wait for, gets the times that Timed finds. That it ends before a bound is an error, a
// *verify.Contradiction.
func Stand(ctx context.Context, p *model.Problem, s *model.Schedule, order *model.Precedence) (*Standing, error) {
	x := &Standing{Problem: p, Schedule: s}
	if s.Form == model.Ordered || order != nil {
		if p.Cost.Synchronous() && s.Form == model.InRounds && order != nil { // rounds that were made of an exchange in place
			q := *p
			q.Cost = model.Pipelined
			x.Problem = &q
		}
		var err error
		if x.Schedule, err = Timed(ctx, x.Problem, s, order); err != nil {
			return nil, err
		}
	}
	x.Makespan = x.Problem.Makespan(x.Schedule)
	var err error
	if x.Known, err = Below(ctx, x.Problem); err != nil {
		return nil, err
	}
	if x.EveryCut == nil {
		return x, nil
	}
	return x, verify.Below(x.Makespan, x.EveryCut.Bound, x.EveryCut.Witness.Kind())
}
