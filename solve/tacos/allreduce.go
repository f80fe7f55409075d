package tacos

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// allReduce is what tries on an allreduce among all ranks share, if none is late.
type allReduce struct {
	exits  [2]*network.Exits // of the networks forward and backward
	halves model.Time        // no schedule of two halves ends before; 0 in rounds
	volume model.Time        // no schedule at all does; 0 if that is not known
	next   []int32           // by rank: the lane to the next one, if there is such a lane for all
}

// newAllReduce returns nil where trees are not packed: where the group is not everyone, or
// ranks come late, or that would be too much work.
func (s *synthesis) newAllReduce() *allReduce {
	p, n := s.p, s.forward
	if p.Collective.Kind != model.AllReduce || p.Late() || !network.Everyone(p) || p.Topology.Ranks < 2 ||
		len(p.Chunks)*len(n.Hops) > maxPlanted || 2*len(p.Chunks)*p.Topology.Ranks > maxDeliveries {
		return nil
	}
	a := &allReduce{exits: [2]*network.Exits{network.NewExits(n), network.NewExits(s.backward)}}
	a.next = cycle(n)
	if p.Cost.Synchronous() { // times are rounds there
		return a
	}
	pt := network.Trees(p, 0)
	a.halves = s.backward.Floor(pt) + n.Floor(pt)
	a.volume = throughput(n, 2*len(p.Chunks)*(p.Topology.Ranks-1))
	return a
}

// maxPlanted is how many lanes times chunks there may be.
const maxPlanted = 1 << 26

// throughput returns a time before which so many transfers cannot be made, however they are
// dealt out to the lanes, 0 if lanes share anything.
func throughput(n *network.Network, transfers int) model.Time {
	if !n.Private || len(n.Hops) == 0 {
		return 0
	}
	class := 0
	for c := range n.Sizes {
		if n.Sizes[c] < n.Sizes[class] {
			class = c
		}
	}
	rate := 0.0
	for i := range n.Hops {
		x := &n.Hops[i]
		rate += 1 / float64(n.Beta(x, int32(class))+n.Uses[x.Uses].Extra)
	}
	return model.Time(float64(transfers) / rate * (1 - 1e-9))
}

// cycle returns for each rank the quickest lane to the rank with the next number, nil if
// one has none.
func cycle(n *network.Network) []int32 {
	ranks := int32(n.Problem.Topology.Ranks)
	next := slices.Repeat([]int32{-1}, int(ranks))
	for v := range ranks {
		for l := n.Into[v]; l < n.Into[v+1]; l++ {
			if x := &n.Hops[l]; (x.Src+1)%ranks == v && next[x.Src] < 0 {
				next[x.Src] = l
			}
		}
	}
	if slices.Contains(next, -1) {
		return nil
	}
	return next
}

// together makes an allreduce from trees that are chosen together, if it can be shorter
// than limit. It returns nil if not, or if it is stopped.
func (s *synthesis) together(seed uint64, i int, limit model.Time, stop func() bool) *model.Schedule {
	a := s.both
	if s.p.Cost.Synchronous() {
		limit = model.MaxTime
	}
	var best *sway
	try := func(g *grove) {
		if g == nil || g.most() >= limit {
			return
		}
		if w := newSway(g, s.backward, a.exits, stop); w != nil && w.makespan < limit {
			best, limit = w, w.makespan
		}
	}
	if i == 0 && a.next != nil && !s.forward.Private {
		try(s.chained(seed))
	}
	try(s.planted(seed, i, stop))
	if best == nil {
		return nil
	}
	return s.schedule(best.moves())
}

// planted returns a grove of trees that keep off each other, nil if it is stopped. Tries
// differ in how central roots must be, and in the order in which these take turns.
func (s *synthesis) planted(seed uint64, i int, stop func() bool) *grove {
	hubs := findHubs(s.forward, s.backward, [...]float64{0.5, 1, 0.3}[i%3])
	g := newGrove(s.forward, s.both.exits[0], hubs, seed)
	turn := make([]int, g.chunks)
	for k := range turn {
		turn[k] = k % len(hubs)
	}
	if i%2 == 1 {
		for k := len(turn) - 1; k > 0; k-- {
			j := g.order.Below(k + 1)
			turn[k], turn[j] = turn[j], turn[k]
		}
	}
	for _, squares := range []int{2, 3, 4} {
		g.reprice(squares)
		for k := range g.chunks {
			if k%32 == 0 && stop() {
				return nil
			}
			g.plant(k, &hubs[turn[k]])
		}
	}
	if len(g.n.Hops)*g.chunks <= maxRehung {
		for range 3 {
			for k := range g.chunks {
				if stop() {
					return nil
				}
				g.rehang(k)
			}
		}
	}
	return g
}

// maxRehung is up to how many lanes times chunks trees are mended by rehang.
const maxRehung = 1 << 18

// chained returns a grove of chains round all ranks.
func (s *synthesis) chained(seed uint64) *grove {
	n, next := s.forward, s.both.next
	ranks := n.Problem.Topology.Ranks
	hubs := make([]hub, ranks)
	for r := range hubs {
		h := hub{rank: int32(r), to: make([]model.Time, ranks), from: make([]model.Time, ranks)}
		for at := int32(r); n.Hops[next[at]].Dst != int32(r); at = n.Hops[next[at]].Dst {
			x := &n.Hops[next[at]]
			h.from[x.Dst] = h.from[at] + n.Lasts(x, 0)
		}
		round := h.from[(r+ranks-1)%ranks] + n.Lasts(&n.Hops[next[(r+ranks-1)%ranks]], 0)
		for v := range ranks {
			if v != r {
				h.to[v] = round - h.from[v]
			}
		}
		hubs[r] = h
	}
	g := newGrove(n, s.both.exits[0], hubs, seed)
	for k := range g.chunks {
		g.chain(k, next, int32(k*ranks/g.chunks))
	}
	return g
}
