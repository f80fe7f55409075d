package topo

import "github.com/oraccl/oraccl/model"

var ringFamily = Family{"ring", "ring:N", "N ranks in a ring, one link each way between neighbours", byDefault, sized("ring:N", 2, Ring)}

var uniRingFamily = Family{"uniring", "uniring:N", "N ranks in a ring, links one way only", byDefault, sized("uniring:N", 2, UniRing)}

var lineFamily = Family{"line", "line:N", "N ranks in a row, one link each way between neighbours", byDefault, sized("line:N", 2, Line)}

// Ring builds n ranks in a ring with one link each way between neighbours. A ring of
// 2 has one link each way, not two.
func Ring(n int, w Wire) (*model.Topology, error) { return grid("ring", []int{n}, []Wire{w}, true) }

// Line builds n ranks in a row with one link each way between neighbours.
func Line(n int, w Wire) (*model.Topology, error) { return grid("line", []int{n}, []Wire{w}, false) }

// UniRing builds n >= 2 ranks in a ring whose links lead from rank i to rank i+1 only.
func UniRing(n int, w Wire) (*model.Topology, error) {
	b, err := newBuilder(int64(n), int64(n))
	if err != nil {
		return nil, err
	}
	for i := range n {
		b.link(i, (i+1)%n, w)
	}
	return b.done("uniring:%d", n)
}
