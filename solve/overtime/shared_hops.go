package overtime

import (
	"slices"
)

// detour is how many links more than necessary a hop may have.
const detour = 1

// hop is a way over switches from a rank to another one, as arcs.
type hop struct {
	src, dst int
	arcs     []int
}

// from returns the hops that leave a rank, or those that come to it, with as few links as possible.
func (s *sharing) from(rank int, back bool) []hop {
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
	for d, level := 1, []way{{rank, nil}}; len(level) > 0 && s.looked < maxSharedArcs; d++ {
		var further []way
		for _, w := range level {
			for _, i := range next[w.at] {
				a := &s.arcs[i]
				v := a.src + a.dst - w.at
				if at, known := depth[v]; known && at+detour < d || slices.ContainsFunc(w.arcs, func(k int) bool { return s.arcs[k].src == v || s.arcs[k].dst == v }) {
					continue
				} else if !known {
					depth[v] = d
				}
				x := way{v, append(slices.Clone(w.arcs), i)}
				s.looked += len(x.arcs)
				switch {
				case !s.p.Topology.IsRank(v):
					further = append(further, x)
				case back:
					slices.Reverse(x.arcs)
					list = append(list, hop{v, rank, x.arcs})
				default:
					list = append(list, hop{rank, v, x.arcs})
				}
			}
		}
		level = further
	}
	known[side] = list
	s.hops[rank] = known
	return list
}

// look returns what hops look like from a root: in the same way to as many destinations. Among many
// ranks, hops between two are taken to look alike if they do from the root alone.
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

// key returns what hops look like by colours of nodes.
func (s *sharing) key(h *hop, colour []uint64) uint64 {
	key := colour[h.src]
	for _, i := range h.arcs {
		key = join(key, colour[s.arcs[i].dst], s.links[i])
	}
	return key
}
