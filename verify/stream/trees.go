package stream

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// trees follows reductions in bounded memory: of each slot it keeps whether its rank has sent
// it on, and whether it is full, which is the bit that slots keep. Section 11 of
// verify/SPEC.md states which schedules it decides, and why.
type trees struct {
	sent   []uint64 // like slots.bits
	sends  []int32  // by chunk: how many ranks have sent it on to be added
	landed []int32  // and how many of these have arrived
	lost   slot     // a slot that something was added to after it had been sent on
	losses int
}

// reduces reports whether a collective is followed by trees.
func reduces(k model.Kind) bool {
	return k == model.Reduce || k == model.ReduceScatter || k == model.AllReduce
}

func newTrees(p *model.Problem, s *slots) trees {
	return trees{sent: make([]uint64, len(s.bits)), sends: make([]int32, len(p.Chunks)), landed: make([]int32, len(p.Chunks))}
}

func (s *slots) isSent(rank, chunk int32) bool {
	return s.trees.sent[s.word(rank, chunk)]>>(chunk&63)&1 != 0
}

// complete reports whether a rank holds all contributions to a chunk as the root of its tree.
func (s *slots) complete(ranks int, rank, chunk int32) bool {
	return int(s.landed[chunk]) == ranks-1 && !s.isSent(rank, chunk)
}

// reduce has a transfer of a reducing collective read and write, or explains why that is not decided.
func (c *Checker) reduce(t *model.Transfer) {
	n := c.t.Ranks
	if t.Op == model.Copy {
		if !c.defined(t.Src, t.Chunk) && !c.complete(n, t.Src, t.Chunk) {
			c.undecided = fmt.Sprintf("%s copies a part of the sum; streaming follows copies of what is complete", c.about(t))
			return
		}
		c.launch(t.End, t.End-t.Start, t.Dst, t.Chunk)
		return
	}
	switch {
	case c.isSent(t.Src, t.Chunk):
		c.undecided = fmt.Sprintf("%s is a reduction of what rank %d has sent on before; streaming follows trees", c.about(t), t.Src)
		return
	case int(c.sends[t.Chunk]) == n-1:
		c.undecided = fmt.Sprintf("%s is a reduction of what all other ranks have sent on before; streaming follows trees", c.about(t))
		return
	}
	c.trees.sent[c.word(t.Src, t.Chunk)] |= 1 << (t.Chunk & 63)
	c.sends[t.Chunk]++
	c.launch(t.End, t.End-t.Start, t.Dst, ^t.Chunk)
}

// arrive adds what has been sent on to a slot.
func (s *slots) arrive(x slot) {
	s.landed[x.chunk]++
	if s.isSent(x.rank, x.chunk) {
		s.lost = x
		s.losses++
	}
}

// lose notes that a reduction came too late for a tree.
func (c *Checker) lose() {
	if c.losses > 0 && c.undecided == "" {
		c.undecided = fmt.Sprintf("rank %d has sent chunk %d on before all that is added to it is a reduction that has arrived; streaming follows trees", c.lost.rank, c.lost.chunk)
	}
}

// compareSums sets the slots against the postcondition of a reducing collective.
func (c *Checker) compareSums() {
	for k := range c.p.Chunks {
		for r := range c.p.Goal(k) {
			if len(c.violations) >= verify.MaxViolations || !c.work.Go(1) {
				return
			}
			if !c.defined(int32(r), int32(k)) && !c.complete(c.t.Ranks, int32(r), int32(k)) {
				c.reportSlot(verify.MissingContribution, r, k, "ends without all contributions: %d of %d ranks have sent theirs on, and they have arrived", c.landed[k], c.t.Ranks-1)
			}
		}
	}
}
