package cayley

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// star is a topology whose ranks all have one link to and one from each of its switches, with
// figures that do not depend on the rank: the cyclic group moves ranks and leaves switches
// where they are.
type star struct {
	t        *model.Topology
	up, down [][]int // by switch and rank: the links
}

// recogniseStar returns t as a star, or nil. It takes O(links) time.
func recogniseStar(t *model.Topology) *star {
	m := len(t.Switches)
	if m == 0 || len(t.Ports) > 0 || t.Ranks < 2 || len(t.Links) != 2*m*t.Ranks {
		return nil
	}
	x := &star{t: t, up: make([][]int, m), down: make([][]int, m)}
	for s := range m {
		if t.Copies(t.Ranks + s) {
			return nil
		}
		x.up[s], x.down[s] = make([]int, t.Ranks), make([]int, t.Ranks)
		for v := range t.Ranks {
			x.up[s][v], x.down[s][v] = -1, -1
		}
	}
	for l, k := range t.Links {
		var at *int
		switch {
		case t.IsRank(k.Src) && !t.IsRank(k.Dst):
			at = &x.up[k.Dst-t.Ranks][k.Src]
		case !t.IsRank(k.Src) && t.IsRank(k.Dst):
			at = &x.down[k.Src-t.Ranks][k.Dst]
		default:
			return nil
		}
		if *at >= 0 {
			return nil
		}
		*at = l
	}
	for s := range m { // each has as many links as there are places for them
		for _, links := range [][]int{x.up[s], x.down[s]} {
			for _, l := range links {
				if k, first := t.Links[l], t.Links[links[0]]; k.Alpha != first.Alpha || k.Bandwidth != first.Bandwidth {
					return nil
				}
			}
		}
	}
	if _, err := (&model.Orbit{Sides: []int{t.Ranks}}).Translations(t); err != nil {
		return nil
	}
	return x
}

// String returns "group Z8, 1 switch".
func (x *star) String() string {
	if len(x.up) == 1 {
		return fmt.Sprintf("group Z%d, 1 switch", x.t.Ranks)
	}
	return fmt.Sprintf("group Z%d, %d switches", x.t.Ranks, len(x.up))
}

// divides reports whether p has as many chunks for each rank, or leaves its cut to the method.
func (x *star) divides(p *model.Problem) bool {
	return p.Chunks == nil || (&model.Orbit{Sides: []int{x.t.Ranks}}).Validate(p) == nil
}

// schedule returns the plan for all ranks.
func (x *star) schedule(p *model.Problem) (*model.Schedule, error) {
	o, err := x.orbit(p)
	if err != nil {
		return nil, err
	}
	return o.Schedule(p)
}

// orbit plans what rank 0 does. Everything goes straight to where it must: to rank 1, to rank
// 2 and so on, over whichever switch brings it first. So at any time all ranks receive
// from different ones, and with one switch each port is busy from beginning to end.
func (x *star) orbit(p *model.Problem) (*model.Orbit, error) {
	n, m := x.t.Ranks, len(x.up)
	o := &model.Orbit{Sides: []int{n}}
	for d := 1; d < n; d++ {
		for s := range m {
			o.Routes = append(o.Routes, []int{x.up[s][0], x.down[s][d]})
		}
	}
	if err := o.Validate(p); err != nil {
		return nil, solve.NotServed("plans for one rank alone only what is the same for all: %v", err)
	}
	parts, each := o.Parts(p)
	size := int64(0)
	for _, k := range parts {
		size = max(size, p.Chunks[k].Size)
	}
	paces := make([]pace, m)
	for s := range paces {
		paces[s] = pace{1, 1}
		if !p.Cost.Synchronous() {
			paces[s] = pace{0, x.t.Duration(o.Routes[s], size)}
			for _, b := range x.t.Busy(p.Cost, o.Routes[s], size, nil) {
				paces[s].busy = max(paces[s].busy, b.To-b.From)
			}
		}
	}
	if p.Cost == model.Rounds {
		paces = paces[:1] // a rank sends once a round
	}
	// phase has rank 0 send to each rank d the parts that owner and part say.
	phase := func(begin model.Time, op model.Op, parts int, what func(d, q int) (owner, part int)) {
		free := make([]model.Time, len(paces))
		for d := 1; d < n; d++ {
			for q := range parts {
				best := 0
				for s := range paces {
					if free[s].Add(paces[s].lasts) < free[best].Add(paces[best].lasts) {
						best = s
					}
				}
				owner, part := what(d, q)
				o.Turns = append(o.Turns, model.Turn{
					Route: int32((d-1)*m + best), Owner: int32(owner), Part: int32(part), Op: op, Start: begin.Add(free[best]),
				})
				free[best] = free[best].Add(paces[best].busy)
			}
		}
	}
	own := func(_, q int) (int, int) { return 0, q }
	theirs := func(d, q int) (int, int) { return d, q }
	switch p.Collective.Kind {
	case model.AllToAll:
		phase(0, model.Copy, each/n, func(d, q int) (int, int) { return 0, d*(each/n) + q })
	case model.AllGather:
		phase(0, model.Copy, each, own)
	case model.ReduceScatter:
		phase(0, model.Reduction, each, theirs)
	default:
		phase(0, model.Reduction, each, theirs)
		inOrder(o.Turns)
		phase(o.Last(p), model.Copy, each, own)
	}
	inOrder(o.Turns)
	return o, nil
}
