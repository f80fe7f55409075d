package sat

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// bundle is a maximal set of links that are alike: section 10.3.
type bundle struct {
	src, dst int
	links    []int
	ports    []int
}

// arc leads from a rank over switches, if any, to another rank. Under Rounds it
// has no bundles.
type arc struct {
	src, dst int
	bundles  []int
}

// bundlesOf numbers the bundles of t by their lowest link.
func bundlesOf(t *model.Topology) []bundle {
	var all []bundle
	of := map[string]int{}
	ports := t.PortsOf()
	for i, l := range t.Links {
		set := slices.Clone(ports[i])
		slices.Sort(set)
		key := fmt.Sprint(l, set)
		b, known := of[key]
		if !known {
			b = len(all)
			of[key] = b
			all = append(all, bundle{src: l.Src, dst: l.Dst, ports: set})
		}
		all[b].links = append(all[b].links, i)
	}
	return all
}

// arcsOf lists the arcs in the order of section 10.3.
func arcsOf(t *model.Topology, cost model.CostModel, bundles []bundle) ([]arc, error) {
	var arcs []arc
	if cost == model.Rounds {
		if t.Ranks > 1<<8 {
			return nil, fmt.Errorf("too large: arcs between %d ranks, want at most %d arcs", t.Ranks, maxArcs)
		}
		for u := range t.Ranks {
			for v := range t.Ranks {
				if u != v {
					arcs = append(arcs, arc{src: u, dst: v})
				}
			}
		}
		return arcs, nil
	}
	leaving := make([][]int, t.Nodes())
	for b := range bundles {
		leaving[bundles[b].src] = append(leaving[bundles[b].src], b)
	}
	for s := range t.Ranks {
		visited := make([]bool, t.Nodes())
		var path []int
		var walk func(v int) bool
		walk = func(v int) bool {
			for _, b := range leaving[v] {
				w := bundles[b].dst
				if w == s || visited[w] {
					continue
				}
				path = append(path, b)
				if !t.IsRank(w) {
					visited[w] = true
					if !walk(w) {
						return false
					}
					visited[w] = false
				} else if arcs = append(arcs, arc{s, w, slices.Clone(path)}); len(arcs) > maxArcs {
					return false
				}
				path = path[:len(path)-1]
			}
			return true
		}
		if !walk(s) {
			return nil, fmt.Errorf("too large: more than %d arcs", maxArcs)
		}
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
func (q *Question) paceOf(a arc, bundles []bundle, size int64) (pace, error) {
	p := pace{delay: 1}
	if q.Problem.Cost.Synchronous() {
		p.busy = slices.Repeat([]span{{0, 1}}, len(a.bundles))
		return p, nil
	}
	route := make([]int, len(a.bundles))
	for i, b := range a.bundles {
		route[i] = bundles[b].links[0]
	}
	t, tau := q.Problem.Topology, q.Epoch
	p.delay = int(t.Duration(route, size) / tau)
	if p.delay < 1 {
		return p, fmt.Errorf("an epoch of %v is longer than a chunk of %d bytes takes from rank %d to rank %d", tau, size, a.src, a.dst)
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
