package improve

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// maxOrders limits the pairs of transfers of which one has to wait for the other.
const maxOrders = 1 << 22

// plan is a schedule whose transfers can be moved in time. Their routes stay, and what each
// reads and overwrites: of any two that read or write one chunk at one rank, if one of them
// writes it, the order stays as it is, unless both add to it.
type plan struct {
	board  *timing.Board
	p      *model.Problem
	s      *model.Schedule
	lasts  []model.Time
	early  []model.Time // for each: before, ranks on its route have not arrived
	uses   [][]network.Use
	places [][]int32
	before [][]order // what it has to respect that comes before
	after  [][]order
	ids    []int32 // its transfers in some order
}

// order is that a transfer starts at least lag after another, or that other after it. lag may
// be negative.
type order struct {
	other int32
	lag   model.Time
}

// newPlan returns a plan of a schedule that is feasible and right, timed or in rounds, or nil
// if it has too many orders. It takes O(n·log n) time for n transfers and the orders.
func newPlan(p *model.Problem, s *model.Schedule) *plan {
	n := len(s.Transfers)
	x := &plan{
		board: timing.NewBoard(p), p: p, s: &model.Schedule{Form: s.Form, Routes: s.Routes, Transfers: slices.Clone(s.Transfers)},
		lasts: make([]model.Time, n), early: make([]model.Time, n), uses: make([][]network.Use, n), places: make([][]int32, n),
		before: make([][]order, n), after: make([][]order, n), ids: make([]int32, n),
	}
	type routed struct {
		route int32
		size  int64
	}
	known := map[routed][]network.Use{}
	for i := range x.s.Transfers {
		t := &x.s.Transfers[i]
		route := s.Routes[t.Route]
		key := routed{t.Route, p.Chunks[t.Chunk].Size}
		uses, ok := known[key]
		if !ok {
			uses = x.board.Uses(route, key.size, nil)
			known[key] = uses
		}
		x.uses[i], x.lasts[i], x.early[i], x.ids[i] = uses, t.End-t.Start, x.board.Release(route), int32(i)
	}
	if !x.book() || !x.order() {
		return nil
	}
	return x
}

// book enters what transfers use, one use after the other in the order in which they begin, so
// that there are enough places in ports. It returns false if there are not.
func (x *plan) book() bool {
	type use struct {
		from    model.Time
		of, nth int32
	}
	var all []use
	for i := range x.uses {
		for j := range x.uses[i] {
			all = append(all, use{x.s.Transfers[i].Start + x.uses[i][j].From, int32(i), int32(j)})
		}
		x.places[i] = make([]int32, len(x.uses[i]))
	}
	slices.SortFunc(all, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.of, b.of), cmp.Compare(a.nth, b.nth))
	})
	for _, u := range all {
		one, start := x.uses[u.of][u.nth:u.nth+1], x.s.Transfers[u.of].Start
		if x.board.First(one, 0, start) != start {
			return false
		}
		if places := x.board.Take(one, 0, start, 0, nil); places != nil {
			x.places[u.of][u.nth] = places[0]
		}
	}
	return true
}

// order finds out which transfers have to respect which. It returns false if there are too many
// pairs.
func (x *plan) order() bool {
	type access struct {
		slot   int64
		at     model.Time
		writes bool
		of     int32
	}
	list := make([]access, 0, 2*len(x.s.Transfers))
	for i := range x.s.Transfers {
		t := &x.s.Transfers[i]
		slot := func(rank int32) int64 { return int64(rank)*int64(len(x.p.Chunks)) + int64(t.Chunk) }
		list = append(list, access{slot(t.Src), t.Start, false, int32(i)}, access{slot(t.Dst), t.End, true, int32(i)})
	}
	slices.SortFunc(list, func(a, b access) int {
		first := 0 // what is written is there at once
		switch {
		case a.writes && !b.writes:
			first = -1
		case b.writes && !a.writes:
			first = 1
		}
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.at, b.at), first, cmp.Compare(a.of, b.of))
	})
	pairs := 0
	add := func(first, then int32, lag model.Time) {
		x.before[then] = append(x.before[then], order{first, lag})
		x.after[first] = append(x.after[first], order{then, lag})
		pairs++
	}
	var writers, readers []int32 // since the last copy, that included
	for n, a := range list {
		if n == 0 || list[n-1].slot != a.slot {
			writers, readers = writers[:0], readers[:0]
		}
		if pairs > maxOrders {
			return false
		}
		if !a.writes {
			for _, w := range writers {
				add(w, a.of, x.lasts[w])
			}
			readers = append(readers, a.of)
			continue
		}
		for _, r := range readers { // it must not end before they have read
			if r != a.of {
				add(r, a.of, 1-x.lasts[a.of])
			}
		}
		copies := x.s.Transfers[a.of].Op == model.Copy
		for _, w := range writers {
			if copies || x.s.Transfers[w].Op == model.Copy {
				add(w, a.of, x.lasts[w]+1-x.lasts[a.of])
			}
		}
		if copies {
			writers, readers = writers[:0], readers[:0]
		}
		writers = append(writers, a.of)
	}
	return true
}

// move gives a transfer another start: the last that is possible if late, or the first.
func (x *plan) move(i int32, late bool, end model.Time) {
	t := &x.s.Transfers[i]
	x.board.Cancel(x.uses[i], 0, t.Start, 0, x.places[i])
	if late {
		at := end - x.lasts[i]
		for _, o := range x.after[i] {
			at = min(at, x.s.Transfers[o.other].Start-o.lag)
		}
		t.Start = x.board.Last(x.uses[i], 0, at)
	} else {
		at := x.early[i]
		for _, o := range x.before[i] {
			at = max(at, x.s.Transfers[o.other].Start+o.lag)
		}
		t.Start = x.board.First(x.uses[i], 0, at)
	}
	t.End = t.Start + x.lasts[i]
	x.places[i] = x.board.Take(x.uses[i], 0, t.Start, 0, nil)
}

// push moves all transfers as late as they can be, the last first, or as early as they can be,
// the first first. It returns false if it is stopped.
func (x *plan) push(late bool, stop func() bool) bool {
	end := solve.End(x.s.Transfers)
	slices.SortFunc(x.ids, func(i, j int32) int {
		a, b := &x.s.Transfers[i], &x.s.Transfers[j]
		if late {
			return cmp.Or(cmp.Compare(b.End, a.End), cmp.Compare(b.Start, a.Start), cmp.Compare(i, j))
		}
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(i, j))
	})
	for n, i := range x.ids {
		if n%256 == 0 && stop() {
			return false
		}
		x.move(i, late, end)
	}
	return true
}

// justified returns s, or a shorter schedule with the same transfers over the same routes: all
// start as late as they can, the last first, and then as early as they can, the first first
// (forward-backward improvement). That is repeated as long as it helps.
func justified(p *model.Problem, s *model.Schedule, bound model.Time, stop func() bool) *model.Schedule {
	best, least := s, p.Makespan(s)
	if s.Form == model.Ordered || len(s.Transfers) == 0 || least <= bound || stop() {
		return best
	}
	x := newPlan(p, s)
	if x == nil {
		return best
	}
	for vain := 0; vain < 2 && least > bound; vain++ {
		// A pass that is stopped leaves a schedule that is right, but is not over before.
		done := x.push(true, stop) && x.push(false, stop)
		if end := p.Makespan(x.s); end < least {
			best, least, vain = &model.Schedule{Form: s.Form, Routes: s.Routes, Transfers: slices.Clone(x.s.Transfers)}, end, -1
		}
		if !done {
			break
		}
	}
	if best != s {
		slices.SortStableFunc(best.Transfers, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	}
	return best
}
