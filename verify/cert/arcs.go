package cert

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
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

// bundle is a set of links that are alike: of equal ends, latency, bandwidth and ports.
type bundle struct {
	low   int // its lowest-numbered link, which stands for all
	links int64
	ports []int
}

// arc is a hop: a path of bundles from a rank over switches, if any, to another rank.
type arc struct {
	src, dst int
	bundles  []int
	route    []int // the lowest link of each
}

// arcs holds the bundles and arcs of a topology.
type arcs struct {
	bundles  []bundle
	bundleOf []int // by link
	out      [][]arc
}

// newArcs finds them: links are put into bundles, and paths are searched depth first.
func (j *job) newArcs(t *model.Topology) (*arcs, error) {
	n := &arcs{bundleOf: make([]int, len(t.Links)), out: make([][]arc, t.Ranks)}
	type look struct {
		link  model.Link
		ports string
	}
	known := map[look]int{}
	portsOf := t.PortsOf()
	leaving := make([][]int, t.Nodes())
	for l, k := range t.Links {
		ports := slices.Clone(portsOf[l])
		slices.Sort(ports)
		key := look{k, fmt.Sprint(ports)}
		b, ok := known[key]
		if !ok {
			b = len(n.bundles)
			known[key] = b
			n.bundles = append(n.bundles, bundle{low: l, ports: ports})
			leaving[k.Src] = append(leaving[k.Src], b)
		}
		n.bundles[b].links++
		n.bundleOf[l] = b
	}
	paths, passed := 0, 0
	on := make([]bool, t.Nodes()) // the path
	var path []int                // of bundles
	var extend func(from, at int) error
	extend = func(from, at int) error {
		on[at] = true
		defer func() { on[at] = false }()
		for _, b := range leaving[at] {
			v := t.Links[n.bundles[b].low].Dst
			if !j.work.Go(1) {
				return stopped(j.work.Why())
			}
			if on[v] {
				continue
			}
			if paths++; paths > maxPaths {
				return stopped(fmt.Sprintf("topology: more than %d paths from rank to rank over switches, too many to look at each", maxPaths))
			}
			path = append(path, b)
			if !t.IsRank(v) {
				if err := extend(from, v); err != nil {
					return err
				}
			} else {
				a := arc{src: from, dst: v, bundles: slices.Clone(path)}
				for _, c := range path {
					a.route = append(a.route, n.bundles[c].low)
				}
				n.out[from] = append(n.out[from], a)
				if passed += len(path); passed > maxPassed {
					return stopped(fmt.Sprintf("topology: the paths from rank to rank over switches have more than %d links in all, too many to look at each", maxPassed))
				}
			}
			path = path[:len(path)-1]
		}
		return nil
	}
	for r := range t.Ranks {
		if err := extend(r, r); err != nil {
			return nil, err
		}
	}
	return n, nil
}
