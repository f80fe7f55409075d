package topo

import "github.com/oraccl/oraccl/model"

// xgmiAlpha is the latency of an Infinity Fabric link. No public figure was
// found: it is an assumption, that of NVLink.
const xgmiAlpha = nvlinkAlpha

var mi250Family = Family{"mi250", "mi250", "8 AMD Instinct MI250: 16 dies linked by Infinity Fabric",
	"AMD CDNA 2 white paper, RCCL's rome_model_56; latency is an assumption",
	machine(1, func(int) (*model.Topology, error) { return MI250() })}

// mi250Links says how many links there are between two dies.
var mi250Links = []struct{ u, v, n int }{
	{0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}, {8, 9, 4}, {10, 11, 4}, {12, 13, 4}, {14, 15, 4},
	{0, 4, 2}, {3, 7, 2}, {8, 12, 2}, {11, 15, 2},
	{0, 2, 1}, {1, 2, 1}, {1, 3, 1}, {1, 5, 1}, {2, 6, 1},
	{4, 12, 1}, {5, 13, 1}, {5, 14, 1}, {6, 13, 1}, {6, 14, 1}, {7, 15, 1},
	{8, 10, 1}, {9, 10, 1}, {9, 11, 1}, {9, 13, 1}, {10, 14, 1},
}

// MI250 builds a node of 8 AMD Instinct MI250, 16 dies: Infinity Fabric links of
// 50 GB/s a direction, 7 for each die, four of them between the two dies of a
// package (AMD, "Introducing AMD CDNA 2 Architecture", white paper, 2021), the rest
// as in the connection matrix of the 16-die model (rome_model_56) in AMD's RCCL.
// Several links between two dies are parallel links. The latency of 0.7 us is an
// assumption.
func MI250() (*model.Topology, error) {
	b, err := newBuilder(16, 112)
	if err != nil {
		return nil, err
	}
	for _, e := range mi250Links {
		for range e.n {
			b.duplex(e.u, e.v, Wire{xgmiAlpha, 50 * gb})
		}
	}
	return b.done("mi250")
}
