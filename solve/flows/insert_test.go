package flows

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func never() bool { return false }

// Insertions come close to bounds that know latencies and bandwidths at once, in either direction of
// time, over direct links and over switches.
func TestInserted(t *testing.T) {
	for _, x := range []struct {
		topo   string
		kind   model.Kind
		size   int64
		pieces int
		cost   model.CostModel
		most   model.Time
	}{
		{"mi250", model.Scatter, 1 << 20, 32, model.Pipelined, 4370 * model.Nanosecond},     // bound 4.197 us
		{"mi250", model.Gather, 1 << 20, 32, model.Pipelined, 4370 * model.Nanosecond},      // the same backwards
		{"dgx1", model.AllToAll, 64 << 10, 8, model.Pipelined, 1780 * model.Nanosecond},     // 1.728 us
		{"dgx1", model.Gather, 64 << 10, 32, model.Pipelined, 1620 * model.Nanosecond},      // 1.596 us
		{"dgxa100:2", model.Scatter, 1 << 20, 16, model.Pipelined, 5990 * model.Nanosecond}, // 5.834 us
		{"fattree:2x2", model.AllToAll, 64 << 10, 1, model.Blocking, 4500 * model.Nanosecond},
	} {
		top, err := topo.Parse(x.topo, topo.Options{})
		require.NoError(t, err)
		p := solve.Cut(&model.Problem{Topology: top, Collective: model.Collective{Kind: x.kind}, Size: x.size, Cost: x.cost}, x.pieces)
		s, end, err := inserted(p, 1, 0, never)
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(p, s), "%v", p)
		require.Equal(t, solve.End(s.Transfers), end)
		require.LessOrEqual(t, end, x.most, "%v", p)
	}
}

// A change that makes arrivals later is undone, and what is taken out leaves nothing behind.
func TestChangesAreUndone(t *testing.T) {
	top, err := topo.Parse("dgxa100:2", topo.Options{})
	require.NoError(t, err)
	p := solve.Cut(&model.Problem{Topology: top, Collective: model.Collective{Kind: model.Scatter}, Size: 1 << 20, Cost: model.Pipelined}, 4)
	list, err := network.Pairs(p)
	require.NoError(t, err)
	s := newInsertion(p, list, false, 3)
	for _, k := range s.chunks {
		require.True(t, s.insert(k))
		s.far[k] = s.ends[k]
	}
	target := s.last() * 3 / 4
	late := s.late(target)
	for range 100 {
		after := s.change(s.chosen(target), target, late)
		require.LessOrEqual(t, after, late)
		require.Equal(t, s.late(target), after)
		now, _ := s.transfers()
		require.NoError(t, solvetest.Right(p, &model.Schedule{Form: model.Timed, Routes: s.Routes, Transfers: now}))
		late = after
	}
	for _, k := range s.chunks {
		s.remove(k)
	}
	for r := range s.Resources {
		require.Empty(t, s.books.Of(int32(r)))
	}
}

// TestQuick: among few ranks that exchange much, fine pieces come near the bound of a cut, also where each piece takes many latencies.
func TestQuick(t *testing.T) {
	top, err := topo.Parse("dragonfly:3x2x2", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: top, Collective: model.Collective{Kind: model.AllToAll}, Cost: model.Pipelined}
	for size, bound := range map[int64]model.Time{64 << 20: 1_876_500_056, 1 << 30: 30_001_500_056} {
		p.Size = size
		require.True(t, quickly(p, bound))
		r, err := New().Solve(t.Context(), p, solve.Options{Bound: bound, Enough: bound + bound/200})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.LessOrEqual(t, solve.End(r.Schedule.Transfers), bound+bound/200)
	}
	require.False(t, quickly(p, 4_000_000), "few latencies")
	p.Collective.Kind = model.Scatter
	require.False(t, quickly(p, 30_001_500_056))
}
