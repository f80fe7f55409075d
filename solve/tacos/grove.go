package tacos

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/random"
)

// An allreduce in two halves, one after the other, keeps a corner of a mesh busy twice:
// all of the first half with sending, all of the second with receiving. A schedule in
// which both go on at the same time can take half as long, but only if no link carries
// much of both. So the trees of both directions are chosen together: a grove has for each
// chunk a root, one tree that leads to it and one that leads from it, and every link has a
// price that grows steeply with what it carries already, so that trees avoid what others
// use (Plotkin, Shmoys and Tardos, "Fast approximation algorithms for fractional packing
// and covering problems", Mathematics of Operations Research 20, 1995). What the busiest
// link carries is then near the mean, which no allreduce falls short of. Departs from the
// paper, which joins a reduction and a spreading that know nothing of each other.

// grove holds two trees for each chunk. Entry v·chunks+k of a tree is the lane over which
// rank v sends chunk k, or gets it.
type grove struct {
	n        *network.Network
	chunks   int
	ranks    int
	root     []int32 // by chunk
	up, down []int32 // lanes of n; -1 at the root
	out      *network.Exits
	load     []float64 // by resource: for how long all trees keep it busy
	price    []float64 // by resource
	busy     []float64 // by size class and use: for how long it keeps each of its resources busy
	unit     float64   // the load whose price is 1
	squares  int       // prices are loads to the power 2^squares
	hubs     []hub     // what may be roots
	order    random.Stream
}

// newGrove returns a grove without trees; n must not be mirrored, and have lanes.
func newGrove(n *network.Network, out *network.Exits, hubs []hub, seed uint64) *grove {
	g := &grove{n: n, chunks: len(n.Problem.Chunks), ranks: n.Problem.Topology.Ranks, out: out, hubs: hubs, order: random.New(seed, 0)}
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

// reprice sets all prices anew, for a power.
func (g *grove) reprice(squares int) {
	g.squares = squares
	for r := range g.price {
		g.priceOf(int32(r))
	}
}

func (g *grove) priceOf(r int32) {
	p := g.load[r] / g.unit
	for range g.squares {
		p *= p
	}
	g.price[r] = p
}

// carry adds the load of a chunk of a size class over a lane, so many times.
func (g *grove) carry(l, class int32, times float64) {
	x := &g.n.Hops[l]
	for j := x.Uses; j < x.UsesEnd; j++ {
		u, busy := &g.n.Uses[j], times*g.busy[int(class)*len(g.n.Uses)+int(j)]
		for _, r := range g.n.Choices[u.Choice:u.ChoiceEnd] {
			g.load[r] += busy
			g.priceOf(r)
		}
	}
}

// cost returns what a chunk of a size class pays for a lane.
func (g *grove) cost(l, class int32) float64 {
	x := &g.n.Hops[l]
	sum := 0.0
	for j := x.Uses; j < x.UsesEnd; j++ {
		sum += g.price[g.n.Choices[g.n.Uses[j].Choice]] * g.busy[int(class)*len(g.n.Uses)+int(j)]
	}
	return sum
}

// most returns for how long the busiest resource is busy: no schedule of these trees is
// shorter.
func (g *grove) most() model.Time { return model.Time(slices.Max(g.load)) }

// uproot takes the trees of a chunk away.
func (g *grove) uproot(k int) {
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
