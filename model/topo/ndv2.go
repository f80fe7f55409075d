package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

var ndv2Family = Family{"ndv2", "ndv2[:1|2|4]", "Azure NDv2: 1, 2 or 4 chassis of 8 V100",
	"TE-CCL (SIGCOMM 2024) and its published code", machine(4, NDv2)}

// NDv2 builds 1, 2 or 4 chassis of Azure NDv2 as TE-CCL models them (Liu et al.,
// SIGCOMM 2024, and the topologies of its published code): inside a chassis the
// cube mesh of DGX1 with one link of 50 GB/s for two NVLinks and of 25 GB/s for
// one, 0.7 us; between chassis InfiniBand of 12.5 GB/s, 1.3 us a link: with two
// chassis from rank 0 of each to rank 1 of the other, with four from rank 0 of
// each to a switch and from the switch to rank 1 of each.
func NDv2(chassis int) (*model.Topology, error) {
	if chassis != 1 && chassis != 2 && chassis != 4 {
		return nil, fmt.Errorf("%d chassis, want 1, 2 or 4", chassis)
	}
	b, err := newBuilder(8*int64(chassis), 34*int64(chassis))
	if err != nil {
		return nil, err
	}
	for c := range chassis {
		for _, e := range cubeMesh.double {
			b.duplex(8*c+e[0], 8*c+e[1], Wire{nvlinkAlpha, 50 * gb})
		}
		for _, e := range cubeMesh.single {
			b.duplex(8*c+e[0], 8*c+e[1], Wire{nvlinkAlpha, 25 * gb})
		}
	}
	ib := Wire{ibAlpha, 12.5 * gb}
	switch chassis {
	case 2:
		b.link(0, 9, ib)
		b.link(8, 1, ib)
	case 4:
		s := b.node("infiniband")
		for c := range chassis {
			b.link(8*c, s, ib)
			b.link(s, 8*c+1, ib)
		}
	}
	return b.done("%s", chassisName("ndv2", chassis))
}
