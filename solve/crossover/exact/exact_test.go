package exact_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/solve/crossover/exact"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

func jobs(rate int, pairs ...[2]model.Time) []crossover.Job {
	var all []crossover.Job
	for i, p := range pairs {
		j := crossover.Coarse(string(rune('A'+i)), p[0], p[1])
		j.Rate = rate
		all = append(all, j)
	}
	return all
}

func available(t *testing.T) {
	if err := highs.Available(); err != nil {
		t.Skip(err)
	}
}

// The finite vectors, among them those in which no round-robin is optimal.
func TestFiniteVectors(t *testing.T) {
	available(t)
	for _, c := range []struct {
		jobs []crossover.Job
		want model.Time
	}{
		{jobs(2, [2]model.Time{6, 2}, [2]model.Time{5, 1}, [2]model.Time{3, 7}), 29},
		{jobs(4, [2]model.Time{4, 4}, [2]model.Time{4, 3}, [2]model.Time{6, 7}), 62},
		{jobs(2, [2]model.Time{7, 9}, [2]model.Time{8, 2}, [2]model.Time{8, 9}, [2]model.Time{8, 9}), 65},
		{jobs(2, [2]model.Time{9, 9}, [2]model.Time{1, 1}), 37},
		{jobs(1, [2]model.Time{9, 9}, [2]model.Time{2, 9}, [2]model.Time{9, 2}), 22},
		{jobs(2, [2]model.Time{5, 5}, [2]model.Time{3, 2}, [2]model.Time{8, 8}, [2]model.Time{6, 3}), 46},
	} {
		c.jobs = crossover.Reorder(c.jobs, crossover.BestRoundRobin(c.jobs))
		best := crossover.Finite(c.jobs, crossover.RoundRobin)
		r, err := exact.Finite(t.Context(), c.jobs, best, exact.Options{})
		require.NoError(t, err)
		require.True(t, r.Closed)
		end := best.End(c.jobs)
		if r.Schedule != nil {
			require.Less(t, r.Schedule.End(c.jobs), end)
			end = r.Schedule.End(c.jobs)
		}
		require.Equal(t, c.want, end, "%+v", c.jobs)
	}
}

// The throughput form finds T* at equal rates, and what the waiting bound proves for 20 against 30.
func TestPeriodic(t *testing.T) {
	available(t)
	r := rand.New(rand.NewPCG(31, 32))
	for range 12 {
		var all []crossover.Job
		for i := range 2 + r.IntN(2) {
			j := crossover.Job{Name: string(rune('A' + i)), Compute: 2 + model.Time(r.IntN(20)), Rate: 1}
			for k := range 1 + r.IntN(2) {
				j.Buckets = append(j.Buckets, crossover.Bucket{Ready: 1 + model.Time(k), Time: model.Time(1 + r.IntN(9))})
			}
			all = append(all, j)
		}
		x, err := exact.Periodic(t.Context(), all, nil, exact.Options{})
		require.NoError(t, err)
		best, err := crossover.Periodic(all)
		require.NoError(t, err)
		require.True(t, x.Closed)
		require.NotNil(t, x.Schedule)
		require.Equal(t, best.Period, x.Schedule.Period, "%+v", all)
	}
	two := jobs(1, [2]model.Time{10, 10}, [2]model.Time{5, 5})
	two[1].Rate = 2
	x, err := exact.Periodic(t.Context(), two, nil, exact.Options{})
	require.NoError(t, err)
	require.EqualValues(t, 30, x.Schedule.Period)
	again, err := exact.Periodic(t.Context(), two, x.Schedule, exact.Options{})
	require.NoError(t, err)
	require.Nil(t, again.Schedule, "nothing is shorter than the incumbent")
	require.True(t, again.Closed)
}

// What is too large is refused by name, and a run ends with its context.
func TestRefused(t *testing.T) {
	available(t)
	large := jobs(60, [2]model.Time{7, 9}, [2]model.Time{8, 2}, [2]model.Time{8, 9}, [2]model.Time{8, 9})
	_, err := exact.Finite(t.Context(), large, crossover.Finite(large, crossover.RoundRobin), exact.Options{})
	require.ErrorIs(t, err, exact.ErrTooLarge)
	_, err = exact.Periodic(t.Context(), large, nil, exact.Options{})
	require.ErrorIs(t, err, exact.ErrTooLarge)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = exact.Periodic(ctx, jobs(3, [2]model.Time{7, 9}, [2]model.Time{8, 2}, [2]model.Time{8, 9}), nil, exact.Options{})
	if err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
}
