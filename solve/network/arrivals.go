package network

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Arrivals keeps which ranks have arrived. In rounds, where time is counted in rounds,
// it keeps the clock: a round begins when the one before has ended, and it does not
// wait for a rank as long as it can do without.
type Arrivals struct {
	Problem *model.Problem
	times   []model.Time // when each rank arrives; nil: all are there
	Absent  []int32      // ranks that are still to come, the next one last
	Present []bool
	clock   model.Time // in rounds: when the next round begins
}

// NewArrivals takes the time at which each rank arrives, or nil if all are there.
func NewArrivals(p *model.Problem, times []model.Time) Arrivals {
	o := Arrivals{Problem: p, times: times, Present: make([]bool, p.Topology.Ranks)}
	for r := len(o.Present) - 1; r >= 0; r-- {
		o.Absent = append(o.Absent, int32(r))
	}
	if times != nil {
		slices.SortStableFunc(o.Absent, func(a, b int32) int { return cmp.Compare(times[b], times[a]) })
	}
	return o
}

// Next returns when the next rank arrives, or MaxTime.
func (o *Arrivals) Next() model.Time {
	if len(o.Absent) == 0 {
		return model.MaxTime
	}
	if o.times == nil {
		return 0
	}
	return o.times[o.Absent[len(o.Absent)-1]]
}

// Admit lets in the ranks that have arrived, and calls f for each.
func (o *Arrivals) Admit(now model.Time, f func(r int32)) {
	if o.Problem.Cost.Synchronous() {
		now = o.clock
	}
	for o.Next() <= now && len(o.Absent) > 0 {
		r := o.Absent[len(o.Absent)-1]
		o.Absent = o.Absent[:len(o.Absent)-1]
		o.Present[r] = true
		f(r)
	}
}

// Turns reports whether Turn must be called at the end of each round.
func (o *Arrivals) Turns() bool { return o.times != nil && o.Problem.Cost.Synchronous() }

// Turn moves the clock on by a round whose longest transfer takes so long; with 0,
// there being none, to the next arrival.
func (o *Arrivals) Turn(longest model.Time) {
	if longest == 0 && len(o.Absent) > 0 {
		o.clock = max(o.clock, o.Next())
		return
	}
	o.clock += longest
}
