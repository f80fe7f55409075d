package workloads_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/solve/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
	checks "github.com/oraccl/oraccl/verify/workload"
)

func network(t *testing.T, name string) *model.Topology {
	t.Helper()
	topology, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return topology
}

// solved returns a schedule that all engines proved.
func solved(t *testing.T, w *wl.Workload, err error) *workloads.Report {
	t.Helper()
	require.NoError(t, err)
	r, err := workloads.Solve(t.Context(), w, nil)
	require.NoError(t, err)
	for _, e := range r.Each {
		require.Equal(t, verify.Proved, e.Outcome, "%s: %s %v", e.Engine, e.Reason, e.Violations)
	}
	require.NotEmpty(t, r.Bounds)
	require.GreaterOrEqual(t, r.Verdict.Makespan, r.Bounds[0].Value)
	t.Logf("%v: %v, bound %v by %s, gap %.3f", w, r.Verdict.Makespan, r.Bounds[0].Value, r.Bounds[0].Kind, r.Gap())
	return r
}

func blocks(m, n int) (nodes [][]int) {
	for a := range m {
		var ranks []int
		for i := range n {
			ranks = append(ranks, a*n+i)
		}
		nodes = append(nodes, ranks)
	}
	return nodes
}

// 1 000 random job sets: T* is attained, and all engines prove it; the solver is asked about each tenth.
func TestCrossoverIsProved(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 1000 {
		var all []crossover.Job
		for j := range 1 + r.IntN(5) {
			job := crossover.Coarse(string(rune('A'+j)), model.Time(1+r.IntN(30)), model.Time(1+r.IntN(30)))
			if i%2 == 0 {
				job.Buckets = nil
				for range r.IntN(5) {
					job.Buckets = append(job.Buckets, crossover.Bucket{Ready: 1 + model.Time(r.IntN(int(job.Compute))), Time: model.Time(1 + r.IntN(9))})
				}
				slices.SortFunc(job.Buckets, func(a, b crossover.Bucket) int { return int(a.Ready - b.Ready) })
			}
			all = append(all, job)
		}
		s, err := crossover.Periodic(all)
		require.NoError(t, err)
		built := crossover.Build(nil, 0, all, s, nil)
		require.NoError(t, built.Validate())
		ask := func(s *wl.Schedule) (verify.Verdict, []verify.Verdict, error) { return checks.Check(t.Context(), s) }
		if i%10 == 0 {
			ask = func(s *wl.Schedule) (verify.Verdict, []verify.Verdict, error) {
				return workloads.Check(t.Context(), s, 0)
			}
		}
		_, each, err := ask(built)
		require.NoError(t, err)
		for _, e := range each {
			require.Equal(t, verify.Proved, e.Outcome, "%s: %s %v: %+v", e.Engine, e.Reason, e.Violations, all)
		}
		compute, network, alone, _ := crossover.Load(all)
		require.Equal(t, max(compute, network, alone), checks.Bounds(t.Context(), built.Workload)[0].Value, "the certificate of T*: %+v", all)
		if built.Period--; built.Period == 0 {
			continue
		}
		_, each, err = ask(built)
		require.NoError(t, err)
		for _, e := range each {
			require.Equal(t, verify.Refuted, e.Outcome, "%s: a period below T*", e.Engine)
		}
	}
}

// A hierarchical allreduce as a workload ends, to the picosecond, when the same transfers end as
// one schedule of one allreduce.
func TestHierarchicalIsOneAllreduce(t *testing.T) {
	for _, c := range []struct {
		topology string
		m, n     int
		size     int64
		parts    int
	}{{"full:4", 2, 2, 4096, 1}, {"dgxh100:2", 2, 8, 8 << 20, 2}, {"switch:12", 3, 4, 12 << 10, 1}, {"ring:6", 2, 3, 6 << 10, 2}} {
		net := network(t, c.topology)
		w, err := workload.Hierarchical(net, model.Pipelined, blocks(c.m, c.n), c.size, c.parts)
		r := solved(t, w, err)
		p, one, err := r.Schedule.One(model.Collective{Kind: model.AllReduce})
		require.NoError(t, err)
		require.Equal(t, c.size, p.Size)
		require.Len(t, p.Chunks, c.m*c.n*c.parts)
		v := replay.Check(t.Context(), p, one)
		require.Equal(t, verify.Proved, v.Outcome, "%v", v.Violations)
		require.Equal(t, v.Makespan, r.Verdict.Makespan)
	}
}

func TestTopK(t *testing.T) {
	x := &workload.TopK{Nodes: blocks(2, 4), Elements: 4096, Value: 4, Index: 4, Keep: 8, Select: 5000, Scatter: 8000}
	w, err := x.Workload(network(t, "switch:8"), model.Pipelined)
	solved(t, w, err)
}

func TestGrid(t *testing.T) {
	for _, c := range [][2]int{{2, 1}, {2, 2}, {3, 1}} {
		x := &workload.Grid{Side: c[0], Depth: c[1], X: 1200, W: 600, Y: 1000, Multiply: 3000, Chunks: 2, Backward: true}
		w, err := x.Workload(network(t, "switch:9"), model.Pipelined)
		solved(t, w, err)
	}
}

func TestAdasum(t *testing.T) {
	for _, n := range []int{2, 4, 8, 16} {
		w, err := workload.Adasum(network(t, "full:16"), model.Pipelined, n, 4096, 24, 100, 200)
		solved(t, w, err)
	}
}

// An allreduce by Adasum as one operation: recursive doubling of the whole has the balanced tree,
// and a ring has another one for each chunk.
func TestAdasumTrees(t *testing.T) {
	net := network(t, "full:4")
	operators := []wl.Operator{{Name: "adasum", Commutative: true, Tree: wl.Balanced}}
	for _, c := range []struct {
		method string
		chunks int
		proved bool
	}{{"recursive-doubling", 1, true}, {"ring", 4, false}, {"ring", 1, false}} {
		w := &wl.Workload{Topology: net, Cost: model.Pipelined, Operators: operators, Ops: []wl.Op{{ID: "adasum", Kind: "allreduce", Operator: "adasum", Size: 4096}}}
		w.Ops[0].Chunks = w.Problem(0).Cut(c.chunks)
		require.NoError(t, w.Validate())
		s := programs(t, w, c.method)
		v, each, err := checks.Check(t.Context(), s)
		require.NoError(t, err)
		if c.proved {
			require.Equal(t, verify.Proved, v.Outcome, "%+v", each)
			continue
		}
		require.Equal(t, verify.Refuted, v.Outcome, "%+v", each)
		for _, e := range each {
			require.True(t, strings.HasPrefix(e.Violations[0].String(), "wrong-tree"), "%+v", e)
		}
	}
}

// programs places one operation by a method.
func programs(t *testing.T, w *wl.Workload, method string) *wl.Schedule {
	m := named(t, method)
	p := w.Problem(0)
	r, err := m.Solve(t.Context(), p, options)
	require.NoError(t, err)
	require.NotNil(t, r.Schedule, r.Note)
	return &wl.Schedule{Workload: w, Programs: []*model.Schedule{r.Schedule}, Placed: []wl.Placement{{Op: 0}}}
}

// The flow of jobs that end is valued as solve/crossover proposes it, and no bound is above the
// makespan of any order of the jobs, nor, for one iteration, above Johnson's, which is the least.
func TestFlow(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	met := 0
	for i := range 60 {
		var all []crossover.Job
		for j := range 2 + r.IntN(3) {
			job := crossover.Coarse(string(rune('A'+j)), model.Time(1+r.IntN(9)), model.Time(1+r.IntN(9)))
			job.Rate = 1 + i%3
			all = append(all, job)
		}
		least := model.MaxTime
		crossover.Orders(len(all), func(order []int) {
			list := crossover.Reorder(all, order)
			least = min(least, crossover.Finite(list, crossover.RoundRobin).End(list))
		})
		built := crossover.Build(nil, 0, all, crossover.Finite(all, crossover.RoundRobin), nil)
		var flow model.Time
		for _, b := range checks.Bounds(t.Context(), built.Workload) {
			require.LessOrEqual(t, b.Value, least, "%s: %+v", b.Kind, all)
			if b.Kind == "flow" {
				flow = b.Value
			}
		}
		if want := crossover.BoundFinite(all); want.Kind != "job" {
			require.Equal(t, want.Value, flow, "%+v", all)
		}
		if flow == least {
			met++
		}
	}
	require.Greater(t, met, 20)
	built := crossover.Build(nil, 0, []crossover.Job{crossover.Coarse("A", 3, 4)}, crossover.Finite([]crossover.Job{crossover.Coarse("A", 3, 4)}, crossover.RoundRobin), nil)
	for _, wrong := range []wl.Bound{{Ops: []int{0, 1, 0, 1}}, {Ops: []int{1, 0}}, {Ops: []int{0}}, {Rank: 7, Ops: []int{0, 1}}, {Ops: []int{0, 9}}} {
		wrong.Kind = "flow"
		_, err := checks.Yield(built.Workload, &wrong)
		require.Error(t, err, "%+v", wrong)
	}
}

// What must enter a machine bounds a hierarchical allreduce: the network between machines is the slower one.
func TestMachineCut(t *testing.T) {
	net, err := topo.Parse("fattree:2x4x1", topo.Options{Alpha: []model.Time{model.Microsecond, 5 * model.Microsecond}, Bandwidth: []int64{100_000_000_000, 25_000_000_000}})
	require.NoError(t, err)
	w, err := workload.Hierarchical(net, model.Pipelined, blocks(2, 4), 8<<20, 1)
	r := solved(t, w, err)
	i := slices.IndexFunc(r.Bounds, func(b *wl.Bound) bool { return b.Kind == "cut" && len(b.Nodes) == 5 }) // four ranks and their switch
	require.GreaterOrEqual(t, r.Bounds[i].Value, model.TransferTime(8<<20, 25_000_000_000))
}
