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

// TestRebuild: plans in which parts are gathered again beside the others stay right, and end no later; on a dragonfly sooner.
func TestRebuild(t *testing.T) {
	network, err := topo.Parse("dragonfly:3x2x2", topo.Options{})
	require.NoError(t, err)
	for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter} {
		whole := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 64 << 10, Cost: model.Pipelined}
		s := newSearch(context.Background(), whole, solve.Options{})
		s.groups()
		x := s.newTrial(len(s.shops)-2, cut{parts: 3, ratio: 1}, anywhere)
		x.divide()
		work := &counter{ctx: context.Background(), limit: usualWork / 4}
		x.try(false, 1, work)
		require.NotNil(t, x.best)
		before := x.best.end
		x.rebuild(1, work)
		require.Less(t, x.best.end, before, kind)
		require.NoError(t, solvetest.Right(x.p, x.best.emit(x.p)), kind)
	}
}

// TestRebuildInRounds: a plan in rounds is to end a round sooner.
func TestRebuildInRounds(t *testing.T) {
	require.Equal(t, model.Time(6), (&plan{end: 7}).sooner())
	require.Equal(t, model.Time(399_000), (&plan{end: 400_000}).sooner())
	network, err := topo.Parse("ring:5", topo.Options{})
	require.NoError(t, err)
	for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter} {
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 1000, Cost: model.LinkRounds}
		r, err := New().Solve(context.Background(), p, solve.Options{Bound: 1})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	}
}
