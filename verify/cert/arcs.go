package cert

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// The network of ranks and arcs on which prices at instants are paid.

// Limits above which a certificate of kind lp-dual is refused, by name.
const (
	maxPaths = 1 << 16 // paths over switches from rank to rank
	maxSteps = 1 << 31 // looks at a price while the cheapest ways are sought
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
func newArcs(t *model.Topology) (*arcs, error) {
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
	paths := 0
	var extend func(path, nodes []int) error
	extend = func(path, nodes []int) error {
		for _, b := range leaving[nodes[len(nodes)-1]] {
			v := t.Links[n.bundles[b].low].Dst
			if slices.Contains(nodes, v) {
				continue
			}
			if paths++; paths > maxPaths {
				return fmt.Errorf("topology: more than %d paths from rank to rank over switches, too many to look at each", maxPaths)
			}
			longer := append(slices.Clone(path), b)
			if !t.IsRank(v) {
				if err := extend(longer, append(slices.Clone(nodes), v)); err != nil {
					return err
				}
				continue
			}
			a := arc{src: nodes[0], dst: v, bundles: longer}
			for _, c := range longer {
				a.route = append(a.route, n.bundles[c].low)
			}
			n.out[a.src] = append(n.out[a.src], a)
		}
		return nil
	}
	for r := range t.Ranks {
		if err := extend(nil, []int{r}); err != nil {
			return nil, err
		}
	}
	return n, nil
}
