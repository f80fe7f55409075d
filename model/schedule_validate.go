package model

import "slices"

// MaxEnd is the latest end of a transfer: twice what Problem.Validate allows any
// schedule to need, and far enough from MaxTime to add durations to it.
const MaxEnd = MaxTime / 2

// Validate reports the first thing that makes s meaningless for p: a chunk, rank
// or route that does not exist, a form that does not go with the cost model, a
// cycle in the order. It does not report whether s is feasible or right; verify
// does. p must be valid and have chunks. It takes O(transfers + routes) time.
func (s *Schedule) Validate(p *Problem) error {
	if p.Chunks == nil {
		return ErrNoChunks
	}
	switch {
	case s.Form < Timed || s.Form > Ordered:
		return wrong("form", "missing, want timed, rounds or order")
	case s.Form != Ordered && s.Form != FormFor(p.Cost):
		return wrong("form", "%v does not go with cost model %v, want %v or order", s.Form, p.Cost, FormFor(p.Cost))
	case int64(len(s.Transfers)) > MaxTransfers:
		return wrong("transfers", "%d, want at most %d", len(s.Transfers), int64(MaxTransfers))
	case s.Form != Ordered && s.After != nil:
		return wrong("after", "belongs to the form order, not %v", s.Form)
	}
	for i, r := range s.Routes {
		if len(r) == 0 {
			return wrong(Element("routes", i), "empty, want at least one link")
		}
		for j, l := range r {
			if l < 0 || l >= len(p.Topology.Links) {
				return wrong(Element(Element("routes", i), j), "link %d does not exist, want 0 to %d", l, len(p.Topology.Links)-1)
			}
		}
	}
	for i := range s.Transfers {
		if err := s.validateTransfer(p, &s.Transfers[i]); err != nil {
			return Within(Element("transfers", i), err)
		}
	}
	if s.Form == Ordered {
		_, err := s.TopologicalOrder()
		return err
	}
	return nil
}

func (s *Schedule) validateTransfer(p *Problem, t *Transfer) error {
	rounds := Time(1024 + 16*len(s.Transfers)) // leaves room for empty rounds, not for absurd ones
	switch {
	case t.Chunk < 0 || int(t.Chunk) >= len(p.Chunks):
		return wrong("chunk", "chunk %d does not exist, want 0 to %d", t.Chunk, len(p.Chunks)-1)
	case t.Src < 0 || int(t.Src) >= p.Topology.Ranks:
		return wrong("src", "rank %d does not exist, want 0 to %d", t.Src, p.Topology.Ranks-1)
	case t.Dst < 0 || int(t.Dst) >= p.Topology.Ranks:
		return wrong("dst", "rank %d does not exist, want 0 to %d", t.Dst, p.Topology.Ranks-1)
	case t.Src == t.Dst:
		return wrong("dst", "rank %d is the source too, want another", t.Dst)
	case t.Route < 0 || int(t.Route) >= len(s.Routes):
		return wrong("route", "route %d does not exist, want 0 to %d", t.Route, len(s.Routes)-1)
	case t.Op > Reduction:
		return wrong("op", "operation %d does not exist, want copy or reduce", t.Op)
	case t.Start < 0:
		return wrong("start", "%d, want 0 or more", int64(t.Start))
	case t.End > MaxEnd:
		return wrong("end", "%d ps, want at most %d", int64(t.End), int64(MaxEnd))
	case s.Form == Timed && t.End <= t.Start:
		return wrong("end", "%d ps, want an end after the start, %d ps", int64(t.End), int64(t.Start))
	case s.Form == InRounds && t.Start >= rounds:
		return wrong("round", "%d, want a round below %d", int64(t.Start), int64(rounds))
	case s.Form == InRounds && t.End != t.Start+1:
		return wrong("round", "%d to %d, want one round", int64(t.Start), int64(t.End))
	case s.Form == Ordered && (t.Start != 0 || t.End != 0):
		return wrong("start", "from %d to %d, want no times in the form order", int64(t.Start), int64(t.End))
	}
	return nil
}

// TopologicalOrder returns the transfers of an Ordered schedule in an order that
// respects After, first those that wait for none, by ascending index, then in the
// order in which they become free; or an error that names a transfer on a cycle.
// It takes O(transfers + order) time.
func (s *Schedule) TopologicalOrder() ([]int32, error) {
	n := len(s.Transfers)
	if len(s.After) != n {
		return nil, wrong("after", "%d lists, want one for each of %d transfers", len(s.After), n)
	}
	waits := make([]int32, n)
	first := make([]int, n+1) // where the transfers that wait for i begin in next
	for i, before := range s.After {
		for k, j := range before {
			if j < 0 || int(j) >= n {
				return nil, wrong(Element(Element("transfers", i)+".after", k), "transfer %d does not exist, want 0 to %d", j, n-1)
			}
			first[j+1]++
		}
		waits[i] = int32(len(before))
	}
	for j := range n {
		first[j+1] += first[j]
	}
	next := make([]int32, first[n])
	free := slices.Clone(first)
	for i, before := range s.After {
		for _, j := range before {
			next[free[j]] = int32(i)
			free[j]++
		}
	}
	order := make([]int32, 0, n)
	for i := range waits {
		if waits[i] == 0 {
			order = append(order, int32(i))
		}
	}
	for done := 0; done < len(order); done++ {
		j := order[done]
		for _, i := range next[first[j]:first[j+1]] {
			if waits[i]--; waits[i] == 0 {
				order = append(order, i)
			}
		}
	}
	if len(order) < n {
		i := s.onCycle(waits)
		return nil, wrong(Element("transfers", i)+".after", "transfer %d waits for itself, directly or through others; want an order without a cycle", i)
	}
	return order, nil
}

// onCycle returns the smallest transfer of some cycle. waits is positive for those
// that never become free: each of them waits for another one of them, so that
// going from one to the next ends in a cycle.
func (s *Schedule) onCycle(waits []int32) int {
	before := func(i int32) int32 {
		k := slices.IndexFunc(s.After[i], func(j int32) bool { return waits[j] > 0 })
		return s.After[i][k]
	}
	seen := make([]bool, len(waits))
	i := int32(slices.IndexFunc(waits, func(w int32) bool { return w > 0 }))
	for ; !seen[i]; i = before(i) {
		seen[i] = true
	}
	least := i
	for j := before(i); j != i; j = before(j) {
		least = min(least, j)
	}
	return int(least)
}
