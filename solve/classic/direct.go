package classic

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/place"
)

// The direct algorithms: each rank sends what it has straight to those that need
// it, in step s to the member s places on, so that nobody is everybody's first.
var directBuilders = builders{
	model.Broadcast:     directBroadcast,
	model.Scatter:       directScatter,
	model.Gather:        directGather,
	model.Reduce:        directReduce,
	model.AllGather:     directAllGather,
	model.ReduceScatter: directReduceScatter,
	model.AllReduce:     both(directReduceScatter, directAllGather),
	model.AllToAll:      directAllToAll,
}

// staggered writes, for each distance 1..n-1, one batch of the moves that visit
// returns for each member.
func (x *plan) staggered(visit func(from, to int) []place.Move) {
	for d := 1; d < x.n; d++ {
		var batch []place.Move
		for i := range x.n {
			batch = append(batch, visit(i, (i+d)%x.n)...)
		}
		x.Batch(batch...)
	}
}

// send returns the moves of some chunks.
func (x *plan) send(chunks []int, from, to int, op model.Op) []place.Move {
	moves := make([]place.Move, len(chunks))
	for i, k := range chunks {
		moves[i] = x.move(k, from, to, op)
	}
	return moves
}

func directBroadcast(x *plan) {
	for d := 1; d < x.n; d++ {
		x.Batch(x.send(x.all(), x.root, x.root+d, model.Copy)...)
	}
}

func directReduce(x *plan) {
	for d := 1; d < x.n; d++ {
		x.Batch(x.send(x.all(), x.root+d, x.root, model.Reduction)...)
	}
}

func directScatter(x *plan) {
	blocks := x.blocks(x.n)
	for d := 1; d < x.n; d++ {
		x.Batch(x.send(blocks[(x.root+d)%x.n], x.root, x.root+d, model.Copy)...)
	}
}

func directGather(x *plan) {
	blocks := x.blocks(x.n)
	for d := 1; d < x.n; d++ {
		x.Batch(x.send(blocks[(x.root+d)%x.n], x.root+d, x.root, model.Copy)...)
	}
}

func directAllGather(x *plan) {
	blocks := x.blocks(x.n)
	x.staggered(func(from, to int) []place.Move { return x.send(blocks[from], from, to, model.Copy) })
}

func directReduceScatter(x *plan) {
	blocks := x.blocks(x.n)
	x.staggered(func(from, to int) []place.Move { return x.send(blocks[to], from, to, model.Reduction) })
}

func directAllToAll(x *plan) {
	pairs := x.pairs()
	x.staggered(func(from, to int) []place.Move { return x.send(pairs[from*x.n+to], from, to, model.Copy) })
}

// pairs returns the chunks of each shard of an alltoall.
func (x *plan) pairs() [][]int {
	pairs := make([][]int, x.n*x.n)
	for k := range x.p.Chunks {
		s := x.p.Shard(k)
		pairs[s] = append(pairs[s], k)
	}
	return pairs
}
