package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

var rfsFamily = Family{"rfs", "rfs:AxBxC",
	"rings of A, full graphs of B, switches of C, one a dimension; links of the dimensions may differ", byDefault,
	func(arg string, o Options) (*model.Topology, error) {
		n, err := sizes(arg, "rfs:AxBxC", 3, 3, 1)
		if err != nil {
			return nil, err
		}
		w, err := o.wires(3, "dimensions (rings, full graphs, switches)")
		if err != nil {
			return nil, err
		}
		return RFS(n[0], n[1], n[2], w[0], w[1], w[2])
	}}

// RFS builds the hierarchy of three dimensions that studies of training clusters take as an
// example of a heterogeneous network (3D-RFS of Won et al., "TACOS", arXiv:2304.05301, from
// the notation of Rashidi et al., ASTRA-sim, ISPASS 2020): rank (i, j, k) is in a ring with
// the ranks that share j and k, links each way with those that share i and k, and is at a
// switch with those that share i and j. It has the number (i·full + j)·switched + k. A ring
// of 2 has one link each way, not two; in a dimension of size 1 there are no links. The
// latency over a switch is that of its wire from rank to rank.
func RFS(ring, full, switched int, r, f, s Wire) (*model.Topology, error) {
	if min(ring, full, switched) < 1 || max(ring, full, switched) > 1<<12 {
		return nil, fmt.Errorf("rings of %d, full graphs of %d, switches of %d, want 1 to %d of each", ring, full, switched, 1<<12)
	}
	around := int64(ring) // pairs of neighbours in a ring
	if ring < 3 {
		around--
	}
	ranks := int64(ring) * int64(full) * int64(switched)
	links := 2*ranks/int64(ring)*around + ranks*int64(full-1)
	if switched > 1 {
		links += 2 * ranks
	}
	b, err := newBuilder(ranks, links)
	if err != nil {
		return nil, err
	}
	rank := func(i, j, k int) int { return (i*full+j)*switched + k }
	for i := range ring {
		for j := range full {
			for k := range switched {
				if i+1 < ring {
					b.duplex(rank(i, j, k), rank(i+1, j, k), r)
				} else if ring > 2 {
					b.duplex(rank(i, j, k), rank(0, j, k), r)
				}
				for other := j + 1; other < full; other++ {
					b.duplex(rank(i, j, k), rank(i, other, k), f)
				}
			}
			if switched > 1 {
				b.star(fmt.Sprintf("switch%d.%d", i, j), rank(i, j, 0), switched, s)
			}
		}
	}
	return b.done("rfs:%dx%dx%d", ring, full, switched)
}
