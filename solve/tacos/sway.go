package tacos

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// sway times a grove forwards and backwards in turn, each time in the order of the time
// before: what ended last goes first when time runs backwards, and so on. Every pass closes
// gaps that the one before could not see (forward-backward improvement: Li and Willis, "An
// iterative scheduling technique for resource-constrained project scheduling", European
// Journal of Operational Research 56, 1992).
type sway struct {
	g           *grove
	there, back *pace
	cells       []cell     // of both, in the form of that which is next
	other       [2][]int32 // by lane of there, and of back: that with the same route of the other
	kept        []begun    // the best so far
	mirrored    bool       // it is that of back
	makespan    model.Time
}

// passes says how often a grove is timed at most, to and fro, and after how many times without
// success no more. Where lanes share links, more of them wait at a time.
func (g *grove) passes() (most, idle int) {
	work := 2 * len(g.up)
	if !g.n.Private {
		work += work / 4 * len(g.n.Hops) / g.ranks
	}
	switch {
	case work > 1<<20:
		return 2, 2
	case work > 1<<18:
		return 3, 3
	case work > 1<<15:
		return 9, 4
	}
	return 17, 6
}

// newSway returns nil if it is stopped.
func newSway(g *grove, back *network.Network, exits [2]*network.Exits, stop func() bool) *sway {
	s := &sway{g: g, makespan: model.MaxTime}
	s.first(back, exits)
	most, idle := g.passes()
	for again, vain := 0, 0; again < most && vain <= idle; again++ {
		p, done := s.there, s.back
		if again%2 == 1 {
			p, done = done, p
		}
		if again > 0 {
			s.turn(done.end, s.other[(again+1)%2])
		}
		if p.begun == nil {
			p.begun = make([]begun, 0, 2*len(g.up))
		}
		if !p.run(stop) {
			break
		}
		if vain++; p.end < s.makespan {
			s.makespan, s.mirrored, vain = p.end, again%2 == 1, 0
			s.kept, p.begun = p.begun, s.kept
		}
	}
	if s.kept == nil {
		return nil
	}
	return s
}

// first gives all jobs an urge: roots complete their chunks one after the other, evenly,
// and what is so far away is due so much before, or after.
func (s *sway) first(back *network.Network, exits [2]*network.Exits) {
	g := s.g
	most := g.most()
	hubOf := make(map[int32]*hub, len(g.hubs))
	reach := model.Time(0)
	for i := range g.hubs {
		h := &g.hubs[i]
		hubOf[h.rank] = h
		reach = max(reach, slices.Max(h.to))
	}
	shift := shiftOf(most + 2*reach)
	s.cells = make([]cell, len(g.up))
	for k, root := range g.root {
		h := hubOf[root]
		at := reach + most.Mul(int64(k))/model.Time(g.chunks)
		for v := range g.ranks {
			i := v*g.chunks + k
			s.cells[i] = cell{up: g.up[i], down: g.down[i], urge: [2]uint32{clip(at-h.to[v], shift), clip(at+h.from[v], shift)}}
		}
	}
	s.there, s.back = newPace(g.n, exits[0], s.cells, shift), newPace(back, exits[1], s.cells, shift)
	of := make([][2]int32, len(g.n.Routes))
	for l := range g.n.Hops {
		of[g.n.Hops[l].Route][0], of[back.Hops[l].Route][1] = int32(l), int32(l)
	}
	s.other = [2][]int32{make([]int32, len(of)), make([]int32, len(of))}
	for _, l := range of {
		s.other[0][l[0]], s.other[1][l[1]] = l[1], l[0]
	}
}

// turn has the jobs that one pace has timed be the more urgent for the other, the later
// they ended.
func (s *sway) turn(end model.Time, other []int32) {
	last := clip(end, s.there.shift)
	for i := range s.cells {
		if c := &s.cells[i]; c.up >= 0 {
			c.up, c.down = other[c.down], other[c.up]
			c.urge = [2]uint32{last - c.urge[1], last - c.urge[0]}
		}
	}
}

// moves returns the transfers of the best times.
func (s *sway) moves() []model.Transfer {
	g := s.g
	moves := make([]model.Transfer, 0, len(s.kept))
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
		moves = append(moves, model.Transfer{
			Chunk: int32(k), Src: x.Src, Dst: x.Dst, Route: x.Route, Op: [2]model.Op{model.Reduction, model.Copy}[half],
			Start: start, End: start + lasts,
		})
	}
	if s.mirrored {
		slices.Reverse(moves)
	}
	return moves
}
