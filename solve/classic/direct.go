package classic

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
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
	model.Custom:        directCustom,
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

// directCustom sends each chunk of a custom collective from a rank that has it to those that want it, or, if
// ranks sum up, to the one that wants the sum.
func directCustom(x *plan) {
	n := x.p.Topology.Ranks
	away := make([][]place.Move, n) // by how many ranks on
	add := func(k, from, to int, op model.Op) {
		d := (to - from + n) % n
		away[d] = append(away[d], place.Move{Chunk: k, Src: from, Dst: to, Op: op})
	}
	if solve.SumsUp(x.p) {
		for k := range x.p.Chunks {
			for to := range x.p.Goal(k) {
				for _, from := range x.members {
					if from != to {
						add(k, from, to, model.Reduction)
					}
				}
			}
		}
	} else if pt, err := network.Spreading(x.p); err == nil {
		for k, from := range pt.From {
			for i, to := range pt.Goals(k, n) {
				if !slices.Contains(from, to) {
					add(k, int(from[i%len(from)]), int(to), model.Copy)
				}
			}
		}
	}
	for _, moves := range away {
		x.Batch(moves...)
	}
}

// servesCustom returns an error unless directCustom serves p, and else how many transfers it makes.
func servesCustom(p *model.Problem) (transfers int64, err error) {
	p = network.Parts(p)
	if solve.SumsUp(p) {
		return int64(len(p.Chunks)) * int64(len(p.Members())-1), nil
	}
	pt, err := network.Spreading(p)
	if err != nil {
		return 0, err
	}
	for k := range pt.From {
		transfers += int64(len(pt.Goals(k, p.Topology.Ranks)))
	}
	return transfers, nil
}
