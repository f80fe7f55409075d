package overtime

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// shares returns a network with what it has from each source, of which programs have a number of windows at most.
func shares(t *testing.T, name string, kind model.Kind, size int64, windows int) *sharing {
	t.Helper()
	s := &sharing{network: newNetwork(problem(t, name, kind, size)), detour: 1, finest: windows, hops: map[int][2][]hop{}, looks: map[uint64]uint64{}}
	s.prepare(context.Background())
	return s
}

// programOf returns the solution of a program, as a whole or by cuts.
func (s *sharing) programOf(t *testing.T, end model.Time, byCuts bool) *split {
	t.Helper()
	x := &split{sharing: s, byCuts: byCuts}
	x.cuts, x.early, x.late = s.windows(end, s.finest)
	fits, err := x.build(context.Background())
	require.NoError(t, err)
	require.True(t, fits)
	require.NoError(t, x.optimise(context.Background()))
	require.NotNil(t, x.duals)
	return x
}

// By cuts not less arrives than can, and hardly more.
func TestCuts(t *testing.T) {
	for _, x := range []struct {
		name    string
		kind    model.Kind
		windows int
		end     model.Time
	}{
		{"fattree:2x4", model.Broadcast, 12, 20 * model.Microsecond},
		{"fattree:2x4", model.Reduce, 12, 30 * model.Microsecond},
		{"fattree:4x4", model.Broadcast, 14, 23 * model.Microsecond},
		{"dragonfly:2x2x2", model.Broadcast, 12, 22 * model.Microsecond},
		{"dragonfly:2x2x2", model.AllGather, 12, 16 * model.Microsecond},
		{"dragonfly:2x2x2", model.ReduceScatter, 12, 16 * model.Microsecond},
		{"fattree:2x4", model.AllReduce, 12, 30 * model.Microsecond},
		{"dgxh100-nvls:2", model.Broadcast, 12, 20 * model.Microsecond},
		{"dgx2:2", model.Broadcast, 12, 15 * model.Microsecond},
		{"rfs:2x2x2", model.Broadcast, 12, 8 * model.Microsecond},
	} {
		s := shares(t, x.name, x.kind, 1<<20, x.windows)
		whole, byCuts := s.programOf(t, x.end, false), s.programOf(t, x.end, true)
		t.Logf("%s %v: %g, by cuts %g", x.name, x.kind, whole.part, byCuts.part)
		require.Less(t, byCuts.NumColumns(), whole.NumColumns(), x.name)
		require.GreaterOrEqual(t, byCuts.part, whole.part-1e-5, x.name)
		require.InEpsilon(t, whole.part, byCuts.part, 2e-3, x.name)
	}
}

// A search for cuts that has no time finds no prices, and one that has some, prices that hold: with each of them more seems to
// arrive than can.
func TestCutsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := shares(t, "fattree:4x4", model.Broadcast, 1<<20, 24)
	const end = 23 * model.Microsecond
	x := &split{sharing: s, byCuts: true}
	x.cuts, x.early, x.late = s.windows(end, s.finest)
	fits, err := x.build(context.Background())
	require.NoError(t, err)
	require.True(t, fits)
	require.NoError(t, x.optimise(ctx))
	require.Nil(t, x.duals)
	require.True(t, s.stopped)

	begin := time.Now()
	least := s.programOf(t, end, true).part
	const parts = 8
	for i, whole := 1, time.Since(begin); i < parts; i++ {
		ctx, cancel := context.WithTimeout(context.Background(), whole*time.Duration(i)/parts)
		x := &split{sharing: s, byCuts: true}
		x.cuts, x.early, x.late = s.windows(end, s.finest)
		fits, err := x.build(ctx)
		if fits {
			err = x.optimise(ctx)
		}
		cancel()
		require.NoError(t, err)
		if x.duals != nil {
			require.GreaterOrEqual(t, x.part, least-1e-5)
		}
	}
}
