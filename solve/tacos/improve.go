package tacos

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

const (
	// maxRepaired is how many transfers a schedule has at most that is repaired.
	maxRepaired = 1 << 15
	// chains is how many schedules are repaired, each on its own: of the tries, dealt out in
	// turn, the best of each hand.
	chains = 4
	// looks and maxLooks say how often a repair looks at a lane, about: so many times a
	// transfer, and at most.
	looks, maxLooks = 1 << 9, 1 << 19
	// ruins is how many moves are taken out at most at a time, besides what depends on them.
	ruins = 6
	// calm is how many repairs there are to one justification, about.
	calm = 20
)

// repairs says whether the schedules of s can be repaired, and, if it is not too large, will
// be. Those of an allreduce are not made of one pattern, those of rounds with late ranks
// depend on when rounds begin, and reductions with late ranks are timed forwards.
func (s *synthesis) repairs(transfers int) (can, will bool) {
	if s.pattern == nil || s.p.Late() && (s.p.Cost.Synchronous() || s.p.Collective.Kind.Reduces()) {
		return false, false
	}
	return true, transfers <= maxRepaired
}

// repair makes better schedules of those that it is given, with so much effort, or nil where
// it finds none, or if there is none to begin with.
func (s *synthesis) repair(list []*model.Schedule, floor model.Time, o labour) []*model.Schedule {
	n := s.forward
	if s.p.Collective.Kind.Reduces() {
		n = s.backward
	}
	var once []bool
	if out := n.Outsiders(); slices.Contains(out, true) {
		once = out
	}
	better := make([]*model.Schedule, len(list))
	var wg sync.WaitGroup
	for w := range min(o.threads, len(list)) {
		wg.Go(func() {
			for i := w; i < len(list); i += o.threads {
				if list[i] == nil || o.stop() {
					continue
				}
				r := newRepair(n, s.pattern, once, o.seed+uint64(i))
				r.read(list[i])
				budget := min(maxLooks, looks*len(list[i].Transfers)) * max(1, o.times)
				if r.better(floor, budget, o.stop) {
					better[i] = r.write(s)
				}
			}
		})
	}
	wg.Wait()
	return better
}

// labour says how hard to work on repairs.
type labour struct {
	seed    uint64
	times   int // as much as usual; 0: once
	threads int
	stop    func() bool
}

// read takes over a schedule. Where a port has room for several transfers, and those that it
// has already cannot be told apart such that there is room for another one, that comes later
// than in the schedule.
func (r *repair) read(s *model.Schedule) {
	laneOf := map[string]int32{} // the schedule may number routes in its own way
	for i := range r.n.Hops {
		laneOf[fmt.Sprint(r.n.Routes[r.n.Hops[i].Route])] = int32(i)
	}
	lanes := make([]int32, len(s.Routes))
	for i, route := range s.Routes {
		lanes[i] = laneOf[fmt.Sprint(route)]
	}
	end := solve.End(s.Transfers)
	moves := slices.Clone(s.Transfers)
	if r.n.Mirrored {
		for i := range moves {
			t := &moves[i]
			t.Start, t.End = end-t.End, end-t.Start
		}
	}
	slices.SortStableFunc(moves, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	for _, t := range moves {
		l, class := lanes[t.Route], r.n.Class[t.Chunk]
		x := &r.n.Hops[l]
		start := r.opens(l, class, max(t.Start, r.has(x.Src, t.Chunk)))
		r.add(move{chunk: t.Chunk, lane: l, start: start, end: start + r.n.Lasts(x, class)})
	}
}

// write returns the schedule, or nil if a rank sends a chunk twice at one time that must not,
// as justify may leave it.
func (r *repair) write(s *synthesis) *model.Schedule {
	end := r.last()
	moves := make([]model.Transfer, 0, r.count)
	for k, list := range r.of {
		for j, i := range list {
			m := &r.moves[i]
			x := &r.n.Hops[m.lane]
			for _, h := range list[:j] {
				if r.once != nil && r.once[x.Src] && r.n.Hops[r.moves[h].lane].Src == x.Src && r.moves[h].start == m.start {
					return nil
				}
			}
			t := model.Transfer{Chunk: int32(k), Route: x.Route, Start: m.start, End: m.end}
			t.Src, t.Dst = r.n.Ends(x)
			if r.n.Mirrored {
				t.Start, t.End, t.Op = end-t.End, end-t.Start, model.Reduction
			}
			moves = append(moves, t)
		}
	}
	slices.SortFunc(moves, func(a, b model.Transfer) int {
		if earlier(&a, &b) {
			return -1
		}
		return 1
	})
	if r.once != nil {
		solve.CopyFirst(s.p, moves, func(t *model.Transfer) model.Time { return t.End })
	}
	return s.schedule(moves)
}

// better looks for a better schedule, as long as the lanes that it looks at are within the
// budget, and returns whether it has found one, which r then is. At the beginning a repair
// may make things worse by half a transfer, at the end by nothing (threshold accepting:
// Dueck and Scheuer, Journal of Computational Physics, 1990).
func (r *repair) better(floor model.Time, budget int, stop func() bool) bool {
	best := r.copy()
	lasts := model.Time(0)
	for i := range best {
		lasts = max(lasts, best[i].end-best[i].start)
	}
	first := r.last()
	least := first + 1
	keep := func() {
		if end := r.last(); end < least {
			least, best = end, r.copy()
			r.aim(least-max(1, lasts/4), least)
		}
	}
	keep()
	for step := 1; r.work < budget && least > floor; step++ {
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
		if r.rng.Below(calm) == 0 {
			r.justify()
		}
		if r.beyond == 0 {
			keep()
		}
	}
	if least == first {
		return false
	}
	for k := range r.of {
		for len(r.of[k]) > 0 {
			r.remove(r.of[k][0])
		}
	}
	for _, m := range best {
		r.add(m)
	}
	return true
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
