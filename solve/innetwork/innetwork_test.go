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
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	const gib = 1 << 30
	for _, c := range []struct {
		name string
		want float64 // us
		over float64
	}{
		{"dgxh100-nvls", 9. / 8 * gib / 450e3, 0.002},
		{"gb200-nvls:nvl72", 73. / 72 * gib / 900e3, 0.0045},
		{"dgxb200-nvls", 9. / 8 * gib / 900e3, 0.01},
		{"switch:4:read", 5. / 4 * gib / 53687.0912, 0.01},
		{"switch:16:read", 17. / 16 * gib / 53687.0912, 0.01},
		{"switch:16:turn", gib / 53687.0912, 0.0001},
		{"dgxh100-nvls:2", gib / 400e3, 0.01},
		{"dgxh100-nvls:3", 4. / 3 * gib / 400e3, 0.003},
		{"dgxh100-nvls:4", 1.5 * gib / 400e3, 0.004},
		{"dgxh100-nvls:4:sharp", gib / 400e3, 0.012},
		{"dgxh100-nvls:4:rails+sharp", gib / 400e3, 0.012},
		{"dgxh100-nvls:4:spine+sharp", gib / 400e3, 0.012},
	} {
		got := float64(run(t, problem(t, c.name, gib, model.Pipelined), solve.Options{}).Makespan()) / 1e6
		require.LessOrEqual(t, got, c.want*(1+c.over), c.name)
		require.GreaterOrEqual(t, got, c.want, c.name)
	}
}

// TestHalves: the times of what is not an allreduce, and of small sizes, in us.
func TestHalves(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		name string
		kind model.Kind
		size int64
		want float64 // us
		over float64
	}{
		{"dgxh100-nvls", model.Reduce, gib, gib / 450e3, 0.004},
		{"dgxh100-nvls", model.Broadcast, gib, gib / 450e3, 0.004},
		{"dgxh100-nvls", model.ReduceScatter, gib, gib / 450e3, 0.004},
		{"dgxh100-nvls", model.AllGather, gib, gib / 450e3, 0.004},
		{"dgxh100-nvls", model.Broadcast, 1 << 10, 0.7 + 1024/450e3, 0.01},
		{"dgxh100-nvls", model.AllReduce, 1 << 10, 0.7 + 8*1024/450e3, 0.01}, // one-shot
		{"switch:8:turn", model.Reduce, gib, 0.5 + gib/53687.0912, 1e-6},
		{"switch:8:turn", model.Broadcast, gib, 0.5 + gib/53687.0912, 1e-6},
		{"switch:8:copies", model.Broadcast, gib, 0.5 + gib/53687.0912, 1e-6},
		{"switch:8:turn", model.AllGather, gib, gib / 53687.0912, 1e-3},
		{"switch:8:copies", model.AllGather, gib, gib / 53687.0912, 1e-3},
		{"switch:8:turn", model.ReduceScatter, gib, gib / 53687.0912, 1e-3},
		{"dgxh100-nvls:2", model.Broadcast, gib, gib / 400e3, 0.01},
		{"dgxh100-nvls:4", model.Broadcast, gib, gib / 400e3, 0.015},
		{"dgxh100-nvls:4", model.Reduce, gib, gib / 400e3, 0.015},
		{"dgxh100-nvls:4", model.AllGather, gib, gib / 450e3, 0.01},
		{"dgxh100-nvls:4:rails+sharp", model.Reduce, gib, gib / 400e3, 0.012},
		{"dgxh100:4:sharp", model.AllReduce, gib, 1.75 * gib / 450e3, 0.04},
		{"dgxh100:4:sharp", model.AllReduce, 1 << 10, 2.6 + 1024/50e3, 0.01}, // ranks alone
		{"dgxh100:4:rails+sharp", model.AllReduce, gib, 1.75 * gib / 450e3, 0.04},
		{"dgxh100:4:rails+sharp", model.AllGather, gib, gib / 400e3, 0.012},
	} {
		p := problem(t, c.name, c.size, model.Pipelined)
		p.Collective.Kind = c.kind
		r := run(t, p, solve.Options{})
		got := float64(r.Makespan()) / 1e6
		require.LessOrEqual(t, got, c.want*(1+c.over), "%s %v: %s", c.name, c.kind, r.Note)
		require.GreaterOrEqual(t, got, c.want*0.999, "%s %v: %s", c.name, c.kind, r.Note)
	}
}

// TestMixture: where n ranks read sums, an allreduce takes little more than the least there is, from the size on for which that is known.
func TestMixture(t *testing.T) {
	for _, c := range []struct {
		name             string
		ranks            float64
		latency, perByte float64 // us
	}{
		{"dgxh100-nvls", 8, 0.7, 1 / 450e3},
		{"dgxb200-nvls", 8, 0.7, 1 / 900e3},
		{"switch:3:read", 3, 0.5, 1 / 53687.0912},
		{"switch:5:read", 5, 0.5, 1 / 53687.0912},
		{"switch:16:read", 16, 0.5, 1 / 53687.0912},
	} {
		n := c.ranks
		for _, times := range []float64{1.05, 2, 10, 100} {
			bytes := int64(times * c.latency * n / (n - 1) / c.perByte)
			r := run(t, problem(t, c.name, bytes, model.Pipelined), solve.Options{})
			want := c.latency*(2*n-4)/(n-1) + (n+1)/n*float64(bytes)*c.perByte
			require.InEpsilon(t, want, float64(r.Makespan())/1e6, 0.0125, "%s: %d bytes", c.name, bytes)
		}
	}
}

// TestTurns: among three machines and more, sums and copies hinder each other little: what is more than the time for which links between machines are busy
// is 0.7 us until the first sums have been read, and 2.6 us and 0.7 us from when the last copies go out.
func TestTurns(t *testing.T) {
	for machines, want := range map[string]float64{"dgxh100-nvls:3": 4. / 3, "dgxh100-nvls:4": 1.5, "dgxh100-nvls:8": 1.75} {
		r := run(t, problem(t, machines, 32<<20, model.Pipelined), solve.Options{})
		require.Contains(t, r.Note, "sums and copies in turns")
		require.InEpsilon(t, want*(32<<20)/400e3+0.7+2.6+0.7, float64(r.Makespan())/1e6, 0.01, machines)
	}
}

// TestApart: links between machines carry something while sums are read and written.
func TestApart(t *testing.T) {
	r := run(t, problem(t, "dgxh100-nvls:2", 8<<20, model.Pipelined), solve.Options{})
	require.Contains(t, r.Note, "some before sums are read and after they are written")
	require.LessOrEqual(t, float64(r.Makespan())/1e6, 24.92, "8 MiB over 400 GB/s, 2.6 us between machines, and 2·0.7 us within one, of which an eighth can be saved")
}

// TestNotServed: what is left out is named.
func TestNotServed(t *testing.T) {
	as := func(name string, c model.Collective) *model.Problem {
		p := problem(t, name, 9, model.Pipelined)
		p.Collective = c
		return p
	}
	late := as("switch:2:turn", model.Collective{Kind: model.AllReduce})
	late.Release = []model.Time{0, 1}
	for want, p := range map[string]*model.Problem{
		"no switch adds":           problem(t, "dgxh100", 1<<20, model.Pipelined),
		"no switch adds or copies": as("dgxh100", model.Collective{Kind: model.Broadcast}),
		"nvswitch0 computes max of fp16, bf16, int32, int64, uint32, uint64, not of fp32": as("dgxh100-nvls", model.Collective{Kind: model.AllReduce, Op: model.Max, DType: model.FP32}),
		"nvswitch0 computes sum, min, max, not prod":                                      as("dgxh100-nvls", model.Collective{Kind: model.AllReduce, Op: model.Prod}),
		"not those in rounds":                           problem(t, "switch:4:read", 1<<20, model.Rounds),
		"no tree of switches that turn sums round":      as("dgxh100:2:rails+sharp", model.Collective{Kind: model.Reduce, Group: []int{0, 9}}),
		"broadcast and allgather, not alltoall":         as("switch:4:turn", model.Collective{Kind: model.AllToAll}),
		"machines with as many ranks":                   as("dgxh100-nvls:2", model.Collective{Kind: model.AllReduce, Group: []int{0, 1, 8}}),
		"serves ranks that are all there at":            late,
		"no tree of switches that copy and turn sums r": as("dgxh100:2:rails+sharp", model.Collective{Kind: model.AllReduce, Group: []int{0, 9}}),
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
	require.LessOrEqual(t, len(run(t, small, solve.Options{}).Problem.Chunks), 3)
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
