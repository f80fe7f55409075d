// Package hop sees a topology as its ranks do: as hops from rank to rank, each a
// link or a path over switches.
package hop

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of the paths over switches between two ranks that become hops, the shortest ones by number of links: over one switch each, as on the
// planes of a machine, which are all needed to use all links of a rank, and longer ones.
const (
	maxPlanes = 64
	maxPaths  = 8
)

// Hop leads from one rank to another without a rank between. Its routes are equal
// in everything but the links: where parallel links have the same figures there
// are several, each for one transfer at a time.
type Hop struct {
	Src, Dst int
	Routes   [][]int
}

// All returns the hops of a topology in order of source, destination and links.
func All(t *model.Topology) []Hop { return Until(t, func() bool { return false }) }

// Until returns what All does, or nil if stop, which is asked before each source, ends it: the switches of a large network
// lead from each rank to each other one in several ways.
func Until(t *model.Topology, stop func() bool) []Hop {
	out := t.Out()
	var hops []Hop
	for s := range t.Ranks {
		if stop() {
			return nil
		}
		var found [][]int // routes from s
		walk(t, out, s, &found)
		slices.SortStableFunc(found, func(a, b []int) int {
			if d := t.Links[a[len(a)-1]].Dst - t.Links[b[len(b)-1]].Dst; d != 0 {
				return d
			}
			return slices.Compare(a, b)
		})
		for _, route := range found {
			dst := t.Links[route[len(route)-1]].Dst
			if n := len(hops); n > 0 && len(route) == 1 && hops[n-1].Src == s && hops[n-1].Dst == dst && alike(t, hops[n-1].Routes[0], route) {
				hops[n-1].Routes = append(hops[n-1].Routes, route)
				continue
			}
			hops = append(hops, Hop{s, dst, [][]int{route}})
		}
	}
	return hops
}

// alike reports whether two routes are single links with the same figures.
func alike(t *model.Topology, a, b []int) bool {
	l, m := t.Links[a[0]], t.Links[b[0]]
	return len(a) == 1 && len(b) == 1 && l == m
}

// walk collects all direct links from s, and for each rank that can be reached over
// switches the shortest paths, up to maxPlanes or maxPaths, breadth first.
func walk(t *model.Topology, out [][]int, s int, found *[][]int) {
	type state struct {
		node  int
		route []int
	}
	depth := map[int]int{s: 0} // of the shortest path to a node
	count := map[int]int{}
	queue := []state{{s, nil}}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, l := range out[at.node] {
			w := t.Links[l].Dst
			if w == s {
				continue
			}
			route := append(slices.Clone(at.route), l)
			if len(route) > 1 || !t.IsRank(w) {
				most := maxPaths
				if len(route) == 2 && t.IsRank(w) {
					most = maxPlanes
				}
				if d, seen := depth[w]; seen && d < len(route) || count[w] >= most {
					continue
				}
				depth[w] = len(route)
				count[w]++
			}
			if t.IsRank(w) {
				*found = append(*found, route)
				continue
			}
			queue = append(queue, state{w, route})
		}
	}
}
