package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

var fatTreeFamily = Family{"fattree", "fattree:LxR[xS]",
	"two-level fat tree: L leaf switches with R ranks each, S spine switches (default R); links of ranks and of spines may differ", byDefault,
	func(arg string, o Options) (*model.Topology, error) {
		n, err := sizes(arg, "fattree:LxR[xS]", 2, 3, 1)
		if err != nil {
			return nil, err
		}
		wires, err := o.wires(2, "tiers (ranks, spines)")
		if err != nil {
			return nil, err
		}
		n = append(n, n[1]) // the default, where S is not given
		return FatTree(n[0], n[1], n[2], wires[0], wires[1])
	}}

// FatTree builds a two-level fat tree (Leiserson, IEEE Trans. Computers 1985, in
// the folded-Clos form of today): leaf switches with per ranks each, and every leaf
// linked to every one of the spine switches. With as many spines as ranks a leaf,
// and equal links, it has full bisection bandwidth. low is for the links of the
// ranks, high for those of the spines.
func FatTree(leaves, per, spines int, low, high Wire) (*model.Topology, error) {
	if leaves < 1 || per < 1 || spines < 1 {
		return nil, fmt.Errorf("%d leaves, %d ranks a leaf, %d spines, want at least 1 of each", leaves, per, spines)
	}
	l, p, s := int64(leaves), int64(per), int64(spines)
	if max(l, p, s) > model.MaxNodes {
		return nil, fmt.Errorf("%d leaves, %d ranks a leaf, %d spines, want at most %d of each", leaves, per, spines, model.MaxNodes)
	}
	b, err := newBuilder(l*p, 2*l*(p+s))
	if err != nil {
		return nil, err
	}
	for i := range leaves {
		leaf := b.node(fmt.Sprintf("leaf%d", i))
		for r := range per {
			b.duplex(i*per+r, leaf, low)
		}
	}
	for i := range spines {
		spine := b.node(fmt.Sprintf("spine%d", i))
		for leaf := range leaves {
			b.duplex(b.Ranks+leaf, spine, high)
		}
	}
	return b.done("fattree:%dx%dx%d", leaves, per, spines)
}
