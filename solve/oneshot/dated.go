//go:build cgo

package oneshot

import (
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// dated is an image of a course, and when each of its hops, in their order, is to start, in picoseconds.
type dated struct {
	course *course
	image  int
	times  []float64
}

// occupancy is for how long links are busy in slots of time.
type occupancy struct {
	s     *search
	width float64 // of a slot, in picoseconds
	slots int
	busy  []float64 // by machine and slot; twins count as one
	steps []float64 // the same by step and machine, one by one
}

// newOccupancy returns one in which nothing is busy until some time.
func (s *search) newOccupancy(end, width float64) *occupancy {
	x := &occupancy{s: s, width: width, slots: int(math.Ceil(end/width)) + 1}
	x.busy = make([]float64, s.machines*x.slots)
	return x
}

// book adds what a chunk needs a number of times, and returns how busy its links are then, in all.
func (x *occupancy) book(d dated, times float64) (cost float64) {
	s := x.s
	for i, h := range s.guide.hops(d.course) {
		at := d.times[i]
		for _, l := range s.ways.routes[d.course.steps[h.step].pairs[h.pair].route] {
			m, slowness := s.images.link(s.p.Topology, d.image, l), s.slowness[l]
			if twins := s.images.twins[m]; twins != nil {
				m, slowness = twins[0], slowness/float64(len(twins))
			}
			n := s.machine[m]*x.slots + min(x.slots-1, int(at/x.width))
			x.busy[n] += times * slowness
			cost += x.busy[n] * slowness
			at += float64(s.p.Topology.Links[l].Alpha)
		}
	}
	return cost
}

// choose books the one of some whose links are least busy, and returns it.
func (x *occupancy) choose(list []dated) (best dated) {
	least := math.Inf(1)
	for _, d := range list {
		cost := x.book(d, 1)
		x.book(d, -1)
		if cost < least {
			best, least = d, cost
		}
	}
	x.book(best, 1)
	return best
}

// follow adds a chunk whose hops are placed in the order of their times: of some, the one whose links are least busy.
func (x *ranked) follow(busy *occupancy, list []dated) {
	s, d := busy.s, busy.choose(list)
	hops, until := slices.Clone(s.guide.hops(d.course)), float64(busy.slots)*busy.width
	for i, at := range d.times {
		hops[i].rank = model.Time(until - at)
	}
	d.course.order(s.n(), hops)
	ranks := make([]model.Time, len(hops))
	for i, h := range hops {
		ranks[i] = h.rank
	}
	x.courses, x.ranks = append(x.courses, busy.spread(s.images.image(d.image, d.course, s.guide))), append(x.ranks, ranks)
}

// spread returns a course that takes of twins those that have had least to carry in its steps.
func (x *occupancy) spread(c *course) *course {
	if more := len(c.steps)*x.s.machines - len(x.steps); more > 0 {
		x.steps = append(x.steps, make([]float64, more)...)
	}
	c = x.s.spread(c, x.steps)
	for _, u := range c.uses {
		x.steps[u.step*x.s.machines+x.s.machine[u.link]] += x.s.slowness[u.link] * float64(u.times)
	}
	return c
}
