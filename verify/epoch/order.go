package epoch

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

type slot struct{ rank, chunk int32 }

// order has every transfer wait for the one that brings what it sends, and checks that
// this one arrives before it starts.
func (c *check) order() (*model.Schedule, []int) {
	first := map[slot]int{} // the transfer that brings a chunk to a rank first
	for i := range c.s.Transfers {
		x := &c.s.Transfers[i]
		key := slot{x.Dst, x.Chunk}
		if j, also := first[key]; !also || c.arrival[i] < c.arrival[j] {
			first[key] = i
		}
	}
	start := map[int32]map[int32]bool{} // chunk, rank
	holds := func(chunk, rank int32) bool {
		ranks, known := start[chunk]
		if !known {
			ranks = map[int32]bool{}
			for r := range c.p.Start(int(chunk)) {
				ranks[int32(r)] = true
			}
			start[chunk] = ranks
		}
		return ranks[rank]
	}
	ordered := &model.Schedule{Form: model.Ordered, Routes: c.s.Routes}
	var kept []int
	index := make([]int32, len(c.s.Transfers)) // in the new schedule, or -1
	for i := range c.s.Transfers {
		x := &c.s.Transfers[i]
		index[i] = -1
		if first[slot{x.Dst, x.Chunk}] == i && !holds(x.Chunk, x.Dst) {
			index[i] = int32(len(kept))
			kept = append(kept, i)
			ordered.Transfers = append(ordered.Transfers, *x)
		}
	}
	ordered.After = make([][]int32, len(kept))
	for i := range c.s.Transfers {
		x := &c.s.Transfers[i]
		if holds(x.Chunk, x.Src) {
			continue
		}
		j, arrives := first[slot{x.Src, x.Chunk}]
		if arrives && index[i] >= 0 { // if it is too late for the epochs, what is performed may still be right
			ordered.After[index[i]] = []int32{index[j]}
		}
		switch {
		case !arrives:
			c.report(verify.SendUndefined, i, int(x.Src), int(x.Chunk), c.about(i), "rank %d never gets chunk %d", x.Src, x.Chunk)
		case c.arrival[j] > c.plan.Start[i]:
			c.report(verify.SendUndefined, i, int(x.Src), int(x.Chunk), c.about(i), "rank %d has chunk %d only from epoch %d on, when %s has arrived", x.Src, x.Chunk, c.arrival[j], c.about(j))
		}
	}
	return ordered, kept
}
