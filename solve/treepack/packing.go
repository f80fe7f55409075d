package treepack

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/random"
)

// packing holds two trees for each chunk. Entry v·chunks+k of a tree is the hop over which
// rank v sends chunk k, or gets it.
type packing struct {
	n        *network.Network
	chunks   int
	ranks    int
	root     []int32 // by chunk
	up, down []int32 // hops of n; -1 at the root
	out      *network.Exits
	load     []float64  // by resource: for how long all trees keep it busy
	price    []float64  // by resource
	halves   [2]half    // what leads to roots, and what comes from them
	busy     []float64  // by size class and use: for how long it keeps each of its resources busy
	unit     float64    // the load whose price is 1
	unitHalf float64    // that of a half
	span     model.Time // from the time when the first chunk is complete at its root to that of the last, about
	squares  int        // prices are loads to the power 2^squares
	roots    []centre   // what may be roots
	order    random.Stream
}

// half is what trees of one direction, to the roots or from them, do to resources.
type half struct {
	load  []float64 // by resource: for how long they keep it busy, and the time in which nothing of theirs can
	price []float64 // by resource
}

// The halves.
const (
	toRoot = iota
	fromRoot
)

// newPacking returns a packing without trees; n must not be mirrored, and have hops.
func newPacking(n *network.Network, out *network.Exits, roots []centre, seed uint64) *packing {
	g := &packing{n: n, chunks: len(n.Problem.Chunks), ranks: n.Problem.Topology.Ranks, out: out, roots: roots, order: random.New(seed, 0)}
	g.root = slices.Repeat([]int32{-1}, g.chunks)
	g.up = slices.Repeat([]int32{-1}, g.chunks*g.ranks)
	g.down = slices.Clone(g.up)
	g.load, g.price = make([]float64, n.Resources), make([]float64, n.Resources)
	for h := range g.halves {
		g.halves[h] = half{make([]float64, n.Resources), make([]float64, n.Resources)}
	}
	g.busy = busy(n)
	g.unit = meanLoad(n, g.busy)
	return g
}

// busy returns, by size class and use, for how long a chunk keeps each of the resources of a use busy.
func busy(n *network.Network) []float64 {
	list := make([]float64, len(n.Sizes)*len(n.Uses))
	for i := range n.Hops {
		x := &n.Hops[i]
		for class := range n.Sizes {
			for j := x.Uses; j < x.UsesEnd; j++ {
				u := &n.Uses[j]
				list[class*len(n.Uses)+int(j)] = float64(n.Beta(x, int32(class))+u.Extra) / float64(u.ChoiceEnd-u.Choice)
			}
		}
	}
	return list
}

// meanLoad returns for how long all trees keep a hop busy, on the mean, if all are as slow as the slowest.
func meanLoad(n *network.Network, busy []float64) float64 {
	return slices.Max(busy) * float64(2*len(n.Problem.Chunks)*n.Problem.Topology.Ranks) / float64(len(n.Hops))
}

// limit adds to the loads of halves the time in which a resource can serve nothing of them, and
// sets the units of prices and the span. No sum is complete before parts of all ranks have met:
// until then a hop carries no copies that begins where some rank is so far away. And what is
// sent over a hop at the end is a copy, since a part would still have to reach all ranks. So on
// a mesh a link into a corner, which must carry copies of nearly all chunks, has to carry parts
// at first, and only then. It takes O(hops).
func (g *packing) limit(m *middle) {
	none := [2][]model.Time{slices.Repeat([]model.Time{model.MaxTime}, len(g.load)), slices.Repeat([]model.Time{model.MaxTime}, len(g.load))}
	for i := range g.n.Hops {
		x := &g.n.Hops[i]
		for _, u := range g.n.Uses[x.Uses:x.UsesEnd] {
			for _, r := range g.n.Choices[u.Choice:u.ChoiceEnd] {
				none[toRoot][r] = min(none[toRoot][r], m.to[x.Dst])
				none[fromRoot][r] = min(none[fromRoot][r], m.from[x.Src])
			}
		}
	}
	for h := range none {
		for r, t := range none[h] {
			if t < model.MaxTime {
				g.halves[h].load[r] = float64(t)
			}
		}
	}
	g.unitHalf = g.unit
	for v := range g.ranks { // all chunks must come to it
		rate, first := 0.0, model.MaxTime
		for i := g.n.Into[v]; i < g.n.Into[v+1]; i++ {
			x := &g.n.Hops[i]
			rate += 1 / slices.Max(g.busy[x.Uses:x.UsesEnd])
			first = min(first, m.from[x.Src])
		}
		all := float64(g.chunks) / rate
		g.span = max(g.span, model.Time(all))
		g.unitHalf = max(g.unitHalf, float64(first)+all)
	}
	for i := range g.roots {
		g.span = max(g.span, model.Time(g.unitHalf)-slices.Max(g.roots[i].to)-slices.Max(g.roots[i].from))
	}
}

// reprice computes all prices, for a power of loads.
func (g *packing) reprice(squares int) {
	g.squares = squares
	for r := range g.price {
		g.priceOf(int32(r))
	}
}

func (g *packing) priceOf(r int32) {
	g.price[r] = g.power(g.load[r] / g.unit)
	if g.unitHalf == 0 {
		return
	}
	for h := range g.halves {
		g.halves[h].price[r] = g.power(g.halves[h].load[r] / g.unitHalf)
	}
}

func (g *packing) power(p float64) float64 {
	for range g.squares {
		p *= p
	}
	return p
}

// carry adds the load of a chunk of a size class over a hop of a half, times a number.
func (g *packing) carry(of int, l, class int32, times float64) {
	x := &g.n.Hops[l]
	for j := x.Uses; j < x.UsesEnd; j++ {
		u, busy := &g.n.Uses[j], times*g.busy[int(class)*len(g.n.Uses)+int(j)]
		for _, r := range g.n.Choices[u.Choice:u.ChoiceEnd] {
			g.load[r] += busy
			g.halves[of].load[r] += busy
			g.priceOf(r)
		}
	}
}

// cost returns what a chunk of a size class pays for a hop of a half.
func (g *packing) cost(of int, l, class int32) float64 {
	x := &g.n.Hops[l]
	sum := 0.0
	for j := x.Uses; j < x.UsesEnd; j++ {
		r := g.n.Choices[g.n.Uses[j].Choice]
		sum += (g.price[r] + g.halves[of].price[r]) * g.busy[int(class)*len(g.n.Uses)+int(j)]
	}
	return sum
}

// most returns for how long the busiest resource is busy: no schedule of these trees is
// shorter.
func (g *packing) most() model.Time { return model.Time(slices.Max(g.load)) }

// clear takes the trees of a chunk away.
func (g *packing) clear(k int) {
	if g.root[k] < 0 {
		return
	}
	for at := k; at < len(g.up); at += g.chunks {
		if g.up[at] >= 0 {
			g.carry(toRoot, g.up[at], g.n.Class[k], -1)
			g.carry(fromRoot, g.down[at], g.n.Class[k], -1)
		}
	}
	g.root[k] = -1
}
