package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

var tpuV4Family = Family{"tpuv4", "tpuv4:AxBxC", "a slice of a Google TPU v4 pod: a 3-D torus, or a mesh if a size is not a multiple of 4",
	"Jouppi et al., ISCA 2023; latency is an assumption",
	func(arg string, o Options) (*model.Topology, error) {
		if err := o.none(); err != nil {
			return nil, err
		}
		n, err := sizes(arg, "tpuv4:AxBxC", 3, 3, 1)
		if err != nil {
			return nil, err
		}
		return TPUv4(n[0], n[1], n[2])
	}}

// tpuPod is the number of chips of a TPU v4 pod.
const tpuPod = 4096

// TPUv4 builds a slice of a TPU v4 pod of a·b·c chips: six links a chip of 50 GB/s
// a direction in a 3-D torus (Jouppi et al., "TPU v4: An Optically Reconfigurable
// Supercomputer for Machine Learning with Hardware Support for Embeddings", ISCA
// 2023). The optical switches that close the torus join cubes of 4x4x4, so that a
// slice with a size that is no multiple of 4 is a mesh. The latency of 1 us is an
// assumption.
func TPUv4(a, b, c int) (*model.Topology, error) {
	for _, n := range []int{a, b, c} {
		if n < 1 || n > tpuPod {
			return nil, fmt.Errorf("%dx%dx%d chips, want 1 to %d in all", a, b, c, tpuPod)
		}
	}
	if a*b*c > tpuPod {
		return nil, fmt.Errorf("%dx%dx%d chips, want 1 to %d in all", a, b, c, tpuPod)
	}
	ici := Wire{model.Microsecond, 50 * gb}
	torus := a%4 == 0 && b%4 == 0 && c%4 == 0
	return grid("tpuv4", []int{a, b, c}, []Wire{ici, ici, ici}, torus)
}
