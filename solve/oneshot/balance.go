//go:build cgo

package oneshot

import (
	"math/rand/v2"
	"slices"
)

// mostTried is how many images of a plan a chunk tries at most.
const mostTried = 48

// burden is what a course loads on links in a step, as a part of what the slowest link can carry.
type burden struct {
	cell int // by latency from the start, and machine
	load float64
}

// balanced returns courses for chunks of which some follow each plan, and which plan each follows, in an order in which every link is needed evenly
// in each latency: chunk after chunk takes the plan and the image that add least to the squares of what links have carried more than their share.
// It returns a nil course if one leads nowhere, or the time is over. It takes O(hops) time for each chunk, plan and image that is tried.
func (s *search) balanced(of []*plan, counts []int) (courses []*course, which []int) {
	steps, rounds, chunks := 0, 0, 0
	latency := s.mixing.patterns.unit
	for i, q := range of {
		steps, chunks = max(steps, q.steps()), chunks+counts[i]
		for n := range min(counts[i], s.parts(q)) {
			c := s.base(q, n)
			if c == nil {
				return []*course{nil}, nil
			}
			rounds = max(rounds, int(c.tail/latency)+1)
		}
	}
	twin := func(l int) int { // that stands for others
		if list := s.images.twins[l]; list != nil {
			return list[0]
		}
		return l
	}
	type moved struct {
		c *course
		e int
	}
	known := map[moved][]burden{}
	burdens := func(c *course, e int) []burden {
		list, ok := known[moved{c, e}]
		if !ok {
			starts := s.guide.starts(c)
			for i, x := range c.steps {
				for j, w := range x.pairs {
					at := starts[i][j]
					for _, l := range s.ways.routes[w.route] {
						l = s.images.link(s.p.Topology, e, l)
						list = append(list, burden{int(at/latency)*s.machines + s.machine[twin(l)], s.slowness[l] / float64(max(1, len(s.images.twins[l])))})
						at += s.p.Topology.Links[l].Alpha
					}
				}
			}
			known[moved{c, e}] = list
		}
		return list
	}
	share := make([]float64, rounds*s.machines) // of each chunk
	images := len(s.images.nodes)
	for i, q := range of {
		bases := min(counts[i], s.parts(q))
		for n := range bases {
			c := s.base(q, n)
			for e := range images {
				for _, y := range burdens(c, e) {
					share[y.cell] += y.load * float64(counts[i]) / float64(bases*images*chunks)
				}
			}
		}
	}
	over, load := make([]float64, len(share)), make([]float64, steps*s.machines)
	left, r := slices.Clone(counts), rand.New(rand.NewPCG(29, uint64(chunks)))
	for range chunks {
		if s.b.Spent() {
			return []*course{nil}, nil
		}
		var best moved
		from, least := -1, 0.0
		for i, n := range left {
			if n == 0 {
				continue
			}
			c := s.base(of[i], counts[i]-n)
			for e := range min(images, mostTried) {
				if images > mostTried {
					e = r.IntN(images)
				}
				cost := 0.0
				for _, y := range burdens(c, e) {
					cost += y.load * (2*(over[y.cell]-share[y.cell]) + y.load)
				}
				if from < 0 || cost < least {
					best, from, least = moved{c, e}, i, cost
				}
			}
		}
		left[from]--
		for k := range over {
			over[k] -= share[k]
		}
		for _, y := range burdens(best.c, best.e) {
			over[y.cell] += y.load
		}
		c := s.spread(s.images.image(best.e, best.c, s.guide), load)
		for _, u := range c.uses {
			load[u.step*s.machines+s.machine[u.link]] += s.slowness[u.link] * float64(u.times)
		}
		courses, which = append(courses, c), append(which, from)
	}
	return courses, which
}
