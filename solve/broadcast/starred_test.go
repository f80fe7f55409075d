package broadcast

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// TestLevelledStars: levelled stars are as many trees from the root to all ranks, no two use a link in one place of a period, and
// the mean time to the farthest rank is less.
func TestLevelledStars(t *testing.T) {
	farthest := func(p *model.Problem, trees [][]bough) float64 {
		sum, most := make([]float64, p.Topology.Ranks), 0.0
		for _, arcs := range trees {
			at := map[int]float64{p.Collective.Root: 0}
			for _, a := range arcs {
				from, known := at[a.from]
				require.True(t, known)
				require.NotContains(t, at, a.to)
				at[a.to] = from + float64(p.Topology.Duration(a.routes[0], 0))/1e6/float64(len(trees))
			}
			require.Len(t, at, p.Topology.Ranks)
			for v, x := range at {
				sum[v] += x
				most = max(most, sum[v])
			}
		}
		return most
	}
	p := problem(t, "dragonfly:4x4x4", model.Broadcast)
	p.Collective.Root = 37
	before := stars(p, newNeighbours(p))
	trees := levelledStars(context.Background(), p, before)
	require.Len(t, trees, len(before))
	used := map[[2]int]bool{}
	for _, arcs := range trees {
		for _, a := range arcs {
			require.Less(t, a.colour, len(trees))
			for _, l := range a.routes[0] {
				require.False(t, used[[2]int{l, a.colour}])
				used[[2]int{l, a.colour}] = true
			}
		}
	}
	require.Less(t, farthest(p, trees), farthest(p, before)-0.5)
}

// TestStarred: where stars are repeated, the last chunk comes soon after the last byte can have left the root; where latencies
// outweigh bytes, or there are no stars, none are.
func TestStarred(t *testing.T) {
	p := problem(t, "dragonfly:4x3x2", model.Broadcast)
	starredIn := func(p *model.Problem) solve.Result {
		b, done := solve.NewBudget(context.Background(), time.Minute, 1)
		defer done()
		return starred(b, p, solve.Options{})
	}
	p.Size = 1 << 20
	r := starredIn(p)
	require.Less(t, float64(r.Makespan())/1e6, 25.2, "19.6 us come in")
	p.Size = 1 << 16
	require.Nil(t, starredIn(p).Schedule)
	p = problem(t, "switch:8", model.Broadcast)
	p.Size = 1 << 20
	require.Nil(t, starredIn(p).Schedule)
}
