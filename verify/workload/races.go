package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
)

// touch is what an operation does with a region on a rank.
type touch struct {
	op     int
	region wl.Region
	writes bool
	until  model.Time // of a computation that is done with it before it ends; 0: the end
}

// never is the height of a path that does not exist.
const never = math.MaxInt32

// races checks that any two accesses of different operations, or iterations, to one place, at
// least one of them a write, are ordered by edges, whatever the times (V5).
//
// Lemma. Let h(x,y) be the least height of a path of edges from access x to operation y, and
// let each operation that writes be on a cycle of height 1. Then x in iteration i and y in
// iteration j are ordered if j-i >= h(x,y) or i-j >= h(y,x); and so all iterations are ordered if
// h(x,y) + h(y,x) <= 1. Proof. A path of height h orders iterations i and i+h [by its edges];
// round the writer's cycle, which has height 1, it orders i and i+h+1, and so on. Every
// difference d of iterations is at least h(x,y) or at most -h(y,x) if -h(y,x)+1 >= h(x,y). ∎
//
// So what a read finds is decided by the edges, not by the times: the last write before it
// in their order. With V5, and values of one collective proved by itself, each iteration of a job
// finds what it would find if the job ran alone.
func (c *composition) races() {
	perRank := c.touches()
	type asked struct {
		op    int
		until model.Time
		class string
	}
	known := map[asked][]int32{}
	members := make([]strings.Builder, c.w.Topology.Ranks) // the operations of each rank, those without transfers there among them
	for i := range c.w.Ops {
		for _, v := range c.w.Members(c.w.Ops[i].Group) {
			fmt.Fprint(&members[v], i, " ")
		}
	}
	for v, list := range perRank {
		byBuffer := map[string][]touch{}
		for _, t := range list {
			byBuffer[t.region.Buffer] = append(byBuffer[t.region.Buffer], t)
		}
		class := members[v].String()
		heights := func(t touch) []int32 {
			key := asked{t.op, t.until, class}
			if known[key] == nil {
				known[key] = c.heights(t, v)
			}
			return known[key]
		}
		for _, touches := range byBuffer {
			slices.SortFunc(touches, func(a, b touch) int { return int(min(max(a.region.Offset-b.region.Offset, -1), 1)) })
			for i, a := range touches {
				for _, b := range touches[i:] {
					if b.region.Offset >= a.region.Offset+a.region.Size {
						break
					}
					if !c.work.Go(1) || len(c.wrong) >= verify.MaxViolations {
						return
					}
					if !a.writes && !b.writes {
						continue
					}
					c.ordered(a, b, v, heights)
				}
			}
		}
	}
}

// ordered checks two accesses.
func (c *composition) ordered(a, b touch, v int, heights func(touch) []int32) {
	if c.disordered(a, b, heights(a)[b.op], heights(b)[a.op], v, false) { // paths that leave the rank and come back take longer to find
		c.disordered(a, b, c.along(a, v)[b.op], c.along(b, v)[a.op], v, true)
	}
}

// disordered reports whether nothing orders two accesses on rank v, given the heights of the paths between
// them, and, if it is to, reports that.
func (c *composition) disordered(a, b touch, ab, ba int32, v int, report bool) bool {
	n := c.w.Iterations(a.op)
	many := n > 1 || c.s.Period > 0
	for _, e := range c.w.Edges { // chunks wait for chunks at one place
		if e.Scope == wl.ByChunk && e.From == a.op && e.To == b.op {
			ab = min(ab, int32(e.Height))
		}
		if e.Scope == wl.ByChunk && e.From == b.op && e.To == a.op {
			ba = min(ba, int32(e.Height))
		}
	}
	wrong := func(how string) bool {
		if !report {
			return true
		}
		code := verify.ReadWriteRace
		if a.writes && b.writes {
			code = verify.WriteWriteRace
		}
		c.report(verify.Wrong(code, fmt.Sprintf("rank %d, %s from byte %d", v, model.Quote(a.region.Buffer), max(a.region.Offset, b.region.Offset)), how).AtRank(v))
		return true
	}
	if a.op == b.op {
		return many && max(ab, ba) > 1 && wrong(fmt.Sprintf("an iteration of %s does not wait for the one before", c.w.Ops[a.op].ID))
	}
	lo, hi := int64(1-ba), int64(ab)-1 // differences of iterations that nothing orders
	if ba == never {
		lo = math.MinInt32
	}
	if !many {
		lo, hi = max(lo, 0), min(hi, 0)
	} else if c.s.Period == 0 {
		lo, hi = max(lo, int64(1-n)), min(hi, int64(n-1))
	}
	return lo <= hi && wrong(fmt.Sprintf("nothing orders %s and %s", c.w.Ops[a.op].ID, c.w.Ops[b.op].ID))
}

// along is heights with paths over all ranks: an edge of scope rank leads on wherever both of its ends
// are. It takes O(edges·ranks) time for each round, of which there are as many as a path has edges.
func (c *composition) along(t touch, v int) []int32 {
	type node struct{ op, rank int }
	h := map[node]int32{}
	changed := true
	reach := func(e wl.Edge, from int, height int32) {
		for _, r := range c.w.Members(c.w.Ops[e.To].Group) {
			if e.Scope != wl.ByAll && (e.Scope != wl.ByRank || r != from) {
				continue
			}
			if was, known := h[node{e.To, r}]; !known || height+int32(e.Height) < was {
				h[node{e.To, r}], changed = height+int32(e.Height), true
			}
			c.work.Go(1)
		}
	}
	for _, e := range c.w.Edges {
		if e.From == t.op && (!e.FromStart || t.until > 0 && e.Offset >= t.until) {
			reach(e, v, 0)
		}
	}
	for changed && c.work.Go(len(c.w.Edges)) {
		changed = false
		for _, e := range c.w.Edges {
			for _, r := range c.w.Members(c.w.Ops[e.From].Group) {
				if height, known := h[node{e.From, r}]; known {
					reach(e, r, height)
				}
			}
		}
	}
	all := make([]int32, len(c.w.Ops))
	for i := range all {
		all[i] = never
		if height, known := h[node{i, v}]; known {
			all[i] = height
		}
	}
	return all
}

// heights returns for each operation the least height of a path to it from an access on rank v,
// by edges of scopes rank and all. Chunks that wait for chunks are looked at by themselves.
func (c *composition) heights(t touch, v int) []int32 {
	h := make([]int32, len(c.w.Ops))
	for i := range h {
		h[i] = never
	}
	here := func(op int) bool { return slices.Contains(c.w.Members(c.w.Ops[op].Group), v) }
	member := make([]bool, len(c.w.Ops))
	for i := range c.w.Ops {
		member[i] = here(i)
	}
	usable := func(e wl.Edge) bool {
		return e.Scope == wl.ByAll || e.Scope == wl.ByRank && member[e.From] && member[e.To]
	}
	for _, e := range c.w.Edges {
		if e.From == t.op && usable(e) && (!e.FromStart || t.until > 0 && e.Offset >= t.until) {
			h[e.To] = min(h[e.To], int32(e.Height))
		}
	}
	for changed := true; changed; {
		changed = false
		for _, e := range c.w.Edges {
			if h[e.From] != never && usable(e) && h[e.From]+int32(e.Height) < h[e.To] {
				h[e.To] = h[e.From] + int32(e.Height)
				changed = true
			}
		}
		if !c.work.Go(len(c.w.Edges)) {
			break
		}
	}
	return h
}

// touches returns what is done on each rank, by operation.
func (c *composition) touches() [][]touch {
	all := make([][]touch, c.w.Topology.Ranks)
	type seen struct{ op, program int }
	done := map[seen]bool{}
	for i := range c.w.Ops {
		op := &c.w.Ops[i]
		if op.Kind == wl.Compute {
			for _, v := range c.w.Members(op.Group) {
				for _, a := range op.Reads {
					all[v] = append(all[v], touch{i, a.Region, false, a.Until})
				}
				for _, a := range op.Writes {
					all[v] = append(all[v], touch{i, a.Region, true, a.Until})
				}
			}
		}
		for _, placement := range c.placed[i] {
			p := c.s.Placed[placement]
			if p.Program < 0 || done[seen{i, p.Program}] {
				continue
			}
			done[seen{i, p.Program}] = true
			c.touchesOf(i, c.s.Programs[p.Program], all)
		}
		if !c.work.Go(1 + len(c.w.Members(op.Group))) {
			break
		}
	}
	return all
}

// touchesOf adds what a program does with the buffers of the members of operation i: runs of
// chunks that are alike are one region.
func (c *composition) touchesOf(i int, s *model.Schedule, all [][]touch) {
	p := c.problems[i]
	state := map[int][]uint8{} // of each member, by chunk: 1 read, 2 written
	for _, v := range p.Members() {
		state[v] = make([]uint8, len(p.Chunks))
		c.work.Go(len(p.Chunks) / 64)
	}
	for j := range s.Transfers {
		t := &s.Transfers[j]
		if of := state[int(t.Src)]; of != nil {
			of[t.Chunk] = max(of[t.Chunk], 1)
		}
		if of := state[int(t.Dst)]; of != nil {
			of[t.Chunk] = 2
		}
	}
	for _, v := range p.Members() {
		name, offset := c.w.BufferOf(i, v)
		of := state[v]
		for k := 0; k < len(of); {
			end := k
			for end < len(of) && of[end] == of[k] {
				end++
			}
			if of[k] > 0 {
				from, to := p.Chunks[k].Offset, p.Chunks[end-1].Offset+p.Chunks[end-1].Size
				all[v] = append(all[v], touch{i, wl.Region{Buffer: name, Offset: offset + from, Size: to - from}, of[k] == 2, 0})
			}
			k = end
		}
	}
	c.work.Go(len(s.Transfers))
}
