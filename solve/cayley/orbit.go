package cayley

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// alike explains why p is not the same for all ranks, or returns nil.
func alike(p *model.Problem) error {
	switch p.Collective.Kind {
	case model.AllToAll, model.AllGather, model.ReduceScatter, model.AllReduce:
	default:
		return solve.NotServed("serves alltoall, allgather, reducescatter and allreduce, not %v", p.Collective.Kind)
	}
	if p.Collective.Group != nil || p.Late() {
		return solve.NotServed("hands out while it works only what all ranks do, at once")
	}
	return nil
}

// stated returns an orbit as a stream that is not handed out transfer by transfer.
func stated(p *model.Problem, o *model.Orbit, note string) *solve.Stream {
	st := &solve.Stream{Problem: p, Form: model.FormFor(p.Cost), Transfers: o.Transfers(), Orbit: o, Note: note}
	if !p.Cost.Synchronous() {
		st.Makespan = o.Last(p)
	}
	return st
}

// orbit plans what rank 0 does.
func (g *group) orbit(ctx context.Context, p *model.Problem, seed uint64) (*model.Orbit, error) {
	var turns []model.Turn
	switch p.Collective.Kind {
	case model.AllToAll:
		c, err := g.convey(ctx, p)
		if err != nil {
			return nil, err
		}
		turns = c
	case model.AllGather:
		w, err := g.woven(ctx, p, seed)
		if err != nil {
			return nil, err
		}
		turns = w.gathering()
	default:
		w, err := g.reversed().woven(ctx, p, seed)
		if err != nil {
			return nil, err
		}
		turns = w.scattering()
		if p.Collective.Kind == model.ReduceScatter {
			break
		}
		if w, err = g.woven(ctx, p, seed); err != nil {
			return nil, err
		}
		turns = after(p, g.inOrbits(turns), w.gathering())
	}
	o := g.inOrbits(turns)
	if err := o.Validate(p); err != nil {
		return nil, solve.NotServed("plans for one rank alone only what is the same for all: %v", err)
	}
	return o, nil
}

// inOrbits returns turns over the generators as an orbit.
func (g *group) inOrbits(turns []model.Turn) *model.Orbit {
	o := &model.Orbit{Sides: g.sides, Turns: turns}
	for i := range g.gens {
		o.Routes = append(o.Routes, []int{g.gens[i].links[0]})
	}
	return o
}

// after returns the turns of o, which is valid for p, or no turns if it is not, and then
// others, as soon as those have ended.
func after(p *model.Problem, o *model.Orbit, then []model.Turn) []model.Turn {
	if o.Validate(p) != nil {
		return nil
	}
	end := o.Last(p)
	turns := slices.Clone(o.Turns)
	for _, t := range then {
		t.Start = t.Start.Add(end)
		turns = append(turns, t)
	}
	return turns
}

// reversed returns the group of the topology with its links turned round.
func (g *group) reversed() *group {
	r := &group{sides: g.sides, n: g.n, gens: slices.Clone(g.gens)}
	for i := range r.gens {
		r.gens[i].step = g.sub(0, g.gens[i].step)
	}
	return r
}

// gathering returns the plan of an allgather as what rank 0 does.
func (w *weave) gathering() []model.Turn {
	turns := make([]model.Turn, 0, len(w.turns))
	for _, x := range w.turns {
		owner := w.sub(w.gens[x.gen].step, int(x.from)) // of what is sent to the rank step away
		turns = append(turns, model.Turn{Route: x.gen, Owner: int32(owner), Part: x.part, Start: w.slot * model.Time(x.slot)})
	}
	return turns
}

// scattering returns the plan of an allgather on the topology reversed, read backwards: a
// reduce-scatter. What ends before another begins begins after it has ended, in whole slots.
func (w *weave) scattering() []model.Turn {
	last := int32(0)
	for _, x := range w.turns {
		last = max(last, x.slot)
	}
	turns := make([]model.Turn, 0, len(w.turns))
	for _, x := range w.turns {
		turns = append(turns, model.Turn{
			Route: x.gen, Owner: int32(w.sub(0, int(x.from))), Part: x.part, Op: model.Reduction, Start: w.slot * model.Time(last-x.slot),
		})
	}
	inOrder(turns)
	return turns
}

// inOrder sorts turns by their starts.
func inOrder(turns []model.Turn) {
	slices.SortStableFunc(turns, func(a, b model.Turn) int { return cmp.Compare(a.Start, b.Start) })
}
