//go:build !js

package classic

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// On several planes that cannot be busy with as many blocks each, these are cut, and all links of a rank are busy up to the end; but not where
// that gains nothing.
func TestPlaneParts(t *testing.T) {
	const ranks, planes, bandwidth, latency = 9, 6, 50e9, 700_000
	tp := solvetest.Machine(ranks, planes)
	var direct *method
	for _, s := range All() {
		if s.Name() == "direct" {
			direct = s.(*method)
		}
	}
	for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter, model.AllToAll, model.Scatter, model.Gather} {
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: ranks * 6 << 12, Cost: model.Pipelined}
		require.Equal(t, 3, planeParts(p), "8 blocks on 6 planes")
		r, err := direct.Solve(context.Background(), p, solve.Options{})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.InDelta(t, latency+8*6*(1<<12)/bandwidth/planes*1e12, float64(r.Makespan()), 10_000, "%v", kind)
		p.Size = 8
		require.Equal(t, 1, planeParts(p))
	}
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.Broadcast}, Size: 1 << 20, Cost: model.Pipelined}
	require.Equal(t, 1, planeParts(p))
	for a := 1; a < 30; a++ {
		for b := range 30 {
			d := divisor(a, b)
			require.Zero(t, a%d+b%d)
			for c := d + 1; c <= a; c++ {
				require.NotZero(t, a%c+b%c)
			}
		}
	}
}
