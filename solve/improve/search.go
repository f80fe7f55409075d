package improve

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
)

// sided is a pattern whose trees are those of one side. Of two, those that do not reduce come
// first, and both have the same root for each chunk.
type sided struct {
	*network.Pattern
	reduces bool
}

// patternsOf returns the patterns whose trees a schedule of p consists of.
func patternsOf(p *model.Problem, s *model.Schedule) ([]sided, error) {
	switch {
	case p.Collective.Kind == model.AllReduce:
		pt := network.Trees(p, 0)
		for k, root := range roots(p, s) {
			pt.From[k][0] = root
		}
		return []sided{{pt, false}, {pt, true}}, nil
	case p.Collective.Kind.Reduces():
		return []sided{{network.Trees(p, 0), true}}, nil
	}
	pt, err := network.Spreading(p)
	return []sided{{pt, false}}, err
}

// roots returns for each chunk of an allreduce the rank where its sum is complete first: that
// from which the first member gets a copy, or else where the last part is added.
func roots(p *model.Problem, s *model.Schedule) []int32 {
	out := solve.Outsiders(p)
	first := make([]*model.Transfer, len(p.Chunks))
	list := make([]int32, len(p.Chunks))
	for k := range list {
		list[k] = int32(p.Members()[0])
	}
	for i := range s.Transfers {
		t := &s.Transfers[i]
		switch f := first[t.Chunk]; {
		case out[t.Dst] || out[t.Src]:
		case f == nil, t.Op == model.Copy && (f.Op != model.Copy || t.Start < f.Start), t.Op != model.Copy && f.Op != model.Copy && t.End > f.End:
			first[t.Chunk] = t
		}
	}
	for k, t := range first {
		switch {
		case t == nil:
		case t.Op == model.Copy:
			list[k] = t.Src
		default:
			list[k] = t.Dst
		}
	}
	return list
}

// read takes over what it can of a schedule: the transfers that are in its trees. What they do
// not reach then it leads them to, over any hops; it returns false if it cannot. Where a port has
// room for several transfers, and those that it has already cannot be told apart such that there
// is room for another one, that comes later in the time of its tree than in the schedule.
func (r *repair) read(s *model.Schedule) bool {
	for i := range s.Transfers { // the sum of a chunk is complete when the last part has come to the root
		if t := &s.Transfers[i]; r.pivot != nil && t.Op == model.Reduction && t.Dst == r.from[t.Chunk][0] {
			r.pivot[t.Chunk] = max(r.pivot[t.Chunk], t.End)
		}
	}
	hopOf := map[string]int32{} // the schedule may number routes in its own way
	for i := range r.n.Hops {
		hopOf[fmt.Sprint(r.n.Routes[r.n.Hops[i].Route])] = int32(i)
	}
	hops := make([]int32, len(s.Routes))
	for i, route := range s.Routes {
		hops[i] = -1
		if h, known := hopOf[fmt.Sprint(route)]; known {
			hops[i] = h
		}
	}
	for side, x := range r.sides {
		shift := model.Time(0)
		if x.reduces && r.pivot == nil {
			shift = -solve.End(s.Transfers)
		}
		list := make([]move, 0, len(s.Transfers))
		for i := range s.Transfers {
			t := &s.Transfers[i]
			belongs := r.pivot == nil || x.reduces == (t.Op == model.Reduction) || x.reduces && r.outside != nil && r.outside[t.Dst]
			if hops[t.Route] >= 0 && belongs {
				list = append(list, move{tree: int32(side*r.chunks) + t.Chunk, hop: hops[t.Route], start: t.Start + shift, end: t.End + shift})
			}
		}
		slices.SortStableFunc(list, func(a, b move) int { return cmp.Compare(r.begins(&a), r.begins(&b)) })
		for i := range list {
			m := &list[i]
			src, dst := r.ends(m.tree, m.hop)
			if from := r.has(src, m.tree); from < model.MaxTime && *r.slot(dst, m.tree) == absent {
				r.add(r.movement(m.tree, m.hop, r.opens(m.tree, m.hop, max(r.begins(m), from))))
			}
		}
	}
	for t := range r.of {
		for n := 0; !r.grow(int32(t)); n++ { // now and then a hop is overlooked that it needs
			if n == maxGrown {
				return false
			}
		}
		r.trim(int32(t))
	}
	return true
}

// maxGrown is how often a tree is grown at most that does not reach all ranks.
const maxGrown = 16

// write returns the schedule, or nil if a rank outside the group gets a chunk twice at one time
// in a reduction, as justify may leave it.
func (r *repair) write() *model.Schedule {
	shift := model.Time(0)
	for side, end := range r.last() {
		if side < len(r.sides) && r.sides[side].reduces {
			shift = end
		}
	}
	list := make([]model.Transfer, 0, r.count)
	copies := 0 // the trees that do not reduce come first
	for t, moves := range r.of {
		op := model.Reduction
		if !r.sideOf(int32(t)).reduces {
			op, copies = model.Copy, len(list)+len(moves)
		}
		for j, i := range moves {
			m := &r.moves[i]
			x := &r.n.Hops[m.hop]
			for _, h := range moves[:j] {
				if op == model.Reduction && r.outside != nil && r.outside[x.Dst] && r.n.Hops[r.moves[h].hop].Dst == x.Dst && r.moves[h].end == m.end {
					return nil
				}
			}
			list = append(list, model.Transfer{Chunk: int32(t % r.chunks), Src: x.Src, Dst: x.Dst, Route: x.Route, Op: op, Start: m.start + shift, End: m.end + shift})
		}
	}
	if r.outside != nil {
		solve.CopyFirst(r.n.Problem, list[copies:], func(t *model.Transfer) model.Time { return t.End })
	}
	slices.SortFunc(list, func(a, b model.Transfer) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Route, b.Route))
	})
	return &model.Schedule{Form: model.FormFor(r.n.Problem.Cost), Routes: r.n.Routes, Transfers: list}
}

// better looks for a better schedule, as long as the hops that it looks at are within the
// budget, and returns whether it has found one, which r then is. At the beginning a repair
// may make things worse by half a transfer, at the end by nothing (threshold accepting:
// Dueck and Scheuer, Journal of Computational Physics, 1990).
func (r *repair) better(bound model.Time, budget int, stop func() bool) bool {
	best := r.copy()
	lasts := model.Time(0)
	for i := range best {
		lasts = max(lasts, best[i].end-best[i].start)
	}
	first := r.length()
	least := first + 1
	keep := func() {
		if end := r.length(); end < least {
			least, best = end, r.copy()
			r.aim(max(1, lasts/4), least)
		}
	}
	keep()
	for step := 1; r.work < budget && least > bound; step++ {
		if step%8 == 0 && stop() { // of 30000 transfers each step may take a tenth of a second
			break
		}
		before := r.cost()
		done := r.renew(1 + r.rng.Below(ruins))
		heat := int64(lasts) * unit / 2 * int64(max(0, budget-r.work)) / int64(budget)
		if !done || r.beyond > 0 && r.cost() > before+model.Time(r.rng.Below(int(heat)+1)) {
			r.undo()
			continue
		}
		if r.rng.Below(perJustification) == 0 && !stop() {
			r.justify(!r.sides[0].reduces && (r.pivot == nil || r.rng.Below(2) == 0))
		}
		if r.pivot != nil && r.rng.Below(perAim) == 0 {
			r.aim(max(1, lasts/4), least)
		}
		if r.beyond == 0 {
			keep()
		}
	}
	if least == first {
		return false
	}
	for t := range r.of {
		for len(r.of[t]) > 0 {
			r.remove(r.of[t][0])
		}
	}
	for _, m := range best {
		r.add(m)
	}
	return true
}

// perAim is how many repairs there are to one change of aim, where there are two sides.
const perAim = 64

// aim has a schedule that is shorter than least looked for: what ends within less of its end
// is too long. Where there are two sides it ends before, or begins after, or in part both.
func (r *repair) aim(less, least model.Time) {
	last := r.last()
	if r.pivot == nil {
		r.sides[0].due, r.sides[0].limit = least-less, least
		r.recount()
		return
	}
	over := last[0] + last[1] - least // by how much the present one is longer than the best
	part := over
	if over != 0 {
		part = model.Time(r.rng.Below(int(max(over, -over))+1)) * over / max(over, -over)
	}
	ends := [2]model.Time{last[0] - part, last[1] - (over - part)} // together they are the best
	gains := r.rng.Below(2)
	for side, s := range r.sides {
		s.due, s.limit = ends[side]-less/2, ends[side]+1
		if side == gains {
			s.limit--
		}
	}
	r.recount()
}

// copy returns the moves.
func (r *repair) copy() []move {
	moves := make([]move, 0, r.count)
	for _, list := range r.of {
		for _, i := range list {
			moves = append(moves, r.moves[i])
		}
	}
	return moves
}
