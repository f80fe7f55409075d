package classic

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
)

// PAT, parallel aggregated trees (Jeaugey, "PAT: a new algorithm for all-gather and
// reduce-scatter operations at scale", arXiv:2506.20252), as NCCL has them where there is room
// for all chunks: Bruck's trees with the far steps first, ⌈log2 n⌉ steps for every n. Far steps
// carry one block per member, near ones up to n/2.
var patBuilders = builders{
	model.AllGather: func(x *plan) {
		blocks := x.blocks(x.n)
		for d := top(2 * x.n); d > 0; d /= 2 {
			x.Batch(x.aggregated(blocks, d, model.Copy)...)
		}
	},
	model.ReduceScatter: func(x *plan) {
		blocks := x.blocks(x.n)
		for d := 1; d < x.n; d *= 2 {
			x.Batch(x.aggregated(blocks, d, model.Reduction)...)
		}
	},
}

// aggregated returns the moves of distance d of all trees: those m places after the tree's
// owner, m a multiple of 2d, and those d further on.
func (x *plan) aggregated(blocks [][]int, d int, op model.Op) (moves []place.Move) {
	for owner := range x.n {
		for m := 0; m+d < x.n; m += 2 * d {
			near, far := owner+m, owner+m+d
			if op == model.Reduction {
				near, far = far, near
			}
			moves = append(moves, x.send(blocks[owner], near, far, op)...)
		}
	}
	return moves
}

// maxRadix is the most members that meet in a step of recursive multiplying.
const maxRadix = 4

// Recursive multiplying (Ruefenacht, Bull and Booth, "Generalisation of recursive doubling for
// AllReduce", Parallel Computing 2017; MPICH): in each step up to four members exchange all that
// they have, where recursive doubling has two. For small buffers: a member's last send of a step
// has to start before what it sends is replaced.
var multiplyingBuilders = builders{
	model.AllReduce: func(x *plan) {
		q, radices := multiplied(x.n)
		x.fold(q, func(member func(int) int) {
			d := 1
			for _, radix := range radices {
				for _, k := range x.all() {
					var batch []place.Move
					for v := range q {
						for i := 1; i < radix; i++ {
							at := v / d % radix
							batch = append(batch, x.move(k, member(v), member(v+((at+i)%radix-at)*d), model.Reduction))
						}
					}
					x.Batch(batch...)
				}
				d *= radix
			}
		})
	},
}

// multiplied returns the largest q <= n with 2q > n that is a product of at most one factor of
// 2 or 3 and of fours, and these factors.
func multiplied(n int) (q int, radices []int) {
	for _, first := range []int{1, 2, 3} {
		r := []int{}
		p := first
		if first > 1 {
			r = append(r, first)
		}
		for p*maxRadix <= n {
			p *= maxRadix
			r = append(r, maxRadix)
		}
		if p > q && p <= n {
			q, radices = p, r
		}
	}
	return q, radices
}
