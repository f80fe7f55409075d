package quotient

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestRehang: leaves that are moved to other parents leave a schedule right, and end it no later; of some it ends earlier.
func TestRehang(t *testing.T) {
	earlier := 0
	for _, name := range []string{"mi250", "dgx1", "mesh:3x3", "dgx2"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter, model.AllReduce, model.Broadcast} {
			p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: model.Pipelined}
			s := newSearch(context.Background(), p, solve.Options{Effort: -1, Chunks: 4})
			s.p = solve.Cut(p, 4)
			for _, stage := range stages[:8] { // all that come before leaves are moved
				stage(s)
			}
			x, before := s.best.best, s.best.best.end
			rng := rand.New(rand.NewPCG(1, 2))
			for round := range 12 {
				end := x.end
				x.rehang(portions[round%len(portions)], rng)
				require.LessOrEqual(t, x.end, end)
			}
			require.NoError(t, solvetest.Right(s.best.p, x.emit(s.best.p)))
			if x.end < before {
				earlier++
			}
		}
	}
	require.GreaterOrEqual(t, earlier, 3)
}
