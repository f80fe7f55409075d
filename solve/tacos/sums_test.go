package tacos_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/model/traffic"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/tacos"
)

// TestVector: allgatherv and reducescatterv of random sizes, among some ranks of networks on which
// others relay, under every cost model. Where sums are made, ranks outside have nothing to add to.
func TestVector(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 16))
		tp, err := topo.Parse([]string{"dgx1", "torus:3x3", "ring:6", "switch:6", "mesh:2x4", "hypercube:3", "fattree:2x3"}[r.IntN(7)], topo.Options{})
		require.NoError(t, err)
		group := r.Perm(tp.Ranks)[:2+r.IntN(tp.Ranks-1)]
		sizes := make([]int64, len(group))
		for i := range sizes {
			sizes[i] = r.Int64N(4) * r.Int64N(100_000)
		}
		sizes[0]++
		name := []string{"allgatherv", "reducescatterv"}[seed%2]
		c, err := traffic.PerMember(name, group, 0, sizes)
		require.NoError(t, err)
		c.Group = group
		p := &model.Problem{Topology: tp, Collective: *c, Size: c.Ends[len(c.Ends)-1], Cost: model.CostModel(1 + r.IntN(4))}
		require.NoError(t, p.Validate())
		require.Equal(t, name == "reducescatterv", solve.SumsUp(p))
		s, err := tacos.New().Solve(context.Background(), p, solve.Options{Seed: seed, Chunks: 1 + r.IntN(3), Tries: 4})
		require.NoError(t, err)
		require.NotNil(t, s.Schedule, "%v", p)
		require.NoError(t, solvetest.Right(s.Problem, s.Schedule), "seed %d: %v", seed, p)
	}
	p := &model.Problem{Topology: &model.Topology{Ranks: 2}, Collective: model.Collective{Kind: model.ReduceScatter}}
	require.False(t, solve.SumsUp(p))
}
