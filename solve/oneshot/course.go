package oneshot

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/heap"
)

// course is how one chunk goes from pair to pair, step by step: sums are collected by owners, exchanged among these, and
// spread.
type course struct {
	steps []step
	uses  []linkUse
	tail  model.Time // how long a small chunk takes
	hops  []hop      // in the order in which they are placed; nil: not asked for yet

	labels []uint64  // of the classes of hops; nil: not asked for yet
	before [][]int32 // by hop: those that it waits for
}

// step is what happens along one dimension.
type step struct {
	phase phase
	pairs []pair // what collects or spreads over several ranks comes in the order in which it goes
	stale []int  // who get sums, and have nothing that counts except what they send in this step
}

// live takes out of steps what nobody needs.
func live(steps []step, n int) {
	needed := slices.Repeat([]bool{true}, n) // by member: what it has after a step
	for i := len(steps) - 1; i >= 0; i-- {
		x := &steps[i]
		before := needed
		if x.phase == exchanging {
			before = slices.Clone(needed)
			x.stale = slices.DeleteFunc(x.stale, func(v int) bool { return !needed[v] })
			for _, v := range x.stale {
				before[v] = false
			}
		}
		var pairs []pair
		for _, w := range slices.Backward(x.pairs) {
			if !needed[w.to] {
				continue
			}
			if x.phase == spreading {
				before[w.to] = false
			}
			before[w.from] = true
			pairs = append(pairs, w)
		}
		slices.Reverse(pairs)
		x.pairs, needed = pairs, before
	}
}

// mirrored returns steps backwards: what was copied is added, and what was added, and sent no more, is copied. That is the
// transposed linear map, and an allreduce is its own: each has all, and all have each.
func mirrored(steps []step, n int) (all []step) {
	empty := make([]bool, n) // by member: it has nothing that counts
	for _, x := range slices.Backward(steps) {
		y := step{phase: x.phase}
		switch x.phase {
		case collecting:
			y.phase = spreading
		case spreading:
			y.phase = collecting
		}
		after := empty
		if x.phase == exchanging {
			after = slices.Clone(empty)
			for _, v := range x.stale {
				after[v] = true
			}
		}
		for _, w := range slices.Backward(x.pairs) {
			if empty[w.to] {
				continue
			}
			y.pairs = append(y.pairs, pair{from: w.to, to: w.from})
			if y.phase != spreading && (empty[w.from] || slices.Contains(x.stale, w.from)) && !slices.Contains(y.stale, w.from) {
				y.stale = append(y.stale, w.from)
			}
			after[w.from] = false
			if y.phase == collecting {
				after[w.to] = true
			}
		}
		empty = after
		all = append(all, y)
	}
	return all
}

type phase int

const (
	collecting phase = iota
	exchanging
	spreading
)

// linkUse is how many times a chunk goes over a link in a step.
type linkUse struct{ link, step, times int }

// distances holds how far members and nodes are apart: latencies first, then ranks on the way, then links, in one figure.
type distances struct {
	to   [][]int64 // by member: from each node to it
	from [][]int64 // by member: from it to each node
}

// In a distance a rank counts as much as many links, and a picosecond as much as many ranks.
const (
	perRank       = 1 << 8
	perPicosecond = 1 << 20
	longest       = 1 << 42 // sum of the latencies of a way, in picoseconds: no sum of distances leaves 64 bits
)

// length returns what a link adds to a distance: no way of a network is longer than 64 bits hold.
func length(t *model.Topology, l *model.Link) int64 {
	sum := min(int64(l.Alpha), longest/int64(t.Nodes()))*perPicosecond + 1
	if t.IsRank(l.Dst) {
		sum += perRank
	}
	return sum
}

// spot is a node at a distance.
type spot struct {
	node int
	far  int64
}

// Before orders a heap.
func (a spot) Before(b spot) bool {
	return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.node, b.node)) < 0
}

// newDistances measures the distances from and to ranks: Dijkstra's algorithm.
func newDistances(p *model.Problem, ranks []int) *distances {
	t, d := p.Topology, &distances{}
	out, in := t.Out(), t.In()
	search := func(rank int, exits [][]int, next func(l *model.Link) int) []int64 {
		far := slices.Repeat([]int64{-1}, t.Nodes())
		queue := heap.Heap[spot]{{node: rank}}
		for len(queue) > 0 {
			at := queue.Pop()
			if far[at.node] >= 0 {
				continue
			}
			far[at.node] = at.far
			for _, l := range exits[at.node] {
				if v := next(&t.Links[l]); far[v] < 0 {
					queue.Push(spot{v, at.far + length(t, &t.Links[l])})
				}
			}
		}
		return far
	}
	for _, r := range ranks {
		d.from = append(d.from, search(r, out, func(l *model.Link) int { return l.Dst }))
		d.to = append(d.to, search(r, in, func(l *model.Link) int { return l.Src }))
	}
	return d
}

// guide builds courses of a problem.
type guide struct {
	*distances
	p       *model.Problem
	t       *model.Topology
	out     [][]int
	members []int
	onward  [][]int // by member and node: the links from there that begin a shortest way to it; nil: not asked for yet
	router  *router
	numOf   map[uint64]int32 // of routes
	ways    *ways
}

func newGuide(p *model.Problem, w *ways) *guide {
	t, out, members := p.Topology, p.Topology.Out(), p.Members()
	return &guide{distances: newDistances(p, members), p: p, t: t, out: out, members: members, onward: make([][]int, len(members)*t.Nodes()), router: newRouter(t, out), numOf: map[uint64]int32{}, ways: w}
}

// between returns the distance from one member to another one.
func (g *guide) between(u, v int) int64 { return g.to[v][g.members[u]] }

// course builds the way of a chunk through some states, whose owners have some number. It returns nil if nobody has what a
// member needs on the way.
func (g *guide) course(q *plan, states []state, owner int) *course {
	digits := q.ownDigits(states, owner)
	c, at := &course{}, q.begin(digits)
	for _, to := range states {
		if q.doors != nil {
			digits = q.doors.digits(owner, to)
		}
		x, next := g.next(at, to, digits)
		if next == nil {
			return nil
		}
		c.steps = append(c.steps, x)
		at = next
	}
	live(c.steps, len(q.member))
	if q.mirrored {
		c.steps = mirrored(c.steps, len(q.member))
	}
	g.finish(c)
	return c
}

// finish routes the pairs of the steps of a course, and notes what it uses, and how long it takes.
func (g *guide) finish(c *course) {
	for _, x := range c.steps {
		for i, w := range g.shared(x.pairs) {
			x.pairs[i].route = w
		}
	}
	times := map[[2]int]int{}
	for s, x := range c.steps {
		for _, w := range x.pairs {
			for _, l := range g.ways.routes[w.route] {
				if times[[2]int{l, s}]++; times[[2]int{l, s}] == 1 {
					c.uses = append(c.uses, linkUse{link: l, step: s})
				}
			}
		}
	}
	for i, u := range c.uses {
		c.uses[i].times = times[[2]int{u.link, u.step}]
	}
	for _, x := range c.steps {
		c.tail += g.depth(x)
	}
}

// depth returns how long a step of a small chunk lasts if nothing is in its way.
func (g *guide) depth(x step) (end model.Time) {
	ready := map[int]model.Time{}
	for _, w := range x.pairs {
		after := ready[w.from]
		if x.phase == exchanging {
			after = 0
		}
		ready[w.to] = max(ready[w.to], after+g.t.Duration(g.ways.routes[w.route], 1))
		end = max(end, ready[w.to])
	}
	return end
}

// forest returns the pairs over which members send to the nearest owner, those that are farthest first: through
// others that send to the same one, where these are on a shortest way. Of owners that are equally near it is the
// one of their group, if all have that, else one that serves few.
func (g *guide) forest(members, owners []int, own func(v int) int, far func(u, v int) int64) (pairs []pair) {
	isOwner := map[int]bool{}
	for _, u := range owners {
		isOwner[u] = true
	}
	nearer := func(v int) bool {
		far0 := far(v, own(v))
		return slices.ContainsFunc(owners, func(u int) bool { return far(v, u) < far0 })
	}
	owned := !slices.ContainsFunc(members, func(v int) bool { return !isOwner[v] && nearer(v) })
	served := map[int][]int{} // by owner
	var rest []int
	for _, v := range members {
		if !isOwner[v] {
			rest = append(rest, v)
		}
	}
	for _, v := range rest {
		to := own(v)
		if !owned {
			for _, u := range owners {
				if d, least := far(v, u), far(v, to); d < least || d == least && len(served[u]) < len(served[to]) {
					to = u
				}
			}
		}
		served[to] = append(served[to], v)
	}
	type leg struct {
		pair
		far int64
	}
	var legs []leg
	for _, u := range owners {
		for _, v := range served[u] {
			to, all := u, far(v, u)
			for _, w := range served[u] {
				if w != v && far(v, w)+far(w, u) == all && far(v, w) < far(v, to) {
					to = w
				}
			}
			legs = append(legs, leg{pair{from: v, to: to}, all})
		}
	}
	slices.SortStableFunc(legs, func(a, b leg) int { return cmp.Compare(b.far, a.far) })
	for _, l := range legs {
		pairs = append(pairs, l.pair)
	}
	return pairs
}

// nearer returns the links with which shortest ways from a node to a member go on.
func (g *guide) nearer(node, member int) []int {
	known := &g.onward[member*g.t.Nodes()+node]
	if *known == nil {
		far := g.to[member]
		for _, l := range g.out[node] {
			if k := &g.t.Links[l]; far[k.Dst] >= 0 && length(g.t, k)+far[k.Dst] == far[node] {
				*known = append(*known, l)
			}
		}
	}
	return *known
}

// along returns a route of least length from one member to another one: at each node it goes on over the link that costs least.
func (g *guide) along(w pair) (route []int) {
	at := model.Time(0)
	for v := g.members[w.from]; v != g.members[w.to]; {
		links := g.nearer(v, w.to)
		next := links[0]
		if len(links) > 1 {
			least := g.router.cost(next, at)
			for _, l := range links[1:] {
				if cost := g.router.cost(l, at); cost < least {
					next, least = l, cost
				}
			}
		}
		route = append(route, next)
		v, at = g.t.Links[next].Dst, at+g.t.Links[next].Alpha
	}
	return route
}

// shared returns routes for the pairs of a step: shortest ones, which share links as little as can be.
func (g *guide) shared(pairs []pair) []int32 {
	x := g.router
	x.forget()
	routes := make([][]int, len(pairs))
	for pass := range 2 {
		changed := false
		for i, w := range pairs {
			old := routes[i]
			if pass > 0 {
				x.use(old, -1)
			}
			routes[i] = g.along(w)
			x.use(routes[i], 1)
			changed = changed || !slices.Equal(routes[i], old)
		}
		if !changed {
			break
		}
	}
	numbers := make([]int32, len(pairs))
	for i := range pairs {
		numbers[i] = g.number(routes[i])
	}
	return numbers
}

// number returns the number of a route, a new one if there is none.
func (g *guide) number(route []int) int32 {
	key := uint64(len(route))
	for _, l := range route {
		key = (key ^ uint64(l)) * 0x9e3779b97f4a7c15 // Fibonacci hashing (Knuth, volume 3, section 6.4)
		key ^= key >> 32
	}
	for ; ; key++ {
		n, known := g.numOf[key]
		switch {
		case !known:
			n = int32(len(g.ways.routes))
			g.numOf[key] = n
			g.ways.routes = append(g.ways.routes, route)
			return n
		case slices.Equal(g.ways.routes[n], route):
			return n
		}
	}
}
