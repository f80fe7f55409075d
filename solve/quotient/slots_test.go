package quotient

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestSlots: hops that begin with slots make right schedules, near the bound on a dragonfly, also where sums are not mirrored gatherings.
func TestSlots(t *testing.T) {
	for _, c := range []struct {
		name string
		kind model.Kind
		size int64
		gap  float64 // at most, after a few tries
	}{
		{"dragonfly:4x2x4", model.AllGather, 1 << 19, 0.1},
		{"dragonfly:4x2x4", model.ReduceScatter, 1 << 19, 0.1},
		{"dragonfly:4x2x4", model.AllReduce, 1 << 19, 0.1},
		{"fattree:4x4", model.AllGather, 1 << 20, 0.03},
		{"fattree:4x4", model.AllReduce, 1_000_003, 0.04},
	} {
		s := searching(t, context.Background(), c.name, c.kind, c.size, 0)
		s.findBound()
		s.groups()
		s.budget = usualWork / 10
		s.slotted()
		require.NotNil(t, s.best, c)
		require.Less(t, s.gap(), c.gap, c)
		t.Log(c, s.gap())
		require.NoError(t, solvetest.Right(s.best.p, s.best.best.emit(s.best.p)), c)
	}
}

// TestSlotCut: slots are used where links are alike and whole numbers of them are by how much ways differ.
func TestSlotCut(t *testing.T) {
	for name, used := range map[string]bool{"dragonfly:4x4x4": true, "fattree:4x4": true, "torus:4x4": false, "dgx2:2": false} {
		s := searching(t, context.Background(), name, model.AllGather, 1<<20, 0)
		s.bound = 20 * model.Microsecond
		s.groups()
		c, slot := s.slotCut(s.shops[0].s)
		require.Equal(t, used, slot > 0, name)
		if used {
			require.Equal(t, 11, c.parts)
		}
	}
}

// TestRing: where the links of ranks bind and what one has takes longer than a hop has latency, a ring ends soon after the bound.
func TestRing(t *testing.T) {
	s := searching(t, context.Background(), "dragonfly:4x4x4", model.AllGather, 8<<20, 0)
	s.findBound()
	s.groups()
	s.ring()
	require.Less(t, s.gap(), 0.004)
	require.NoError(t, solvetest.Right(s.best.p, s.best.best.emit(s.best.p)))
}
