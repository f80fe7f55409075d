//go:build !js

package oneshot

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// onPlanes returns a search on a machine of some ranks and planes.
func onPlanes(ranks, planes int, size int64, cost model.CostModel) *search {
	b, _ := solve.NewBudget(context.Background(), 0, 1)
	p := &model.Problem{Topology: solvetest.Machine(ranks, planes), Collective: model.Collective{Kind: model.AllReduce}, Size: size, Cost: cost}
	return &search{p: p, b: b, ways: &ways{}, others: model.MaxTime, most: maxMixed, large: map[int]int64{}}
}

// What is kept of a mixture on planes is right, is over when it was said to be, and shares all of the buffer.
func TestPlanes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(3, 12).Draw(t, "ranks"), rapid.IntRange(1, 5).Draw(t, "planes")
		cost := rapid.SampledFrom([]model.CostModel{model.Pipelined, model.Blocking}).Draw(t, "cost")
		s := onPlanes(n, k, rapid.Int64Range(1, 1<<20).Draw(t, "bytes"), cost)
		x := s.planes()
		require.NotNil(t, x)
		require.Len(t, x.Up, k)
		d := share{
			units:  rapid.Int64Range(0, s.p.Size/s.unit()).Draw(t, "one-shot"),
			parts:  rapid.IntRange(1, 16).Draw(t, "parts"),
			pieces: rapid.IntRange(1, 9).Draw(t, "pieces"),
		}
		end, ok := x.run(d, nil)
		if !ok {
			return
		}
		x.keep(d)
		require.Equal(t, end, s.makespan)
		r := s.result(solve.Done)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	})
}

// The mixture is near the bounds of the formulas, for all sizes and for one plane or several: see the package's comment.
func TestPlanesAreNearTheBound(t *testing.T) {
	for _, n := range []int{4, 8, 24} {
		for _, k := range []int{1, 4} {
			for size := int64(1 << 10); size <= 1<<22; size *= 4 {
				s := onPlanes(n, k, size, model.Pipelined)
				s.mix()
				a, all, others := 700_000.0, float64(n), float64(n-1)
				x := float64(size) / 50e9 / float64(k) * 1e12
				bound := a + 2*others*x/all
				if others*x <= all*a {
					bound = max(bound, x+a*(2*all-3)/others)
				}
				if others*x <= a {
					bound = a + others*x
				}
				require.Greater(t, float64(s.makespan), bound*0.98, "%d ranks, %d planes, %d bytes", n, k, size) // planes are not divisible
				require.Less(t, float64(s.makespan), bound*1.03, "%d ranks, %d planes, %d bytes", n, k, size)
				r := s.result(solve.Done)
				require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
			}
		}
	}
}

// A machine that has lost a link still has the other planes.
func TestPlanesWithoutLink(t *testing.T) {
	s := onPlanes(9, 4, 1<<18, model.Pipelined)
	s.planes().mix()
	before := s.makespan
	s = onPlanes(9, 4, 1<<18, model.Pipelined)
	s.p.Topology.Links = s.p.Topology.Links[1:]
	s.planes().mix()
	require.Greater(t, s.makespan, before)
	require.Less(t, s.makespan, before+before/3) // three planes of four
	r := s.result(solve.Done)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
}
