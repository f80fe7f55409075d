package quotient

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// reducing is a shop with its reverse, for sums.
type reducing struct {
	s, r   *shop
	twins  [][]twin   // from the steps of r to those of s
	turns  [][]twin   // from the steps of s to those of r
	index  int        // among the shops of a search
	spread model.Time // by how much the latencies of ways differ
	far    int64      // hops from all ranks to all others in all; 0: not counted yet
}

func newReducing(s *shop) *reducing {
	x := &reducing{s: s, spread: s.spread()}
	x.r, x.twins = s.reversed()
	x.turns = s.inverse(x.twins)
	return x
}

// divide returns the parts of p, and the shop with how their hops take its ways.
func (x *reducing) divide(p *model.Problem, roots roots, c cut) (*reducing, []part) {
	parts := x.s.divide(p, x.s.orbits(roots), c)
	return x.timed(parts), parts
}

// timed returns x with how hops of the sizes of some parts take each way.
func (x *reducing) timed(parts []part) *reducing {
	return &reducing{s: x.s.timed(parts), r: x.r.timed(parts), twins: x.twins, turns: x.turns, index: x.index, spread: x.spread}
}

// roots is where an allreduce has the roots of its parts.
type roots int

const (
	anywhere roots = iota // at all members in turn
	central               // at those from which the farthest is least far
)

// orbits returns the numbers of the orbits of members where roots may be.
func (s *shop) orbits(r roots) []int32 {
	var all, least []int32
	best := 0
	for c, u := range s.reps {
		if !s.member[u] {
			continue
		}
		all = append(all, int32(c))
		far := s.farthest(int(u))
		if len(least) == 0 || far < best {
			least, best = least[:0], far
		}
		if far == best {
			least = append(least, int32(c))
		}
	}
	if r == central {
		return least
	}
	return all
}

// farthest returns how many hops the farthest rank is from u.
func (s *shop) farthest(u int) int { return slices.Max(s.hops(u)) }

// hops returns how many hops each rank is from u, -1 for those that none reach.
func (s *shop) hops(u int) []int {
	far := slices.Repeat([]int{-1}, s.t.Ranks)
	far[u] = 0
	left := s.t.Ranks - 1
	for queue := []int{u}; len(queue) > 0 && left > 0; queue = queue[1:] {
		v := queue[0]
		by := s.g.Nodes(int(s.element[v]))
		for i := range s.out[s.class[v]] {
			if w := by[s.out[s.class[v]][i].to]; far[w] < 0 {
				far[w] = far[v] + 1
				left--
				queue = append(queue, int(w))
			}
		}
	}
	return far
}

// sum returns a plan that reduces each part to its root.
func (x *reducing) sum(parts []part, r rule, until model.Time, rng *rand.Rand, work *counter) *plan {
	from := state{busy: x.r.books()}
	if r.apart > 0 {
		from.ready = make([]model.Time, len(parts))
		for i := range parts {
			from.ready[i] = model.Time(r.apart * float64(len(parts)-1-i) / float64(len(parts)))
		}
	}
	if r.pairs {
		x.r.pair(parts, &from, rng)
	}
	p := x.r.gather(parts, from, r, until, rng, work)
	if p == nil {
		return nil
	}
	p = x.s.backward(p, x.twins)
	p.early(p.waits(), nil)
	return p
}

// allreduce returns a plan that reduces each part and then gathers it, in what time the
// reductions leave free.
func (x *reducing) allreduce(sums *plan, r rule, until model.Time, rng *rand.Rand, work *counter) *plan {
	from := state{busy: x.s.booked(sums), ready: make([]model.Time, len(sums.parts))}
	for i := range sums.jobs {
		if j := &sums.jobs[i]; int(j.dst) == sums.parts[j.part].root {
			from.ready[j.part] = max(from.ready[j.part], j.end)
		}
	}
	from.last = sums.last()
	g := x.s.gather(sums.parts, from, r, until, rng, work)
	if g == nil {
		return nil
	}
	g.jobs = append(slices.Clone(sums.jobs), g.jobs...)
	for i := range g.jobs {
		g.end = max(g.end, g.jobs[i].end)
	}
	return g
}

// booked returns for each machine when the jobs of a plan take it.
func (s *shop) booked(x *plan) []book {
	type taken struct {
		model.Interval
		lanes int32
	}
	by := make([][]taken, len(s.lanes))
	for i := range x.jobs {
		j := &x.jobs[i]
		st := s.step(j)
		tm := s.at(st.way, &x.parts[j.part])
		for n, v := range s.ways[st.way].visits {
			by[v.machine] = append(by[v.machine], taken{model.Interval{From: j.start + tm.spans[n].From, To: j.start + tm.spans[n].To}, v.lanes})
		}
	}
	list := s.books()
	for m := range by { // in order of time there are always enough lanes free
		slices.SortFunc(by[m], func(a, b taken) int { return cmp.Compare(a.From, b.From) })
		for _, x := range by[m] {
			list[m].take(x.lanes, x.Interval)
		}
	}
	return list
}

// again returns a plan with the gatherings of another and new sums before them, or nil if it finds none that ends by the deadline:
// it is an allreduce on the network with its links turned round, in which what is gathered here is reduced first.
func (x *reducing) again(old *plan, r rule, until model.Time, rng *rand.Rand, work *counter) *plan {
	gathered := &plan{s: x.s, parts: old.parts, end: old.end}
	for _, j := range old.jobs {
		if j.op == model.Copy {
			gathered.jobs = append(gathered.jobs, j)
		}
	}
	y := x.turned().allreduce(x.r.backward(gathered, x.turns), r, until, rng, work)
	if y == nil {
		return nil
	}
	y = x.s.backward(y, x.twins)
	y.early(y.waits(), nil)
	return y
}

// turned returns the shop of the network with its links turned round, with its reverse.
func (x *reducing) turned() *reducing {
	return &reducing{s: x.r, r: x.s, twins: x.turns, turns: x.twins, index: x.index, spread: x.spread}
}

// sums returns what is reduced in a plan.
func (x *plan) sums() *plan {
	y := &plan{s: x.s, parts: x.parts}
	for _, j := range x.jobs {
		if j.op == model.Reduction {
			y.jobs = append(y.jobs, j)
		}
	}
	return y
}
