package workloads_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/verify"
)

// compared returns what methods find, all of which both engines must prove.
func compared(t *testing.T, w *wl.Workload, methods string) map[string]workloads.Row {
	t.Helper()
	list, err := workloads.MethodsListed(methods)
	require.NoError(t, err)
	calls := 0
	c, err := workloads.Evaluate(t.Context(), w, list, false, func(*workloads.Comparison) { calls++ })
	require.NoError(t, err)
	require.Equal(t, calls, len(c.Rows))
	require.Len(t, list, len(c.Rows)+len(c.Left))
	rows := map[string]workloads.Row{}
	last := model.Time(0)
	for _, r := range c.Rows {
		for _, e := range r.Each {
			require.Equal(t, verify.Proved, e.Outcome, "%s of %v: %s: %s %v", r.Method, w, e.Engine, e.Reason, e.Violations)
		}
		require.GreaterOrEqual(t, r.Verdict.Makespan, last)
		last = r.Verdict.Makespan
		rows[r.Method] = r
	}
	for _, l := range c.Left {
		require.NotEmpty(t, l.Why, l.Method)
	}
	return rows
}

// Every method that serves an example of testdata/workloads has a schedule of it that is proved.
func TestMethodsServeTheExamples(t *testing.T) {
	all, err := filepath.Glob("../../../testdata/workloads/accept/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, file := range all {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := native.ReadTimetable(file, bytes.NewReader(b))
		require.NoError(t, err)
		require.NotEmpty(t, compared(t, s.Workload, "compose,critical-path,fcfs,spt,round-robin,johnson,gilmore-gomory"), file)
	}
}

// Of jobs, methods that take turns find what package crossover does, on the workload itself: T* for ever,
// the best round-robin where they end.
func TestMethodsTakeTurns(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for i := range 60 {
		var jobs []crossover.Job
		for j := range 2 + r.IntN(3) {
			jobs = append(jobs, crossover.Coarse(string(rune('A'+j)), model.Time(1+r.IntN(20)), model.Time(1+r.IntN(20))))
		}
		if i%2 == 0 {
			s, err := crossover.Periodic(jobs)
			require.NoError(t, err)
			rows := compared(t, crossover.Build(nil, 0, jobs, s, nil).Workload, "round-robin,gilmore-gomory,compose")
			require.Equal(t, s.Period, rows["round-robin"].Schedule.Period)
			require.Equal(t, crossover.LockStep(jobs, crossover.BestLockStep(jobs)), rows["gilmore-gomory"].Schedule.Period)
			continue
		}
		for j := range jobs {
			jobs[j].Rate = 2
		}
		best := crossover.Reorder(jobs, crossover.BestRoundRobin(jobs))
		s := crossover.Finite(best, crossover.RoundRobin)
		rows := compared(t, crossover.Build(nil, 0, jobs, crossover.Finite(jobs, crossover.RoundRobin), nil).Workload, "round-robin,johnson,fcfs,spt,critical-path")
		require.Equal(t, s.End(best), rows["round-robin"].Schedule.Makespan())
		require.Len(t, rows, 5)
	}
}

// Exact finds what no round-robin does, and meets the bound.
func TestExactTakesTurns(t *testing.T) {
	var jobs []crossover.Job
	for i, p := range [][2]model.Time{{7, 9}, {8, 2}, {8, 9}, {8, 9}} {
		jobs = append(jobs, crossover.Coarse(string(rune('A'+i)), p[0], p[1]))
		jobs[i].Rate = 2
	}
	w := crossover.Build(nil, 0, jobs, crossover.Finite(jobs, crossover.RoundRobin), nil).Workload
	rows := compared(t, w, "round-robin,exact")
	if _, ok := rows["exact"]; !ok {
		t.Skip("no solver")
	}
	require.EqualValues(t, 67, rows["round-robin"].Verdict.Makespan)
	require.EqualValues(t, 65, rows["exact"].Verdict.Makespan)
}
