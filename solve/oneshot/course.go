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
	tails []model.Time // by step: how long a small chunk takes from there on
}

// step is what happens along one dimension.
type step struct {
	phase phase
	pairs []pair // what collects or spreads over several ranks comes in the order in which it goes
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
	fastest float64
	numOf   map[string]int32 // of routes
	ways    *ways
}

func newGuide(p *model.Problem, w *ways) *guide {
	return &guide{distances: newDistances(p, p.Members()), p: p, t: p.Topology, out: p.Topology.Out(), members: p.Members(), fastest: fastest(p.Topology), numOf: map[string]int32{}, ways: w}
}

// between returns the distance from one member to another one.
func (g *guide) between(u, v int) int64 { return g.to[v][g.members[u]] }

// course builds the way of a chunk whose owners have some number, in one order of the dimensions.
func (g *guide) course(q *plan, order []int, owner int) *course {
	c := &course{}
	n := len(q.member)
	active := make([]int, n)
	for v := range active {
		active[v] = v
	}
	var spreads []step
	for i, j := range order {
		switch {
		case q.matching != nil:
			var pairs []pair
			for v := range n {
				pairs = append(pairs, pair{from: v, to: q.matching[j][v]})
			}
			c.steps = append(c.steps, g.routed(exchanging, pairs))
		case i < q.collected:
			digit := owner % q.radix[j]
			owner /= q.radix[j]
			var owners []int
			for _, v := range active {
				if q.digits[j][v] == digit {
					owners = append(owners, v)
				}
			}
			own := func(v int) int { return q.peer(v, j, digit-q.digits[j][v]+q.radix[j]) }
			c.steps = append(c.steps, g.routed(collecting, g.forest(active, owners, own, g.between)))
			down := g.forest(active, owners, own, func(u, v int) int64 { return g.between(v, u) })
			slices.Reverse(down)
			for k, w := range down {
				down[k].from, down[k].to = w.to, w.from
			}
			spreads = append(spreads, g.routed(spreading, down))
			active = owners
		default:
			c.steps = append(c.steps, g.routed(exchanging, g.nearest(q, active, order[q.collected:i], j)))
		}
	}
	slices.Reverse(spreads)
	c.steps = append(c.steps, spreads...)
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
	c.tails = make([]model.Time, len(c.steps)+1)
	for i := len(c.steps) - 1; i >= 0; i-- {
		c.tails[i] = c.tails[i+1] + g.depth(c.steps[i])
	}
	return c
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

// nearest returns the pairs over which each member gets the sums of the others' groups in a dimension, after those
// of some dimensions have been exchanged: from its peer, or from the nearest member that has each, and of these from its
// peer, if it is among them, else from the one that sends least.
func (g *guide) nearest(q *plan, members, before []int, dimension int) (pairs []pair) {
	having := map[int][]int{} // by number of digits, those exchanged 0: the members that have it
	class := func(v, by int) int {
		u := q.peer(v, dimension, by)
		for _, j := range before {
			u = q.peer(u, j, q.radix[j]-q.digits[j][u])
		}
		return u
	}
	for _, v := range members {
		having[class(v, 0)] = append(having[class(v, 0)], v)
	}
	sends := map[int]int{}
	for d := 1; d < q.radix[dimension]; d++ {
		for _, v := range members {
			from := q.peer(v, dimension, d)
			least := g.between(from, v)
			if !q.nearby {
				pairs = append(pairs, pair{from: from, to: v})
				continue
			}
			for _, u := range having[class(v, d)] {
				if far := g.between(u, v); far < least || far == least && from != q.peer(v, dimension, d) && sends[u] < sends[from] {
					from, least = u, far
				}
			}
			sends[from]++
			pairs = append(pairs, pair{from: from, to: v})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(g.between(b.from, b.to), g.between(a.from, a.to)) })
	return pairs
}

// routed finds routes for the pairs of a step: shortest ones, which share links as little as can be.
func (g *guide) routed(ph phase, pairs []pair) step {
	x := &router{t: g.t, out: g.out, fastest: g.fastest, used: map[stage]float64{}, far: g.to}
	routes := make([][]int, len(pairs))
	for pass := range 2 {
		changed := false
		for i, w := range pairs {
			old := routes[i]
			if pass > 0 {
				x.use(old, -1)
			}
			routes[i] = x.along(g.members[w.from], g.members[w.to], w.to)
			x.use(routes[i], 1)
			changed = changed || !slices.Equal(routes[i], old)
		}
		if !changed {
			break
		}
	}
	for i := range pairs {
		pairs[i].route = g.number(routes[i])
	}
	return step{ph, pairs}
}

// number returns the number of a route, a new one if there is none.
func (g *guide) number(route []int) int32 {
	key := make([]byte, 0, 32)
	for _, l := range route {
		key = append(key, byte(l), byte(l>>8), byte(l>>16))
	}
	n, known := g.numOf[string(key)]
	if !known {
		n = int32(len(g.ways.routes))
		g.numOf[string(key)] = n
		g.ways.routes = append(g.ways.routes, route)
	}
	return n
}
