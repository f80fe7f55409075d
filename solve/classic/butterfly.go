package classic

import (
	"math/bits"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
)

// butterfly is a sequence of matchings of 2^q members, of which each step takes one: partner(s,
// v) is whom member v meets in step s. From every member all others can be reached by steps in
// ascending order, each taken or left out.
type butterfly struct {
	steps   int
	partner func(step, v int) int
}

// reach returns the members that v reaches by the steps from first on, v included, ascending in
// the steps that are taken.
func (f *butterfly) reach(v, first int) []int {
	reached := []int{v}
	for s := first; s < f.steps; s++ {
		for _, u := range reached {
			reached = append(reached, f.partner(s, u))
		}
	}
	return reached
}

// scatter is the reducescatter: in each step a member sends away the blocks of those that its
// partner reaches later.
func (f *butterfly) scatter(x *plan, blocks [][]int) {
	for s := range f.steps {
		var batch []place.Move
		for v := range x.n {
			u := f.partner(s, v)
			for _, b := range f.reach(u, s+1) {
				batch = append(batch, x.send(blocks[b], v, u, model.Reduction)...)
			}
		}
		x.Batch(batch...)
	}
}

// gather is the allgather: the steps of scatter backwards, in each of which a member sends its
// partner all that it has.
func (f *butterfly) gather(x *plan, blocks [][]int) {
	for s := f.steps - 1; s >= 0; s-- {
		var batch []place.Move
		for v := range x.n {
			for _, b := range f.reach(v, s+1) {
				batch = append(batch, x.send(blocks[b], v, f.partner(s, v), model.Copy)...)
			}
		}
		x.Batch(batch...)
	}
}

// Swing (De Sensi, Bonato, Saam and Hoefler, "Swing: Short-cutting rings for higher bandwidth
// allreduce", NSDI 2024): in step s an even member meets the one ρ(s) places on, an odd one the
// one ρ(s) places back, ρ(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, 11, …, so that the steps
// with much data are short ones. On a torus the dimensions take turns, and each block is cut in
// 2D parts for D dimensions: each begins with another dimension, or is mirrored.
var swingBuilders = builders{
	model.ReduceScatter: swing(func(x *plan, f *butterfly, blocks [][]int) { f.scatter(x, blocks) }),
	model.AllGather:     swing(func(x *plan, f *butterfly, blocks [][]int) { f.gather(x, blocks) }),
	model.AllReduce: swing(func(x *plan, f *butterfly, blocks [][]int) {
		f.scatter(x, blocks)
		f.gather(x, blocks)
	}),
}

func swing(build func(*plan, *butterfly, [][]int)) func(*plan) {
	return func(x *plan) {
		dims := x.grid()
		blocks := x.blocks(x.n)
		for part := range 2 * len(dims) {
			build(x, swingOn(dims, part/2, part%2 == 1), partOf(blocks, part, 2*len(dims)))
		}
	}
}

// swingOn returns Swing's steps on a torus whose dimensions, powers of two, take turns from the
// given one on.
func swingOn(dims []int, first int, mirrored bool) *butterfly {
	type step struct{ stride, size, distance int }
	var steps []step
	taken := make([]int, len(dims)) // steps along each dimension
	for turn := first; len(steps) < bits.Len(uint(product(dims)))-1; turn++ {
		d := turn % len(dims)
		if 1<<taken[d] == dims[d] {
			continue
		}
		distance := swingDistance(taken[d])
		if mirrored {
			distance = -distance
		}
		taken[d]++
		steps = append(steps, step{product(dims[d+1:]), dims[d], distance})
	}
	return &butterfly{len(steps), func(s, v int) int {
		at := v / steps[s].stride % steps[s].size
		to := at + steps[s].distance
		if at%2 == 1 {
			to = at - steps[s].distance
		}
		return v + (mod(to, steps[s].size)-at)*steps[s].stride
	}}
}

// swingDistance returns ρ(s), the sum of (-2)^i for i from 0 to s.
func swingDistance(s int) int {
	sum, power := 0, 1
	for range s + 1 {
		sum, power = sum+power, -2*power
	}
	return sum
}

// Bine trees (De Sensi et al., "Bine trees: enhancing collective operations by optimizing
// communication locality", SC 2025): binomial trees along Swing's matchings, the far ones
// first, so that the members of a subtree lie close to each other.
var bineBuilders = builders{
	model.Broadcast: bine(func(x *plan, batches [][][2]int) {
		for _, batch := range batches {
			for _, e := range batch {
				x.Batch(x.send(x.all(), e[0], e[1], model.Copy)...)
			}
		}
	}),
	model.Reduce: bine(func(x *plan, batches [][][2]int) {
		for s := len(batches) - 1; s >= 0; s-- {
			for _, e := range batches[s] {
				x.Batch(x.send(x.all(), e[1], e[0], model.Reduction)...)
			}
		}
	}),
}

// bine passes the edges of the tree from the root, parent and child, step by step.
func bine(build func(x *plan, batches [][][2]int)) func(*plan) {
	return func(x *plan) {
		f := swingOn([]int{x.n}, 0, false)
		var batches [][][2]int
		reached := []int{x.root}
		for s := f.steps - 1; s >= 0; s-- {
			var batch [][2]int
			for _, v := range reached {
				batch = append(batch, [2]int{v, f.partner(s, v)})
			}
			for _, e := range batch {
				reached = append(reached, e[1])
			}
			batches = append(batches, batch)
		}
		build(x, batches)
	}
}

// grid returns the dimensions of the members: those of a mesh or torus on which all ranks take
// part in order, else one.
func (x *plan) grid() []int {
	if dims := gridOf(x.p); dims != nil {
		return dims
	}
	return []int{x.n}
}

// gridOf returns the dimensions of a mesh or torus on which all ranks take part in order, or
// nil.
func gridOf(p *model.Problem) []int {
	for i, r := range p.Members() {
		if i != r {
			return nil
		}
	}
	if len(p.Members()) != p.Topology.Ranks || p.Topology.Nodes() != p.Topology.Ranks {
		return nil
	}
	return p.Topology.Grid()
}

// partOf returns each count-th chunk of each block from the given one on.
func partOf(blocks [][]int, first, count int) [][]int {
	part := make([][]int, len(blocks))
	for b, chunks := range blocks {
		for i := first; i < len(chunks); i += count {
			part[b] = append(part[b], chunks[i])
		}
	}
	return part
}

func product(factors []int) int {
	n := 1
	for _, f := range factors {
		n *= f
	}
	return n
}

// mod returns a modulo n, at least 0.
func mod(a, n int) int { return ((a % n) + n) % n }
