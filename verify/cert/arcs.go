package cert

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/hops"
)

// The network of ranks and arcs on which prices at instants are paid.

// Limits above which it is unknown whether a certificate of kind lp-dual holds.
const (
	maxPaths  = 1 << 16 // paths over switches from rank to rank
	maxPassed = 1 << 22 // links that they have in all
	maxSteps  = 1 << 31 // looks at a price while the cheapest ways are sought
	maxLabels = 1 << 24 // ways that are kept at a time
	maxHops   = 1 << 22 // links of hops that are kept, for all sizes of chunks
)

// arc is a hop with the lowest link of each bundle that it leads over.
type arc struct {
	src, dst int
	bundles  []int
	route    []int
}

// arcs holds the bundles and arcs of a topology.
type arcs struct {
	bundles  []hops.Bundle
	bundleOf []int // by link
	out      [][]arc
}

// newArcs finds them.
func (j *job) newArcs(t *model.Topology) (*arcs, error) {
	n := &arcs{out: make([][]arc, t.Ranks)}
	n.bundles, n.bundleOf = hops.Bundles(t)
	paths, passed := 0, 0
	return n, hops.Search(t, n.bundles, hops.Visitor{
		Look: func(back bool) error {
			if !j.work.Go(1) {
				return stopped(j.work.Why())
			}
			if back {
				return nil
			}
			if paths++; paths > maxPaths {
				return stopped(fmt.Sprintf("topology: more than %d paths from rank to rank over switches, too many to look at each", maxPaths))
			}
			return nil
		},
		Found: func(src, dst int, over []int) error {
			a := arc{src: src, dst: dst, bundles: slices.Clone(over)}
			for _, b := range over {
				a.route = append(a.route, n.bundles[b].Link)
			}
			n.out[src] = append(n.out[src], a)
			if passed += len(over); passed > maxPassed {
				return stopped(fmt.Sprintf("topology: the paths from rank to rank over switches have more than %d links in all, too many to look at each", maxPassed))
			}
			return nil
		},
	})
}
