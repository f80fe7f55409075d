//go:build cgo

package oneshot

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// on returns patterns for an allreduce on a network by name, after a search for them.
func on(t *testing.T, name string, size int64) (*search, *patterns) {
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	s, x := patterned(t, tp)
	s.p.Size = size
	for i := range x.m.all {
		x.m.all[i] = abreast(s.windows(x.plans[i]))
	}
	x.more()
	require.False(t, s.b.Spent())
	return s, x
}

// In a program for itineraries nothing is sent too soon or too late, stages follow each other, and no link is busy for longer than a slot lasts. What
// follows them grows with the number of slots, and is no more than the program of mixer has, which leaves something out; but if slots are short it is
// not much less where nothing has to wait.
func TestItineraries(t *testing.T) {
	s, x := on(t, "ring:5", 1<<16)
	last := 0.0
	for slots := 30; slots <= 48; slots += 6 {
		slot := float64(x.lasts) / 8
		y := s.newItineraries(x.m.all, slot, slots)
		require.NotNil(t, y)
		require.True(t, y.solve(nil))
		require.Greater(t, y.sum, last)
		last = y.sum
		f := x.m.fill(model.Time(slot * float64(slots)))
		for !f.whole { // it goes on from the intervals that it knows
			f = x.m.fill(model.Time(slot * float64(slots)))
		}
		require.LessOrEqual(t, y.sum, f.sum*1.001)
		busy := make([]float64, len(y.price))
		for i, z := range y.of {
			stages := y.plans[z.plan]
			require.Len(t, z.slots, len(stages))
			for k, p := range stages {
				require.GreaterOrEqual(t, z.slots[k], p.after)
				require.Less(t, z.slots[k]+p.left, slots)
				if k > 0 {
					require.GreaterOrEqual(t, z.slots[k]-z.slots[k-1], p.after-stages[k-1].after)
				}
				for _, l := range p.loads {
					busy[l.orbit*slots+z.slots[k]] += y.parts[i] * l.busy
				}
			}
		}
		require.LessOrEqual(t, slices.Max(busy), 1+1e-6)
		again := s.newItineraries(x.m.all, slot, slots+1)
		require.True(t, again.solve(y.used()))
		require.GreaterOrEqual(t, again.sum, y.sum*(1-1e-6), "with a slot more")
		y.lp.Close()
		again.lp.Close()
	}
}

// However few runs there are, each itinerary has its part, and another search takes some of them.
func TestItinerariesAreCutShort(t *testing.T) {
	s, x := on(t, "ring:5", 1<<16)
	for turns := 1; turns <= 3; turns++ {
		y := s.newItineraries(x.m.all, float64(x.lasts)/8, 40)
		require.NotNil(t, y)
		y.turns = turns
		require.True(t, y.solve(nil) || turns == 1) // at first no column is there
		require.Len(t, y.parts, len(y.of))
		require.Subset(t, y.of, y.used())
		require.NotEmpty(t, y.cheaper(), "more would help")
		y.lp.Close()
	}
}

// The cheapest slots for a plan cost no more than any others.
func TestCheapestItinerary(t *testing.T) {
	s, x := on(t, "ring:5", 1<<16)
	const slots = 30
	y := s.newItineraries(x.m.all, float64(x.lasts)/4, slots)
	defer y.lp.Close()
	r := rand.New(rand.NewPCG(1, 1))
	tried := 0
	for range 20 {
		for i := range y.price {
			y.price[i] = r.Float64()
		}
		for _, stages := range y.plans {
			if len(stages) == 0 {
				continue
			}
			cost := func(at []int) (sum float64) {
				for k, p := range stages {
					for _, l := range p.loads {
						sum += l.busy * y.price[l.orbit*slots+at[k]]
					}
				}
				return sum
			}
			at, least := y.cheapest(stages)
			require.InDelta(t, cost(at), least, 1e-9)
			for range 20 {
				other, wait := make([]int, len(stages)), 0
				for k, p := range stages {
					room := slots - wait
					for _, q := range stages[k:] {
						room = min(room, slots-q.after-q.left-wait)
					}
					wait += r.IntN(min(room, 1+r.IntN(room)))
					other[k] = p.after + wait
				}
				require.GreaterOrEqual(t, cost(other), least-1e-9)
				tried++
			}
		}
	}
	require.Positive(t, tried)
}

// Chunks that follow itineraries are sooner over than those that are put in order by their plans, where what is sent takes longer than a latency; and all
// is right.
func TestTravel(t *testing.T) {
	s, x := on(t, "ring:5", 1<<17)
	require.NotNil(t, x.settle(littleOver))
	require.NotNil(t, x.mixing(1))
	before := s.makespan
	used := make([]int, len(x.plans))
	for i := range used {
		used[i] = i
	}
	s.best, s.makespan = nil, 2*before
	x.travel(used, 1)
	require.NotNil(t, s.best)
	require.NotNil(t, s.ranked)
	require.Less(t, s.makespan, x.end+x.end/10)
	require.Less(t, s.makespan, before+before/50)
	r := s.result(solve.Done)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
}

// A pattern with a round more, in which nothing is sent, is as right; improved patterns are right, and cost less than they bring.
func TestPolish(t *testing.T) {
	_, x := on(t, "ring:5", 1<<17)
	found := 0
	for _, y := range x.shapes {
		for at := range y.rounds + 1 {
			z := y.longer(at)
			require.Equal(t, y.rounds+1, z.rounds)
			require.True(t, z.right(5))
			require.False(t, slices.ContainsFunc(z.jumps, func(j jump) bool { return j.round == at }))
		}
		require.True(t, y.right(5))
		found++
	}
	require.Positive(t, found)
	f := x.settle(muchOver)
	before := len(x.plans)
	for turns := 0; turns < 5 && x.polish(f); turns++ {
		f = x.settle(muchOver)
	}
	for _, q := range x.plans[before:] {
		require.True(t, x.shapes[q].right(5))
	}
}
