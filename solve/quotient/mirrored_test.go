package quotient

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// TestBackwards: where each link has one that leads back, a reduce-scatter takes as long as the allgather, a reduce as a
// broadcast, and a gather as a scatter.
func TestBackwards(t *testing.T) {
	for _, name := range []string{"dgx1", "dragonfly:3x2x2", "mesh:3x4"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		end := func(kind model.Kind) model.Time {
			p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: model.Pipelined}
			r, err := New().Solve(context.Background(), p, solve.Options{Effort: -1})
			require.NoError(t, err)
			require.Equal(t, kind, r.Problem.Collective.Kind)
			return solve.End(r.Schedule.Transfers)
		}
		require.Equal(t, end(model.AllGather), end(model.ReduceScatter), name)
		require.Equal(t, end(model.Broadcast), end(model.Reduce), name)
		require.Equal(t, end(model.Scatter), end(model.Gather), name)
	}
}
