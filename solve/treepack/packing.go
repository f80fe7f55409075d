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
	load     []float64 // by resource: for how long all trees keep it busy
	price    []float64 // by resource
	busy     []float64 // by size class and use: for how long it keeps each of its resources busy
	unit     float64   // the load whose price is 1
	squares  int       // prices are loads to the power 2^squares
	roots    []centre  // what may be roots
	order    random.Stream
}

// newPacking returns a packing without trees; n must not be mirrored, and have hops.
func newPacking(n *network.Network, out *network.Exits, roots []centre, seed uint64) *packing {
	g := &packing{n: n, chunks: len(n.Problem.Chunks), ranks: n.Problem.Topology.Ranks, out: out, roots: roots, order: random.New(seed, 0)}
	g.root = slices.Repeat([]int32{-1}, g.chunks)
	g.up = slices.Repeat([]int32{-1}, g.chunks*g.ranks)
	g.down = slices.Clone(g.up)
	g.load, g.price = make([]float64, n.Resources), make([]float64, n.Resources)
	g.busy = make([]float64, len(n.Sizes)*len(n.Uses))
	for i := range n.Hops {
		x := &n.Hops[i]
		for class := range n.Sizes {
			for j := x.Uses; j < x.UsesEnd; j++ {
				u := &n.Uses[j]
				g.busy[class*len(n.Uses)+int(j)] = float64(n.Beta(x, int32(class))+u.Extra) / float64(u.ChoiceEnd-u.Choice)
			}
		}
	}
	g.unit = slices.Max(g.busy) * float64(2*g.chunks*g.ranks) / float64(len(n.Hops))
	return g
}

// reprice computes all prices, for a power of loads.
func (g *packing) reprice(squares int) {
	g.squares = squares
	for r := range g.price {
		g.priceOf(int32(r))
	}
}

func (g *packing) priceOf(r int32) {
	p := g.load[r] / g.unit
	for range g.squares {
		p *= p
	}
	g.price[r] = p
}

// carry adds the load of a chunk of a size class over a hop, times a number.
func (g *packing) carry(l, class int32, times float64) {
	x := &g.n.Hops[l]
	for j := x.Uses; j < x.UsesEnd; j++ {
		u, busy := &g.n.Uses[j], times*g.busy[int(class)*len(g.n.Uses)+int(j)]
		for _, r := range g.n.Choices[u.Choice:u.ChoiceEnd] {
			g.load[r] += busy
			g.priceOf(r)
		}
	}
}

// cost returns what a chunk of a size class pays for a hop.
func (g *packing) cost(l, class int32) float64 {
	x := &g.n.Hops[l]
	sum := 0.0
	for j := x.Uses; j < x.UsesEnd; j++ {
		sum += g.price[g.n.Choices[g.n.Uses[j].Choice]] * g.busy[int(class)*len(g.n.Uses)+int(j)]
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
			g.carry(g.up[at], g.n.Class[k], -1)
			g.carry(g.down[at], g.n.Class[k], -1)
		}
	}
	g.root[k] = -1
}
