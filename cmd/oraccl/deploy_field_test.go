package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/verify"
)

// doubling is an allgather by recursive doubling as compilers replicate it in two
// instances: either waits for its own receives only, and sends what the other has
// received too.
func doubling(ranks int) *msccl.Algo {
	a := fileOf("doubling", "allgather", ranks, 2*ranks, 2)
	for r := range ranks {
		var peers []int
		for c := 1; c < ranks; c *= 2 {
			peers = append(peers, r^c)
		}
		slices.Sort(peers)
		id := func(c, i int) int { return 2*slices.Index(peers, r^c) + i }
		for _, peer := range peers {
			c := peer ^ r
			for i := range 2 {
				from := func(rank int) int { return rank/c*c*2 + i*c }
				send := st(msccl.Send, bo, from(r), bo, from(r), c)
				if c > 1 {
					send = on(send, id(c/2, i), 1)
				}
				var steps []msccl.Step
				for b := 1; b < c/2; b *= 2 {
					steps = append(steps, on(st(msccl.Nop, bi, -1, bo, -1, 0), id(b, i), 1))
				}
				steps = append(steps, send, signalling(st(msccl.Recv, bo, from(peer), bo, from(peer), c)))
				addTB(a, r, peer, peer, i, steps...)
			}
		}
		for j := range a.GPUs[r].TBs { // receives are the last steps
			for k := range a.GPUs[r].TBs[j].Steps {
				if s := &a.GPUs[r].TBs[j].Steps[k]; s.DepID >= 0 {
					s.Deps = int32(len(a.GPUs[r].TBs[s.DepID].Steps) - 1)
				}
			}
		}
	}
	return a
}

// TestRaceExample: what the one execution that is taken makes of a race, which is how
// the kind says whether the result can be seen to be wrong.
func TestRaceExample(t *testing.T) {
	for ranks, kind := range map[int]string{4: "race", 8: "race+wrong", 16: "race+wrong"} {
		d := judgeAlgo(doubling(ranks))
		require.Equal(t, verify.Refuted, d.outcome)
		require.Equal(t, kind, d.kind, "%d ranks: %+v", ranks, d.bad)
	}
}
