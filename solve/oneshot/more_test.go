package oneshot_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestMore: a search for mixtures goes on as long as there is time, with what it has found, and does not where that is enough.
func TestMore(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	tp, err := topo.Parse("mesh:2x3", topo.Options{})
	require.NoError(t, err)
	for _, size := range []int64{1 << 15, 1 << 16} { // without and with timetables
		testMore(t, allreduce(tp, size), size == 1<<15)
	}
}

// testMore tests it of p; found is whether what is found is found again where that is enough: it decides whether there are timetables, which take
// work from mixtures.
func testMore(t *testing.T, p *model.Problem, found bool) {
	m := method("hierarchical")
	r, err := m.Solve(context.Background(), p, solve.Options{Bound: 1})
	require.NoError(t, err)
	require.NotNil(t, r.More)
	before := r.Makespan()
	for _, limit := range []time.Duration{1, 0} { // none, and all that it goes on for without a limit
		last := r.Makespan()
		r, err = r.More(context.Background(), solve.Options{Bound: 1, TimeLimit: limit})
		require.NoError(t, err)
		require.Equal(t, limit > 0, r.Stop == solve.TimeLimit)
		require.LessOrEqual(t, r.Makespan(), last)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	}
	again, err := r.More(context.Background(), solve.Options{Enough: model.MaxTime})
	require.NoError(t, err)
	require.Equal(t, r.Makespan(), again.Makespan())
	require.Equal(t, solve.Done, again.Stop)
	require.Nil(t, again.More)

	r, err = m.Solve(context.Background(), p, solve.Options{Enough: before})
	require.NoError(t, err)
	require.Equal(t, r.Makespan() > before, r.More != nil)
	if found {
		require.Nil(t, r.More)
	}
}

// TestMoreAfterLimit: a search that a limit ended, wherever that was, goes on or cannot.
func TestMoreAfterLimit(t *testing.T) {
	tp, err := topo.Parse("hypercube:5", topo.Options{})
	require.NoError(t, err)
	p := allreduce(tp, 1<<16)
	goes := 0
	for limit := 10 * time.Millisecond; limit < time.Minute && goes < 3; limit += limit / 8 {
		r, err := method("hierarchical").Solve(context.Background(), p, solve.Options{Bound: 1, TimeLimit: limit})
		require.NoError(t, err)
		if r.More == nil {
			continue
		}
		goes++
		more, err := r.More(context.Background(), solve.Options{Bound: 1, TimeLimit: 100 * time.Millisecond})
		require.NoError(t, err)
		require.LessOrEqual(t, more.Makespan(), r.Makespan())
		require.NoError(t, solvetest.Right(more.Problem, more.Schedule))
	}
	require.Positive(t, goes)
}
