//go:build !js

package exact

import (
	"context"
	"errors"
	"time"

	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/sat/cadical"
)

// The ticks of Satisfy: at most mostSteps, or, where not all times are multiples of one, from firstSteps on twice as
// many each time, up to lastSteps.
const (
	mostSteps  = 400
	firstSteps = 50
	lastSteps  = 1600
)

// Satisfy is Schedule by a SAT solver: it asks whether all can be over within a number of ticks, and bisects.
// Where not all times are multiples of a tick, it asks twice: with times that are rounded up, for schedules, and with
// times that are rounded the other way, before which tick nothing of this form can end; and so again with shorter
// ticks.
func Satisfy(ctx context.Context, incumbent *wl.Schedule, o Options) (*Result, error) {
	if _, err := cadical.Find(); err != nil {
		return nil, solve.NotServed("%v", err)
	}
	if incumbent.Workload.Periodic {
		return nil, solve.NotServed("serves what ends")
	}
	if o.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit)
		defer cancel()
	}
	b := &bisection{incumbent: incumbent, o: o, r: &Result{Schedule: incumbent}}
	for steps := int64(firstSteps); steps <= lastSteps && ctx.Err() == nil && b.r.Before < b.r.Schedule.Makespan(); steps *= 2 {
		whole, err := b.run(ctx, steps, false)
		if err == nil && !whole {
			_, err = b.run(ctx, steps, true)
		}
		if err != nil && (steps == firstSteps || !errors.Is(err, ErrTooLarge)) {
			return nil, err
		}
		if err != nil || whole {
			break
		}
	}
	r := b.r
	if r.Closed = r.Before >= r.Schedule.Makespan(); r.Schedule == incumbent {
		r.Schedule = nil
	}
	return r, nil
}

type bisection struct {
	incumbent *wl.Schedule
	o         Options
	r         *Result // Schedule is the best known
}

// run bisects on the horizon. It reports whether all times are multiples of the tick.
func (b *bisection) run(ctx context.Context, steps int64, relaxed bool) (whole bool, err error) {
	x, err := newPlan(b.incumbent.Workload)
	if err != nil {
		return false, err
	}
	x.relaxed = relaxed
	end := b.r.Schedule.Makespan()
	whole = x.grid(end, mostSteps, steps)
	if whole {
		b.r.Tick = x.tick
	}
	// Nothing is over within low-1 ticks, and something within high is known: of times that are rounded up only
	// in picoseconds, of which high is not the last whole tick.
	least := max(b.o.Least, b.r.Before)
	low, high := int(least/x.tick), x.horizon+1
	if whole {
		low = int((least + x.tick - 1) / x.tick)
	}
	for low < high {
		x.horizon = (low + high) / 2
		answer, s, err := b.ask(ctx, x)
		if err != nil {
			return whole, err
		}
		if answer == cadical.Unknown {
			break
		}
		if answer == cadical.Unsatisfiable {
			low = x.horizon + 1
			continue
		}
		if high = x.horizon; !relaxed && s.Makespan() < b.r.Schedule.Makespan() {
			b.r.Schedule = s
			high = min(high, int((s.Makespan()+x.tick-1)/x.tick))
		}
	}
	if whole || relaxed {
		b.r.Before = max(b.r.Before, x.tick.Mul(int64(low)))
	}
	return whole, nil
}

// ask decides whether all of a plan can be over within its horizon. The schedule of a relaxed one is none.
func (b *bisection) ask(ctx context.Context, x *plan) (cadical.Answer, *wl.Schedule, error) {
	f, err := x.formula(ctx)
	switch {
	case ctx.Err() != nil:
		return cadical.Unknown, nil, nil
	case err != nil:
		return cadical.Unknown, nil, err
	case f == nil:
		return cadical.Unsatisfiable, nil, nil
	}
	limit := time.Duration(0)
	if end, ok := ctx.Deadline(); ok {
		limit = max(time.Millisecond, time.Until(end)/2)
	}
	found, err := cadical.Solve(ctx, f, cadical.Options{TimeLimit: limit, Seed: b.o.Seed})
	if err != nil || found.Answer != cadical.Satisfiable || x.relaxed {
		return found.Answer, nil, err
	}
	return found.Answer, x.schedule(func(a *act) (int, bool) {
		for t := a.first; t <= a.last; t++ {
			if found.Model[f.by(a, t)] {
				return t, true
			}
		}
		return 0, false
	}), nil
}
