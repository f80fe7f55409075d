package classic

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
)

// Bucket algorithms on meshes and tori (Jain and Sabharwal, "Optimal bucket algorithms for
// large MPI collectives on torus interconnects", ICS 2010; Sack and Gropp, "Collective
// algorithms for multiported torus networks", 2015): the ring algorithm along one dimension
// after the other. Each block is cut in 2D parts for D dimensions: each begins with another
// dimension, or goes round the other way, so that all links are used at once.
var bucketBuilders = builders{
	model.ReduceScatter: bucket(bucketScatter, nil),
	model.AllGather:     bucket(nil, bucketGather),
	model.AllReduce:     bucket(bucketScatter, bucketGather),
}

// bucket writes for each part the given phases, along the dimensions forwards and backwards.
func bucket(scatter, gather func(x *plan, dims, order []int, way int, blocks [][]int)) func(*plan) {
	return func(x *plan) {
		dims := x.grid()
		blocks := x.blocks(x.n)
		for part := range 2 * len(dims) {
			var order []int
			for i := range dims {
				order = append(order, (part/2+i)%len(dims))
			}
			way := 1 - 2*(part%2)
			if scatter != nil {
				scatter(x, dims, order, way, partOf(blocks, part, 2*len(dims)))
			}
			if gather != nil {
				gather(x, dims, order, way, partOf(blocks, part, 2*len(dims)))
			}
		}
	}
}

// bucketScatter has each member end with the sum of its own block. Along a dimension, in step t,
// a member sends on the blocks of those t+1 places back, among the blocks of members that have its
// coordinates in the dimensions before.
func bucketScatter(x *plan, dims, order []int, way int, blocks [][]int) {
	for i, d := range order {
		stride := product(dims[d+1:])
		for t := range dims[d] - 1 {
			var batch []place.Move
			for v := range x.n {
				at := v / stride % dims[d]
				for b := range x.n {
					if b/stride%dims[d] == mod(at-way*(t+1), dims[d]) && alike(v, b, dims, order[:i]) {
						batch = append(batch, x.send(blocks[b], v, along(v, at, way, stride, dims[d]), model.Reduction)...)
					}
				}
			}
			x.Batch(batch...)
		}
	}
}

// bucketGather is bucketScatter backwards, with copies.
func bucketGather(x *plan, dims, order []int, way int, blocks [][]int) {
	for i := len(order) - 1; i >= 0; i-- {
		d := order[i]
		stride := product(dims[d+1:])
		for t := range dims[d] - 1 {
			var batch []place.Move
			for v := range x.n {
				at := v / stride % dims[d]
				for b := range x.n {
					if b/stride%dims[d] == mod(at-way*t, dims[d]) && alike(v, b, dims, order[:i]) {
						batch = append(batch, x.send(blocks[b], v, along(v, at, way, stride, dims[d]), model.Copy)...)
					}
				}
			}
			x.Batch(batch...)
		}
	}
}

// along returns the next member of a row, one way or the other.
func along(v, at, way, stride, size int) int { return v + (mod(at+way, size)-at)*stride }

// alike reports whether two members have the same coordinates in some dimensions.
func alike(u, v int, dims, which []int) bool {
	for _, d := range which {
		stride := product(dims[d+1:])
		if u/stride%dims[d] != v/stride%dims[d] {
			return false
		}
	}
	return true
}
