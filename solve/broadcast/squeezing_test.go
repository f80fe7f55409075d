package broadcast

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestSqueezing: schedules of chunks that are sent as soon as links are free are made shorter, stay right, and are no longer however
// soon the search is stopped, after which it goes on.
func TestSqueezing(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, name := range []string{"dragonfly:3x2x2", "rfs:2x2x4", "fattree:2x4"} {
		p := problem(t, name, model.Broadcast)
		p.Size = 1 << 16
		p.Chunks = solve.Evenly(p.Space(), 60)
		eager := newEager(p, newNeighbours(p), nearFirst).run(context.Background())
		found := solve.Result{Problem: p, Schedule: eager, Stop: solve.Done}
		before := found.Makespan()
		x := newSqueezing(found)
		require.NotNil(t, x, name)
		last := before
		for n := range 4 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n)*10*time.Millisecond)
			r := x.run(ctx, 0)
			cancel()
			require.LessOrEqual(t, r.Makespan(), last)
			require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
			last = r.Makespan()
		}
		r := x.run(context.Background(), 0)
		require.True(t, x.done)
		require.Less(t, r.Makespan(), before-before/20, name)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	}
}

// TestSqueezingEnough: nothing is done once a schedule takes no longer than enough.
func TestSqueezingEnough(t *testing.T) {
	p := problem(t, "rfs:2x2x4", model.Broadcast)
	p.Size = 1 << 16
	p.Chunks = solve.Evenly(p.Space(), 60)
	s := newEager(p, newNeighbours(p), nearFirst).run(context.Background())
	x := newSqueezing(solve.Result{Problem: p, Schedule: s})
	r := x.run(context.Background(), 2*p.Makespan(s))
	require.True(t, x.done)
	require.Same(t, s, r.Schedule)
	require.Zero(t, x.search.Work)
}

// TestSqueezable: there are no slots for too many transfers, for chunks that last longer than what divides all latencies, or without such a
// time; and no search for a schedule that takes routes twice or leaves some rank out.
func TestSqueezable(t *testing.T) {
	p := problem(t, "rfs:2x2x4", model.Broadcast)
	for _, c := range []struct {
		size, chunks int64
		want         bool
	}{
		{1 << 16, 1, false},
		{1 << 16, 60, true},
		{mostSqueezed / 15 * 8, mostSqueezed / 15, true},
		{(mostSqueezed/15 + 1) * 8, mostSqueezed/15 + 1, false},
	} {
		p.Size = c.size
		p.Chunks = solve.Evenly(p.Space(), c.chunks)
		require.Len(t, p.Chunks, int(c.chunks))
		r, ok := squeezable(p)
		require.Equal(t, c.want, ok, c)
		if ok {
			require.LessOrEqual(t, model.TransferTime(p.Chunks[0].Size, fastestOf(p.Topology)), r.Unit/r.Slots)
		}
	}
	require.Nil(t, newSqueezing(solve.Result{Problem: p}))
	p.Size = 1 << 16
	p.Chunks = solve.OfSize(p.Space(), int64(float64(fastestOf(p.Topology))*12.499e-9)) // a slot of 12.5 ns, if that divides the unit
	r, ok := squeezable(p)
	require.True(t, ok)
	require.Equal(t, 12500*model.Picosecond, r.Unit/r.Slots)
	require.Zero(t, r.Unit%r.Slots)
	s := newEager(p, newNeighbours(p), nearFirst).run(context.Background())
	fewer := *s
	fewer.Transfers = s.Transfers[1:]
	require.Nil(t, newSqueezing(solve.Result{Problem: p, Schedule: &fewer}))
	more := *s
	more.Transfers = append(slices.Clone(s.Transfers), s.Transfers[0])
	require.Nil(t, newSqueezing(solve.Result{Problem: p, Schedule: &more}))
}
