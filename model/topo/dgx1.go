package topo

import "github.com/oraccl/oraccl/model"

const (
	gb = 1e9 // bytes; the vendors' GB

	// nvlinkAlpha is the latency that TE-CCL (Liu et al., SIGCOMM 2024) takes for
	// NVLink between V100, also through an NVSwitch: 0.7 us.
	nvlinkAlpha = 700 * model.Nanosecond
	// ibAlpha is the latency that TE-CCL takes for an InfiniBand link of NDv2: 1.3 us.
	ibAlpha = 1300 * model.Nanosecond
)

// cubeMesh is the hybrid cube mesh of 8 V100: the pairs of ranks with two
// NVLinks, and those with one. It is the matrix that SCCL (Cai et al., PPoPP 2021)
// and TE-CCL (Liu et al., SIGCOMM 2024) use for DGX-1.
var cubeMesh = struct{ double, single [][2]int }{
	double: [][2]int{{0, 1}, {0, 4}, {1, 3}, {2, 3}, {2, 6}, {4, 5}, {5, 7}, {6, 7}},
	single: [][2]int{{0, 2}, {0, 3}, {1, 2}, {1, 5}, {3, 7}, {4, 6}, {4, 7}, {5, 6}},
}

var dgx1Family = Family{"dgx1", "dgx1", "NVIDIA DGX-1 V100: 8 ranks, hybrid cube mesh of NVLinks",
	"NVIDIA WP-08437-002; latency from TE-CCL", machine(1, func(int) (*model.Topology, error) { return DGX1() })}

// DGX1 builds the DGX-1 with 8 V100: NVLinks of 25 GB/s a direction, in the
// hybrid cube mesh; where two ranks have two NVLinks there are two parallel links
// each way. Bandwidth: NVIDIA, "NVIDIA DGX-1 With Tesla V100 System
// Architecture", WP-08437-002 (2017): six NVLinks a GPU, 25 GB/s each way. The
// latency of 0.7 us is the one that TE-CCL uses for NVLink on V100.
func DGX1() (*model.Topology, error) {
	b, err := newBuilder(8, 48)
	if err != nil {
		return nil, err
	}
	w := Wire{nvlinkAlpha, 25 * gb}
	for _, e := range cubeMesh.double {
		b.duplex(e[0], e[1], w)
		b.duplex(e[0], e[1], w)
	}
	for _, e := range cubeMesh.single {
		b.duplex(e[0], e[1], w)
	}
	return b.done("dgx1")
}
