package tacos

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// sway times a grove forwards and backwards in turn, each time in the order of the time
// before: what ended last goes first when time runs backwards, and so on. Every pass closes
// gaps that the one before could not see (forward-backward improvement: Li and Willis, "An
// iterative scheduling technique for resource-constrained project scheduling", European
// Journal of Operational Research 56, 1992).
type sway struct {
	g           *grove
	there, back *pace
	start       []model.Time // of the best so far, by job as there
	makespan    model.Time
}

// passes says how often a grove is timed to and fro at most, and after how many times
// without success no more. Where lanes share links, more of them wait at a time.
func (g *grove) passes() (most, idle int) {
	work := 2 * len(g.up)
	if !g.n.private {
		work += work / 4 * len(g.n.lanes) / g.ranks
	}
	switch {
	case work > 1<<18:
		return 1, 1
	case work > 1<<15:
		return 4, 2
	}
	return 8, 3
}

// newSway returns nil if it is stopped.
func newSway(g *grove, back *network, exits [2]*exit, stop func() bool) *sway {
	s := &sway{g: g, there: newPace(g, g.n, exits[0]), back: newPace(g, back, exits[1])}
	s.first()
	if !s.there.run(stop) {
		return nil
	}
	s.start, s.makespan = slices.Clone(s.there.start), s.there.end
	most, idle := g.passes()
	for again, vain := 0, 0; again < most && vain < idle; again++ {
		vain++
		s.turn(s.there, s.back)
		if !s.back.run(stop) {
			break
		}
		s.turn(s.back, s.there)
		if s.back.end < s.makespan { // told in the time of there
			s.makespan, vain = s.back.end, 0
			s.flip(s.start)
		}
		if !s.there.run(stop) {
			break
		}
		if s.there.end < s.makespan {
			s.makespan, vain = s.there.end, 0
			copy(s.start, s.there.start)
		}
	}
	return s
}

// first gives all jobs an urge: roots complete their chunks one after the other, evenly,
// and what is so far away is due so much before, or after.
func (s *sway) first() {
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
	for k, root := range g.root {
		h := hubOf[root]
		at := reach + most.Mul(int64(k))/model.Time(g.chunks)
		for v := range g.ranks {
			job := v*g.chunks + k
			s.there.urge[job] = clip(at-h.to[v], shift)
			s.there.urge[len(g.up)+job] = clip(at+h.from[v], shift)
		}
	}
}

// shiftOf returns by how many bits times must be shifted for those up to eight times as
// late to fit into an urge.
func shiftOf(t model.Time) int {
	shift := 0
	for t>>shift >= 1<<29 {
		shift++
	}
	return shift
}

func clip(t model.Time, shift int) uint32 { return uint32(max(0, min(t>>shift, 1<<32-1))) }

// turn has the jobs of one pace be the more urgent for the other, the later they ended.
func (s *sway) turn(done, next *pace) {
	half := len(s.g.up)
	shift := shiftOf(done.end)
	for at := range half {
		up, down := done.up[at], done.down[at]
		if up < 0 {
			continue
		}
		class := done.class[at%s.g.chunks]
		next.urge[half+at] = clip(done.end-done.start[at]-done.lasts(&done.lanes[done.mine[up]], class), shift)
		next.urge[at] = clip(done.end-done.start[half+at]-done.lasts(&done.lanes[done.mine[down]], class), shift)
	}
}

// flip writes the times of the pace back as those of there.
func (s *sway) flip(start []model.Time) {
	half := len(s.g.up)
	b := s.back
	for at := range half {
		up, down := b.up[at], b.down[at]
		if up < 0 {
			continue
		}
		class := b.class[at%s.g.chunks]
		start[half+at] = b.end - b.start[at] - b.lasts(&b.lanes[b.mine[up]], class)
		start[at] = b.end - b.start[half+at] - b.lasts(&b.lanes[b.mine[down]], class)
	}
}

// moves returns the transfers of the best times, those of a rank together.
func (s *sway) moves() []model.Transfer {
	g := s.g
	moves := make([]model.Transfer, 0, 2*g.chunks*(g.ranks-1))
	for half, tree := range [2][]int32{g.up, g.down} {
		op := [2]model.Op{model.Reduction, model.Copy}[half]
		for at, l := range tree {
			if l < 0 {
				continue
			}
			x, k := &g.n.lanes[l], at%g.chunks
			start := s.start[half*len(tree)+at]
			moves = append(moves, model.Transfer{
				Chunk: int32(k), Src: x.src, Dst: x.dst, Route: x.route, Op: op,
				Start: start, End: start + g.n.lasts(x, g.n.class[k]),
			})
		}
	}
	return moves
}
