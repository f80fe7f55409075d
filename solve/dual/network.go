package dual

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// Limits on the network, beyond which programs would be too large anyway.
const (
	maxArcs    = 1 << 12
	maxDemands = 1 << 13
)

// bundle is a set of links alike; low is the lowest-numbered of them.
type bundle struct{ low, links int }

// arc leads from a rank over bundles to another rank.
type arc struct {
	src, dst int
	bundles  []int
	route    []int
}

// resource is what bundles share: a port, or under rounds the sends or receives of a rank.
type resource struct {
	bundles  []int
	capacity int
	what     int // portPrice, sendPrice or receivePrice
	of       int
}

const (
	portPrice = iota
	sendPrice
	receivePrice
)

// group is a number of chunks of one size that start and are needed alike.
type group struct {
	chunks  []int
	size    int64
	holders map[int][]int // by contribution
	demands []model.DualDemand
}

// network is a problem as ranks, arcs and groups.
type network struct {
	p         *model.Problem
	bundles   []bundle
	arcs      []arc
	resources []resource
	groups    []group
	hops      map[int64][]hop // by size, arc
	tasks     []task
	offset    []model.Time // by bundle: see grid
	reach     model.Time   // when the last demand can be met, each by itself
}

func newNetwork(p *model.Problem) (*network, error) {
	n := &network{p: p}
	leaving := n.bundle()
	for r := range p.Topology.Ranks {
		if !n.extend(leaving, nil, []int{r}) {
			return nil, solve.NotServed("more than %d paths between ranks", maxArcs)
		}
	}
	demands := 0
	known := map[string]int{}
	for k := range p.Chunks {
		g := newGroup(p, k)
		if len(g.demands) == 0 {
			continue
		}
		key := fmt.Sprint(g.size, g.demands, g.holders)
		if i, ok := known[key]; ok {
			n.groups[i].chunks = append(n.groups[i].chunks, k)
			continue
		}
		if demands += len(g.demands); demands > maxDemands {
			return nil, solve.NotServed("more than %d demands", maxDemands)
		}
		known[key] = len(n.groups)
		n.groups = append(n.groups, g)
	}
	n.measure()
	return n, nil
}

// bundle puts links that are alike together and returns the bundles that leave each node.
func (n *network) bundle() [][]int {
	t := n.p.Topology
	type look struct {
		link  model.Link
		ports string
	}
	ports, known := t.PortsOf(), map[look]int{}
	leaving := make([][]int, t.Nodes())
	of := make([]int, len(t.Links))
	for l, k := range t.Links {
		key := look{k, fmt.Sprint(ports[l])}
		b, ok := known[key]
		if !ok {
			b = len(n.bundles)
			known[key] = b
			n.bundles = append(n.bundles, bundle{low: l})
			leaving[k.Src] = append(leaving[k.Src], b)
		}
		of[l] = b
		n.bundles[b].links++
	}
	for i, p := range t.Ports {
		r := resource{capacity: p.Capacity, what: portPrice, of: i}
		for _, l := range p.Links {
			if !slices.Contains(r.bundles, of[l]) {
				r.bundles = append(r.bundles, of[l])
			}
		}
		n.resources = append(n.resources, r)
	}
	if n.p.Cost == model.Rounds {
		for rank := range t.Ranks {
			out, in := resource{capacity: 1, what: sendPrice, of: rank}, resource{capacity: 1, what: receivePrice, of: rank}
			for b := range n.bundles {
				switch k := t.Links[n.bundles[b].low]; rank {
				case k.Src:
					out.bundles = append(out.bundles, b)
				case k.Dst:
					in.bundles = append(in.bundles, b)
				}
			}
			n.resources = append(n.resources, out, in)
		}
	}
	return leaving
}

// extend adds the arcs that begin with a path. It returns false if there are too many.
func (n *network) extend(leaving [][]int, path, nodes []int) bool {
	t := n.p.Topology
	for _, b := range leaving[nodes[len(nodes)-1]] {
		v := t.Links[n.bundles[b].low].Dst
		if slices.Contains(nodes, v) {
			continue
		}
		longer := append(slices.Clone(path), b)
		if !t.IsRank(v) {
			if len(longer) > 64 || !n.extend(leaving, longer, append(slices.Clone(nodes), v)) {
				return false
			}
			continue
		}
		if len(n.arcs) == maxArcs {
			return false
		}
		a := arc{src: nodes[0], dst: v, bundles: longer}
		for _, c := range longer {
			a.route = append(a.route, n.bundles[c].low)
		}
		n.arcs = append(n.arcs, a)
	}
	return true
}

func newGroup(p *model.Problem, k int) group {
	g := group{chunks: []int{k}, size: p.Chunks[k].Size, holders: map[int][]int{}}
	for r, v := range p.Start(k) {
		for c := range v.Terms() {
			g.holders[c] = append(g.holders[c], r)
		}
	}
	for r, want := range p.Goal(k) {
		for c := range want.Terms() {
			if len(g.holders[c]) > 0 && !slices.Contains(g.holders[c], r) {
				g.demands = append(g.demands, model.DualDemand{Source: c, Dest: r})
			}
		}
	}
	slices.SortFunc(g.demands, func(a, b model.DualDemand) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Dest, b.Dest))
	})
	return g
}
