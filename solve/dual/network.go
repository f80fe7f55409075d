package dual

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/hop"
)

// Limits on the network, beyond which programs would be too large anyway.
const (
	maxArcs    = 1 << 12
	maxDemands = 1 << 13
	maxRoute   = 64
)

// arc is a hop with a route: over the lowest link of each bundle.
type arc struct {
	hop.Bundled
	route []int
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
	bundles   []hop.Bundle
	arcs      []arc
	resources []resource
	groups    []group
	hops      map[int64][]passage // by size, arc
	tasks     []task
	offset    []model.Time // by bundle: see grid
	reach     model.Time   // when the last demand can be met, each by itself
}

func newNetwork(p *model.Problem) (*network, error) {
	n := &network{p: p}
	if !n.lay() {
		return nil, solve.NotServed("more than %d paths between ranks", maxArcs)
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

// lay finds the arcs and what they share. It returns false if there are too many arcs, or too
// long ones.
func (n *network) lay() bool {
	t := n.p.Topology
	n.bundles = hop.Bundles(t)
	hops, ok := hop.AllBundled(t, n.bundles, maxArcs)
	if !ok {
		return false
	}
	for _, h := range hops {
		a := arc{Bundled: h}
		for _, b := range h.Bundles {
			a.route = append(a.route, n.bundles[b].Links[0])
		}
		if len(a.route) > maxRoute {
			return false
		}
		n.arcs = append(n.arcs, a)
	}
	of := make([]int, len(t.Links))
	for b := range n.bundles {
		for _, l := range n.bundles[b].Links {
			of[l] = b
		}
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
				switch k := n.bundles[b]; rank {
				case k.Src:
					out.bundles = append(out.bundles, b)
				case k.Dst:
					in.bundles = append(in.bundles, b)
				}
			}
			n.resources = append(n.resources, out, in)
		}
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
