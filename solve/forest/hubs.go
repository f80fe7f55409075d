package forest

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/arborescence"
)

// hubs grows cheap trees whose hops may be multicasts at switches that copy. On a topology that is
// turned round, where switches add, they are trees of sums (verify/SPEC.md, 4.3).
type hubs struct {
	t       *model.Topology
	members []int
	joins   []bool // by node: a switch at which the ways of a multicast may part
	reads   []bool // by node: a switch where the rank that writes writes to itself, too
	from    [][]int
	own     map[[2]int]int // by rank and switch that it writes at: the link back
}

// newHubs returns what grows trees among p's members: trees of multicasts on p's topology or, if
// sums is set, on the same turned round, with the same numbers of links.
func newHubs(p *model.Problem, sums bool) *hubs {
	t := p.Topology
	if sums {
		t = t.Reversed()
	}
	h := &hubs{t: t, members: p.Members(), joins: make([]bool, t.Nodes()), reads: make([]bool, t.Nodes()), from: make([][]int, t.Nodes()), own: map[[2]int]int{}}
	for v := t.Ranks; v < t.Nodes(); v++ {
		h.joins[v] = p.Topology.Copies(v)
		if sums {
			h.joins[v] = p.Topology.Adds(v, &p.Collective) != model.NoReducing
		}
		h.reads[v] = p.Topology.Reduces(v) == model.SumsRead
	}
	for i, l := range t.Links {
		h.from[l.Src] = append(h.from[l.Src], i)
		if h.reads[l.Src] && l.Dst < t.Ranks {
			h.own[[2]int{l.Dst, l.Src}] = i
		}
	}
	return h
}

// ways are the cheapest ways from each node to each other, over switches alone.
type ways struct {
	cost [][]float64
	last [][]int // link of the way; -1: none
}

func (h *hubs) ways(prices []float64) ways {
	n := h.t.Nodes()
	w := ways{make([][]float64, n), make([][]int, n)}
	for v := range n {
		cost, last, done := slices.Repeat([]float64{math.Inf(1)}, n), slices.Repeat([]int{-1}, n), make([]bool, n)
		cost[v] = 0
		for {
			u := -1
			for x := range n {
				if !done[x] && !math.IsInf(cost[x], 1) && (u < 0 || cost[x] < cost[u]) {
					u = x
				}
			}
			if u < 0 {
				break
			}
			done[u] = true
			if u < h.t.Ranks && u != v {
				continue
			}
			for _, l := range h.from[u] {
				if to := h.t.Links[l].Dst; cost[u]+prices[l] < cost[to] {
					cost[to], last[to] = cost[u]+prices[l], l
				}
			}
		}
		w.cost[v], w.last[v] = cost, last
	}
	return w
}

// links returns the links of the way from u to v.
func (w *ways) links(t *model.Topology, u, v int) (route []int) {
	for v != u {
		l := w.last[u][v]
		route = append(route, l)
		v = t.Links[l].Src
	}
	slices.Reverse(route)
	return route
}

// multicast is what a rank of a tree sends over one of its links.
type multicast struct {
	from     int
	to       []int         // in the order in which they were reached
	route    map[int][]int // by destination
	before   map[int][]int // by switch on the ways: the links to it
	parts    []int         // switches where more ways may part from it
	writesAt int           // the switch at which all its ways part, if ranks write to themselves there; -1: none
}

// offer is a way on which a tree can grow by a rank.
type offer struct {
	cost  float64
	depth int        // of the rank that it comes from
	from  int        // node
	of    *multicast // nil: a new one
}

// sprout is a tree that grows.
type sprout struct {
	*hubs
	w      ways
	prices []float64
	free   bool  // what a rank writes to itself counts nothing while the tree grows
	depth  []int // by rank; -1: not reached
	order  []int // ranks as they were reached
	casts  map[int][]*multicast
	best   map[int]offer // by rank that is not reached
}

// grow returns a cheap tree from root: rank by rank, by what costs the least beside what there is
// (Takahashi and Matsuyama, "An approximate solution for the Steiner problem in graphs",
// Mathematica Japonica 24, 1980). ok is false if there is none.
func (h *hubs) grow(root int, w ways, prices []float64, free bool) (t arborescence.Tree, ok bool) {
	s := &sprout{hubs: h, w: w, prices: prices, free: free, depth: slices.Repeat([]int{-1}, h.t.Ranks), casts: map[int][]*multicast{}, best: map[int]offer{}}
	s.reach(root, 0)
	for len(s.order) < len(h.members) {
		q := -1
		for _, v := range h.members { // in their order
			if o, known := s.best[v]; s.depth[v] < 0 && known && (q < 0 || o.before(s.best[q])) {
				q = v
			}
		}
		if q < 0 {
			return arborescence.Tree{}, false
		}
		o := s.best[q]
		if !s.take(q, o) { // the way meets what the multicast has become
			delete(s.best, q)
			for _, u := range s.order {
				s.offer(q, offer{s.w.cost[u][q], s.depth[u], u, nil})
			}
		}
	}
	return s.tree(root), true
}

// before reports whether a comes before b: cheaper, or as cheap and less deep.
func (a offer) before(b offer) bool {
	equal := 1e-9 * max(a.cost, b.cost)
	if math.Abs(a.cost-b.cost) > equal {
		return a.cost < b.cost
	}
	return a.depth < b.depth
}

func (s *sprout) offer(q int, o offer) {
	if was, known := s.best[q]; !math.IsInf(o.cost, 1) && (!known || o.before(was)) {
		s.best[q] = o
	}
}

// reach makes a rank a part of the tree.
func (s *sprout) reach(u, depth int) {
	s.depth[u] = depth
	s.order = append(s.order, u)
	for _, q := range s.members {
		if s.depth[q] < 0 {
			s.offer(q, offer{s.w.cost[u][q], depth, u, nil})
		}
	}
}

// take has the tree grow by rank q, and reports whether the offer still holds.
func (s *sprout) take(q int, o offer) bool {
	m, route := o.of, s.w.links(s.t, o.from, q)
	if m == nil {
		m = &multicast{from: o.from, route: map[int][]int{}, before: map[int][]int{}, writesAt: -1}
		s.casts[m.from] = append(s.casts[m.from], m)
	} else {
		for _, l := range route[:len(route)-1] {
			if _, met := m.before[s.t.Links[l].Dst]; met {
				return false
			}
		}
	}
	whole := append(slices.Clone(m.before[o.from]), route...)
	for i, l := range whole[:len(whole)-1] {
		v := s.t.Links[l].Dst
		if _, met := m.before[v]; met {
			continue
		}
		m.before[v] = whole[:i+1]
		switch {
		case s.joins[v] && s.reads[v] && len(whole) == 2:
			m.parts, m.writesAt = append(m.parts, v), v
		case s.joins[v] && !s.reads[v]:
			m.parts = append(m.parts, v)
		}
	}
	m.to, m.route[q] = append(m.to, q), whole
	s.reach(q, s.depth[m.from]+1)
	for _, v := range m.parts {
		for _, r := range s.members {
			if s.depth[r] >= 0 || v == m.writesAt && s.w.last[v][r] >= 0 && s.t.Links[s.w.last[v][r]].Src != v {
				continue
			}
			cost := s.w.cost[v][r]
			if v == m.writesAt && len(m.to) == 1 && !s.free {
				cost += s.prices[s.own[[2]int{m.from, v}]]
			}
			s.offer(r, offer{cost, s.depth[m.from], v, m})
		}
	}
	return true
}

// tree returns what has grown: the arcs of a multicast one after the other.
func (s *sprout) tree(root int) arborescence.Tree {
	t := arborescence.Tree{Root: root}
	streams := 0
	for _, u := range s.order {
		for _, m := range s.casts[u] {
			number := 0
			if len(m.to) > 1 {
				streams++
				number = streams
			}
			for _, q := range m.to {
				t.Arcs = append(t.Arcs, arborescence.Arc{From: u, To: q, Route: m.route[q], Stream: number})
			}
			t.Uses = append(t.Uses, m.uses(s.own)...)
		}
	}
	return t
}

// uses returns the links that a multicast keeps busy, each once, ascending.
func (m *multicast) uses(own map[[2]int]int) []int {
	var links []int
	for _, q := range m.to {
		links = append(links, m.route[q]...)
	}
	if m.writesAt >= 0 && len(m.to) > 1 {
		links = append(links, own[[2]int{m.from, m.writesAt}])
	}
	slices.SortFunc(links, cmp.Compare[int])
	return slices.Compact(links)
}
