package classic

import (
	"math/bits"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
)

// Recursive halving and doubling (Rabenseifner, "Optimization of collective
// reduction operations", 2004; Thakur, Rabenseifner and Gropp, "Optimization of
// collective communication operations in MPICH", 2005). Members whose number is
// beyond the largest power of two are folded into others before, and served after.
var halvingBuilders = builders{
	model.ReduceScatter: func(x *plan) { x.halve(x.n, x.same, x.blocks(x.n)) },
	model.AllReduce: folded(func(x *plan, q int, member func(int) int) {
		blocks := x.blocks(q)
		x.halve(q, member, blocks)
		x.double(q, member, blocks)
	}),
}

// Recursive doubling (as above): in step d everyone exchanges all that it has with
// the member whose number differs in bit d.
var doublingBuilders = builders{
	model.AllGather: func(x *plan) { x.double(x.n, x.same, x.blocks(x.n)) },
	model.AllReduce: folded(func(x *plan, q int, member func(int) int) {
		for d := 1; d < q; d *= 2 {
			for _, k := range x.all() {
				var batch []place.Move
				for v := range q {
					batch = append(batch, x.move(k, member(v), member(v^d), model.Reduction))
				}
				x.Batch(batch...)
			}
		}
	}),
}

func (x *plan) same(v int) int { return v }

// halve is the reducescatter: with distances q/2, …, 2, 1 everyone sends away the
// half of its blocks that its partner is to reduce. Member(v) ends with block v.
func (x *plan) halve(q int, member func(int) int, blocks [][]int) {
	for d := q / 2; d > 0; d /= 2 {
		var batch []place.Move
		for v := range q {
			for b := range q {
				if (b^v) < 2*d && (b^v)&d != 0 {
					for _, k := range blocks[b] {
						batch = append(batch, x.move(k, member(v), member(v^d), model.Reduction))
					}
				}
			}
		}
		x.Batch(batch...)
	}
}

// double is the allgather: with distances 1, 2, …, q/2 everyone sends its partner
// all blocks that it has.
func (x *plan) double(q int, member func(int) int, blocks [][]int) {
	for d := 1; d < q; d *= 2 {
		var batch []place.Move
		for v := range q {
			for b := range q {
				if (b ^ v) < d {
					for _, k := range blocks[b] {
						batch = append(batch, x.move(k, member(v), member(v^d), model.Copy))
					}
				}
			}
		}
		x.Batch(batch...)
	}
}

// folded wraps an allreduce for q = 2^⌊log2 n⌋ members.
func folded(build func(x *plan, q int, member func(int) int)) func(*plan) {
	return func(x *plan) {
		q := 1 << (bits.Len(uint(x.n)) - 1)
		x.fold(q, func(member func(int) int) { build(x, q, member) })
	}
}

// fold has build write an allreduce for q members, q >= n/2: of the first 2(n-q) members the
// even ones give all they have to the next, and get the result back.
func (x *plan) fold(q int, build func(member func(int) int)) {
	extra := x.n - q
	member := func(v int) int {
		if v < extra {
			return 2*v + 1
		}
		return v + extra
	}
	for _, k := range x.all() {
		for i := range extra {
			x.Batch(x.move(k, 2*i, 2*i+1, model.Reduction))
		}
	}
	build(member)
	for _, k := range x.all() {
		for i := range extra {
			x.Batch(x.move(k, 2*i+1, 2*i, model.Copy))
		}
	}
}
