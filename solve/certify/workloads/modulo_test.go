package workloads_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/solve/workload/modulo"
	"github.com/oraccl/oraccl/verify"
)

// Jobs of one network on a circle: never below T*, which most attain.
func TestModuloOfJobs(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 15))
	met, worst := 0, 1.0
	for range 30 {
		var jobs []crossover.Job
		for j := range 2 + r.IntN(3) {
			jobs = append(jobs, crossover.Coarse(string(rune('A'+j)), model.Time(100+r.IntN(2000)), model.Time(100+r.IntN(2000))))
		}
		s, err := crossover.Periodic(jobs)
		require.NoError(t, err)
		rows := compared(t, crossover.Build(nil, 0, jobs, s, nil).Workload, "modulo")
		period := rows["modulo"].Schedule.Period
		require.GreaterOrEqual(t, period, s.Period)
		worst = max(worst, float64(period)/float64(s.Period))
		if period == s.Period {
			met++
		}
	}
	t.Logf("%d of 30 attain it, the worst takes %.3f of it", met, worst)
	require.Greater(t, met, 15)
	require.Less(t, worst, 1.5)
}

// Two jobs whose collectives use other links of two machines have them at once, which jobs that take turns do not.
func TestModuloOverlapsLinks(t *testing.T) {
	net := network(t, "dgxh100:2")
	w := &wl.Workload{Topology: net, Cost: model.Pipelined, Periodic: true, Groups: []wl.Group{{Name: "first", Ranks: []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{Name: "second", Ranks: []int{8, 9, 10, 11, 12, 13, 14, 15}}, {Name: "across", Ranks: []int{0, 8}}}}
	for _, j := range []struct {
		name, group string
		compute     model.Time
		size        int64
	}{{"A", "first", 60e6, 8 << 20}, {"B", "second", 70e6, 8 << 20}, {"C", "across", 20e6, 1 << 20}} {
		n := len(w.Ops)
		w.Jobs = append(w.Jobs, wl.Job{Name: j.name, Iterations: 1})
		region := wl.Region{Buffer: "g" + j.name, Size: j.size}
		w.Ops = append(w.Ops, wl.Op{ID: "compute " + j.name, Kind: wl.Compute, Job: j.name, Group: j.group, Duration: []model.Time{j.compute}, Function: j.name,
			Reads: []wl.Access{{Region: region}}, Writes: []wl.Access{{Region: region}}},
			wl.Op{ID: "sum " + j.name, Kind: "allreduce", Job: j.name, Group: j.group, Size: j.size, Buffer: wl.Region{Buffer: region.Buffer}})
		w.Edges = append(w.Edges, wl.Edge{From: n, To: n + 1}, wl.Edge{From: n + 1, To: n, Height: 1})
	}
	require.NoError(t, w.Validate())
	rows := compared(t, w, "round-robin,modulo")
	require.Less(t, rows["modulo"].Schedule.Period, rows["round-robin"].Schedule.Period)
	require.LessOrEqual(t, rows["modulo"].Schedule.Period, rows["modulo"].Bounds[0].Value*6/5)
}

// leastPeriod returns the least whole period of operations with one transfer or computation each, by trying all of
// their starts within a period: operation i keeps a resource for a time after its start.
func leastPeriod(all []one, heights map[[2]int]int) int {
	for period := 1; ; period++ {
		at := make([]int, len(all))
		var place func(n int) bool
		place = func(n int) bool {
			if n == len(all) {
				return waitsFit(all, heights, at, period)
			}
			for at[n] = 0; at[n] < period; at[n]++ {
				free := all[n].busy <= period
				for j := range n {
					if d := ((at[n]-at[j])%period + period) % period; all[j].keeps == all[n].keeps {
						free = free && d >= all[j].busy && period-d >= all[n].busy
					}
				}
				if free && place(n+1) {
					return true
				}
			}
			return false
		}
		if place(0) {
			return period
		}
	}
}

// waitsFit reports whether whole periods can be added to starts so that all wait for what they must.
func waitsFit(all []one, heights map[[2]int]int, at []int, period int) bool {
	turn := make([]int, len(all))
	for range len(all) + 1 {
		changed := false
		for i := range all {
			for _, j := range all[i].after {
				need := at[j] - at[i] + all[j].lasts
				up := need / period
				if need > 0 && need%period != 0 {
					up++
				}
				if next := turn[j] + up - heights[[2]int{j, i}]; next > turn[i] {
					turn[i], changed = next, true
				}
			}
		}
		if !changed {
			return true
		}
	}
	return false
}

// On tiny periodic workloads of computations and transfers on links of their own, exact finds the least period, as
// all starts do, and modulo none that is shorter.
func TestExactPeriodAgainstAllStarts(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 5))
	above, below := 0, 0
	for range 25 {
		w, all := tiny(t, r, 1)
		heights := map[[2]int]int{}
		w.Periodic = true
		for i, e := range w.Edges {
			if r.IntN(3) == 0 {
				w.Edges[i].Height = 1
				heights[[2]int{e.From, e.To}] = 1
			}
		}
		for i := range all { // each waits for its own last iteration, and the first for another one
			w.Edges = append(w.Edges, wl.Edge{From: i, To: i, Scope: wl.ByAll, Height: 1})
			heights[[2]int{i, i}] = 1
			all[i].after = append(all[i].after, i)
		}
		if last := len(all) - 1; !slices.Contains(all[0].after, last) {
			w.Edges = append(w.Edges, wl.Edge{From: last, To: 0, Scope: wl.ByAll, Height: 2})
			heights[[2]int{last, 0}] = 2
			all[0].after = append(all[0].after, last)
		}
		require.NoError(t, w.Validate())
		rows := compared(t, w, "modulo,exact")
		want := leastPeriod(all, heights)
		require.EqualValues(t, want, rows["exact"].Schedule.Period, "%+v", all)
		require.GreaterOrEqual(t, int(rows["modulo"].Schedule.Period), want)
		if int(rows["modulo"].Schedule.Period) > want {
			above++
		}
		if want > int(rows["exact"].Bounds[0].Value) {
			below++
		}
	}
	t.Logf("modulo is above the least period in %d of 25, the bound below it in %d", above, below)
	require.Positive(t, below)
}

// Jobs that take turns on one network attain T* over its links, too; the vector of 30 is the least of its kind.
func TestExactPeriodOfJobs(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 15))
	for range 12 {
		var jobs []crossover.Job
		for j := range 2 + r.IntN(2) {
			jobs = append(jobs, crossover.Coarse(string(rune('A'+j)), model.Time(1+r.IntN(20)), model.Time(1+r.IntN(20))))
		}
		s, err := crossover.Periodic(jobs)
		require.NoError(t, err)
		require.Equal(t, s.Period, onLinks(t, crossover.Build(nil, 0, jobs, s, nil)))
	}
	jobs := []crossover.Job{crossover.Coarse("A", 10, 10), crossover.Coarse("B", 5, 5)}
	jobs[1].Rate = 2
	require.EqualValues(t, 30, onLinks(t, crossover.Build(nil, 0, jobs, crossover.Rates(t.Context(), jobs), nil)))
}

// onLinks returns the least period of the workload of a schedule with its programs, over the links, which the
// engines must prove.
func onLinks(t *testing.T, s *wl.Schedule) model.Time {
	t.Helper()
	programs := make([]*model.Schedule, len(s.Workload.Ops))
	for _, p := range s.Placed {
		if p.Program >= 0 {
			programs[p.Op] = s.Programs[p.Program]
		}
	}
	x, err := modulo.Exact(t.Context(), s.Workload, programs, modulo.Options{TimeLimit: time.Minute})
	require.NoError(t, err)
	require.True(t, x.Closed)
	require.NoError(t, x.Schedule.Validate())
	v, each, err := workloads.Check(t.Context(), x.Schedule, 0)
	require.NoError(t, err)
	require.Equal(t, verify.Proved, v.Outcome, "%+v", each)
	return x.Schedule.Period
}
