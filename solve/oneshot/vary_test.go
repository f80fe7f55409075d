//go:build cgo

package oneshot

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// Chunks follow a timetable and are sooner over once single ones of them have been placed sooner or later. What follows no timetable stays as
// it is.
func TestVary(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for name, size := range map[string]int64{"fattree:4x4": 1 << 17, "torus:4x4": 1 << 19} {
		s, plans := composing(t, name, size)
		s.together(1)
		plans = slices.DeleteFunc(plans, func(q *plan) bool { return !s.estimate(q) })
		s.pure(plans)
		s.bound = s.makespan / 10 * 9
		pure := s.makespan
		s.vary()
		require.Equal(t, pure, s.makespan)
		s.schedule(best(plans))
		followed := s.makespan
		require.Less(t, float64(followed), float64(pure))
		s.vary()
		require.Less(t, s.makespan, followed)
		r := s.result(solve.Done)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.Equal(t, s.makespan, r.Makespan())
	}
}

// What is shifted is all ranks, or the first or the last of them, and by one figure.
func TestShifted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var before []model.Time
		for range rapid.IntRange(1, 8).Draw(t, "hops") {
			before = append(before, model.Time(rapid.IntRange(0, 9).Draw(t, "rank")))
		}
		old := slices.Clone(before)
		after := shifted(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), before, 100)
		require.Equal(t, old, before)
		by, low, high := model.Time(0), model.MaxTime, model.Time(-1)
		for i, x := range after {
			if d := x - before[i]; d != 0 {
				require.True(t, by == 0 || by == d)
				require.LessOrEqual(t, max(d, -d), model.Time(100))
				by, low, high = d, min(low, before[i]), max(high, before[i])
			}
		}
		if by == 0 {
			return
		}
		for i, x := range after {
			require.True(t, low > before[i] || before[i] > high || x != before[i])
		}
		require.True(t, low == slices.Min(before) || high == slices.Max(before))
	})
}
