package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

const (
	gb = 1e9 // bytes; the vendors' GB

	nvlinkAlpha = 700 * model.Nanosecond
	ibAlpha     = 1300 * model.Nanosecond
)

// cubeMesh is the hybrid cube mesh of 8 V100: the pairs of ranks with two
// NVLinks, and those with one. It is the matrix that SCCL (Cai et al., PPoPP 2021)
// and TE-CCL (Liu et al., SIGCOMM 2024) use for DGX-1.
var cubeMesh = struct{ double, single [][2]int }{
	double: [][2]int{{0, 1}, {0, 4}, {1, 3}, {2, 3}, {2, 6}, {4, 5}, {5, 7}, {6, 7}},
	single: [][2]int{{0, 2}, {0, 3}, {1, 2}, {1, 5}, {3, 7}, {4, 6}, {4, 7}, {5, 6}},
}

// DGX1 builds the DGX-1 with 8 V100: NVLinks of 25 GB/s a direction, in the
// hybrid cube mesh; where two ranks have two NVLinks there are two parallel links
// each way. Bandwidth: NVIDIA, "NVIDIA DGX-1 With Tesla V100 System
// Architecture", WP-08437-002 (2017): six NVLinks a GPU, 25 GB/s each way. The
// latency of 0.7 us is the one that TE-CCL uses for NVLink on V100.
func DGX1(int) (*model.Topology, error) {
	b := newBuilder(8)
	for _, e := range cubeMesh.double {
		b.duplex(e[0], e[1], nvlinkAlpha, 25*gb)
		b.duplex(e[0], e[1], nvlinkAlpha, 25*gb)
	}
	for _, e := range cubeMesh.single {
		b.duplex(e[0], e[1], nvlinkAlpha, 25*gb)
	}
	return b.done()
}

// NDv2 builds 1, 2 or 4 chassis of Azure NDv2 as TE-CCL models them (Liu et al.,
// SIGCOMM 2024, and the topologies of its published code): inside a chassis the
// cube mesh of DGX1 with one link of 50 GB/s for two NVLinks and of 25 GB/s for
// one, 0.7 us; between chassis InfiniBand of 12.5 GB/s, 1.3 us a link: with two
// chassis from rank 0 of each to rank 1 of the other, with four from rank 0 of
// each to a switch and from the switch to rank 1 of each.
func NDv2(chassis int) (*model.Topology, error) {
	b := newBuilder(8 * chassis)
	for c := range chassis {
		for _, e := range cubeMesh.double {
			b.duplex(8*c+e[0], 8*c+e[1], nvlinkAlpha, 50*gb)
		}
		for _, e := range cubeMesh.single {
			b.duplex(8*c+e[0], 8*c+e[1], nvlinkAlpha, 25*gb)
		}
	}
	switch chassis {
	case 1:
	case 2:
		b.link(0, 9, ibAlpha, 12.5*gb)
		b.link(8, 1, ibAlpha, 12.5*gb)
	case 4:
		s := b.node("infiniband")
		for c := range chassis {
			b.link(8*c, s, ibAlpha, 12.5*gb)
			b.link(s, 8*c+1, ibAlpha, 12.5*gb)
		}
	default:
		return nil, fmt.Errorf("%d chassis, want 1, 2 or 4", chassis)
	}
	return b.done()
}

// DGX2 builds one or two chassis of DGX-2 as TE-CCL models them (see NDv2): 16
// V100 a chassis at one NVSwitch node, 125 GB/s and 0.35 us a link; with two
// chassis, InfiniBand of 12.5 GB/s and 2.6 us from each odd rank of one to the
// rank before it of the other. NVIDIA's data sheet has 150 GB/s (six NVLinks of 25
// GB/s a direction); 125 GB/s is what TE-CCL takes from profiles.
func DGX2(chassis int) (*model.Topology, error) {
	b := newBuilder(16 * chassis)
	for c := range chassis {
		b.star(fmt.Sprintf("nvswitch%d", c), 16*c, 16, nvlinkAlpha, 125*gb)
	}
	if chassis == 2 {
		for i := 1; i < 16; i += 2 {
			b.link(i, 16+i-1, 2*ibAlpha, 12.5*gb)
			b.link(16+i, i-1, 2*ibAlpha, 12.5*gb)
		}
	}
	return b.done()
}

// DGXA100 builds DGX A100 chassis: 8 A100 at one NVSwitch node, 300 GB/s a
// direction (12 NVLinks of 25 GB/s: NVIDIA, "NVIDIA DGX A100 System
// Architecture", WP-10083-001, 2020), and, with more than one chassis, a 200 Gb/s
// NIC a rank at one non-blocking fabric, a switch node. The latencies are
// assumptions: those of DGX2 for NVSwitch and InfiniBand.
func DGXA100(chassis int) (*model.Topology, error) { return hgx(chassis, 300*gb, 25*gb) }

// DGXH100 builds DGX H100 chassis: 8 H100 at one NVSwitch node, 450 GB/s a
// direction (18 NVLinks of 25 GB/s), and, with more than one chassis, a 400 Gb/s
// NIC a rank at one non-blocking fabric (NVIDIA, "NVIDIA DGX H100 User Guide",
// DU-10487). The NVSwitches' multicast is not modelled. The latencies are
// assumptions, as for DGXA100.
func DGXH100(chassis int) (*model.Topology, error) { return hgx(chassis, 450*gb, 50*gb) }

func hgx(chassis int, nvlink, nic int64) (*model.Topology, error) {
	b := newBuilder(8 * chassis)
	for c := range chassis {
		b.star(fmt.Sprintf("nvswitch%d", c), 8*c, 8, nvlinkAlpha, nvlink)
	}
	if chassis > 1 {
		b.star("fabric", 0, b.Ranks, 2*ibAlpha, nic)
	}
	return b.done()
}
