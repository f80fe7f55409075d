// Package treepack makes an allreduce from trees that are chosen together: for each chunk a
// root, a tree that leads to it, along which the chunk is reduced, and one that leads from it,
// along which the sum is copied.
//
// An allreduce in two halves, one after the other, keeps a corner of a mesh busy twice: all of
// the first half with sending, all of the second with receiving. A schedule in which both go on
// at the same time can take half as long, but only if no link carries much of both. So every
// link has a price that grows steeply with what it carries already, and trees take what is
// cheap (Plotkin, Shmoys and Tardos, "Fast approximation algorithms for fractional packing and
// covering problems", Mathematics of Operations Research 20, 1995). What the busiest link
// carries is then near the mean, which no allreduce falls short of. Where latencies count, what a
// link carries of either half has a price, too: see limit.
//
// The transfers of the trees are timed forwards and backwards in turn (forward-backward
// improvement: Li and Willis, "An iterative scheduling technique for resource-constrained
// project scheduling", European Journal of Operational Research 56, 1992).
package treepack

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// Packer packs trees for one allreduce.
type Packer struct {
	// Halves and Volume are times before which no schedule of two halves, one after the other,
	// ends, and no schedule at all; 0 where that is not known, as in rounds.
	Halves, Volume model.Time
	// Latent reports whether a part and its sum take a good part of the time to go through the
	// network, in which links serve one half only.
	Latent bool

	n, back *network.Network
	exits   [2]*network.Exits // of both
	next    []int32           // by rank: the hop to the next one, if there is such a hop for all
	middle  *middle
	slack   []float64 // how central roots must be, by the number of the try
}

// maxWork is how many hops times chunks there may be.
const maxWork = 1 << 26

// New returns a packer of trees over a network and its mirror image, or nil where it packs none:
// where the collective is no allreduce among all ranks, or ranks come late, or that would be
// too much work.
func New(n, back *network.Network) *Packer {
	p := n.Problem
	if p.Collective.Kind != model.AllReduce || p.Late() || !network.Everyone(p) || p.Topology.Ranks < 2 || len(p.Chunks)*len(n.Hops) > maxWork {
		return nil
	}
	a := &Packer{n: n, back: back, exits: [2]*network.Exits{network.NewExits(n), network.NewExits(back)}, next: cycle(n), middle: newMiddle(n, back)}
	a.slack = []float64{0.5, 1, 0.3}
	if p.Cost.Synchronous() { // times are rounds there
		return a
	}
	switch diameter, load := slices.Max(a.middle.from), model.Time(meanLoad(n, busy(n))); {
	case diameter > load/5:
		a.slack, a.Latent = []float64{0.2, 0.3, 0.5, 1}, true
	case diameter > load/20:
		a.slack, a.Latent = []float64{0.3, 0.5, 0.2, 1}, true
	}
	pt := network.Trees(p, 0)
	a.Halves = back.Floor(pt) + n.Floor(pt)
	a.Volume = throughput(n, 2*len(p.Chunks)*(p.Topology.Ranks-1))
	return a
}

// throughput returns a time before which a number of transfers cannot be made, whatever hops
// they take, 0 if hops share anything.
func throughput(n *network.Network, transfers int) model.Time {
	if !n.Private || len(n.Hops) == 0 {
		return 0
	}
	class := n.Smallest()
	rate := 0.0
	for i := range n.Hops {
		x := &n.Hops[i]
		rate += 1 / float64(n.Beta(x, class)+n.Uses[x.Uses].Extra)
	}
	return model.Time(float64(transfers) / rate * (1 - 1e-9))
}

// cycle returns for each rank the quickest hop to the rank with the next number, nil if
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

// Try packs trees and times them, in a way that depends on a seed and on the number of the try.
// It returns the transfers, or nil if they would not end before limit, or if stop returns true.
// In rounds limit is not looked at.
func (a *Packer) Try(seed uint64, try int, limit model.Time, stop func() bool) []model.Transfer {
	if a.n.Problem.Cost.Synchronous() {
		limit = model.MaxTime
	}
	var best *times
	consider := func(g *packing) {
		if g == nil || g.most() >= limit {
			return
		}
		if w := newTimes(g, a.back, a.exits, stop); w != nil && w.makespan < limit {
			best, limit = w, w.makespan
		}
	}
	if try == 0 {
		if w := a.chained(seed, stop); w != nil && w.makespan < limit {
			best, limit = w, w.makespan
		}
	}
	consider(a.pack(seed, try, stop))
	if best == nil {
		return nil
	}
	return best.transfers()
}

// Chains returns the transfers of trees without branches, or nil where hops share nothing, which leaves no room for a detour, where
// no hop leads from some rank to the next, or if stop returns true. That takes a small part of the time of Try.
func (a *Packer) Chains(seed uint64, stop func() bool) []model.Transfer {
	if w := a.chained(seed, stop); w != nil {
		return w.transfers()
	}
	return nil
}

func (a *Packer) chained(seed uint64, stop func() bool) *times {
	if a.next == nil || a.n.Private {
		return nil
	}
	return newTimes(a.chains(seed), a.back, a.exits, stop)
}

// pack returns trees that keep off each other, nil if it is stopped. Tries differ in how
// central roots must be, and in the order in which these take turns.
func (a *Packer) pack(seed uint64, try int, stop func() bool) *packing {
	roots := a.middle.centres(a.slack[try%len(a.slack)])
	g := newPacking(a.n, a.exits[0], roots, seed)
	if a.Latent {
		g.limit(a.middle)
	}
	turn := make([]int, g.chunks)
	for k := range turn {
		turn[k] = k % len(roots)
	}
	if try%2 == 1 {
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
			g.grow(k, &roots[turn[k]])
		}
	}
	most := maxReattached
	if a.Latent {
		most = maxLimited
	}
	if len(g.n.Hops)*g.chunks <= most {
		for range 3 {
			for k := range g.chunks {
				if stop() {
					return nil
				}
				g.reattach(k)
			}
		}
	}
	if !a.Latent {
		g.span = g.most()
	}
	return g
}

// maxReattached is up to how many hops times chunks trees are mended by reattach, maxLimited where latencies count.
const maxReattached, maxLimited = 1 << 18, 1 << 20

// chains returns trees without branches, round all ranks.
func (a *Packer) chains(seed uint64) *packing {
	n, next := a.n, a.next
	ranks := n.Problem.Topology.Ranks
	roots := make([]centre, ranks)
	for r := range roots {
		h := centre{rank: int32(r), to: make([]model.Time, ranks), from: make([]model.Time, ranks)}
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
		roots[r] = h
	}
	g := newPacking(n, a.exits[0], roots, seed)
	for k := range g.chunks {
		g.chain(k, next, int32(k*ranks/g.chunks))
	}
	g.span = g.most()
	return g
}
