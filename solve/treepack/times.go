package treepack

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// times times a packing forwards and backwards in turn, each time in the order of the time
// before: what ended last goes first when time runs backwards, and so on. Every pass closes
// gaps that the one before could not see.
type times struct {
	g           *packing
	there, back *timing.Parallel
	trees       *trees     // of both, in the form of that which is next
	other       [2][]int32 // by hop of there, and of back: that with the same route of the other
	kept        []begun    // the best so far
	mirrored    bool       // it is of back
	makespan    model.Time
}

// cell is what is known of a chunk at a rank: everything of it lies together in memory, and
// the cells of a rank do, by chunk, since chunks come in their order, about.
type cell struct {
	up, down int32     // hops of the network; -1 at the root
	priority [2]uint32 // of the jobs over them: the least goes first; after a pass, when they ended
	pending  int32     // how many have still to send to it
}

// trees implements timing.Jobs. Job v·chunks+k is that rank v sends chunk k towards its root,
// job (ranks+v)·chunks+k that it gets it from there. Over a mirrored network up and down are
// exchanged.
type trees struct {
	chunks  int
	cells   []cell // by rank and chunk
	out     [2]*network.Exits
	dst     [2][]int32 // by hop
	now     int        // 1: time runs backwards
	reached []uint32   // scratch
	shift   int        // by how many bits times are shifted to be priorities
	begun   []begun    // in the order of their starts
}

// begun is a job with its start.
type begun struct {
	job   int32
	start model.Time
}

// Count implements timing.Jobs.
func (t *trees) Count() int { return 2 * (len(t.cells) - t.chunks) }

// Chunk implements timing.Jobs.
func (t *trees) Chunk(job int32) int32 { return int32(int(job) % t.chunks) }

// Began implements timing.Jobs.
func (t *trees) Began(job int32, start, end model.Time) {
	t.begun = append(t.begun, begun{job, start})
	at, half := int(job), 0
	if at >= len(t.cells) {
		at, half = at-len(t.cells), 1
	}
	t.cells[at].priority[half] = clip(end, t.shift)
}

// reset counts what each cell waits for.
func (t *trees) reset() {
	if t.begun = t.begun[:0]; t.begun == nil {
		t.begun = make([]begun, 0, 2*len(t.cells))
	}
	for at := range t.cells {
		t.cells[at].pending = 0
	}
	dst := t.dst[t.now]
	for at := 0; at < len(t.cells); {
		for k := range t.chunks {
			if l := t.cells[at].up; l >= 0 {
				t.cells[int(dst[l])*t.chunks+k].pending++
			}
			at++
		}
	}
}

// Ready implements timing.Jobs.
func (t *trees) Ready(yield func(hop int32, key uint64)) {
	for at := range t.cells {
		if c := &t.cells[at]; c.pending == 0 && c.up >= 0 {
			yield(c.up, uint64(c.priority[0])<<32|uint64(at))
		}
	}
}

// Ended implements timing.Jobs. What it needs of cells it reads for all jobs, one after the
// other, before it does anything with it: so memory is not waited for each time.
func (t *trees) Ended(jobs, hops []int32, ready []timing.Waiting) ([]int32, []timing.Waiting) {
	half, chunks := uint32(len(t.cells)), uint32(t.chunks)
	for _, job := range jobs {
		if at := uint32(job); at < half {
			hops = append(hops, t.cells[at].up)
		} else {
			hops = append(hops, t.cells[at-half].down)
		}
	}
	dst, out := t.dst[t.now], t.out[t.now]
	t.reached = t.reached[:0]
	for i, job := range jobs {
		at := uint32(job)
		if at >= half {
			t.reached = append(t.reached, at-half)
			continue
		}
		at = uint32(dst[hops[i]])*chunks + at%chunks
		c := &t.cells[at]
		if c.pending--; c.pending > 0 {
			continue
		}
		if c.up >= 0 {
			ready = append(ready, timing.Waiting{Hop: c.up, Key: uint64(c.priority[0])<<32 | uint64(at)})
		} else { // it is the root
			t.reached = append(t.reached, at)
		}
	}
	for _, from := range t.reached {
		v := from / chunks
		k := from - v*chunks
		for i := out.First[v]; i < out.First[v+1]; i++ {
			l, at := out.List[i], uint32(out.To[i])*chunks+k
			if c := &t.cells[at]; c.down == l {
				ready = append(ready, timing.Waiting{Hop: l, Key: uint64(c.priority[1])<<32 | uint64(half+at)})
			}
		}
	}
	return hops, ready
}

// passes returns how often a packing is timed at most, to and fro, and after how many times
// without success no more. Where hops share links, more of them wait at a time.
func (g *packing) passes() (most, idle int) {
	work := 2 * len(g.up)
	if !g.n.Private {
		work += work / 4 * len(g.n.Hops) / g.ranks
	}
	switch {
	case work > 1<<20:
		return 2, 2
	case work > 1<<19:
		return 3, 3
	case work > 1<<15:
		return 9, 4
	}
	return 17, 6
}

// newTimes returns nil if it is stopped.
func newTimes(g *packing, back *network.Network, exits [2]*network.Exits, stop func() bool) *times {
	s := &times{g: g, makespan: model.MaxTime}
	s.first(back, exits)
	most, idle := g.passes()
	for again, vain := 0, 0; again < most && vain <= idle; again++ {
		p, done := s.there, s.back
		if again%2 == 1 {
			p, done = done, p
		}
		if again > 0 {
			s.turn(done, s.other[(again+1)%2])
		}
		s.trees.now = again % 2
		s.trees.reset()
		if !p.Run(stop) {
			break
		}
		if vain++; p.End < s.makespan {
			s.makespan, s.mirrored, vain = p.End, again%2 == 1, 0
			s.kept, s.trees.begun = s.trees.begun, s.kept
		}
	}
	if s.kept == nil {
		return nil
	}
	return s
}

// first gives all jobs a priority: roots complete their chunks one after the other, evenly,
// and what is so far away is due so much before, or after.
func (s *times) first(back *network.Network, exits [2]*network.Exits) {
	g := s.g
	centreOf := make(map[int32]*centre, len(g.roots))
	reach := model.Time(0)
	for i := range g.roots {
		h := &g.roots[i]
		centreOf[h.rank] = h
		reach = max(reach, slices.Max(h.to))
	}
	shift := shiftOf(g.span + 2*reach)
	s.trees = &trees{shift: shift, chunks: g.chunks, cells: make([]cell, len(g.up)), out: exits, dst: [2][]int32{destinations(g.n), destinations(back)}}
	for k, root := range g.root {
		h := centreOf[root]
		at := reach + g.span.Mul(int64(k))/model.Time(g.chunks)
		for v := range g.ranks {
			i := v*g.chunks + k
			s.trees.cells[i] = cell{up: g.up[i], down: g.down[i], priority: [2]uint32{clip(at-h.to[v], shift), clip(at+h.from[v], shift)}}
		}
	}
	s.there, s.back = timing.NewParallel(g.n, s.trees), timing.NewParallel(back, s.trees)
	of := make([][2]int32, len(g.n.Routes))
	for l := range g.n.Hops {
		of[g.n.Hops[l].Route][0], of[back.Hops[l].Route][1] = int32(l), int32(l)
	}
	s.other = [2][]int32{make([]int32, len(of)), make([]int32, len(of))}
	for _, l := range of {
		s.other[0][l[0]], s.other[1][l[1]] = l[1], l[0]
	}
}

func destinations(n *network.Network) []int32 {
	dst := make([]int32, len(n.Hops))
	for l := range n.Hops {
		dst[l] = n.Hops[l].Dst
	}
	return dst
}

// turn has the jobs that one pass has timed go the earlier in the other direction of time,
// the later they ended.
func (s *times) turn(done *timing.Parallel, other []int32) {
	last := clip(done.End, s.trees.shift)
	for i := range s.trees.cells {
		if c := &s.trees.cells[i]; c.up >= 0 {
			c.up, c.down = other[c.down], other[c.up]
			c.priority = [2]uint32{last - c.priority[1], last - c.priority[0]}
		}
	}
}

// transfers returns the transfers of the best times.
func (s *times) transfers() []model.Transfer {
	g := s.g
	list := make([]model.Transfer, 0, len(s.kept))
	for _, b := range s.kept {
		at, half := int(b.job), 0
		if at >= len(g.up) {
			at, half = at-len(g.up), 1
		}
		if s.mirrored {
			half = 1 - half
		}
		l := [2][]int32{g.up, g.down}[half][at]
		x, k := &g.n.Hops[l], at%g.chunks
		lasts := g.n.Lasts(x, g.n.Class[k])
		start := b.start
		if s.mirrored {
			start = s.makespan - b.start - lasts
		}
		list = append(list, model.Transfer{
			Chunk: int32(k), Src: x.Src, Dst: x.Dst, Route: x.Route, Op: [2]model.Op{model.Reduction, model.Copy}[half],
			Start: start, End: start + lasts,
		})
	}
	if s.mirrored {
		slices.Reverse(list)
	}
	return list
}

// shiftOf returns by how many bits times must be shifted for those up to eight times as
// late to fit into a priority.
func shiftOf(t model.Time) int {
	shift := 0
	for t>>shift >= 1<<29 {
		shift++
	}
	return shift
}

// clip returns a time as a priority.
func clip(t model.Time, shift int) uint32 { return uint32(max(0, min(t>>shift, 1<<32-1))) }
