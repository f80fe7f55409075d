// Package symmetry finds groups of symmetries of a network: permutations of its nodes,
// links and ports after which it is the same.
//
// Not every group is of use. Where each element but the identity moves every link, what
// one rank sends over a link is moved to as many different links as the group has
// elements, and the copies never meet: package quotient schedules on the orbits. Find
// looks for such a group, as large as it can find, that moves every rank too unless it is
// told to let ranks stay.
//
// The search refines partitions and backtracks, as programs for graph isomorphism do
// (McKay, "Practical graph isomorphism", Congressus Numerantium 30, 1981), except for one
// element at a time, and not for the group of all symmetries: of that, which may have
// (n-1)! elements, few subgroups are of use. It builds a chain 1 = H0 < H1 < ... in which
// H(i) is normal in H(i+1) with a prime index p: it looks for an element g with gH = Hg
// and g^p in H. To commute with H is a strong constraint: once the image of one node is
// chosen, those of its whole orbit are. Every group that is found this way is solvable.
//
// Nothing here is taken from the names of nodes or from their numbering.
package symmetry

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Options steer Find.
type Options struct {
	// Labels are by node, ranks first: nodes with different labels are not exchanged. nil:
	// all are alike. Ranks, switches, and switches that copy never are.
	Labels []int

	// StayingRanks allows elements other than the identity to leave ranks where they are.
	StayingRanks bool

	// StayingOrbits, with StayingRanks, has elements looked for as well that take each orbit of
	// ranks to itself and do not commute with the others, as the reflections of a square do.
	StayingOrbits bool

	// StayingLinks allows them to leave links where they are, but then no ranks.
	StayingLinks bool

	// Base is a group of the same topology to begin with, or nil.
	Base *Group

	// Work limits the search, in arcs looked at: a second has about 10⁸. 0: 10⁸.
	Work int64
}

// maxImages is how many images of nodes the elements of a group have at most.
const maxImages = 1 << 25

// Group is a group of symmetries of a topology. Its elements are numbered from 0, the
// identity.
type Group struct {
	net    *network
	nodes  [][]int32 // by element: the images of the nodes and, after them, of the ports
	orders []int     // of the subgroups of the chain, ascending: 1 first, then up to len(nodes)

	base    [2]int           // vertices whose images tell the elements apart
	numbers map[[2]int32]int // of the elements, by these images; nil: not known yet
}

// Order returns the number of elements.
func (g *Group) Order() int { return len(g.nodes) }

// Orders returns the orders of the subgroups through which g was built: 1 first, Order()
// last, each a multiple of the one before. See Sub.
func (g *Group) Orders() []int { return g.orders }

// Sub returns the subgroup of the first this many elements: order is one of Orders.
func (g *Group) Sub(order int) *Group {
	at := slices.Index(g.orders, order)
	if at < 0 {
		panic("symmetry: no subgroup of that order in the chain")
	}
	return &Group{net: g.net, nodes: g.nodes[:order:order], orders: g.orders[: at+1 : at+1]}
}

// Product returns the number of the element that moves everything as f does and then as e
// does, in O(1) after the first call, which takes O(elements). It must not be called by
// several goroutines at a time.
func (g *Group) Product(e, f int) int {
	if g.numbers == nil {
		g.findBase()
	}
	return g.numbers[[2]int32{g.nodes[e][g.nodes[f][g.base[0]]], g.nodes[e][g.nodes[f][g.base[1]]]}]
}

// findBase finds a rank, or two neighbours, that no element but the identity leaves where
// they are, and numbers the elements by their images.
func (g *Group) findBase() {
	t := g.net.t
	try := func(a, b int) bool {
		numbers := make(map[[2]int32]int, len(g.nodes))
		for i := range g.nodes {
			numbers[[2]int32{g.nodes[i][a], g.nodes[i][b]}] = i
		}
		if len(numbers) < len(g.nodes) {
			return false
		}
		g.base, g.numbers = [2]int{a, b}, numbers
		return true
	}
	for v := range t.Ranks {
		if try(v, v) {
			return
		}
	}
	for _, l := range t.Links {
		if try(l.Src, l.Dst) {
			return
		}
	}
	panic("symmetry: a group without a base")
}

// Node returns the image of node v under element e.
func (g *Group) Node(e, v int) int { return int(g.nodes[e][v]) }

// Nodes returns the images of all nodes under element e, and after them those of the
// ports. The caller must not change them.
func (g *Group) Nodes(e int) []int32 { return g.nodes[e] }

// Port returns the image of port p under element e.
func (g *Group) Port(e, p int) int {
	n := g.net.t.Nodes()
	return int(g.nodes[e][n+p]) - n
}

// Link returns the image of link l under element e, in O(log links of a node).
func (g *Group) Link(e, l int) int { return g.net.image(g.nodes[e], l) }

// Trivial returns the group of the identity alone.
func Trivial(t *model.Topology) *Group { return trivial(newNetwork(t, nil)) }

func trivial(net *network) *Group {
	identity := make([]int32, net.vertices())
	for v := range identity {
		identity[v] = int32(v)
	}
	return &Group{net: net, nodes: [][]int32{identity}, orders: []int{1}}
}

// attempts is how often Find begins again with another order of candidates where the
// group might be larger.
const attempts = 12

// Find returns a group of symmetries of t: the largest that it comes upon. t must be
// valid. It is deterministic unless ctx ends the search; then it returns what it has.
// It takes milliseconds for regular networks of some 100 ranks, and less than a second for
// 1024.
func Find(ctx context.Context, t *model.Topology, o Options) *Group {
	return newSearch(ctx, t, o).find(false)[0]
}

// Several is as Find, but makes all its attempts and returns all groups at which they ended,
// one for each way of dividing the links into orbits, the largest first.
func Several(ctx context.Context, t *model.Topology, o Options) []*Group {
	return newSearch(ctx, t, o).find(true)
}

// find makes attempts, all of them or until one ends with a group as large as can be.
func (s *search) find(all bool) []*Group {
	first := trivial(s.net)
	if s.o.Base != nil {
		first = &Group{net: s.net, nodes: s.o.Base.nodes, orders: s.o.Base.orders}
	}
	found := []*Group{first}
	known := map[string]bool{}
	for attempt := range attempts {
		if attempt == 1 && (s.o.StayingRanks || len(primes(s.bound)) < 2) {
			continue // it differs from the first in the order of primes only
		}
		s.shuffle(attempt)
		g := first
		for {
			next := s.extend(g)
			if next == nil {
				break
			}
			g = next
		}
		if g.Order() > found[0].Order() {
			found = append([]*Group{g}, found...)
		} else if all && !known[g.orbits()] {
			found = append(found, g)
		}
		known[g.orbits()] = true
		if s.done() || !all && found[0].Order() >= s.most() {
			break
		}
	}
	slices.SortStableFunc(found, func(a, b *Group) int { return b.Order() - a.Order() })
	return found
}

// orbits returns a text that is the same for groups that divide the links alike.
func (g *Group) orbits() string {
	of := make([]byte, 4*len(g.net.t.Links))
	seen := make([]bool, len(g.net.t.Links))
	for l := range g.net.t.Links {
		if seen[l] {
			continue
		}
		for e := range g.nodes {
			m := g.Link(e, l)
			seen[m] = true
			binary.LittleEndian.PutUint32(of[4*m:], uint32(l))
		}
	}
	return string(of)
}
