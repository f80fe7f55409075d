package workloads_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/native"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/solve/workload"
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
		require.NotEmpty(t, compared(t, s.Workload, "compose,critical-path,fcfs,spt,greedy,round-robin,johnson,gilmore-gomory"), file)
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

// Greedy serves every workload whose collectives are free, on networks with links of two kinds, too.
func TestGreedy(t *testing.T) {
	free := func(w *wl.Workload, err error) *wl.Workload {
		require.NoError(t, err)
		for i := range w.Ops { // where chunks and functions have the cut of each other it stays
			if !slices.ContainsFunc(w.Edges, func(e wl.Edge) bool { return e.Scope == wl.ByChunk }) && w.Ops[i].Function == "" && w.Goal == nil {
				w.Ops[i].Chunks = nil
			}
		}
		return w
	}
	grid := &workload.Grid{Side: 2, Depth: 2, X: 1 << 20, W: 1 << 19, Y: 1 << 20, Multiply: 5 * model.Microsecond, Chunks: 1, Backward: true}
	sparse := &workload.TopK{Nodes: blocks(2, 8), Elements: 1 << 20, Value: 4, Index: 4, Keep: 1 << 10, Select: 5000, Scatter: 8000}
	for name, make := range map[string]func() (*wl.Workload, error){
		"hierarchical": func() (*wl.Workload, error) {
			return workload.Hierarchical(network(t, "dgxh100:2"), model.Pipelined, blocks(2, 8), 16<<20, 1)
		},
		"hierarchical on a torus": func() (*wl.Workload, error) {
			return workload.Hierarchical(network(t, "torus:4x4"), model.Blocking, blocks(4, 4), 1<<20, 2)
		},
		"topk": func() (*wl.Workload, error) { return sparse.Workload(network(t, "dgxh100:2"), model.Pipelined) },
		"grid": func() (*wl.Workload, error) { return grid.Workload(network(t, "dgx1"), model.Pipelined) },
		"late": func() (*wl.Workload, error) {
			return workload.Straggler(&model.Problem{Topology: network(t, "dgxh100"), Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 24, Cost: model.Pipelined}, 3, 100*model.Microsecond), nil
		},
	} {
		w := free(make())
		rows := compared(t, w, "compose,greedy")
		require.Len(t, rows, 2, name)
		t.Logf("%s: compose %v, greedy %v", name, rows["compose"].Verdict.Makespan, rows["greedy"].Verdict.Makespan)
		require.LessOrEqual(t, rows["greedy"].Verdict.Makespan, rows["compose"].Verdict.Makespan.Mul(2), name)
	}
}

// Random graphs of operations on random groups: whatever greedy makes of them, both engines prove.
func TestGreedyOnRandomWorkloads(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	kinds := []wl.Kind{"allreduce", "allgather", "reducescatter", "broadcast", "reduce", "alltoall", "gather", "scatter", wl.Compute, wl.Compute, wl.Compute, wl.Barrier}
	served := 0
	for range 100 {
		net := network(t, []string{"ring:5", "full:4", "torus:3x3", "dgx1", "dgxh100:2", "mesh:2x3", "switch:5"}[r.IntN(7)])
		w := &wl.Workload{Topology: net, Cost: []model.CostModel{model.Pipelined, model.Blocking}[r.IntN(2)]}
		for j := range 1 + r.IntN(3) {
			w.Jobs = append(w.Jobs, wl.Job{Name: string(rune('A' + j)), Iterations: 1 + r.IntN(3)})
		}
		if r.IntN(3) == 0 {
			w.Release = make([]model.Time, net.Ranks)
			w.Release[r.IntN(net.Ranks)] = model.Time(r.IntN(1000000))
		}
		for i := range 1 + r.IntN(8) {
			op := wl.Op{ID: fmt.Sprint("op", i), Kind: kinds[r.IntN(len(kinds))], Job: w.Jobs[r.IntN(len(w.Jobs))].Name}
			ranks := r.Perm(net.Ranks)[:1+r.IntN(net.Ranks)]
			if len(ranks) < net.Ranks {
				op.Group = fmt.Sprint("group", i)
				w.Groups = append(w.Groups, wl.Group{Name: op.Group, Ranks: ranks})
			}
			switch op.Kind {
			case wl.Compute:
				op.Duration = []model.Time{model.Time(1 + r.IntN(500000))}
			case wl.Barrier:
			default:
				op.Root = ranks[r.IntN(len(ranks))]
				op.Size = int64(1+r.IntN(64)) * 1024 * int64(len(ranks)) * int64(len(ranks))
			}
			w.Ops = append(w.Ops, op)
			for k := range i { // of the same job, so that iterations agree
				if w.Ops[k].Job != op.Job || r.IntN(2) == 0 {
					continue
				}
				e := wl.Edge{From: k, To: i, Scope: []wl.Scope{wl.ByRank, wl.ByAll}[r.IntN(2)]}
				if w.Ops[k].Kind == wl.Compute && r.IntN(2) == 0 {
					e.FromStart, e.Offset = true, model.Time(r.IntN(int(w.Ops[k].Duration[0])+1))
				}
				w.Edges = append(w.Edges, e)
			}
			w.Edges = append(w.Edges, wl.Edge{From: i, To: i, Scope: wl.ByAll, Height: 1})
		}
		if w.Validate() != nil {
			continue
		}
		rows := compared(t, w, "greedy")
		served += len(rows)
	}
	t.Logf("%d served", served)
	require.Greater(t, served, 20)
}
