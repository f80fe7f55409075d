package topo

import "github.com/oraccl/oraccl/model"

var fullFamily = Family{"full", "full:N", "N ranks, a link from each to each", byDefault, sized("full:N", 2, Full)}

// Full builds n ranks with a link from each to each.
func Full(n int, w Wire) (*model.Topology, error) {
	b, err := newBuilder(int64(n), int64(n)*int64(n-1))
	if err != nil {
		return nil, err
	}
	for u := range n {
		for v := u + 1; v < n; v++ {
			b.duplex(u, v, w)
		}
	}
	return b.done("full:%d", n)
}
