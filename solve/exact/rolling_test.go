package exact

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestOtherAims: the round-wise heuristic and TE-CCL's reward give right schedules, no
// shorter than the least.
func TestOtherAims(t *testing.T) {
	for _, c := range []struct {
		name string
		kind model.Kind
		cost model.CostModel
	}{
		{"ring:5", model.AllGather, model.Pipelined}, {"mesh:2x3", model.Scatter, model.Blocking}, {"switch:4", model.ReduceScatter, model.Rounds},
		{"line:3", model.AllReduce, model.Pipelined}, {"uniring:4", model.AllToAll, model.LinkRounds}, {"hypercube:3", model.Broadcast, model.Blocking},
	} {
		t.Run(c.name, func(t *testing.T) {
			tp, err := topo.Parse(c.name, topo.Options{})
			require.NoError(t, err)
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: c.kind}, Size: 1 << 20, Cost: c.cost}
			least, err := New().Solve(context.Background(), p, solve.Options{})
			require.NoError(t, err)
			for _, m := range []solve.Solver{NewReward(), NewRolling()} {
				r, err := m.Solve(context.Background(), p, solve.Options{})
				require.NoError(t, err)
				require.NotNil(t, r.Schedule, "%s: %s", m.Name(), r.Note)
				require.NoError(t, solvetest.Right(r.Problem, r.Schedule), m.Name())
				require.GreaterOrEqual(t, r.Makespan(), least.Makespan(), m.Name())
				t.Logf("%s: %v, least %v: %s", m.Name(), r.Makespan(), least.Makespan(), r.Note)
			}
		})
	}
}

// TestRewardAmongSome: ranks that take no part get nothing that is then missing where a
// reduction is read backwards.
func TestRewardAmongSome(t *testing.T) {
	tp, err := topo.Parse("full:4", topo.Options{})
	require.NoError(t, err)
	for _, kind := range []model.Kind{model.Reduce, model.ReduceScatter, model.AllReduce} {
		for _, cost := range []model.CostModel{model.Pipelined, model.LinkRounds} {
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind, Group: []int{0, 2, 3}}, Size: 1 << 20, Cost: cost}
			r, err := NewReward().Solve(context.Background(), p, solve.Options{})
			require.NoError(t, err)
			require.NotNil(t, r.Schedule, r.Note)
			require.NoError(t, solvetest.Right(r.Problem, r.Schedule), "%v", p)
		}
	}
}

// TestGrids: the grids get finer and round less, and one that divides all times is the last.
func TestGrids(t *testing.T) {
	tp := &model.Topology{Name: "two speeds", Ranks: 3, Links: []model.Link{
		{Src: 0, Dst: 1, Bandwidth: 3e9}, {Src: 1, Dst: 2, Bandwidth: 2e9}, {Src: 2, Dst: 0, Bandwidth: 3e9}}}
	p := (&model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 18000, Cost: model.Pipelined}).WithChunks(3)
	r, err := New().Solve(context.Background(), p, solve.Options{})
	require.NoError(t, err)
	require.Contains(t, r.Note, "grid of 4 epochs of 2us")
	require.Contains(t, r.Note, "rounded up by at most 33 %, so that according to the solver nothing ends before 4.5us")
	require.Contains(t, r.Note, "grid of 6 epochs of 1us")
	require.Contains(t, r.Note, "no time is rounded, so that according to the solver nothing ends before 5us")
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
}
