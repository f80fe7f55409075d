package broadcast

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// reorder exchanges whole places of a period that are in step on all links, which keeps apart what was apart before, so that
// chunks wait less for the places of the hops that follow. It counts with the longest period that divides the skew.
func (c *cycle) reorder() {
	if c.slots == 0 || c.skew == 0 || slices.ContainsFunc(c.steps, func(x step) bool { return x.colour < 0 || x.colour >= c.slots }) {
		return
	}
	before := slices.Repeat([]int32{-1}, len(c.steps))
	for i, x := range c.steps {
		for _, n := range x.next {
			before[n] = int32(i)
		}
	}
	latency := make([]model.Time, len(c.steps))
	for i, x := range c.steps {
		latency[i] = c.p.Topology.Duration(x.routes[0], 0)
	}
	place := make([]int, c.slots)
	for i := range place {
		place[i] = i
	}
	lasts := c.skew / model.Time(c.slots)
	ends := make([]model.Time, len(c.steps))
	measure := func() delay {
		trees := make([]model.Time, c.trees)
		for i := range c.steps { // those of a tree from the root on
			x := &c.steps[i]
			comes := model.Time(0)
			if before[i] >= 0 {
				comes = ends[before[i]]
			}
			at := comes + ((model.Time(place[x.colour])*lasts-comes)%c.skew+c.skew)%c.skew
			ends[i] = at + latency[i] + lasts
			trees[x.tree] = max(trees[x.tree], ends[i])
		}
		sum := model.Time(0)
		for _, end := range trees {
			sum += end
		}
		return delay{slices.Max(trees), sum}
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(c.steps))))
	least := measure()
	for range mostReordered / len(c.steps) {
		i, j := rng.IntN(c.slots), rng.IntN(c.slots)
		place[i], place[j] = place[j], place[i]
		if d := measure(); d.compare(least) <= 0 {
			least = d
		} else {
			place[i], place[j] = place[j], place[i]
		}
	}
	for i := range c.steps {
		c.steps[i].colour = place[c.steps[i].colour]
	}
}

// delay is when the last tree of a period ends, and the sum of when all end.
type delay struct{ last, sum model.Time }

func (d delay) compare(e delay) int {
	return cmp.Or(cmp.Compare(d.last, e.last), cmp.Compare(d.sum, e.sum))
}

// mostReordered is about how many hops are looked at in all exchanges of places.
const mostReordered = 1 << 22
