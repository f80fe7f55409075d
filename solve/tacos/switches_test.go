package tacos

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// TestThroughSwitches: times through switches that copy and add over those of fluid limits, in
// which no latency counts, and over those of transfers by themselves.
func TestThroughSwitches(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	const size = 1 << 28
	for _, c := range []struct {
		name   string
		kind   model.Kind
		chunks int
		rate   float64 // bytes per second
		over   float64
		less   float64 // than without
	}{
		{"dgxh100-nvls", model.AllReduce, 0, 400e9, 0.08, 0.7},
		{"switch:8:turn", model.AllReduce, 0, 50 << 30, 0.01, 0.6},
		{"switch:8:read", model.AllReduce, 0, 8. / 9 * (50 << 30), 0.08, 0.7},
		{"dgxh100-nvls:2", model.AllReduce, 128, 400e9, 0.45, 0.9},
		{"dgxh100-nvls:2", model.Broadcast, 16, 400e9, 0.5, 0.9},
		{"dgxh100-nvls:2", model.Reduce, 16, 400e9, 0.5, 0.9},
		{"switch:8:turn", model.Broadcast, 16, 50 << 30, 0.001, 1},
		{"dgxh100-nvls", model.Reduce, 16, 450e9, 0.002, 1},
	} {
		tp, err := topo.Parse(c.name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: c.kind}, Size: size, Cost: model.Pipelined}
		if c.chunks > 0 {
			p = p.WithChunks(c.chunks)
		}
		o := solve.Options{Tries: 1, Effort: -1}
		r, err := New().Solve(context.Background(), p, o)
		require.NoError(t, err, c.name)
		require.NoError(t, r.Schedule.Validate(r.Problem))
		budget, cancel := o.Budget(context.Background())
		alone, err := solver{}.alone(budget, p, o)
		cancel()
		require.NoError(t, err)
		_, joined := r.Problem.Joined(r.Schedule)
		t.Logf("%s %v: %v by %d chunks, %.3f of the limit, %.3f of the time without", c.name, c.kind, r.Makespan(), len(r.Problem.Chunks),
			float64(r.Makespan())/(float64(size)/c.rate*1e12), float64(r.Makespan())/float64(alone.Makespan()))
		require.True(t, joined, c.name)
		require.LessOrEqual(t, float64(r.Makespan()), float64(size)/c.rate*1e12*(1+c.over), c.name)
		require.LessOrEqual(t, float64(r.Makespan()), float64(alone.Makespan())*c.less, c.name)
	}
}
