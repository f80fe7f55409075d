package replay

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// order looks for races in an Ordered schedule and fixes the sequence in which
// data will execute it. If there is no race, every execution that the order
// allows gives the same result, so that one sequence decides for all (SPEC 5.3).
func (c *check) order() {
	if c.s.Form != model.Ordered {
		return
	}
	sequence, err := c.s.TopologicalOrder()
	if err != nil {
		panic("validated before: " + err.Error())
	}
	c.sequence = sequence
	h, ok := newHistory(c.work, c.s, sequence)
	if !ok {
		c.undecided = fmt.Sprintf("the order has more than %d concurrent chains for %d transfers: races were not looked for", h.chains, len(sequence))
		return
	}
	if !c.work.Go(1) {
		return
	}
	slots := map[[2]int32]*slotHistory{}
	at := func(rank, chunk int32) *slotHistory {
		key := [2]int32{rank, chunk}
		if slots[key] == nil {
			slots[key] = &slotHistory{lastCopy: -1}
		}
		return slots[key]
	}
	for _, i := range sequence {
		t := &c.s.Transfers[i]
		c.orderedRead(h, at(t.Src, t.Chunk), i)
		if c.orderedWrite(h, at(t.Dst, t.Chunk), i); !c.goes(1) {
			return
		}
	}
}

// slotHistory holds the accesses to one slot that later ones must come after.
type slotHistory struct {
	reads    []int32 // since the last copy, those that no later read comes after
	writes   []int32 // those that no later write comes after
	lastCopy int32   // or -1
}

// orderedRead checks that i, which reads the slot, comes after all writes that
// precede it in the sequence. Writes that a later write comes after need no look.
func (c *check) orderedRead(h *history, s *slotHistory, i int32) {
	c.work.Go(len(s.writes) + len(s.reads))
	for _, w := range s.writes {
		if !h.before(w, i) {
			c.race(verify.ReadWriteRace, i, w, c.s.Transfers[i].Src, "reads", "writes it")
		}
	}
	s.reads = append(slices.DeleteFunc(s.reads, func(r int32) bool { return h.before(r, i) }), i)
}

// orderedWrite checks that i, which writes the slot, comes after all reads, after
// the last copy, and, if it copies itself, after all writes. Reductions commute.
func (c *check) orderedWrite(h *history, s *slotHistory, i int32) {
	t := &c.s.Transfers[i]
	c.work.Go(len(s.writes) + len(s.reads))
	for _, r := range s.reads {
		if !h.before(r, i) {
			c.race(verify.ReadWriteRace, i, r, t.Dst, "writes", "reads it")
		}
	}
	if s.lastCopy >= 0 && !h.before(s.lastCopy, i) {
		c.race(verify.WriteWriteRace, i, s.lastCopy, t.Dst, "writes", "writes it")
	}
	kept := s.writes[:0]
	for _, w := range s.writes {
		switch after := h.before(w, i); {
		case after:
			continue
		case t.Op == model.Copy && w != s.lastCopy:
			c.race(verify.WriteWriteRace, i, w, t.Dst, "writes", "writes it")
		}
		kept = append(kept, w)
	}
	s.writes = append(kept, i)
	if t.Op == model.Copy {
		s.lastCopy = i
		s.reads = s.reads[:0] // what comes after the copy comes after them
	}
}

func (c *check) race(code verify.Code, i, j, rank int32, does, other string) {
	c.report(code, int(i), int(rank), int(c.s.Transfers[i].Chunk), c.about(int(i)),
		"%s rank %d's slot, and nothing orders it with %s, which %s", does, rank, c.about(int(j)), other)
}

// history answers whether one transfer must have ended before another starts. The
// transfers are covered by chains of such pairs; clock[i][c] is how many of chain
// c must have ended before i has.
type history struct {
	chains   int
	chain    []int32 // of each transfer
	position []int32 // in its chain, from 1
	clock    [][]int32
}

// newHistory covers the transfers greedily: each joins the chain of a predecessor
// that is still the last of its chain. ok is false where that needs too much memory. It
// takes O(chains) time for each transfer and each entry of After; if the work ends on the
// way the history is of no use.
func newHistory(work *verify.Work, s *model.Schedule, sequence []int32) (h *history, ok bool) {
	n := len(s.Transfers)
	h = &history{chain: make([]int32, n), position: make([]int32, n), clock: make([][]int32, n)}
	var tails []int32
	for _, i := range sequence {
		joined := int32(-1)
		for _, j := range s.After[i] {
			if tails[h.chain[j]] == j {
				joined = h.chain[j]
				break
			}
		}
		if joined < 0 {
			joined = int32(len(tails))
			tails = append(tails, -1)
		}
		h.chain[i], h.position[i] = joined, 1
		if last := tails[joined]; last >= 0 {
			h.position[i] = h.position[last] + 1
		}
		tails[joined] = i
	}
	h.chains = len(tails)
	if int64(h.chains)*int64(n) > maxClocks {
		return h, false
	}
	for _, i := range sequence {
		if !work.Go((1 + h.chains/8) * (1 + len(s.After[i]))) { // eight or more at a time
			return h, true
		}
		clock := make([]int32, h.chains)
		for _, j := range s.After[i] {
			for c, p := range h.clock[j] {
				clock[c] = max(clock[c], p)
			}
		}
		clock[h.chain[i]] = h.position[i]
		h.clock[i] = clock
	}
	return h, true
}

// before reports whether j must have ended before i starts. A transfer is not before
// itself, but its read comes before its write.
func (h *history) before(j, i int32) bool {
	return j != i && h.clock[i][h.chain[j]] >= h.position[j]
}
