package bound

import (
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// minimum tries the sets that are best in the limit of many small chunks: those with
// the greatest ratio of the bytes that must leave to the bandwidth with which they
// can. For collectives from one rank or to one rank, and for those in which all get
// or give the same, these are found by maximum flows (Dinkelbach's method on
// minimum cuts; for allgather the ratio is the optimum of all schedules: Zhao et
// al., ForestColl, arXiv:2402.06787, theorem 1). It is a search in floating point:
// the sets found are then looked at like any others.
func (s *search) minimum() {
	c := &s.p.Collective
	group := s.members
	if len(group) < 2 {
		return
	}
	weight := make([]float64, s.t.Nodes()) // bytes that a rank is the one source of
	total := 0.0
	for i := range s.parts {
		q, bytes := &s.parts[i], float64(s.shape(int32(i)).bytes)
		total += bytes
		switch s.kind {
		case model.AllGather, model.Gather:
			weight[q.src] += bytes
		case model.ReduceScatter, model.Scatter:
			weight[q.dst] += bytes
		}
	}
	switch s.kind {
	case model.AllGather, model.ReduceScatter:
		s.ratio(group, weight, s.kind == model.ReduceScatter)
	case model.Broadcast, model.Reduce:
		s.separate(c.Root, group, s.kind == model.Reduce)
	case model.AllReduce:
		s.separate(group[0], group, false)
		s.separate(group[0], group, true)
	case model.Scatter, model.Gather:
		s.rooted(c.Root, weight, total, s.kind == model.Gather)
	}
}

// found tries the side of a minimum cut; on the reversed network, its complement.
func (s *search) found(side []bool, back bool) {
	if back {
		side = complement(side)
	}
	s.try(side)
}

// ratio looks for the set S with the greatest weight over the bandwidth that leaves
// S, some rank of the group being outside: for each such rank, while there is one,
// a set with a greater ratio than the best so far.
func (s *search) ratio(group []int, weight []float64, back bool) {
	n := s.t.Nodes()
	best := 0.0
	for _, r := range group { // begin with single ranks, and all but one
		if s.stopped() {
			return
		}
		one := make([]bool, n)
		one[r] = true
		for _, side := range [][]bool{one, complement(one)} {
			best = max(best, s.ratioOf(side, weight, back))
		}
	}
	for again := true; again && best > 0; {
		again = false
		for _, outside := range s.sample(group) {
			if s.stopped() {
				return
			}
			g := s.flow(2, back)
			for _, r := range group {
				g.add(n, r, weight[r]/best)
			}
			g.add(outside, n+1, math.Inf(1))
			_, side := g.cut(n, n+1)
			s.left -= g.work
			side = side[:n]
			if r := s.ratioOf(side, weight, back); r > best*(1+1e-9) {
				best, again = r, true
				s.found(side, back)
			} else if r > best*(1-1e-9) {
				s.found(side, back) // as good, and perhaps better when chunks are counted
			}
		}
	}
}

// sample returns the group, or, where it is large, as many of it as there is time for.
func (s *search) sample(group []int) []int {
	most := max(4, s.left/(64*(len(s.t.Links)+s.t.Nodes())))
	if len(group) <= most {
		return group
	}
	var list []int
	for i := range most {
		list = append(list, group[i*len(group)/most])
	}
	return list
}

// ratioOf returns the weight in a set over the bandwidth that leaves it.
func (s *search) ratioOf(side []bool, weight []float64, back bool) float64 {
	inside, leaving := 0.0, 0.0
	for v, in := range side {
		if in {
			inside += weight[v]
		}
	}
	for i := range s.t.Links {
		l := &s.t.Links[i]
		u, v := l.Src, l.Dst
		if back {
			u, v = v, u
		}
		if side[u] && !side[v] {
			leaving += float64(l.Bandwidth)
		}
	}
	if leaving == 0 {
		return 0
	}
	return inside / leaving
}

// separate tries the least bandwidth between a rank and each other rank of the group.
func (s *search) separate(root int, group []int, back bool) {
	for _, r := range s.sample(group) {
		if r == root || s.stopped() {
			continue
		}
		g := s.flow(0, back)
		_, side := g.cut(root, r)
		s.left -= g.work
		s.found(side, back)
		_, side = g.cutFromSink(r)
		s.found(side, back)
	}
}

// rooted looks for the set that contains the root with the greatest weight outside
// over the bandwidth that leaves it.
func (s *search) rooted(root int, weight []float64, total float64, back bool) {
	n := s.t.Nodes()
	outside := slices.Clone(weight)
	best := 0.0
	worth := func(side []bool) float64 {
		left := total
		for v := range side {
			if side[v] {
				left -= outside[v]
			}
		}
		ones := make([]float64, n)
		ones[root] = left
		return s.ratioOf(side, ones, back)
	}
	one := make([]bool, n)
	one[root] = true
	best = worth(one)
	for again := true; again && best > 0 && !s.stopped(); {
		again = false
		g := s.flow(1, back)
		for v := range n {
			if outside[v] > 0 {
				g.add(v, n, outside[v]/best)
			}
		}
		_, side := g.cut(root, n)
		s.left -= g.work
		side = side[:n]
		s.found(side, back)
		if r := worth(side); r > best*(1+1e-9) {
			best, again = r, true
		}
	}
}

// flow returns the network as a flow problem with more nodes for the caller.
func (s *search) flow(more int, back bool) *flow {
	g := s.newFlow(s.t.Nodes() + more)
	for i := range s.t.Links {
		l := &s.t.Links[i]
		if back {
			g.add(l.Dst, l.Src, float64(l.Bandwidth))
		} else {
			g.add(l.Src, l.Dst, float64(l.Bandwidth))
		}
	}
	return g
}
