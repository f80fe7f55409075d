//go:build !js

package oneshot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// packs returns plans of a network of which one is known to be an allreduce, and what mixes them.
func packs(t *testing.T, name string) (s *search, of []*plan, m *mixer) {
	t.Helper()
	s = searchOn(t, name)
	s.p.Size = 1 << 14
	var plans []*plan
	for q := range estimated(s) {
		plans = append(plans, q)
	}
	for _, q := range plans {
		if s.combine(q, 1) < model.MaxTime {
			break
		}
	}
	require.NotNil(t, s.best)
	of = candidates(best(plans))
	return s, of, s.mixer(of)
}

// Chunks that choose plans and times are over in time, and do not go back; what they book is what links have to send.
func TestPacking(t *testing.T) {
	s, of, m := packs(t, "ring:8")
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		with := setting{}.varied(r, s.makespan)
		x := newPacking(of, m, 1+r.IntN(9), math.MaxInt, with)
		all := x.choose()
		require.Len(t, all, x.chunks)
		want, got := 0.0, 0.0
		for _, c := range all {
			require.True(t, slices.IsSorted(c.waits))
			last := model.Time(float64(c.waits[len(c.waits)-1]) * x.slot)
			require.LessOrEqual(t, x.lengths[c.plan]+last, x.end)
			for _, w := range x.all[c.plan] {
				want += w.load / float64(x.chunks) / x.slot
			}
		}
		for _, load := range x.load {
			got += load
		}
		require.InDelta(t, want, got, 1e-6*want)
		for _, c := range all {
			x.book(c, -1)
		}
		for _, load := range x.load {
			require.InDelta(t, 0, load, 1e-9)
		}
	}
	require.Nil(t, newPacking(of, m, 3, math.MaxInt, setting{end: 1, slots: 20, steep: 1}).choose(), "nothing is over in a picosecond")
	require.Nil(t, newPacking(of, m, 3, 100, setting{}.varied(r, s.makespan)).choose(), "a hundred looks are too few")
}

// What is packed is an allreduce, also where as many bytes are no multiple of the symmetries, and when choices change at random.
func TestPack(t *testing.T) {
	for _, name := range []string{"dgx1", "ring:8", "dragonfly:3x2x2", "mesh:2x4"} {
		s, of, m := packs(t, name)
		r := rand.New(rand.NewPCG(3, 4))
		s.together(s.packable(of[0]))
		checked := 0
		for range 10 {
			turns := newPacking(of, m, 6, math.MaxInt, setting{}.varied(r, s.makespan)).turns()
			for range r.IntN(4) {
				if len(turns) > 0 {
					turns = varied(r, turns)
				}
			}
			s.best = nil
			if s.placed(of, turns, model.MaxTime) == model.MaxTime {
				continue
			}
			got := s.result(solve.Done)
			require.NoError(t, got.Problem.Validate(), name)
			require.NoError(t, solvetest.Right(got.Problem, got.Schedule), name)
			checked++
		}
		require.Greater(t, checked, 3, name)
		s.best = nil
		s.most = s.work + 1<<18
		s.pack(of, m, s.makespan)
		require.NotNil(t, s.best, name)
		got := s.result(solve.Done)
		require.NoError(t, solvetest.Right(got.Problem, got.Schedule), name)
	}
}

// Chunks that are packed are halved as long as all are sooner over for it.
func TestHalved(t *testing.T) {
	sooner := 0
	for _, name := range []string{"ring:8", "dragonfly:3x2x2", "mesh:2x4"} {
		s, of, m := packs(t, name)
		r := rand.New(rand.NewPCG(5, 6))
		s.together(s.packable(of[0]))
		for range 5 {
			turns := newPacking(of, m, 6, math.MaxInt, setting{}.varied(r, s.makespan)).turns()
			s.best, s.most = nil, math.MaxInt
			end := s.placed(of, turns, model.MaxTime)
			if end == model.MaxTime {
				continue
			}
			chunks := len(s.best.Chunks)
			s.halved(of, turns)
			require.LessOrEqual(t, s.makespan, end)
			require.LessOrEqual(t, len(s.best.Chunks), mostFiner)
			if s.makespan < end {
				sooner++
				require.Greater(t, len(s.best.Chunks), chunks)
				require.NoError(t, solvetest.Right(s.best, s.result(solve.Done).Schedule))
			}
		}
	}
	require.Positive(t, sooner)
}
