package innetwork_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/innetwork"
)

func problem(t *testing.T, name string, size int64, cost model.CostModel) *model.Problem {
	t.Helper()
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: size, Cost: cost}
}

func run(t *testing.T, p *model.Problem, o solve.Options) solve.Result {
	t.Helper()
	r, err := innetwork.All()[0].Solve(context.Background(), p, o)
	require.NoError(t, err)
	require.NotNil(t, r.Schedule)
	require.NoError(t, r.Schedule.Validate(r.Problem))
	return r
}

// TestFluid: the times that the package comment has, in the limit of small chunks: where n ranks
// read sums (1+1/n)·S/B, where they are turned round S/B and a latency, and between machines
// what their NICs need.
func TestFluid(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		name string
		want float64 // us
		over float64
	}{
		{"dgxh100-nvls", 9. / 8 * gib / 450e3, 0.01},
		{"dgxb200-nvls", 9. / 8 * gib / 900e3, 0.01},
		{"switch:4:read", 5. / 4 * gib / 53687.0912, 0.01},
		{"switch:16:read", 17. / 16 * gib / 53687.0912, 0.01},
		{"switch:16:turn", gib / 53687.0912, 0.0001},
		{"dgxh100-nvls:2", gib / 400e3, 0.01},
		{"dgxh100-nvls:4", 1.5 * gib / 400e3, 0.02},
		{"dgxh100-nvls:4:sharp", gib / 400e3, 0.012},
		{"dgxh100-nvls:4:rails+sharp", gib / 400e3, 0.012},
		{"dgxh100-nvls:4:spine+sharp", gib / 400e3, 0.012},
	} {
		got := float64(run(t, problem(t, c.name, gib, model.Pipelined), solve.Options{}).Makespan()) / 1e6
		require.LessOrEqual(t, got, c.want*(1+c.over), c.name)
		require.GreaterOrEqual(t, got, c.want, c.name)
	}
}

// TestNotServed: what is left out is named.
func TestNotServed(t *testing.T) {
	for want, p := range map[string]*model.Problem{
		"no switch adds":                     problem(t, "dgxh100", 1<<20, model.Pipelined),
		"not those in rounds":                problem(t, "switch:4:read", 1<<20, model.Rounds),
		"no tree of switches":                problem(t, "dgxh100:2:rails+sharp", 1<<20, model.Pipelined),
		"serves allreduce, not reduce":       {Topology: problem(t, "switch:4:turn", 1, 1).Topology, Collective: model.Collective{Kind: model.Reduce}, Size: 9, Cost: model.Pipelined},
		"machines with as many ranks":        {Topology: problem(t, "dgxh100-nvls:2", 1, 1).Topology, Collective: model.Collective{Kind: model.AllReduce, Group: []int{0, 1, 8}}, Size: 9, Cost: model.Pipelined},
		"serves ranks that are all there at": {Topology: problem(t, "switch:2:turn", 1, 1).Topology, Collective: model.Collective{Kind: model.AllReduce}, Size: 9, Cost: model.Pipelined, Release: []model.Time{0, 1}},
	} {
		err := innetwork.All()[0].Serves(p)
		require.ErrorIs(t, err, solve.ErrNotServed)
		require.ErrorContains(t, err, want)
	}
}

// TestLimits: a cut that is asked for is made, and a budget that is spent ends it.
func TestLimits(t *testing.T) {
	p := problem(t, "dgxh100-nvls", 1<<20, model.Blocking)
	require.Len(t, run(t, p, solve.Options{Chunks: 3}).Problem.Chunks, p.DefaultChunks(3))
	small := problem(t, "dgxh100-nvls", 3, model.Pipelined)
	require.Len(t, run(t, small, solve.Options{}).Problem.Chunks, 3)
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	r, err := innetwork.All()[0].Solve(ctx, p, solve.Options{Chunks: 1000})
	require.NoError(t, err)
	require.Nil(t, r.Schedule)
	require.Equal(t, solve.TimeLimit, r.Stop)
}

// TestDeterministic: equal problems have equal schedules.
func TestDeterministic(t *testing.T) {
	p := problem(t, "dgxh100-nvls:4:rails+sharp", 1<<20, model.Pipelined)
	require.Equal(t, run(t, p, solve.Options{}), run(t, p, solve.Options{}))
}
