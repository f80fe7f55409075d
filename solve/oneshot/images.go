package oneshot

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/symmetry"
)

// images moves courses by symmetries of the network: what is built for one chunk serves others in other places. Each of the first ones but the
// identity moves every link, so that images of a chunk can be on their way together.
type images struct {
	nodes  [][]int32 // by symmetry: the images of nodes
	moving int       // how many symmetries are a group that moves every link
	orders []int     // of subgroups of that group, the first elements
	number []int     // of the member at a rank
	of     map[[2]int][]int
	place  []int     // by link: its place among those between the same nodes
	links  [][]int32 // by element: the images of links, nil: not asked for yet
	routes [][]int32 // by route: one more than the number of its image by each element, 0: not asked for yet
	twins  [][]int   // by link: the equal ones between the same nodes, if there are others
	orbit  []int     // by link; twins share the work of each other, so that they are in one
	size   []int     // by orbit: how many links
}

// Limits of the images.
const (
	symmetryWork = 2e7
	mostBases    = 1 << 9 // members times bases of a plan
	moreBases    = 4      // times as many where owners are opposite
	fewBases     = 4      // of which the costs of a plan are estimated where there are images
	samples      = 6      // images among which a chunk has the choice
	mostMoved    = 64     // ranks of a network without switches, of which symmetries count that leave links where they are
	fewResting   = 32     // of these that are drawn
	mostResting  = 400    // symmetries in all, if others follow from these
)

// newImages finds symmetries of a network all of whose ranks are members; others have the identity alone.
func newImages(s *search) *images {
	t := s.p.Topology
	x := &images{number: make([]int, t.Ranks), of: map[[2]int][]int{}, place: make([]int, len(t.Links)), orbit: make([]int, len(t.Links))}
	switch turns, orders := translations(t); {
	case !network.Everyone(s.p) || len(t.Ports) > 0:
		x.take(symmetry.Trivial(t))
	case turns != nil:
		x.nodes, x.orders = turns, orders
	default:
		x.take(symmetry.Find(s.b.Context(), t, symmetry.Options{Work: symmetryWork}))
	}
	x.moving = len(x.nodes)
	for v, r := range s.p.Members() {
		x.number[r] = v
	}
	for l, k := range t.Links {
		ends := [2]int{k.Src, k.Dst}
		x.of[ends] = append(x.of[ends], l)
	}
	for _, list := range x.of {
		slices.SortFunc(list, func(a, b int) int {
			return cmp.Or(cmp.Compare(t.Links[a].Alpha, t.Links[b].Alpha), cmp.Compare(t.Links[a].Bandwidth, t.Links[b].Bandwidth), cmp.Compare(a, b))
		})
		for i, l := range list {
			x.place[l] = i
		}
	}
	if !x.regular() && network.Everyone(s.p) && len(t.Ports) == 0 && t.Nodes() <= mostMoved && t.Nodes() == t.Ranks {
		x.resting(s, t)
	}
	x.links = make([][]int32, len(x.nodes))
	x.orbit, x.size = x.orbits(t, len(x.nodes))
	x.pairUp(t)
	return x
}

// resting adds symmetries that leave links where they are: all, if there are few.
func (x *images) resting(s *search, t *model.Topology) {
	known := map[string]bool{}
	add := func(p []int32) {
		if key := fmt.Sprint(p); !known[key] && len(x.nodes) < mostResting {
			known[key] = true
			x.nodes = append(x.nodes, p)
		}
	}
	for _, p := range x.nodes {
		known[fmt.Sprint(p)] = true
	}
	for _, image := range symmetry.Stabiliser(s.b.Context(), t, -1, fewResting, rand.New(rand.NewPCG(23, 0))) {
		p := make([]int32, t.Nodes())
		for l, k := range t.Links {
			p[k.Src], p[k.Dst] = int32(t.Links[image[l]].Src), int32(t.Links[image[l]].Dst)
		}
		add(p)
	}
	generators := slices.Clone(x.nodes)
	for i := 0; i < len(x.nodes) && len(x.nodes) < mostResting; i++ {
		for _, g := range generators {
			p := make([]int32, t.Nodes())
			for v := range p {
				p[v] = g[x.nodes[i][v]]
			}
			add(p)
		}
	}
}

// pairUp notes which links are twins, and makes one orbit of theirs.
func (x *images) pairUp(t *model.Topology) {
	x.twins = make([][]int, len(t.Links))
	for l, k := range t.Links {
		if x.twins[l] != nil {
			continue
		}
		list := slices.DeleteFunc(slices.Clone(x.of[[2]int{k.Src, k.Dst}]), func(m int) bool {
			return t.Links[m].Alpha != k.Alpha || t.Links[m].Bandwidth != k.Bandwidth
		})
		if len(list) == 1 {
			continue
		}
		for _, m := range list {
			x.twins[m] = list
			if old, one := x.orbit[m], x.orbit[l]; old != one {
				x.size[one] += x.size[old]
				x.size[old] = 0
				for i, o := range x.orbit {
					if o == old {
						x.orbit[i] = one
					}
				}
			}
		}
	}
}

// take takes the elements of a group.
func (x *images) take(g *symmetry.Group) {
	x.orders = g.Orders()
	for e := range g.Order() {
		x.nodes = append(x.nodes, g.Nodes(e))
	}
}

// orbits returns the number of each link's orbit under the first elements of the group, and how many links are in each.
func (x *images) orbits(t *model.Topology, order int) (of, size []int) {
	of = slices.Repeat([]int{-1}, len(t.Links))
	for l := range of {
		if of[l] >= 0 {
			continue
		}
		size = append(size, 0)
		for list := []int{l}; len(list) > 0; list = list[1:] {
			for e := range order {
				if m := x.link(t, e, list[0]); of[m] < 0 {
					of[m] = len(size) - 1
					size[len(size)-1]++
					list = append(list, m)
				}
			}
		}
	}
	return of, size
}

// regular reports whether there is an image for each rank to stand in the place of each other one, in which no link is where it was.
func (x *images) regular() bool { return x.moving >= len(x.number) }

// link returns the image of a link.
func (x *images) link(t *model.Topology, e, l int) int {
	if x.links[e] == nil {
		x.links[e] = make([]int32, len(t.Links))
		for m, k := range t.Links {
			x.links[e][m] = int32(x.of[[2]int{int(x.nodes[e][k.Src]), int(x.nodes[e][k.Dst])}][x.place[m]])
		}
	}
	return int(x.links[e][l])
}

// translations returns the symmetries of a torus with equal links that move every rank by as much, those by a half of a
// side first, and the orders of subgroups that the first of them are. It returns nil for other networks.
func translations(t *model.Topology) (nodes [][]int32, orders []int) {
	dims := t.Grid()
	if dims == nil || t.Nodes() > t.Ranks {
		return nil, nil
	}
	for d, closed := range t.Closed(dims) {
		if !closed && dims[d] > 2 {
			return nil, nil
		}
	}
	degree := len(t.Links) / t.Ranks
	seen := map[[2]int]int{}
	for _, k := range t.Links {
		seen[[2]int{k.Src, k.Dst}]++
		if k.Alpha != t.Links[0].Alpha || k.Bandwidth != t.Links[0].Bandwidth || seen[[2]int{k.Src, k.Dst}] > 1 {
			return nil, nil
		}
	}
	if degree*t.Ranks != len(t.Links) {
		return nil, nil
	}
	identity := make([]int32, t.Ranks)
	for v := range identity {
		identity[v] = int32(v)
	}
	nodes, orders = [][]int32{identity}, []int{1}
	left := slices.Clone(dims) // of each side: translations by multiples of this are among nodes
	for again := true; again; {
		again = false
		stride := t.Ranks
		for d, size := range dims {
			stride /= size
			if left[d] == 1 {
				continue
			}
			again = true
			f := primes(left[d])[0]
			left[d] /= f
			for _, x := range slices.Clone(nodes) {
				for i := 1; i < f; i++ {
					y := make([]int32, t.Ranks)
					for v := range y {
						u := int(x[v])
						at := u / stride % size
						y[v] = int32(u + ((at+i*left[d])%size-at)*stride)
					}
					nodes = append(nodes, y)
				}
			}
			orders = append(orders, len(nodes))
		}
	}
	return nodes, orders
}

// pair returns the image of a pair with its route.
func (x *images) pair(g *guide, e int, w pair) pair {
	if e == 0 {
		return w
	}
	if more := int(w.route) + 1 - len(x.routes); more > 0 {
		x.routes = append(x.routes, make([][]int32, more)...)
	}
	if x.routes[w.route] == nil {
		x.routes[w.route] = make([]int32, len(x.nodes))
	}
	r := &x.routes[w.route][e]
	if *r == 0 {
		route := make([]int, len(g.ways.routes[w.route]))
		for j, l := range g.ways.routes[w.route] {
			route[j] = x.link(g.t, e, l)
		}
		*r = g.number(route) + 1
	}
	return pair{x.number[x.nodes[e][g.members[w.from]]], x.number[x.nodes[e][g.members[w.to]]], *r - 1}
}

// image returns the image of a course.
func (x *images) image(e int, c *course, g *guide) *course {
	if e == 0 {
		return c
	}
	d := &course{tail: c.tail, hops: g.hops(c)}
	for _, s := range c.steps {
		pairs := make([]pair, len(s.pairs))
		for i, w := range s.pairs {
			pairs[i] = x.pair(g, e, w)
		}
		stale := make([]int, len(s.stale))
		for i, v := range s.stale {
			stale[i] = x.number[x.nodes[e][g.members[v]]]
		}
		d.steps = append(d.steps, step{phase: s.phase, pairs: pairs, stale: stale})
	}
	for _, u := range c.uses {
		d.uses = append(d.uses, linkUse{x.link(g.t, e, u.link), u.step, u.times})
	}
	return d
}

// base is one of the courses of which all others of a plan are images.
type base struct {
	turn, owner int
}

// parts returns how many bases the chunks of a plan take turns in: the members share the work.
func (s *search) parts(q *plan) int {
	return s.variants(q) * len(q.turns)
}

// variants returns how many sets of owners bases have: some, if images stand in for others.
func (s *search) variants(q *plan) int {
	if s.images.regular() {
		most := max(1, mostBases/s.n())
		if q.opposite {
			most *= moreBases
		}
		return min(q.owners(), most)
	}
	return q.owners()
}

// base returns the base of the n-th chunk of a plan.
func (s *search) base(q *plan, n int) *course {
	b := base{turn: n % len(q.turns)}
	n /= len(q.turns)
	b.owner = n % s.variants(q)
	if q.opposite && b.owner%2 == 1 {
		b.owner = q.owners() - 1 - b.owner/2
	} else if q.opposite {
		b.owner /= 2
	}
	c := q.bases[b]
	if c == nil {
		if q.bases == nil {
			q.bases = map[base]*course{}
		}
		if q.lists == nil {
			c = s.guide.course(q, q.turns[b.turn], b.owner)
		} else {
			c = &course{steps: q.lists[b.turn]}
			s.guide.finish(c)
			c.tail = slices.MaxFunc(s.guide.hops(c), func(a, b hop) int { return cmp.Compare(a.tail, b.tail) }).tail // steps may overlap
		}
		q.bases[b] = c
	}
	return c
}

// course returns how the n-th chunk goes that follows a plan, nil if it does not lead to all: of some images of its base the one that
// adds least to the squares of what the chunks before it load on links in each step.
func (s *search) course(q *plan, n int) *course {
	if q.copies != s.copies {
		q.copies, q.courses = s.copies, nil
		q.r, q.load = rand.New(rand.NewPCG(5, uint64(len(q.radix)))), make([]float64, q.steps()*s.machines)
	}
	for i := len(q.courses); i <= n; i++ {
		c, best, least := s.base(q, i), 0, 0.0
		if c == nil {
			return nil
		}
		for trial := range min(samples, len(s.images.nodes)) {
			e, cost := 0, 0.0
			if i > 0 {
				e = q.r.IntN(len(s.images.nodes))
			}
			for _, u := range c.uses {
				m := s.images.link(s.p.Topology, e, u.link)
				slow := s.slowness[m] * float64(u.times)
				cost += slow * (2*q.load[u.step*s.machines+s.machine[m]] + slow)
			}
			if trial == 0 || cost < least {
				best, least = e, cost
			}
		}
		c = s.spread(s.images.image(best, c, s.guide), q.load)
		for _, u := range c.uses {
			q.load[u.step*s.machines+s.machine[u.link]] += s.slowness[u.link] * float64(u.times)
		}
		q.courses = append(q.courses, c)
	}
	return q.courses[n]
}

// spread returns a course that takes of twins in each step those that have least to carry, where steps and machines have some loads.
func (s *search) spread(c *course, load []float64) *course {
	twins := s.images.twins
	if !slices.ContainsFunc(c.uses, func(u linkUse) bool { return twins[u.link] != nil }) {
		return c
	}
	d := &course{tail: c.tail, hops: s.guide.hops(c)}
	for i, x := range c.steps {
		times := map[int]int{} // by link
		var used []int
		pairs := slices.Clone(x.pairs)
		for j, w := range pairs {
			route := slices.Clone(s.ways.routes[w.route])
			for k, l := range route {
				least := math.Inf(1)
				for _, m := range twins[l] {
					if carries := load[i*s.machines+s.machine[m]] + s.slowness[m]*float64(times[m]); carries < least {
						route[k], least = m, carries
					}
				}
				if times[route[k]]++; times[route[k]] == 1 {
					used = append(used, route[k])
				}
			}
			pairs[j].route = s.guide.number(route)
		}
		d.steps = append(d.steps, step{phase: x.phase, pairs: pairs, stale: x.stale})
		for _, l := range used {
			d.uses = append(d.uses, linkUse{l, i, times[l]})
		}
	}
	return d
}

// estimate notes how long the plan keeps its busiest link busy if images of all chunks share the work, and how long a small
// chunk is under way.
func (s *search) estimate(q *plan) bool {
	t, parts := s.p.Topology, s.parts(q)
	if q.transfers(1) > maxComposition || parts > maxParts {
		return false
	}
	if s.images.regular() { // images of a few stand for the others
		parts = min(parts, max(fewBases, len(q.turns)))
	}
	orbits := len(s.images.size)
	load := make([]float64, orbits)
	steps := make([]float64, orbits*q.steps())
	for n := range parts {
		c := s.base(q, n)
		if c == nil {
			return false
		}
		for _, u := range c.uses {
			load[s.images.orbit[u.link]] += float64(u.times)
			steps[u.step*orbits+s.images.orbit[u.link]] += float64(u.times)
		}
		if n == 0 {
			q.latency = c.tail
		}
		if s.b.Spent() {
			return false
		}
	}
	for l := range t.Links {
		o := s.images.orbit[l]
		each := float64(s.p.Size) / float64(s.images.size[o]) / float64(parts) / float64(t.Links[l].Bandwidth) * 1e12
		q.busy = max(q.busy, model.Time(load[o]*each))
		for i := range q.steps() {
			q.peak = max(q.peak, model.Time(steps[i*orbits+o]*each))
		}
	}
	return true
}
