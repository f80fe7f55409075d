package workloads_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/crossover"
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
