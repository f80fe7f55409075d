package smt

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Limits for Ordered schedules, in which the times are unknowns.
const (
	maxOrdered = 4096    // transfers of the schedule
	maxPairs   = 1 << 15 // pairs of accesses to one slot, for each chunk
)

// access is a read or a write of a slot.
type access struct {
	transfer int32
	write    bool
	copies   bool
}

// ordered encodes an Ordered schedule: starts and ends of all transfers are
// unknowns that respect the order. Of any two accesses to one slot, at least one a
// write and not both reductions, the claim is that they happen in the sequence in
// which they stand in transfers, whatever the times; so that sequence decides what
// every execution computes. transfers must be in an order that respects After.
func (e *encoder) ordered(transfers []int32) {
	e.Script.Comment("s and e are when transfers start and end: at any times that respect the order")
	start, end := make([]Term, len(e.s.Transfers)), make([]Term, len(e.s.Transfers))
	for i := range e.s.Transfers {
		start[i], end[i] = e.Script.Declare(fmt.Sprintf("s%d", i), Int), e.Script.Declare(fmt.Sprintf("e%d", i), Int)
		e.Script.Assert(Lt(start[i], end[i]))
	}
	for i, before := range e.s.After {
		for _, j := range before {
			e.Script.Assert(Le(end[j], start[i]))
		}
	}
	slots := make([][]access, e.p.Topology.Ranks)
	reads := map[int32]int{}
	for _, i := range transfers {
		t := &e.s.Transfers[i]
		for _, a := range slots[t.Src] {
			if a.write {
				e.wrong(Not(Le(end[a.transfer], start[i])), fault{verify.ReadWriteRace, i, a.transfer, int(t.Src), -1, Term{}})
			}
		}
		slots[t.Src] = append(slots[t.Src], access{i, false, false})
		reads[i] = e.read(i)
		copies := t.Op == model.Copy
		for _, a := range slots[t.Dst] {
			switch {
			case !a.write:
				e.wrong(Not(Lt(start[a.transfer], end[i])), fault{verify.ReadWriteRace, i, a.transfer, int(t.Dst), -1, Term{}})
			case copies || a.copies:
				e.wrong(Not(Le(end[a.transfer], start[i])), fault{verify.WriteWriteRace, i, a.transfer, int(t.Dst), -1, Term{}})
			}
		}
		slots[t.Dst] = append(slots[t.Dst], access{i, true, copies})
		e.write([]int32{i}, reads)
	}
}

// pairs bounds the number of pairs that ordered would look at.
func pairs(s *model.Schedule, ranks int, transfers []int32) int {
	accesses := make([]int, ranks)
	n := 0
	for _, i := range transfers {
		t := &s.Transfers[i]
		n += accesses[t.Src] + accesses[t.Dst]
		accesses[t.Src]++
		accesses[t.Dst]++
	}
	return n
}
