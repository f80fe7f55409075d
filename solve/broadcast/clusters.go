package broadcast

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// clusters are groups of equally many ranks that have wider links among themselves than to others, such as machines; where
// all links are equally wide each rank is one. Trees go from the i-th rank of one to the i-th rank of others, and from
// the ranks that they come to on to the others there. Where each rank is one, each plane of switches has trees of its own.
type clusters struct {
	p      *model.Problem
	groups [][]int // that of the root first, and the root first in it
	planes int
	plane  []int // by link
	out    [][]int
	ways   map[[2]int][][]int
}

// newClusters returns the clusters of a broadcast to all ranks, or nil if there are none of one size.
func newClusters(p *model.Problem) *clusters {
	t := p.Topology
	if len(p.Members()) != t.Ranks || len(t.Switches) == 0 {
		return nil
	}
	slowest := slices.MinFunc(t.Links, func(a, b model.Link) int { return cmp.Compare(a.Bandwidth, b.Bandwidth) }).Bandwidth
	part := t.Parts(func(l *model.Link) bool { return l.Bandwidth > slowest })
	c := &clusters{p: p, out: t.Out(), ways: map[[2]int][][]int{}}
	for v, g := range part[:t.Ranks] { // ranks come first, so that their parts are numbered from 0 on
		if g == len(c.groups) {
			c.groups = append(c.groups, nil)
		}
		c.groups[g] = append(c.groups[g], v)
	}
	for _, g := range c.groups {
		if len(g) != len(c.groups[0]) {
			return nil
		}
	}
	first, n := part[p.Collective.Root], len(c.groups)
	ordered := make([][]int, n)
	for i := range ordered {
		if ordered[i] = c.groups[(first+i)%n]; n&(n-1) == 0 {
			ordered[i] = c.groups[first^i] // neighbours in a hypercube remain neighbours
		}
	}
	c.groups = ordered
	home := c.groups[0]
	at := slices.Index(home, p.Collective.Root)
	for i, g := range c.groups {
		c.groups[i] = slices.Concat(g[at:], g[:at])
	}
	c.planes, c.plane = 1, make([]int, len(t.Links))
	if len(home) == 1 {
		of := planes(t)
		c.planes = len(of)
		for i, in := range of {
			for _, links := range in {
				for _, l := range links {
					c.plane[l] = i
				}
			}
		}
	}
	if len(c.groups) < 2 || len(c.routes(home[0], c.groups[1][0])) == 0 {
		return nil
	}
	return c
}

// mostWays is how many routes between two ranks are weighed.
const mostWays = 32

// routes returns the shortest routes from a rank to another one over switches, or nil if there is none.
func (c *clusters) routes(u, v int) [][]int {
	key := [2]int{u, v}
	if found, known := c.ways[key]; known {
		return found
	}
	t := c.p.Topology
	var found [][]int
	for most := 1; len(found) == 0 && most <= maxSwitchHops; most++ {
		var walk func(at int, route []int)
		walk = func(at int, route []int) {
			for _, l := range c.out[at] {
				switch w := t.Links[l].Dst; {
				case len(found) == mostWays:
					return
				case w == v && len(route)+1 == most:
					found = append(found, append(slices.Clone(route), l))
				case !t.IsRank(w) && len(route)+1 < most:
					walk(w, append(route, l))
				}
			}
		}
		walk(u, nil)
	}
	lasts := func(r []int) model.Time { return t.Duration(r, c.p.Space()/estimated) }
	least := model.MaxTime
	for _, r := range found {
		least = min(least, lasts(r))
	}
	found = slices.DeleteFunc(found, func(r []int) bool { return lasts(r) > least })
	if n := len(found); n > 1 { // each rank of a switch prefers another one
		found = slices.Concat(found[u%n:], found[:u%n])
	}
	c.ways[key] = found
	return found
}

// maxSwitchHops is how many links a route over switches has at most.
const maxSwitchHops = 6

// shape is trees over the groups, as arcs between their indices from 0 on.
type shape [][]link

// link is an arc between groups; its colour is the place in a period at which it is used, or -1.
type link struct{ from, to, colour int }

// binomial returns edge-disjoint spanning binomial trees of a hypercube (Johnsson and Ho, "Optimum broadcasting and
// personalized communication in hypercubes", IEEE Transactions on Computers 38, 1989), nil if there is none with n nodes:
// of a period that has a place for each dimension, each node sends and receives in all. Next after a dimension
// is that whose place is turn later, if it was not used, so that there is time to arrive between. The hypercube may be
// skewed: then nodes that differ by one of the lower half of dimensions have numbers that differ by one of the upper half,
// too, so that all neighbours are about equally far, if those with near numbers are near.
func binomial(n, turn int, skewed bool) shape {
	d := bits.Len(uint(n)) - 1
	if n != 1<<d {
		return nil
	}
	var order []int
	for next := 0; len(order) < d; next = (next + turn) % d {
		for slices.Contains(order, next) {
			next = (next + 1) % d
		}
		order = append(order, next)
	}
	name := func(x int) int { return x }
	if half := (d + 1) / 2; skewed {
		name = func(x int) int { return x ^ x<<half&(n-1) }
	}
	var trees shape
	for i := range d {
		bit := func(position int) int { return 1 << order[(i+position)%d] }
		colour := func(position int) int { return order[(i+position)%d] }
		arcs := []link{{0, name(bit(0)), colour(0)}}
		last := map[int]int{bit(0): 0} // by node: the position of the last bit that is set
		queue := []int{bit(0)}
		for len(queue) > 0 {
			x := queue[0]
			queue = queue[1:]
			for position := last[x] + 1; position < d; position++ {
				y := x | bit(position)
				last[y] = position
				arcs = append(arcs, link{name(x), name(y), colour(position)})
				queue = append(queue, y)
			}
			if x != bit(0) {
				arcs = append(arcs, link{name(x), name(x ^ bit(0)), colour(0)})
			}
		}
		trees = append(trees, arcs)
	}
	return trees
}

// rotated returns trees over n nodes in which the root sends to some others, and these and those below to a number each:
// as many as have nodes of their own that send.
func rotated(n, fromRoot, fromOthers int) shape {
	others, stride := n-1, senders(n, fromRoot, fromOthers)
	var trees shape
	for i := range others / stride {
		name := func(x int) int { return 1 + (x+i*stride)%others }
		var arcs []link
		for x := range others {
			from := 0
			if x >= fromRoot {
				from = name((x - fromRoot) / fromOthers)
			}
			arcs = append(arcs, link{from, name(x), -1})
		}
		trees = append(trees, arcs)
	}
	if fromRoot == 1 { // else nodes have time left
		trees.colour(n)
	}
	return trees
}

// senders returns how many nodes send in such a tree, besides the root.
func senders(n, fromRoot, fromOthers int) int {
	return max(1, (n-1-fromRoot+fromOthers-1)/fromOthers)
}

// colour gives the arcs of trees over n nodes places in a period, as few as there can be, so that no node sends to two
// others or receives from two at a time (König, 1916: as many as any node has arcs in or out). A place that is soon after
// that of the arc before it is taken if it is free at both nodes; if none is, two others are exchanged along a path.
func (s shape) colour(n int) {
	out, in := make([]int, n), make([]int, n)
	for _, arcs := range s {
		for _, a := range arcs {
			out[a.from]++
			in[a.to]++
		}
	}
	count := max(slices.Max(out), slices.Max(in))
	sides := make([][]*link, 2*n) // senders and then receivers: their arcs, by colour
	for i := range sides {
		sides[i] = make([]*link, count)
	}
	for _, arcs := range s {
		after := make([]int, n) // the place after that at which a node receives
		for i := range arcs {
			a := &arcs[i]
			u, v := sides[a.from], sides[n+a.to]
			first, both := -1, -1
			for i := range count {
				c := (after[a.from] + i) % count
				if u[c] == nil && first < 0 {
					first = c
				}
				if u[c] == nil && v[c] == nil {
					both = c
					break
				}
			}
			if both < 0 {
				both = first
				swap(sides, n+a.to, first, slices.Index(v, nil))
			}
			a.colour = both
			u[both], v[both] = a, a
			after[a.to] = both + 1
		}
	}
}

// swap exchanges two colours of the arcs on a path that begins at a node, where there is an arc of the first and none
// of the other.
func swap(sides [][]*link, at, one, other int) {
	n := len(sides) / 2
	var path []*link
	for c, d := one, other; sides[at][c] != nil; c, d = d, c {
		a := sides[at][c]
		path = append(path, a)
		if at = a.from; len(path)%2 == 0 {
			at = n + a.to
		}
	}
	for _, a := range path {
		sides[a.from][a.colour], sides[n+a.to][a.colour] = nil, nil
	}
	for _, a := range path {
		a.colour = one + other - a.colour
		sides[a.from][a.colour], sides[n+a.to][a.colour] = a, a
	}
}

// shapes returns shapes of trees over the clusters that may be good, for large buffers and for small ones.
func (c *clusters) shapes() (list []shape) {
	n := len(c.groups)
	add := func(fromRoot, fromOthers int) {
		if trees := (n - 1) / senders(n, fromRoot, fromOthers) * c.planes; trees*c.p.Topology.Ranks*len(c.groups[0]) <= mostSteps {
			list = append(list, rotated(n, fromRoot, fromOthers))
		}
	}
	if n > 3 {
		add(1, n-2) // the flattest that are fast
	}
	for _, turn := range []int{1, 2, 3} {
		for _, skewed := range []bool{false, true} {
			if s := binomial(n, turn, skewed); s != nil {
				list = append(list, s)
			}
		}
	}
	for _, fromRoot := range []int{1, 2, 3, 4, 6, 8, 12, 16, n - 1} {
		for _, fromOthers := range []int{2, 3, 4, 5, 7, 15, 16, n - 2} {
			if fromRoot > n-1 || fromOthers < 1 || fromOthers > n-2 || fromOthers < fromRoot && fromRoot < n-1 || fromRoot == n-1 && fromOthers > 2 {
				continue
			}
			if fromRoot > 1 || fromOthers < n-2 || n <= 3 {
				add(fromRoot, fromOthers)
			}
		}
	}
	return list
}

// mostSteps is how many hops of trees are placed in a period at most.
const mostSteps = 1 << 14

// trees returns the trees between ranks that have a shape: for each rank of the first group, or each plane, those of the shape, and
// beside them what spreads what they bring in the groups. It returns nil if some ranks cannot reach each other.
func (c *clusters) trees(s shape) [][]bough {
	n := len(c.groups[0])
	var trees [][]bough
	load := make([]float64, len(c.p.Topology.Links)) // with one byte a tree
	send := func(tree, from, to, colour int) bool {
		routes := c.routes(from, to)
		if c.planes > 1 {
			routes = slices.DeleteFunc(slices.Clone(routes), func(r []int) bool { return c.plane[r[0]] != tree/len(s) })
		}
		if len(routes) == 0 {
			return false
		}
		for _, l := range routes[0] {
			load[l] += 1 / float64(c.p.Topology.Links[l].Bandwidth)
		}
		trees[tree] = append(trees[tree], bough{from, to, routes, colour})
		return true
	}
	root := c.groups[0][0]
	for i := range n * c.planes {
		rail := i % n
		for _, arcs := range s {
			tree := len(trees)
			trees = append(trees, nil)
			if rail > 0 && !send(tree, root, c.groups[0][rail], -1) {
				return nil
			}
			for _, a := range arcs {
				if !send(tree, c.groups[a.from][rail], c.groups[a.to][rail], a.colour) {
					return nil
				}
			}
		}
	}
	if n == 1 {
		return trees
	}
	budget := slices.Max(load) * 0.9
	for tree := range slices.Backward(trees) { // those of the root last: others have less to do there
		for g := range c.groups {
			if !c.spread(tree, tree/len(s), g, tree%len(s), load, budget, send) {
				return nil
			}
		}
	}
	return trees
}

// spread sends what has come to a rank of a group on to the others: from those that have it soonest, if their links have
// time left, else from that which has most.
func (c *clusters) spread(tree, rail, group, turn int, load []float64, budget float64, send func(tree, from, to, colour int) bool) bool {
	have := []int{c.groups[group][rail]}
	if group == 0 && rail > 0 {
		have = append(have, c.groups[0][0])
	}
	n := len(c.groups[group])
	for i := range n - 1 { // trees begin with others
		to := c.groups[group][(rail+1+(i+turn)%(n-1))%n]
		if slices.Contains(have, to) {
			continue
		}
		best, least := -1, 0.0
		for _, from := range have {
			busy := 0.0
			routes := c.routes(from, to)
			if len(routes) == 0 {
				return false
			}
			for _, l := range routes[0] {
				busy = max(busy, load[l]+1/float64(c.p.Topology.Links[l].Bandwidth))
			}
			if busy <= budget && (group > 0 || rail > 0) {
				best = from
				break
			}
			if best < 0 || busy < least {
				best, least = from, busy
			}
		}
		if !send(tree, best, to, -1) {
			return false
		}
		have = append(have, to)
	}
	return true
}
