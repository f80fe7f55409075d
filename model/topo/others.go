package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// xgmiAlpha is the latency of an Infinity Fabric link. No public figure was
// found: it is an assumption, that of NVLink.
const xgmiAlpha = nvlinkAlpha

// MI250 builds a node of 8 AMD Instinct MI250, 16 dies: Infinity Fabric links of
// 50 GB/s a direction, 7 for each die (AMD, "AMD CDNA 2 Architecture", white
// paper, 2021), four of them between the two dies of a package, the rest as in
// the connection matrix of the 16-die model (rome_model_56) in AMD's RCCL.
// Several links between two dies are parallel links. The latency is an assumption.
func MI250(int) (*model.Topology, error) {
	b := newBuilder(16)
	for _, e := range []struct{ u, v, n int }{
		{0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}, {8, 9, 4}, {10, 11, 4}, {12, 13, 4}, {14, 15, 4},
		{0, 4, 2}, {3, 7, 2}, {8, 12, 2}, {11, 15, 2},
		{0, 2, 1}, {1, 2, 1}, {1, 3, 1}, {1, 5, 1}, {2, 6, 1},
		{4, 12, 1}, {5, 13, 1}, {5, 14, 1}, {6, 13, 1}, {6, 14, 1}, {7, 15, 1},
		{8, 10, 1}, {9, 10, 1}, {9, 11, 1}, {9, 13, 1}, {10, 14, 1},
	} {
		for range e.n {
			b.duplex(e.u, e.v, xgmiAlpha, 50*gb)
		}
	}
	return b.done()
}

// MI300X builds a node of 8 AMD Instinct MI300X, each linked to each by one
// Infinity Fabric link of 64 GB/s a direction (AMD, "AMD Instinct MI300X
// Platform" data sheet, 2023: 128 GB/s both ways). The latency is an assumption.
func MI300X(int) (*model.Topology, error) {
	return Full(Dimension{8, xgmiAlpha, 64 * gb})
}

// tpu builds a 3-D torus with the links of TPU v4: 50 GB/s a direction and link,
// six links a chip (Jouppi et al., "TPU v4", ISCA 2023, table 4). The latency of
// 1 us is an assumption. Options may set other links.
func tpu(arg string, o Options) (*model.Topology, error) {
	if len(o.Alpha) == 0 {
		o.Alpha = []model.Time{model.Microsecond}
	}
	if len(o.Bandwidth) == 0 {
		o.Bandwidth = []int64{50 * gb}
	}
	return shaped(2, func(dims []Dimension) (*model.Topology, error) {
		if len(dims) != 3 {
			return nil, fmt.Errorf("%d numbers, want three", len(dims))
		}
		return Torus(dims)
	})(arg, o)
}
