package crossover_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/crossover"
)

func jobs(rates []int, pairs ...[2]model.Time) []crossover.Job {
	var all []crossover.Job
	for i, p := range pairs {
		j := crossover.Coarse(string(rune('A'+i)), p[0], p[1])
		if rates != nil {
			j.Rate = rates[i]
		}
		all = append(all, j)
	}
	return all
}

// draw makes jobs, with buckets or coarse ones.
func draw(r *rand.Rand, most int, buckets bool) []crossover.Job {
	var all []crossover.Job
	for i := range 1 + r.IntN(most) {
		j := crossover.Coarse(string(rune('A'+i)), model.Time(1+r.IntN(20)), model.Time(1+r.IntN(20)))
		if buckets {
			j.Buckets = nil
			for range r.IntN(6) {
				j.Buckets = append(j.Buckets, crossover.Bucket{Ready: 1 + model.Time(r.IntN(int(j.Compute))), Time: model.Time(1 + r.IntN(8))})
			}
			slices.SortFunc(j.Buckets, func(a, b crossover.Bucket) int { return int(a.Ready - b.Ready) })
		}
		all = append(all, j)
	}
	return all
}

// right checks a periodic schedule in the most literal way: three periods, all pairs.
func right(t *testing.T, all []crossover.Job, s *crossover.Schedule) {
	type span struct{ from, to model.Time }
	const periods = 4
	var gpu, net []span
	start := map[[4]int]model.Time{}
	for p := range periods {
		for _, x := range s.Starts {
			at := x.At + model.Time(p)*s.Period
			start[[4]int{p, x.Job, x.Iteration, x.Bucket}] = at
			if x.Bucket < 0 {
				gpu = append(gpu, span{at, at + all[x.Job].Compute})
			} else {
				net = append(net, span{at, at + all[x.Job].Buckets[x.Bucket].Time})
			}
		}
	}
	for _, list := range [][]span{gpu, net} {
		for i, a := range list {
			for _, b := range list[:i] {
				require.False(t, a.from < b.to && b.from < a.to, "%v and %v in %+v of %+v", a, b, s, all)
			}
		}
	}
	for p := range periods {
		for j := range all {
			for k, b := range all[j].Buckets {
				require.GreaterOrEqual(t, start[[4]int{p, j, 0, k}], start[[4]int{p, j, 0, -1}]+b.Ready)
				if p > 0 {
					require.GreaterOrEqual(t, start[[4]int{p, j, 0, -1}], start[[4]int{p - 1, j, 0, k}]+b.Time, "%+v of %+v", s, all)
				}
			}
		}
	}
}

// T* is attained by 20 000 job sets, in the order in which they come.
func TestPeriodicIsAttained(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20000 {
		all := draw(r, 6, i%2 == 0)
		require.NoError(t, crossover.Validate(all))
		s, err := crossover.Periodic(all)
		require.NoError(t, err)
		require.Equal(t, crossover.Bounds(all)[0].Value, max(s.Period, crossover.Bounds(all)[0].Value), "the waiting bound is above T*: %+v", all)
		if i%20 == 0 {
			right(t, all, s)
		}
	}
}

// The vectors of the field: the limit, and in what order lock-step is best.
func TestPeriodVectors(t *testing.T) {
	s, err := crossover.Periodic(jobs(nil, [2]model.Time{7, 4}, [2]model.Time{5, 6}, [2]model.Time{3, 9}, [2]model.Time{8, 2}))
	require.NoError(t, err)
	require.EqualValues(t, 23, s.Period)
	muri := jobs(nil, [2]model.Time{67, 131}, [2]model.Time{414, 216}, [2]model.Time{166, 133}) // vgg16, gpt2, bert on 32 GPUs
	require.EqualValues(t, 1127, crossover.TimeSlicing(muri))
	require.EqualValues(t, 763, crossover.LockStep(muri, []int{0, 1, 2}))
	require.EqualValues(t, 796, crossover.LockStep(muri, []int{0, 2, 1}))
	require.EqualValues(t, 763, crossover.LockStep(muri, crossover.BestLockStep(muri)))
	s, err = crossover.Periodic(muri)
	require.NoError(t, err)
	require.EqualValues(t, 647, s.Period)
	require.Equal(t, "gpu", crossover.Bounds(muri)[0].Kind)
	unequal := jobs([]int{1, 2}, [2]model.Time{10, 10}, [2]model.Time{5, 5})
	require.EqualValues(t, 30, crossover.Bounds(unequal)[0].Value)
	require.Equal(t, "waiting", crossover.Bounds(unequal)[0].Kind)
	compute, network, alone, _ := crossover.Load(unequal)
	require.EqualValues(t, 20, max(compute, network, alone))
}

// Gilmore and Gomory's order is the best of all.
func TestBestLockStep(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1500 {
		all := draw(r, 7, false)
		least := model.MaxTime
		crossover.Orders(len(all), func(order []int) { least = min(least, crossover.LockStep(all, order)) })
		order := crossover.BestLockStep(all)
		require.ElementsMatch(t, order, func() (n []int) {
			for i := range all {
				n = append(n, i)
			}
			return n
		}())
		require.Equal(t, least, crossover.LockStep(all, order), "%+v", all)
	}
}

// The makespans of a few iterations: what each policy reaches.
func TestFiniteVectors(t *testing.T) {
	for _, c := range []struct {
		c, m                                 []model.Time
		n                                    int
		bound, given, best, come, shortfirst model.Time
	}{
		{[]model.Time{6, 5, 3}, []model.Time{2, 1, 7}, 2, 29, 35, 29, 35, 30},
		{[]model.Time{4, 4, 6}, []model.Time{4, 3, 7}, 4, 60, 63, 62, 63, 84},
		{[]model.Time{7, 8, 8, 8}, []model.Time{9, 2, 9, 9}, 2, 65, 72, 67, 72, 81},
		{[]model.Time{9, 1}, []model.Time{9, 1}, 2, 36, 37, 37, 37, 37},
		{[]model.Time{9, 2, 9}, []model.Time{9, 9, 2}, 1, 22, 29, 22, 29, 22},
		{[]model.Time{5, 3, 8, 6}, []model.Time{5, 2, 8, 3}, 2, 46, 49, 48, 49, 60},
	} {
		var all []crossover.Job
		for i := range c.c {
			j := crossover.Coarse(string(rune('A'+i)), c.c[i], c.m[i])
			j.Rate = c.n
			all = append(all, j)
		}
		ends := func(all []crossover.Job, by crossover.Policy) model.Time { return crossover.Finite(all, by).End(all) }
		require.Equal(t, c.bound, crossover.BoundFinite(all).Value, "%+v", c)
		require.Equal(t, c.given, ends(all, crossover.RoundRobin), "%+v", c)
		require.Equal(t, c.best, ends(crossover.Reorder(all, crossover.BestRoundRobin(all)), crossover.RoundRobin), "%+v", c)
		require.Equal(t, c.come, ends(all, crossover.FirstCome), "%+v", c)
		require.Equal(t, c.shortfirst, ends(all, crossover.ShortestFirst), "%+v", c)
	}
}

// Johnson's order is the best of all for one iteration.
func TestJohnson(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		all := draw(r, 6, false)
		best := crossover.Reorder(all, crossover.BestRoundRobin(all))
		johnson := crossover.Reorder(all, crossover.Johnson(all))
		require.Equal(t, crossover.Finite(best, crossover.RoundRobin).End(best), crossover.Finite(johnson, crossover.RoundRobin).End(johnson), "%+v", all)
	}
}

// Unequal rates: the waiting bound is attained where brute force over integers says that it is the
// optimum, and no schedule is below any bound.
func TestRates(t *testing.T) {
	s := crossover.Rates(t.Context(), jobs([]int{1, 2}, [2]model.Time{10, 10}, [2]model.Time{5, 5}))
	require.EqualValues(t, 30, s.Period)
	r := rand.New(rand.NewPCG(9, 10))
	met := 0
	for range 300 {
		var rates []int
		var pairs [][2]model.Time
		for range 2 + r.IntN(2) {
			rates = append(rates, 1+r.IntN(3))
			pairs = append(pairs, [2]model.Time{model.Time(1 + r.IntN(9)), model.Time(1 + r.IntN(9))})
		}
		all := jobs(rates, pairs...)
		s := crossover.Rates(t.Context(), all)
		require.GreaterOrEqual(t, s.Period, crossover.Bounds(all)[0].Value)
		if s.Period == crossover.Bounds(all)[0].Value {
			met++
		}
		least := crossover.TimeSlicing(all)
		require.LessOrEqual(t, s.Period, least)
	}
	t.Logf("%d of 300 attain the bound", met)
	require.Greater(t, met, 100)
}
