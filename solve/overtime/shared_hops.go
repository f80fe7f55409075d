package overtime

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// hop is a way over switches from a rank to another one, as arcs.
type hop struct {
	src, dst int
	arcs     []int
	lag      model.Time // until what passes the first arc is at dst
}

// from returns the hops that leave a rank, or those that come to it, with detour more links than necessary
// or fewer; none if ctx is done first, or more than maxSharedArcs arcs were looked at. With a detour of two
// links or more they may pass a switch twice, which transfers may not: to the checker they may.
func (s *sharing) from(ctx context.Context, rank int, back bool) []hop {
	side := 0
	if back {
		side = 1
	}
	known := s.hops[rank]
	if known[side] != nil {
		return known[side]
	}
	next := [2][][]int{s.out, s.in}[side]
	type way struct {
		at   int
		arcs []int
	}
	depth := map[int]int{rank: 0}
	list := []hop{}
	for d, level := 1, []way{{rank, nil}}; len(level) > 0; d++ {
		var further []way
		for _, w := range level {
			if s.looked >= maxSharedArcs || ctx.Err() != nil {
				return nil
			}
			for _, i := range next[w.at] {
				a := &s.arcs[i]
				v := a.src + a.dst - w.at
				if at, known := depth[v]; known && at+s.detour < d || s.detour < 2 && slices.ContainsFunc(w.arcs, func(k int) bool { return s.arcs[k].src == v || s.arcs[k].dst == v }) {
					continue
				} else if !known {
					depth[v] = d
				}
				x := way{v, append(slices.Clone(w.arcs), i)}
				s.looked += len(x.arcs)
				if !s.p.Topology.IsRank(v) {
					further = append(further, x)
					continue
				}
				h := hop{src: rank, dst: v, arcs: x.arcs}
				if back {
					h.src, h.dst = v, rank
					slices.Reverse(h.arcs)
				}
				for _, i := range h.arcs {
					h.lag += s.arcs[i].alpha
				}
				list = append(list, h)
			}
		}
		level = further
	}
	known[side] = list
	s.hops[rank] = known
	return list
}

// pairs returns the hops of from, those together that lead between the same ranks and take equally long.
func (s *sharing) pairs(ctx context.Context, rank int, back bool) [][]hop {
	type ends struct {
		src, dst int
		lag      model.Time
	}
	place := map[ends]int{}
	var list [][]hop
	for _, h := range s.from(ctx, rank, back) {
		i, known := place[ends{h.src, h.dst, h.lag}]
		if !known {
			i = len(list)
			place[ends{h.src, h.dst, h.lag}] = i
			list = append(list, nil)
		}
		list[i] = append(list[i], h)
	}
	return list
}

// look returns what hops look like from a root, or from all ranks: in the same way to as many destinations, or
// sources. Among many ranks, hops between two are taken to look alike if they do from the root alone.
func (s *sharing) look(h *hop, r *root) uint64 {
	place := join(uint64(r.rank), uint64(h.src), uint64(h.dst), s.key(h, r.colour))
	if s.p.Topology.Ranks <= fewRanks {
		for _, i := range h.arcs {
			place = join(place, uint64(i))
		}
	}
	look, known := s.looks[place]
	if !known {
		for _, colour := range r.to {
			look += mix(s.key(h, colour))
		}
		look = join(look, s.key(h, r.colour))
		s.looks[place] = look
	}
	return look
}

// view returns from where what is sent is looked at: the root of the flows that share it, or nowhere, if it may
// serve all of them.
func (s *sharing) view(r *root) *root {
	if s.sums {
		return &s.every
	}
	return r
}

// key returns what hops look like by colours of nodes.
func (s *sharing) key(h *hop, colour []uint64) uint64 {
	key := colour[h.src]
	for _, i := range h.arcs {
		key = join(key, colour[s.arcs[i].dst], s.links[i])
	}
	return key
}
