package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

var dragonflyFamily = Family{"dragonfly", "dragonfly:GxAxR",
	"G groups of A routers with R ranks each; links between groups, of routers and of ranks may differ", byDefault,
	func(arg string, o Options) (*model.Topology, error) {
		n, err := sizes(arg, "dragonfly:GxAxR", 3, 3, 1)
		if err != nil {
			return nil, err
		}
		w, err := o.wires(3, "tiers (groups, routers, ranks)")
		if err != nil {
			return nil, err
		}
		return Dragonfly(n[0], n[1], n[2], w[0], w[1], w[2])
	}}

// Dragonfly builds a dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): groups of
// routers with per ranks each. The routers of a group are fully connected, and each
// pair of groups has one link each way, at routers that take turns: group i reaches
// the group that is d behind it, in a circle, from its router (d-1) mod routers.
// The wires are for the links between groups, between the routers of a group, and of
// the ranks.
func Dragonfly(groups, routers, per int, global, local, rank Wire) (*model.Topology, error) {
	if min(groups, routers, per) < 1 || max(groups, routers, per) > 1<<12 {
		return nil, fmt.Errorf("%d groups of %d routers of %d ranks, want 1 to %d of each", groups, routers, per, 1<<12)
	}
	g, a, r := int64(groups), int64(routers), int64(per)
	b, err := newBuilder(g*a*r, g*(g-1)+g*a*(a-1)+2*g*a*r)
	if err != nil {
		return nil, err
	}
	for i := range groups {
		for j := range routers {
			router := b.node(fmt.Sprintf("router%d.%d", i, j))
			for k := range per {
				b.duplex((i*routers+j)*per+k, router, rank)
			}
		}
	}
	router := func(group, i int) int { return b.Ranks + group*routers + i%routers }
	for i := range groups {
		for j := range routers {
			for k := j + 1; k < routers; k++ {
				b.duplex(router(i, j), router(i, k), local)
			}
		}
	}
	for i := range groups {
		for j := i + 1; j < groups; j++ {
			b.duplex(router(i, j-i-1), router(j, groups+i-j-1), global)
		}
	}
	return b.done("dragonfly:%dx%dx%d", groups, routers, per)
}
