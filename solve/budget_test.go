package solve_test

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/solve"
)

// TestBudget: a budget ends with its limit or its context, and tells which.
func TestBudget(t *testing.T) {
	b, cancel := solve.NewBudget(context.Background(), 0, 0)
	require.False(t, b.Spent())
	require.Zero(t, b.Stop())
	require.Equal(t, time.Duration(math.MaxInt64), b.Left())
	require.Equal(t, runtime.GOMAXPROCS(0), b.Threads())
	cancel()
	require.Zero(t, b.Stop(), "what has no limit of its own is not ended by its owner")

	b, cancel = solve.Options{TimeLimit: 10 * time.Millisecond, Threads: 3}.Budget(context.Background())
	defer cancel()
	require.Equal(t, 3, b.Threads())
	require.LessOrEqual(t, b.Left(), 10*time.Millisecond)
	require.Eventually(t, b.Spent, 10*time.Second, time.Millisecond)
	require.Equal(t, solve.TimeLimit, b.Stop())
	require.Zero(t, b.Left())

	ctx, interrupt := context.WithCancel(context.Background())
	b, cancel = solve.NewBudget(ctx, time.Hour, 1)
	defer cancel()
	require.False(t, b.Spent())
	interrupt()
	require.Eventually(t, b.Spent, 10*time.Second, time.Millisecond)
	require.Equal(t, solve.Interrupted, b.Stop())
	require.Zero(t, b.Left())

	b, cancel = solve.NewBudget(ctx, time.Hour, 1)
	defer cancel()
	require.True(t, b.Spent(), "at once, if its context is done already")
}

// TestGrace: a grace begins when its context ends, and not before.
func TestGrace(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	later, cancel := solve.Grace(ctx, 20*time.Millisecond)
	defer cancel()
	time.Sleep(40 * time.Millisecond)
	require.NoError(t, later.Err())
	interrupt()
	require.NoError(t, later.Err())
	require.Eventually(t, func() bool { return later.Err() != nil }, 10*time.Second, time.Millisecond)

	later, cancel = solve.Grace(context.Background(), time.Hour)
	cancel()
	require.Error(t, later.Err())
}
