package quotient

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// inRoundsOf returns a search for an allgather with a first plan.
func inRoundsOf(t *testing.T, name string, size int64, bound model.Time) *search {
	t.Helper()
	network, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllGather}, Size: size, Cost: model.Pipelined}
	s := newSearch(context.Background(), p, solve.Options{Bound: bound})
	s.begin()
	s.spend(s.trials[0], 1)
	return s
}

// TestRounds: plans in rounds are right, in parts of sizes that differ by a byte, too, and end when they are to or sooner; where
// links are not alike there are none.
func TestRounds(t *testing.T) {
	found := 0
	for _, name := range []string{"mesh:3x3", "ring:5", "dgx1", "mi250", "torus:4x4"} {
		s := inRoundsOf(t, name, 100_003, 1)
		for chunks := 1; chunks <= 3; chunks++ {
			r := &rounded{x: s.shops[0].s, chunks: chunks, pieces: 8, each: chunks, rounds: s.shops[0].s.farthest(0) + chunks%2}
			if !r.times((100_003 + int64(s.p.Topology.Ranks) - 1) / int64(s.p.Topology.Ranks)) {
				require.Equal(t, "dgx1", name, "it has links of two bandwidths")
				continue
			}
			before := len(s.trials)
			if !s.tryRounds(r) {
				continue
			}
			found++
			require.Len(t, s.trials, before+1)
			x := s.trials[before]
			require.LessOrEqual(t, x.best.end, r.end(), "%s %d", name, chunks)
			require.True(t, x.best.holds())
			require.NoError(t, solvetest.Right(x.p, x.best.emit(x.p)), "%s %d", name, chunks)
		}
	}
	require.Greater(t, found, 8)
}

// TestInRounds: where latencies bind and symmetries leave much to choose, rounds come near to the bound.
func TestInRounds(t *testing.T) {
	s := inRoundsOf(t, "mi250", 1<<20, 4_330_000)
	before := s.gap()
	s.inRounds()
	require.Greater(t, before, largeGap)
	require.Less(t, s.gap(), littleGap)
	require.NoError(t, solvetest.Right(s.best.p, s.best.best.emit(s.best.p)))
}
