package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

var dgx2Family = Family{"dgx2", "dgx2[:1|2]", "NVIDIA DGX-2: 1 or 2 chassis of 16 V100 at an NVSwitch",
	"TE-CCL (SIGCOMM 2024) and its published code", machine(2, DGX2)}

// DGX2 builds one or two chassis of DGX-2 as TE-CCL models them (Liu et al.,
// SIGCOMM 2024, and the topologies of its published code): 16 V100 a chassis at one
// NVSwitch node, 125 GB/s and 0.35 us a link; with two chassis, InfiniBand of 12.5
// GB/s and 2.6 us from each odd rank of one to the rank before it of the other.
// NVIDIA's data sheet has 150 GB/s a rank (six NVLinks of 25 GB/s a direction);
// 125 GB/s is what TE-CCL takes.
func DGX2(chassis int) (*model.Topology, error) {
	if chassis != 1 && chassis != 2 {
		return nil, fmt.Errorf("%d chassis, want 1 or 2", chassis)
	}
	b, err := newBuilder(16*int64(chassis), 40*int64(chassis))
	if err != nil {
		return nil, err
	}
	for c := range chassis {
		b.star(fmt.Sprintf("nvswitch%d", c), 16*c, 16, Wire{nvlinkAlpha, 125 * gb})
	}
	if chassis == 2 {
		ib := Wire{2 * ibAlpha, 12.5 * gb}
		for i := 1; i < 16; i += 2 {
			b.link(i, 16+i-1, ib)
			b.link(16+i, i-1, ib)
		}
	}
	return b.done("%s", chassisName("dgx2", chassis))
}
