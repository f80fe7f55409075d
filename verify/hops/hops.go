// Package hops finds the ways on which a chunk gets from one rank to the next: over one link, or
// over links with switches between them. Links that are alike count as one with a capacity, a
// bundle. The engines that refute horizons (cnf) and that value prices (cert) reason about these
// hops; SPEC.md, section 10.3, defines them and their order.
package hops

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Bundle is a maximal set of links that are alike: of equal ends, latency, bandwidth and ports.
type Bundle struct {
	Link  int // the lowest-numbered one, which stands for all
	Links int // how many they are
	Ports []int
}

// Bundles returns the bundles of t, numbered by their lowest links, and that of each link. Ports
// of a bundle ascend. It takes time in proportion to the links and the links of ports.
func Bundles(t *model.Topology) (all []Bundle, of []int) {
	type look struct {
		model.Link
		ports string
	}
	known := map[look]int{}
	of = make([]int, len(t.Links))
	portsOf := t.PortsOf()
	for l, link := range t.Links {
		ports := slices.Clone(portsOf[l])
		slices.Sort(ports)
		key := look{link, fmt.Sprint(ports)}
		b, is := known[key]
		if !is {
			b = len(all)
			known[key] = b
			all = append(all, Bundle{Link: l, Ports: ports})
		}
		all[b].Links++
		of[l] = b
	}
	return all, of
}

// Visitor is told of a search, and ends it with an error.
type Visitor struct {
	// Look is called for each bundle that is looked at, and for whether it leads back to a node
	// on the path to it.
	Look func(back bool) error
	// Found is called with each hop: its ends, and the bundles that it leads over, which are valid
	// during the call.
	Found func(src, dst int, over []int) error
}

// Search finds all hops of t over its bundles: from each rank, in their order, over switches, each
// at most once, to another rank. From each node it goes on over the bundles that leave it, in their
// order, and follows one to its end before the next one. Its errors are those of the visitor. It
// takes time in proportion to the calls of Look, of which there may be exponentially many.
func Search(t *model.Topology, bundles []Bundle, v Visitor) error {
	leaving := make([][]int, t.Nodes())
	for b := range bundles {
		src := t.Links[bundles[b].Link].Src
		leaving[src] = append(leaving[src], b)
	}
	// A path is a stack of nodes, with how many of the bundles that leave each have been looked at.
	type turn struct{ node, tried int }
	on := make([]bool, t.Nodes())
	for start := range t.Ranks {
		on[start] = true
		path, stack := []int{}, []turn{{node: start}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.tried == len(leaving[top.node]) {
				on[top.node] = false
				stack, path = stack[:len(stack)-1], path[:max(0, len(path)-1)]
				continue
			}
			b := leaving[top.node][top.tried]
			top.tried++
			end := t.Links[bundles[b].Link].Dst
			if err := v.Look(on[end]); err != nil {
				return err
			}
			switch {
			case on[end]:
			case t.IsRank(end):
				if err := v.Found(start, end, append(path, b)); err != nil {
					return err
				}
			default:
				on[end] = true
				path, stack = append(path, b), append(stack, turn{node: end})
			}
		}
	}
	return nil
}
