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

// TestInsert: parts that are put in one after the other make right schedules, also where chunks differ in size and where copies of a hop
// meet, and one that is made shorter is not longer than it was.
func TestInsert(t *testing.T) {
	for _, name := range []string{"dragonfly:2x2x2", "mesh:3x3", "rfs:2x2x3", "mi250", "fattree:2x4"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllToAll}, Size: 100_003, Cost: model.Pipelined}
		s := newSearch(context.Background(), p, solve.Options{})
		s.groups()
		x := s.newTrial(0, cut{parts: 2, ratio: 1}, anywhere)
		x.divide()
		first := newInserting(x, &counter{ctx: context.Background(), limit: usualWork})
		first.run(never)
		second := newInserting(x, &counter{ctx: context.Background(), limit: usualWork})
		second.run(0)
		for _, y := range []*inserting{first, second} {
			require.Positive(t, y.end, name)
			require.NoError(t, solvetest.Right(x.p, y.emit(x.p)), name)
		}
		require.LessOrEqual(t, second.end, first.end, name)
	}
}

// TestInsertAtBothEnds: on a network of three dimensions, what goes over all of them needs nearly all of the time for its latencies:
// the first, the next and the last hops all have to be in the first part of what is left. The bound is 1.633 us.
func TestInsertAtBothEnds(t *testing.T) {
	network, err := topo.Parse("rfs:2x4x8", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllToAll}, Size: 1 << 16, Cost: model.Pipelined}
	s := newSearch(context.Background(), p, solve.Options{Bound: 1_633_000})
	s.begin()
	s.insert()
	require.Less(t, s.gap(), 0.03)
}
