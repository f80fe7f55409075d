package quotient_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/solve/quotient"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// On networks whose symmetries move every link the schedules are close to the bound for every
// cut, with few chunks.
func TestCloseToTheBound(t *testing.T) {
	for _, c := range []struct {
		topology string
		kind     model.Kind
		size     int64
		gap      float64 // at most, in percent
		chunks   int     // per rank, at most
	}{
		{"dgxh100:2", model.AllGather, 1 << 30, 0.1, 16},
		{"dgxh100:2", model.AllReduce, 1 << 30, 0.1, 16},
		{"dgxh100:2", model.AllGather, 8 << 20, 0.1, 16},
		{"dgxa100:2", model.AllGather, 1 << 30, 0.1, 16},
		{"dragonfly:3x2x2", model.AllGather, 1 << 30, 0.1, 16},
		{"torus:4x4", model.AllGather, 1 << 30, 0.1, 16},
		{"fattree:4x4", model.AllGather, 1 << 30, 0.1, 16},
	} {
		tp, err := topo.Parse(c.topology, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: c.kind}, Size: c.size, Cost: model.Pipelined}
		least, err := bound.Best(context.Background(), p)
		require.NoError(t, err)
		r, err := quotient.New().Solve(context.Background(), p, solve.Options{Seed: 1})
		require.NoError(t, err)
		require.NotNil(t, r.Schedule)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		gap := 100 * float64(model.GapOf(r.Makespan(), least.Estimate))
		t.Logf("%s %v %d: %.3f %% with %d chunks; %s", c.topology, c.kind, c.size, gap, len(r.Problem.Chunks), r.Note)
		require.LessOrEqual(t, gap, c.gap, "%s %v", c.topology, c.kind)
		require.LessOrEqual(t, len(r.Problem.Chunks), c.chunks*tp.Ranks)
	}
}
