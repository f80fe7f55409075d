package broadcast

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestTrained: trains are hardly later than the last byte can be at the farthest rank, small buffers or large.
func TestTrained(t *testing.T) {
	for _, c := range []struct {
		name     string
		size     int64
		farthest model.Time // rank, in hops
		late     float64    // part of the time
	}{
		{"torus:8x8", 64 << 10, 8, 0.02}, {"torus:8x8", 1 << 20, 8, 0.13}, {"hypercube:6", 1 << 20, 6, 0.3},
	} {
		p := problem(t, c.name, model.Broadcast)
		p.Size = c.size
		all, err := packings(context.Background(), context.Background(), p)
		require.NoError(t, err)
		busy, _ := all[0].Fluid(p)
		least := model.Time(busy*1e12) + c.farthest*p.Topology.Links[0].Alpha
		r := trained(context.Background(), p, solve.Options{}, all[0], 1<<13)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.GreaterOrEqual(t, r.Makespan(), least)
		require.LessOrEqual(t, float64(r.Makespan()), float64(least)*(1+c.late), "%s, %d bytes", c.name, c.size)
	}
}
