package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

var dgxA100Family = Family{"dgxa100", "dgxa100[:N]", "NVIDIA DGX A100: N chassis of 8 A100 at an NVSwitch, a 200 Gb/s NIC a rank",
	"NVIDIA WP-10083-001; latencies are assumptions", machine(maxChassis, DGXA100)}

var dgxH100Family = Family{"dgxh100", "dgxh100[:N]", "NVIDIA DGX H100: N chassis of 8 H100 at an NVSwitch, a 400 Gb/s NIC a rank",
	"NVIDIA DU-10487; latencies are assumptions", machine(maxChassis, DGXH100)}

const maxChassis = 1024

// DGXA100 builds DGX A100 chassis: 8 A100 at one NVSwitch node, 300 GB/s a
// direction (12 NVLinks of 25 GB/s), and, with more than one chassis, a NIC of 200
// Gb/s a rank at one non-blocking fabric, a switch node that stands for all rails.
// Source: NVIDIA, "NVIDIA DGX A100 System Architecture", WP-10083-001 (2020). The
// latencies are assumptions, those of DGX2: 0.7 us from rank to rank through the
// NVSwitch, 2.6 us through the fabric.
func DGXA100(chassis int) (*model.Topology, error) { return hgx("dgxa100", chassis, 300*gb, 25*gb) }

// DGXH100 builds DGX H100 chassis: 8 H100 at one NVSwitch node, 450 GB/s a
// direction (18 NVLinks of 25 GB/s), and, with more than one chassis, a NIC of 400
// Gb/s a rank at one non-blocking fabric, a switch node that stands for all rails.
// Source: NVIDIA, "NVIDIA DGX H100 User Guide", DU-10487. The NVSwitches' multicast
// and in-network reduction are not modelled. The latencies are assumptions, as for
// DGXA100.
func DGXH100(chassis int) (*model.Topology, error) { return hgx("dgxh100", chassis, 450*gb, 50*gb) }

func hgx(name string, chassis int, nvlink, nic int64) (*model.Topology, error) {
	if chassis < 1 || chassis > maxChassis {
		return nil, fmt.Errorf("%d chassis, want 1 to %d", chassis, maxChassis)
	}
	b, err := newBuilder(8*int64(chassis), 32*int64(chassis))
	if err != nil {
		return nil, err
	}
	for c := range chassis {
		b.star(fmt.Sprintf("nvswitch%d", c), 8*c, 8, Wire{nvlinkAlpha, nvlink})
	}
	if chassis > 1 {
		b.star("fabric", 0, b.Ranks, Wire{2 * ibAlpha, nic})
	}
	return b.done("%s", chassisName(name, chassis))
}

// chassisName returns the name of a number of chassis: "dgx2" for one, "dgx2:2".
func chassisName(family string, chassis int) string {
	if chassis == 1 {
		return family
	}
	return fmt.Sprintf("%s:%d", family, chassis)
}
