package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// occupancy says when the resources of a network are free.
type occupancy struct {
	*network
	free []model.Time // by resource: from when on
}

func newOccupancy(n *network) occupancy {
	return occupancy{n, make([]model.Time, n.resources)}
}

// opens returns the first time at which a transfer can start over a lane.
func (o *occupancy) opens(l int32) model.Time {
	x := &o.lanes[l]
	at := model.Time(0)
	for i := x.uses; i < x.usesEnd; i++ {
		u := &o.uses[i]
		at = max(at, o.free[o.place(u)]-u.from)
	}
	return at
}

// place returns the resource that a use would take: of several, that which is free
// first.
func (o *occupancy) place(u *use) int32 {
	best := o.choices[u.choice]
	for i := u.choice + 1; i < u.choiceEnd; i++ {
		if r := o.choices[i]; o.free[r] < o.free[best] {
			best = r
		}
	}
	return best
}

// take has a transfer that starts at a time take what it needs.
func (o *occupancy) take(l int32, start, beta model.Time) {
	x := &o.lanes[l]
	for i := x.uses; i < x.usesEnd; i++ {
		u := &o.uses[i]
		o.free[o.place(u)] = start + u.from + beta + u.extra
	}
}

// roster says which ranks have arrived. In rounds, where time is counted in rounds,
// it keeps the clock: a round begins when the one before has ended, and it does not
// wait for a rank as long as it can do without.
type roster struct {
	p       *model.Problem
	times   []model.Time // when each rank arrives; nil: all are there
	absent  []int32      // ranks that are still to come, the next one last
	present []bool
	clock   model.Time // in rounds: when the next round begins
}

func newRoster(p *model.Problem, times []model.Time) roster {
	o := roster{p: p, times: times, present: make([]bool, p.Topology.Ranks)}
	for r := len(o.present) - 1; r >= 0; r-- {
		o.absent = append(o.absent, int32(r))
	}
	if times != nil {
		slices.SortStableFunc(o.absent, func(a, b int32) int { return cmp.Compare(times[b], times[a]) })
	}
	return o
}

// next returns when the next rank arrives, or MaxTime.
func (o *roster) next() model.Time {
	if len(o.absent) == 0 {
		return model.MaxTime
	}
	if o.times == nil {
		return 0
	}
	return o.times[o.absent[len(o.absent)-1]]
}

// admit lets in the ranks that have arrived, and calls f for each.
func (o *roster) admit(now model.Time, f func(r int32)) {
	if o.p.Cost.Synchronous() {
		now = o.clock
	}
	for o.next() <= now && len(o.absent) > 0 {
		r := o.absent[len(o.absent)-1]
		o.absent = o.absent[:len(o.absent)-1]
		o.present[r] = true
		f(r)
	}
}

// turns says whether the end of a round must be told.
func (o *roster) turns() bool { return o.times != nil && o.p.Cost.Synchronous() }

// turn moves the clock on by a round whose longest transfer takes so long; with 0,
// there being none, to the next arrival.
func (o *roster) turn(longest model.Time) {
	if longest == 0 && len(o.absent) > 0 {
		o.clock = max(o.clock, o.next())
		return
	}
	o.clock += longest
}
