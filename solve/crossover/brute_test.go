package crossover

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// feasible reports whether any order of what shares a resource has a period: for each pair of
// starts a and b on one resource, and each whole number h from -1 to 2, b comes h periods back
// after a, and a comes 1-h periods back after b. This is exhaustive for starts within two periods
// of each other, to which all can be moved.
func feasible(e *events, period model.Time) bool {
	type pair struct{ a, b int }
	var pairs []pair
	for a := range e.all {
		for b := range a {
			if (e.all[a].Bucket < 0) == (e.all[b].Bucket < 0) && e.all[a].Job != e.all[b].Job {
				pairs = append(pairs, pair{a, b})
			}
		}
	}
	arcs := e.own()
	var try func(k int) bool
	try = func(k int) bool {
		if e.starts(arcs, period) == nil {
			return false
		}
		if k == len(pairs) {
			return true
		}
		for h := -1; h <= 2; h++ {
			p := pairs[k]
			arcs = append(arcs, arc{p.a, p.b, e.length(p.a), h}, arc{p.b, p.a, e.length(p.b), 1 - h})
			if try(k + 1) {
				return true
			}
			arcs = arcs[:len(arcs)-2]
		}
		return false
	}
	return try(0)
}

// No bound on the period, the waiting bound among them, is above the least period that brute
// force finds; and what Rates finds is feasible, and seldom above it.
func TestBoundsAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	waiting, attained, met, total := 0, 0, 0, 0
	for range 150 {
		jobs := []Job{Coarse("A", model.Time(1+r.IntN(6)), model.Time(1+r.IntN(6))), Coarse("B", model.Time(1+r.IntN(6)), model.Time(1+r.IntN(6)))}
		jobs[1].Rate = 2
		bound := Bounds(jobs)[0]
		e := eventsOf(jobs)
		least := bound.Value
		require.False(t, feasible(e, bound.Value-1), "below the bound %+v: %+v", bound, jobs)
		for !feasible(e, least) {
			least++
		}
		total++
		if bound.Kind == "waiting" {
			waiting++
		}
		if least == bound.Value {
			attained++
		}
		found := Rates(t.Context(), jobs).Period
		require.GreaterOrEqual(t, found, least)
		if found == least {
			met++
		}
	}
	t.Logf("of %d instances the waiting bound is the best in %d, the best bound is the optimum in %d, and Rates finds the optimum in %d", total, waiting, attained, met)
	require.Positive(t, waiting)
	require.True(t, feasible(eventsOf(unequal()), 30) && !feasible(eventsOf(unequal()), 29))
}

func unequal() []Job {
	jobs := []Job{Coarse("A", 10, 10), Coarse("B", 5, 5)}
	jobs[1].Rate = 2
	return jobs
}
