// Package msccltest has files of MSCCL-IR for tests, and an executor of such files that shares
// nothing with the verifiers.
package msccltest

import (
	"strings"

	"github.com/oraccl/oraccl/model/format/msccl"
)

// Buf names a buffer of a rank.
type Buf = msccl.Buf

// The buffers.
const (
	Bi = msccl.Input
	Bo = msccl.Output
	Bs = msccl.Scratch
)

// New begins a file.
func New(name, coll string, ranks, chunks, channels int) *msccl.Algo {
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

// Step returns a step without dependencies.
func Step(t msccl.Type, src Buf, srcOff int, dst Buf, dstOff, count int) msccl.Step {
	return msccl.Step{Type: t, Src: src, SrcOff: int32(srcOff), Dst: dst, DstOff: int32(dstOff), Count: int32(count), DepID: -1, Deps: -1}
}

// After makes a step wait, signalling one that others may wait for.
func After(s msccl.Step, tb, step int) msccl.Step {
	s.DepID, s.Deps = int32(tb), int32(step)
	return s
}

// Signalling returns a step that others may wait for.
func Signalling(s msccl.Step) msccl.Step {
	s.HasDep = 1
	return s
}

// AddTB adds a threadblock and numbers its steps.
func AddTB(a *msccl.Algo, gpu, send, recv, channel int, steps ...msccl.Step) {
	for i := range steps {
		steps[i].S = int32(i)
	}
	g := &a.GPUs[gpu]
	g.TBs = append(g.TBs, msccl.TB{ID: len(g.TBs), Send: send, Recv: recv, Channel: channel, Steps: steps})
}

// AllPairs adds in scratch: every rank sends every other its chunk, adds the ones that
// it gets in a chain of re after nops, and sends the sum.
func AllPairs(ranks int) *msccl.Algo { return AllPairsOf(ranks, 1) }

// AllPairsOf is allPairs with messages of some chunks each, which are sent before any are
// received: large buffers need as many slots.
func AllPairsOf(ranks, chunks int) *msccl.Algo {
	a := New("allpairs", "allreduce", ranks, ranks*chunks, 1)
	for r := range ranks {
		a.GPUs[r].Scratch = (ranks - 1) * chunks
		var gather []msccl.Step
		mine := r * chunks
		for d := 1; d < ranks; d++ {
			peer := (r + d) % ranks
			its := peer * chunks
			AddTB(a, r, peer, peer, 0,
				Step(msccl.Send, Bi, its, Bi, its, chunks),
				Signalling(Step(msccl.Recv, Bi, mine, Bs, (d-1)*chunks, chunks)),
				After(Step(msccl.Send, Bi, mine, Bi, mine, chunks), ranks-1, 2*ranks-4),
				Step(msccl.Recv, Bi, its, Bi, its, chunks))
			if d < ranks-1 {
				gather = append(gather, After(Step(msccl.Nop, Bi, 0, Bi, 0, 0), d-1, 1))
			}
		}
		for d := 1; d < ranks; d++ {
			re := Step(msccl.Reduce, Bs, (d-1)*chunks, Bi, mine, chunks)
			if d == 1 {
				re = After(re, ranks-2, 1)
			}
			if d == ranks-1 {
				re = Signalling(re)
			}
			gather = append(gather, re)
		}
		AddTB(a, r, -1, -1, 0, gather...)
	}
	return a
}

// Halving is recursive halving and doubling on four ranks, a threadblock a peer.
func Halving() *msccl.Algo {
	a := New("halving", "allreduce", 4, 4, 1)
	for r := range 4 {
		half, other := r&2, (r&2)^2 // the halves that this rank keeps, and gives
		mine, gives := r, r^1
		AddTB(a, r, r^1, r^1, 0,
			After(Step(msccl.Send, Bi, gives, Bi, gives, 1), 1, 1),
			Signalling(Step(msccl.RecvReduceCopy, Bi, mine, Bi, mine, 1)),
			Step(msccl.Send, Bi, mine, Bi, mine, 1),
			Signalling(Step(msccl.Recv, Bi, gives, Bi, gives, 1)))
		AddTB(a, r, r^2, r^2, 0,
			Step(msccl.Send, Bi, other, Bi, other, 2),
			Signalling(Step(msccl.RecvReduceCopy, Bi, half, Bi, half, 2)),
			After(Step(msccl.Send, Bi, half, Bi, half, 2), 0, 3),
			Step(msccl.Recv, Bi, other, Bi, other, 2))
	}
	return a
}

// tree reduces to rank 0, which 1 and 2 report to, and 3 to 1; and back.
func tree() *msccl.Algo {
	a := New("tree", "allreduce", 4, 2, 1)
	add, send, recv := Step(msccl.RecvReduceCopy, Bi, 0, Bi, 0, 2), Step(msccl.Send, Bi, 0, Bi, 0, 2), Step(msccl.Recv, Bi, 0, Bi, 0, 2)
	AddTB(a, 0, 1, 1, 0, Signalling(add), After(send, 1, 0))
	AddTB(a, 0, 2, 2, 0, Signalling(After(add, 0, 0)), send)
	AddTB(a, 1, 0, 0, 0, After(send, 1, 0), Signalling(recv))
	AddTB(a, 1, 3, 3, 0, Signalling(add), After(send, 0, 1))
	AddTB(a, 2, 0, 0, 0, send, recv)
	AddTB(a, 3, 1, 1, 0, send, recv)
	return a
}

// ExchangeAll is an alltoall out of place.
func ExchangeAll(ranks int) *msccl.Algo {
	a := New("alltoall", "alltoall", ranks, ranks, 1)
	a.InPlace, a.OutPlace = false, true
	for r := range ranks {
		for d := 1; d < ranks; d++ {
			peer := (r + d) % ranks
			AddTB(a, r, peer, peer, 0, Step(msccl.Send, Bi, peer, Bo, r, 1), Step(msccl.Recv, Bi, r, Bo, peer, 1))
		}
		AddTB(a, r, -1, -1, 0, Step(msccl.Copy, Bi, r, Bo, r, 1))
	}
	return a
}

// GatherRing is an allgather along a ring, two chunks a step, and two threadblocks a
// rank: one receives, one sends what it has received.
func GatherRing(ranks int) *msccl.Algo {
	a := New("gather", "allgather", ranks, 2*ranks, 1)
	for r := range ranks {
		var sends, recvs []msccl.Step
		for i := range ranks - 1 {
			out, in := 2*((r+ranks-i)%ranks), 2*((r+2*ranks-1-i)%ranks)
			s := Step(msccl.Send, Bo, out, Bo, out, 2)
			if i > 0 {
				s = After(s, 1, i-1)
			}
			sends = append(sends, s)
			recvs = append(recvs, Signalling(Step(msccl.Recv, Bo, in, Bo, in, 2)))
		}
		AddTB(a, r, (r+1)%ranks, -1, 0, sends...)
		AddTB(a, r, -1, (r+ranks-1)%ranks, 0, recvs...)
	}
	return a
}

// ScatterRing is a reduce-scatter along a ring.
func ScatterRing(ranks int) *msccl.Algo {
	a := New("scatter", "reducescatter", ranks, ranks, 1)
	for r := range ranks {
		next, before := (r+1)%ranks, (r+ranks-1)%ranks
		steps := []msccl.Step{Step(msccl.Send, Bi, before, Bi, before, 1)}
		for i := 2; i < ranks; i++ {
			c := (r + ranks - i) % ranks
			steps = append(steps, Step(msccl.RecvReduceSend, Bi, c, Bi, c, 1))
		}
		steps = append(steps, Step(msccl.RecvReduceCopy, Bi, r, Bo, 0, 1))
		AddTB(a, r, next, before, 0, steps...)
	}
	return a
}

// Bases returns right files of several shapes.
func Bases() []*msccl.Algo {
	ring, err := msccl.Read("ring", strings.NewReader(Rings(4, 2)))
	if err != nil {
		panic(err)
	}
	return []*msccl.Algo{ring, AllPairs(3), AllPairs(4), Halving(), tree(), ExchangeAll(4), GatherRing(4), ScatterRing(4)}
}
