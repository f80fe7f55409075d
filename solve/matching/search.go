package matching

import (
	"math"
	"slices"
)

// link is an edge seen from a vertex or a blossom: u lies in it, v in the other one.
// Weight 0 means that there is none.
type link struct {
	u, v int
	w    int64
}

// label is the place of a node in the forest of alternating trees.
type label int8

const (
	free  label = iota // in no tree
	outer              // at an even distance from its root
	inner              // at an odd one
)

// search is the state of the algorithm. Vertices are 1..n, blossoms n+1..top; 0 is
// nobody. Vertices and blossoms that lie in no blossom are called nodes. Prices are
// doubled, so that they stay whole.
type search struct {
	n, top  int
	stride  int
	links   []link  // by two nodes: the edge between them with the least slack
	price   []int64 // by vertex or blossom, doubled
	match   []int   // by node: the vertex outside it that it is matched with
	nearest []int   // by node: of the outer vertices the one with least slack to it
	node    []int   // by vertex or blossom: the node that it lies in; 0: not in use
	parent  []int   // by node in a tree: the vertex in its parent
	label   []label
	seen    []int // by node: the last search for a common ancestor that passed it
	round   int
	cycle   [][]int   // by blossom: its children around the cycle, the base first
	child   [][]int32 // by blossom and vertex: the child that the vertex lies in, 0 if none
	queue   []int     // outer vertices whose edges are to be looked at
}

func newSearch(n int) *search {
	size := n + n/2 + 2
	s := &search{n: n, top: n, stride: size, links: make([]link, size*size),
		price: make([]int64, size), match: make([]int, size), nearest: make([]int, size), node: make([]int, size),
		parent: make([]int, size), label: make([]label, size), seen: make([]int, size),
		cycle: make([][]int, size), child: make([][]int32, size)}
	for v := 1; v <= n; v++ {
		s.node[v] = v
		for w := 1; w <= n; w++ {
			*s.at(v, w) = link{v, w, 0}
		}
	}
	return s
}

// at returns the link between two nodes, seen from x.
func (s *search) at(x, y int) *link { return &s.links[x*s.stride+y] }

// slack returns by how much, doubled, the prices of an edge's ends exceed its weight.
// The ends must lie in different nodes.
func (s *search) slack(e *link) int64 { return s.price[e.u] + s.price[e.v] - 2*s.at(e.u, e.v).w }

// consider has vertex u stand in as the nearest of node x if its slack is less.
func (s *search) consider(u, x int) {
	if s.nearest[x] == 0 || s.slack(s.at(u, x)) < s.slack(s.at(s.nearest[x], x)) {
		s.nearest[x] = u
	}
}

// findNearest looks for the nearest of node x among all outer vertices.
func (s *search) findNearest(x int) {
	s.nearest[x] = 0
	for u := 1; u <= s.n; u++ {
		if s.at(u, x).w > 0 && s.node[u] != x && s.label[s.node[u]] == outer {
			s.consider(u, x)
		}
	}
}

// enqueue has all vertices of a node looked at.
func (s *search) enqueue(x int) {
	if x <= s.n {
		s.queue = append(s.queue, x)
		return
	}
	for _, y := range s.cycle[x] {
		s.enqueue(y)
	}
}

// lies notes for all that is in x that it lies in the node b.
func (s *search) lies(x, b int) {
	s.node[x] = b
	if x > s.n {
		for _, y := range s.cycle[x] {
			s.lies(y, b)
		}
	}
}

// evenPath turns the cycle of b, if need be, so that the way from its base to its
// child x is even, and returns how many steps that are.
func (s *search) evenPath(b, x int) int {
	at := slices.Index(s.cycle[b], x)
	if at%2 == 0 {
		return at
	}
	slices.Reverse(s.cycle[b][1:])
	return len(s.cycle[b]) - at
}

// setMatch matches node x over its edge to node y; within a blossom the child where
// the edge ends becomes the base.
func (s *search) setMatch(x, y int) {
	e := *s.at(x, y)
	s.match[x] = e.v
	if x <= s.n {
		return
	}
	base := int(s.child[x][e.u])
	steps := s.evenPath(x, base)
	c := s.cycle[x]
	for i := range steps {
		s.setMatch(c[i], c[i^1])
	}
	s.setMatch(base, y)
	s.cycle[x] = slices.Concat(c[steps:], c[:steps])
}

// augment changes the matching along the path from node x to its root, so that x can
// be matched with node y.
func (s *search) augment(x, y int) {
	for {
		next := s.node[s.match[x]]
		s.setMatch(x, y)
		if next == 0 {
			return
		}
		above := s.node[s.parent[next]]
		s.setMatch(next, above)
		x, y = above, next
	}
}

// ancestor returns the first common ancestor of two outer nodes, or 0.
func (s *search) ancestor(x, y int) int {
	s.round++
	for x != 0 || y != 0 {
		if x != 0 {
			if s.seen[x] == s.round {
				return x
			}
			s.seen[x] = s.round
			if x = s.node[s.match[x]]; x != 0 {
				x = s.node[s.parent[x]]
			}
		}
		x, y = y, x
	}
	return 0
}

// shrink makes a blossom of the cycle that the edge between x and y closes, a being
// their common ancestor.
func (s *search) shrink(x, a, y int) {
	b := s.n + 1
	for b <= s.top && s.node[b] != 0 {
		b++
	}
	s.top = max(s.top, b)
	s.price[b], s.label[b], s.match[b] = 0, outer, s.match[a]
	cycle := []int{a}
	climb := func(x int) {
		for x != a {
			over := s.node[s.match[x]]
			cycle = append(cycle, x, over)
			s.enqueue(over)
			x = s.node[s.parent[over]]
		}
	}
	climb(x)
	slices.Reverse(cycle[1:])
	climb(y)
	s.cycle[b] = cycle
	s.lies(b, b)
	for x := 1; x <= s.top; x++ {
		s.at(b, x).w, s.at(x, b).w = 0, 0
	}
	s.child[b] = make([]int32, s.n+1)
	for _, c := range cycle {
		for x := 1; x <= s.top; x++ {
			if s.at(c, x).w > 0 && (s.at(b, x).w == 0 || s.slack(s.at(c, x)) < s.slack(s.at(b, x))) {
				*s.at(b, x), *s.at(x, b) = *s.at(c, x), *s.at(x, c)
			}
		}
		for v := 1; v <= s.n; v++ {
			if c == v || c > s.n && s.child[c][v] != 0 {
				s.child[b][v] = int32(c)
			}
		}
	}
	s.findNearest(b)
}

// expand takes an inner blossom of price zero apart: of its children those on the even
// way from the base to where the tree enters stay in the tree.
func (s *search) expand(b int) {
	for _, c := range s.cycle[b] {
		s.lies(c, c)
	}
	enter := int(s.child[b][s.at(b, s.parent[b]).u])
	steps := s.evenPath(b, enter)
	c := s.cycle[b]
	for i := 0; i < steps; i += 2 {
		x, next := c[i], c[i+1]
		s.parent[x] = s.at(next, x).u
		s.label[x], s.label[next] = inner, outer
		s.nearest[x] = 0
		s.findNearest(next)
		s.enqueue(next)
	}
	s.label[enter], s.parent[enter] = inner, s.parent[b]
	for _, x := range c[steps+1:] {
		s.label[x] = free
		s.findNearest(x)
	}
	s.node[b] = 0
}

// tight looks at a tight edge from an outer vertex, and reports whether the matching has
// grown.
func (s *search) tight(e link) bool {
	u, v := s.node[e.u], s.node[e.v]
	switch s.label[v] {
	case free:
		s.parent[v], s.label[v] = e.u, inner
		next := s.node[s.match[v]]
		s.nearest[v], s.nearest[next] = 0, 0
		s.label[next] = outer
		s.enqueue(next)
	case outer:
		a := s.ancestor(u, v)
		if a == 0 {
			s.augment(u, v)
			s.augment(v, u)
			return true
		}
		s.shrink(u, a, v)
	}
	return false
}

// phase grows alternating trees from all free nodes until the matching is one edge
// larger, which it says, or until it is heaviest.
func (s *search) phase() bool {
	clear(s.label)
	clear(s.nearest)
	s.queue = s.queue[:0]
	for x := 1; x <= s.top; x++ {
		if s.node[x] == x && s.match[x] == 0 {
			s.parent[x], s.label[x] = 0, outer
			s.enqueue(x)
		}
	}
	if len(s.queue) == 0 {
		return false
	}
	for {
		for len(s.queue) > 0 {
			u := s.queue[len(s.queue)-1]
			s.queue = s.queue[:len(s.queue)-1]
			if s.label[s.node[u]] == inner {
				continue
			}
			for v := 1; v <= s.n; v++ {
				if s.at(u, v).w == 0 || s.node[u] == s.node[v] {
					continue
				}
				if s.slack(s.at(u, v)) > 0 {
					s.consider(u, s.node[v])
				} else if s.tight(*s.at(u, v)) {
					return true
				}
			}
		}
		if !s.reprice() {
			return false
		}
		for x := 1; x <= s.top; x++ {
			if s.node[x] == x && s.nearest[x] != 0 && s.node[s.nearest[x]] != x && s.slack(s.at(s.nearest[x], x)) == 0 {
				if s.tight(*s.at(s.nearest[x], x)) {
					return true
				}
			}
		}
		for b := s.n + 1; b <= s.top; b++ {
			if s.node[b] == b && s.label[b] == inner && s.price[b] == 0 {
				s.expand(b)
			}
		}
	}
}

// reprice changes prices, by as much as keeps them a dual solution: what is outer gets
// cheaper, what is inner dearer. It reports whether the free vertices still have a price.
func (s *search) reprice() bool {
	by := int64(math.MaxInt64)
	for b := s.n + 1; b <= s.top; b++ {
		if s.node[b] == b && s.label[b] == inner {
			by = min(by, s.price[b]/2)
		}
	}
	for x := 1; x <= s.top; x++ {
		if s.node[x] != x || s.nearest[x] == 0 {
			continue
		}
		switch slack := s.slack(s.at(s.nearest[x], x)); s.label[x] {
		case free:
			by = min(by, slack)
		case outer:
			by = min(by, slack/2)
		}
	}
	for u := 1; u <= s.n; u++ {
		if s.label[s.node[u]] == outer {
			by = min(by, s.price[u])
		}
	}
	done := false
	for u := 1; u <= s.n; u++ {
		switch s.label[s.node[u]] {
		case outer:
			s.price[u] -= by
			done = done || s.price[u] == 0
		case inner:
			s.price[u] += by
		}
	}
	for b := s.n + 1; b <= s.top; b++ {
		if s.node[b] == b {
			switch s.label[b] {
			case outer:
				s.price[b] += 2 * by
			case inner:
				s.price[b] -= 2 * by
			}
		}
	}
	return !done
}
