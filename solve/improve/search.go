package improve

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
)

// sided is a pattern whose trees are those of one side.
type sided struct {
	*network.Pattern
	reduces bool
}

func outsiders(p *model.Problem) []bool { return solve.Outsiders(p) }

// read takes over what it can of a schedule: the trees that it has, and where they end none
// of the other transfers. Where a port has room for several transfers, and those that it
// has already cannot be told apart such that there is room for another one, that comes later
// in the time of its tree than in the schedule.
func (r *repair) read(s *model.Schedule) {
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
		if x.reduces {
			shift = -solve.End(s.Transfers)
		}
		list := make([]move, 0, len(s.Transfers))
		for i := range s.Transfers {
			t := &s.Transfers[i]
			if hops[t.Route] >= 0 {
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
}

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
	for t, moves := range r.of {
		op := model.Copy
		if r.sideOf(int32(t)).reduces {
			op = model.Reduction
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
	slices.SortFunc(list, func(a, b model.Transfer) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Route, b.Route))
	})
	if r.outside != nil {
		solve.CopyFirst(r.n.Problem, list, func(t *model.Transfer) model.Time { return t.End })
	}
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
			r.aim(max(1, lasts/4))
		}
	}
	keep()
	for step := 1; r.work < budget && least > bound; step++ {
		if step%64 == 0 && stop() {
			break
		}
		before := r.cost()
		done := r.renew(1 + r.rng.Below(ruins))
		heat := int64(lasts) * unit / 2 * int64(max(0, budget-r.work)) / int64(budget)
		if !done || r.beyond > 0 && r.cost() > before+model.Time(r.rng.Below(int(heat)+1)) {
			r.undo()
			continue
		}
		if r.rng.Below(perJustification) == 0 {
			r.justify(!r.sides[0].reduces)
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

// aim makes shorter than the present schedule what is to be looked for: what ends within less
// of its end is too long.
func (r *repair) aim(less model.Time) {
	last := r.last()
	for side, s := range r.sides {
		s.due, s.limit = last[side]-less, last[side]
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
