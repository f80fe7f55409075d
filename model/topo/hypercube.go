package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// maxCube is the largest dimension of a hypercube: 2¹⁷ ranks, 17·2¹⁷ links.
const maxCube = 17

var hypercubeFamily = Family{"hypercube", "hypercube:D", "2^D ranks, linked where their numbers differ in one bit", byDefault,
	func(arg string, o Options) (*model.Topology, error) {
		d, err := sizes(arg, "hypercube:D", 1, 1, 1)
		if err != nil {
			return nil, err
		}
		if d[0] > maxCube {
			return nil, fmt.Errorf("size is %d, want at most %d", d[0], maxCube)
		}
		wires, err := o.wires(d[0], "dimensions")
		if err != nil {
			return nil, err
		}
		return Hypercube(wires)
	}}

// Hypercube builds 2^D ranks, D = len(wires), linked each way where their numbers
// differ in one bit: wires[0] is for the highest bit, as dimension 0 of a mesh is.
func Hypercube(wires []Wire) (*model.Topology, error) {
	dims := len(wires)
	if dims < 1 || dims > maxCube {
		return nil, fmt.Errorf("dimension %d, want 1 to %d", dims, maxCube)
	}
	b, err := newBuilder(1<<dims, int64(dims)<<dims)
	if err != nil {
		return nil, err
	}
	for i, w := range wires {
		bit := 1 << (dims - 1 - i)
		for v := range b.Ranks {
			if v&bit == 0 {
				b.duplex(v, v|bit, w)
			}
		}
	}
	return b.done("hypercube:%d", dims)
}
