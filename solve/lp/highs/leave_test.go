//go:build cgo

package highs_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// HiGHS does not ask whether to stop while it solves a MIP's first relaxation,
// which takes seconds here. Neither a cancellation nor the time limit waits for
// it, and the start, which is the incumbent by then, is not lost.
func TestLeavesASolverThatDoesNotStop(t *testing.T) {
	highs.SetGrace(t, time.Nanosecond)
	m := flows(80, true)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var cancelled time.Time
	res, err := highs.Solve(ctx, m, highs.Options{
		TimeLimit: time.Minute,
		Progress: func(p highs.Progress) {
			if p.Incumbents > 0 && cancelled.IsZero() {
				cancelled = time.Now()
				cancel()
			}
		},
	})
	require.NoError(t, err)
	require.False(t, cancelled.IsZero())
	require.Less(t, time.Since(cancelled), 2*time.Second)
	require.Equal(t, highs.Interrupted, res.Status)
	require.Equal(t, "still running when it was left alone", res.RawStatus)
	requireSolution(t, m, res)
	require.InDelta(t, 480000, res.Objective, 1e-6)
	require.True(t, math.IsInf(res.DualBound, -1))
	require.True(t, math.IsInf(res.Gap, 1))
}

// flows returns a min-cost multicommodity flow of 2n commodities on a network of
// n nodes, whose start sends everything over dear links of its own.
func flows(n int, integer bool) *lp.Model {
	r := rand.New(rand.NewPCG(1, 2))
	m := &lp.Model{}
	capacity := make([][]lp.Term, 3*n)
	for range 2 * n {
		s, d := r.IntN(n), r.IntN(n-1)
		if d >= s {
			d++
		}
		balance := make([][]lp.Term, n)
		edge := func(u, v int, cost int64) int {
			j := m.AddColumn(lp.Column{Cost: lp.Int(cost), Upper: lp.PlusInf, Integer: integer})
			m.Start = append(m.Start, lp.Int(0))
			balance[u] = append(balance[u], lp.T(j, 1))
			balance[v] = append(balance[v], lp.T(j, -1))
			return j
		}
		for u := range n {
			for k := range 3 {
				j := edge(u, (u+(k+1)*(k+1))%n, 1+r.Int64N(9))
				capacity[3*u+k] = append(capacity[3*u+k], lp.T(j, 1))
			}
		}
		m.Start[edge(s, d, 1000)] = lp.Int(3)
		for v := range n {
			m.AddEQ("", lp.Int(map[int]int64{s: 3, d: -3}[v]), balance[v]...)
		}
	}
	for _, terms := range capacity {
		m.AddLE("", lp.Int(11), terms...)
	}
	return m
}
