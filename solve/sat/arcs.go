package sat

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/hop"
)

// arcsOf lists the arcs in the order of section 10.3: hops over bundles or, under Rounds, between
// any two ranks, without bundles.
func arcsOf(t *model.Topology, cost model.CostModel, bundles []hop.Bundle) ([]hop.Bundled, error) {
	if cost == model.Rounds {
		if t.Ranks > 1<<8 {
			return nil, fmt.Errorf("too large: arcs between %d ranks, want at most %d arcs", t.Ranks, maxArcs)
		}
		var arcs []hop.Bundled
		for u := range t.Ranks {
			for v := range t.Ranks {
				if u != v {
					arcs = append(arcs, hop.Bundled{Src: u, Dst: v})
				}
			}
		}
		return arcs, nil
	}
	arcs, ok := hop.AllBundled(t, bundles, maxArcs)
	if !ok {
		return nil, fmt.Errorf("too large: more than %d arcs", maxArcs)
	}
	return arcs, nil
}

// span is when an arc keeps a bundle busy, in epochs from its start; none if
// length is 0.
type span struct{ from, length int }

// pace is what an arc costs a chunk of some size.
type pace struct {
	delay int
	busy  []span // by place in arc.bundles
}

// paceOf rounds durations down, as section 10.3 says.
func (q *Question) paceOf(a hop.Bundled, bundles []hop.Bundle, size int64) (pace, error) {
	p := pace{delay: 1}
	if q.Problem.Cost.Synchronous() {
		p.busy = slices.Repeat([]span{{0, 1}}, len(a.Bundles))
		return p, nil
	}
	route := make([]int, len(a.Bundles))
	for i, b := range a.Bundles {
		route[i] = bundles[b].Links[0]
	}
	t, tau := q.Problem.Topology, q.Epoch
	p.delay = int(t.Duration(route, size) / tau)
	if p.delay < 1 {
		return p, fmt.Errorf("an epoch of %v is longer than a chunk of %d bytes takes from rank %d to rank %d", tau, size, a.Src, a.Dst)
	}
	for _, b := range t.Busy(q.Problem.Cost, route, size, nil) {
		x, y := b.From, b.To-b.From
		s := span{int(x / tau), int(y / tau)}
		if x%tau != 0 {
			s.from++
			s.length = max(0, s.length-1)
		}
		p.busy = append(p.busy, s)
	}
	return p, nil
}
