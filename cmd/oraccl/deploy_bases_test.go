package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model/format/msccl"
)

// Right files of several shapes, for the mutations.

type places = msccl.Buf

const (
	bi = msccl.Input
	bo = msccl.Output
	bs = msccl.Scratch
)

// fileOf begins a file.
func fileOf(name, coll string, ranks, chunks, channels int) *msccl.Algo {
	a := &msccl.Algo{File: name, Name: name, Proto: "Simple", Coll: coll, Channels: channels, ChunksPerLoop: chunks, Ranks: ranks,
		InPlace: true, HasOutPlace: true, HasMin: true, HasMax: true, MaxBytes: 1 << 30}
	for r := range ranks {
		g := msccl.GPU{ID: r, Input: chunks, Output: chunks}
		switch coll {
		case "allgather":
			g.Input = chunks / ranks
		case "reduce_scatter", "reducescatter":
			g.Output = chunks / ranks
		}
		a.GPUs = append(a.GPUs, g)
	}
	return a
}

func st(t msccl.Type, src places, srcOff int, dst places, dstOff, count int) msccl.Step {
	return msccl.Step{Type: t, Src: src, SrcOff: int32(srcOff), Dst: dst, DstOff: int32(dstOff), Count: int32(count), DepID: -1, Deps: -1}
}

// on makes a step wait, signalling one that others may wait for.
func on(s msccl.Step, tb, step int) msccl.Step {
	s.DepID, s.Deps = int32(tb), int32(step)
	return s
}

func signalling(s msccl.Step) msccl.Step {
	s.HasDep = 1
	return s
}

// addTB adds a threadblock and numbers its steps.
func addTB(a *msccl.Algo, gpu, send, recv, channel int, steps ...msccl.Step) {
	for i := range steps {
		steps[i].S = int32(i)
	}
	g := &a.GPUs[gpu]
	g.TBs = append(g.TBs, msccl.TB{ID: len(g.TBs), Send: send, Recv: recv, Channel: channel, Steps: steps})
}

// allPairs adds in scratch: every rank sends every other its chunk, adds the ones that
// it gets in a chain of re after nops, and sends the sum.
func allPairs(ranks int) *msccl.Algo { return allPairsOf(ranks, 1) }

// allPairsOf is allPairs with messages of some chunks each, which are sent before any are
// received: large buffers need as many slots.
func allPairsOf(ranks, chunks int) *msccl.Algo {
	a := fileOf("allpairs", "allreduce", ranks, ranks*chunks, 1)
	for r := range ranks {
		a.GPUs[r].Scratch = (ranks - 1) * chunks
		var gather []msccl.Step
		mine := r * chunks
		for d := 1; d < ranks; d++ {
			peer := (r + d) % ranks
			its := peer * chunks
			addTB(a, r, peer, peer, 0,
				st(msccl.Send, bi, its, bi, its, chunks),
				signalling(st(msccl.Recv, bi, mine, bs, (d-1)*chunks, chunks)),
				on(st(msccl.Send, bi, mine, bi, mine, chunks), ranks-1, 2*ranks-4),
				st(msccl.Recv, bi, its, bi, its, chunks))
			if d < ranks-1 {
				gather = append(gather, on(st(msccl.Nop, bi, 0, bi, 0, 0), d-1, 1))
			}
		}
		for d := 1; d < ranks; d++ {
			re := st(msccl.Reduce, bs, (d-1)*chunks, bi, mine, chunks)
			if d == 1 {
				re = on(re, ranks-2, 1)
			}
			if d == ranks-1 {
				re = signalling(re)
			}
			gather = append(gather, re)
		}
		addTB(a, r, -1, -1, 0, gather...)
	}
	return a
}

// halving is recursive halving and doubling on four ranks, a threadblock a peer.
func halving() *msccl.Algo {
	a := fileOf("halving", "allreduce", 4, 4, 1)
	for r := range 4 {
		half, other := r&2, (r&2)^2 // the halves that this rank keeps, and gives
		mine, gives := r, r^1
		addTB(a, r, r^1, r^1, 0,
			on(st(msccl.Send, bi, gives, bi, gives, 1), 1, 1),
			signalling(st(msccl.RecvReduceCopy, bi, mine, bi, mine, 1)),
			st(msccl.Send, bi, mine, bi, mine, 1),
			signalling(st(msccl.Recv, bi, gives, bi, gives, 1)))
		addTB(a, r, r^2, r^2, 0,
			st(msccl.Send, bi, other, bi, other, 2),
			signalling(st(msccl.RecvReduceCopy, bi, half, bi, half, 2)),
			on(st(msccl.Send, bi, half, bi, half, 2), 0, 3),
			st(msccl.Recv, bi, other, bi, other, 2))
	}
	return a
}

// tree reduces to rank 0, which 1 and 2 report to, and 3 to 1; and back.
func tree() *msccl.Algo {
	a := fileOf("tree", "allreduce", 4, 2, 1)
	add, send, recv := st(msccl.RecvReduceCopy, bi, 0, bi, 0, 2), st(msccl.Send, bi, 0, bi, 0, 2), st(msccl.Recv, bi, 0, bi, 0, 2)
	addTB(a, 0, 1, 1, 0, signalling(add), on(send, 1, 0))
	addTB(a, 0, 2, 2, 0, signalling(on(add, 0, 0)), send)
	addTB(a, 1, 0, 0, 0, on(send, 1, 0), signalling(recv))
	addTB(a, 1, 3, 3, 0, signalling(add), on(send, 0, 1))
	addTB(a, 2, 0, 0, 0, send, recv)
	addTB(a, 3, 1, 1, 0, send, recv)
	return a
}

// exchangeAll is an alltoall out of place.
func exchangeAll(ranks int) *msccl.Algo {
	a := fileOf("alltoall", "alltoall", ranks, ranks, 1)
	a.InPlace, a.OutPlace = false, true
	for r := range ranks {
		for d := 1; d < ranks; d++ {
			peer := (r + d) % ranks
			addTB(a, r, peer, peer, 0, st(msccl.Send, bi, peer, bo, r, 1), st(msccl.Recv, bi, r, bo, peer, 1))
		}
		addTB(a, r, -1, -1, 0, st(msccl.Copy, bi, r, bo, r, 1))
	}
	return a
}

// gatherRing is an allgather along a ring, two chunks a step, and two threadblocks a
// rank: one receives, one sends what it has received.
func gatherRing(ranks int) *msccl.Algo {
	a := fileOf("gather", "allgather", ranks, 2*ranks, 1)
	for r := range ranks {
		var sends, recvs []msccl.Step
		for i := range ranks - 1 {
			out, in := 2*((r+ranks-i)%ranks), 2*((r+2*ranks-1-i)%ranks)
			s := st(msccl.Send, bo, out, bo, out, 2)
			if i > 0 {
				s = on(s, 1, i-1)
			}
			sends = append(sends, s)
			recvs = append(recvs, signalling(st(msccl.Recv, bo, in, bo, in, 2)))
		}
		addTB(a, r, (r+1)%ranks, -1, 0, sends...)
		addTB(a, r, -1, (r+ranks-1)%ranks, 0, recvs...)
	}
	return a
}

// scatterRing is a reduce-scatter along a ring.
func scatterRing(ranks int) *msccl.Algo {
	a := fileOf("scatter", "reducescatter", ranks, ranks, 1)
	for r := range ranks {
		next, before := (r+1)%ranks, (r+ranks-1)%ranks
		steps := []msccl.Step{st(msccl.Send, bi, before, bi, before, 1)}
		for i := 2; i < ranks; i++ {
			c := (r + ranks - i) % ranks
			steps = append(steps, st(msccl.RecvReduceSend, bi, c, bi, c, 1))
		}
		steps = append(steps, st(msccl.RecvReduceCopy, bi, r, bo, 0, 1))
		addTB(a, r, next, before, 0, steps...)
	}
	return a
}

func deployBases(t *testing.T) []*msccl.Algo {
	ring, err := msccl.Read("ring", strings.NewReader(rings(4, 2)))
	require.NoError(t, err)
	return []*msccl.Algo{ring, allPairs(3), allPairs(4), halving(), tree(), exchangeAll(4), gatherRing(4), scatterRing(4)}
}
