// Package exact schedules small workloads by a mixed-integer program on time, which HiGHS solves: for
// each computation, transfer and program a binary variable for each tick at which it could begin, so that links, ports,
// GPUs, and what waits for what, are linear in them. All transfers of all collectives are found together.
//
// Of a collective, chunks go from member to member: copies along a tree from where the chunk is, contributions
// along a tree to one rank, which of an allreduce is any, and copies back from there; of an allreduce of two, each may
// instead send the other one its own. A collective with a schedule of its own is moved as a whole. Cuts are those of an
// incumbent, and only what ends before it is looked for.
//
// What the solver returns is rounded, checked in exact numbers and timed again in picoseconds; package verify/workload
// decides about it. That there is nothing shorter of this form is the solver's claim alone.
//
// Satisfy looks for the same by formulas, which CaDiCaL decides, with finer ticks.
package exact

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// Limits on the program.
const (
	MaxColumns = 10000
	MaxEntries = 1000000 // of the rows
	// MostTicks is how many ticks there are at most. Where the greatest common divisor of all times would make more,
	// there are fewTicks, and times are rounded up to them.
	MostTicks = 120
	fewTicks  = 40
)

// Options steer a run.
type Options struct {
	TimeLimit time.Duration
	Seed      uint64
	Least     model.Time // nothing ends before; 0: not known
}

// Result is what came of a program.
type Result struct {
	Schedule *wl.Schedule // ends before the incumbent; nil: none was found
	Closed   bool         // the solver claims that of this form nothing is shorter than the best of both
	Tick     model.Time   // of which all times are multiples; 0: some were rounded up
	Before   model.Time   // the solver claims that of this form nothing ends before
}

// ErrTooLarge is wrapped by the error for a workload whose program would be too large.
var ErrTooLarge = errors.New("too large for exact")

// Schedule looks for a schedule of the workload of an incumbent that ends before it.
func Schedule(ctx context.Context, incumbent *wl.Schedule, o Options) (*Result, error) {
	if err := highs.Available(); err != nil {
		return nil, err
	}
	if incumbent.Workload.Periodic {
		return nil, solve.NotServed("serves what ends")
	}
	all, err := newPlan(incumbent.Workload)
	if err != nil {
		return nil, err
	}
	x := &program{plan: all, m: &lp.Model{Name: "workload"}, busy: map[[3]int][]lp.Term{}, gates: map[[3]int]func(int) []lp.Term{}, begun: map[[2]int]func(int) []lp.Term{}}
	end := incumbent.Makespan()
	exact := x.grid(end, MostTicks, fewTicks)
	r := &Result{}
	least := int64(0)
	if exact {
		r.Tick, least = x.tick, int64((o.Least+x.tick-1)/x.tick)
	}
	if least > int64(x.horizon) {
		r.Closed = true
		return r, nil
	}
	feasible, err := x.state(ctx, least)
	if err != nil {
		return nil, err
	}
	if !feasible {
		r.Closed = exact
		return r, nil
	}
	s, err := highs.Solve(ctx, x.m, highs.Options{TimeLimit: o.TimeLimit, Seed: o.Seed, Threads: 1})
	if err != nil {
		return nil, err
	}
	r.Closed = exact && (s.Status == highs.Optimal || s.Status == highs.Infeasible)
	if !s.HasSolution {
		return r, nil
	}
	values, err := x.m.Round(s.Values)
	if err != nil {
		return r, nil
	}
	if wrong, err := x.m.Check(values); err != nil || len(wrong) > 0 {
		return r, nil
	}
	found := x.schedule(func(a *act) (int, bool) {
		k := slices.IndexFunc(a.cols, func(c int) bool { return s.Values[c] > 0.5 })
		return a.first + k, k >= 0
	})
	if found.Makespan() < end {
		r.Schedule = found
	}
	return r, nil
}
