package forest

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestReduceMirrored: where each link has a partner that leads back, a reduce takes what a broadcast does, whatever the order of the links.
func TestReduceMirrored(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, name := range []string{"fattree:2x3", "dragonfly:2x2x2", "mesh:3x3", "dgx1", "switch:5"} {
		p := problem(t, name, model.Broadcast)
		p.Size = 64 << 10
		rng := rand.New(rand.NewPCG(1, 7))
		rng.Shuffle(len(p.Topology.Links), func(i, j int) {
			p.Topology.Links[i], p.Topology.Links[j] = p.Topology.Links[j], p.Topology.Links[i]
		})
		o := solve.Options{Effort: -1}
		there, err := New().Solve(context.Background(), p, o)
		require.NoError(t, err)
		q := *p
		q.Collective.Kind = model.Reduce
		back, err := New().Solve(context.Background(), &q, o)
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(back.Problem, back.Schedule), name)
		require.Equal(t, there.Makespan(), back.Makespan(), name)
	}
}
