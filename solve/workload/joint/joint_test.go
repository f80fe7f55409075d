package joint_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/workload/joint"
)

func network(t testing.TB, name string) *model.Topology {
	t.Helper()
	topology, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return topology
}

// Of one collective the schedule is right, under both cost models, and each rank that reduces sends a chunk once.
func TestOneCollective(t *testing.T) {
	for _, c := range []struct {
		topology string
		group    []int
	}{{"ring:5", nil}, {"full:6", nil}, {"torus:3x4", nil}, {"mesh:3x3", nil}, {"dgx1", nil}, {"dgxh100:2", nil}, {"switch:6", nil}, {"dragonfly:2x2x2", nil},
		{"ring:8", []int{0, 3, 5}}, {"mesh:3x3", []int{8, 0, 2}}, {"torus:4x4", []int{0, 5, 10, 15}}} {
		for _, kind := range model.Kinds() {
			for _, cost := range []model.CostModel{model.Pipelined, model.Blocking} {
				t.Run(fmt.Sprint(c.topology, c.group, kind, cost), func(t *testing.T) {
					p := &model.Problem{Topology: network(t, c.topology), Collective: model.Collective{Kind: kind, Group: c.group}, Size: 1 << 20, Cost: cost}
					if kind.Rooted() {
						p.Collective.Root = p.Members()[1]
					}
					s, err := joint.Schedule(t.Context(), wl.Of(p), joint.Options{Pieces: 1, Nearest: len(c.topology)%2 == 0})
					require.NoError(t, err)
					require.NoError(t, s.Validate())
					require.Len(t, s.Programs, 1)
					q := s.Workload.Problem(0)
					require.NoError(t, solvetest.Right(q, s.Programs[0]))
					if kind == model.Reduce && c.group == nil {
						require.Len(t, s.Programs[0].Transfers, len(q.Chunks)*(len(p.Members())-1))
					}
				})
			}
		}
	}
}

// On machines that slow links join, an allreduce takes over them no more than hierarchical ones do.
func TestSlowLinksCarryTheLeast(t *testing.T) {
	const size = 64 << 20
	p := &model.Problem{Topology: network(t, "dgxh100:4"), Collective: model.Collective{Kind: model.AllReduce}, Size: size, Cost: model.Pipelined}
	s, err := joint.Schedule(t.Context(), wl.Of(p), joint.Options{Pieces: 1})
	require.NoError(t, err)
	_, into := s.Moved(4, func(v int) int { return v / 8 })
	sum := int64(0)
	for _, bytes := range into {
		sum += bytes
	}
	require.EqualValues(t, 2*size*3, sum)
}

// What it does not serve it says, and it ends with its context.
func TestNotServed(t *testing.T) {
	p := &model.Problem{Topology: network(t, "ring:4"), Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 20, Cost: model.Pipelined}
	w := wl.Of(p)
	w.Operators = []wl.Operator{{Name: "adasum", Commutative: true, Tree: wl.Balanced}}
	w.Ops[0].Operator = "adasum"
	_, err := joint.Schedule(t.Context(), w, joint.Options{Pieces: 1})
	require.ErrorIs(t, err, solve.ErrNotServed)
	require.ErrorContains(t, err, "combines by adasum")
	w = wl.Of(p)
	w.Periodic = true
	_, err = joint.Schedule(t.Context(), w, joint.Options{Pieces: 1})
	require.ErrorIs(t, err, solve.ErrNotServed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = joint.Schedule(ctx, wl.Of(p), joint.Options{Pieces: 1})
	require.ErrorIs(t, err, context.Canceled)
}

// Jobs returns jobs with buckets, each of which is all-reduced among all ranks.
func jobs(topology *model.Topology, n, buckets, iterations int, size int64, step model.Time) *wl.Workload {
	w := &wl.Workload{Topology: topology, Cost: model.Pipelined}
	for j := range n {
		name := fmt.Sprint("job", j)
		w.Jobs = append(w.Jobs, wl.Job{Name: name, Iterations: iterations})
		c := len(w.Ops)
		w.Ops = append(w.Ops, wl.Op{ID: "compute " + name, Kind: wl.Compute, Job: name, Duration: []model.Time{step.Mul(int64(buckets))}, Function: "step",
			Reads: []wl.Access{{Region: wl.Region{Buffer: "data " + name, Size: 1}}}})
		for b := range buckets {
			region := wl.Region{Buffer: fmt.Sprint("bucket ", b, " of ", name), Size: size}
			ready := step.Mul(int64(b + 1))
			w.Ops[c].Reads = append(w.Ops[c].Reads, wl.Access{Region: region, Until: ready})
			w.Ops[c].Writes = append(w.Ops[c].Writes, wl.Access{Region: region, Until: ready})
			w.Edges = append(w.Edges, wl.Edge{From: c, To: len(w.Ops), FromStart: true, Offset: ready}, wl.Edge{From: len(w.Ops), To: c, Height: 1})
			w.Ops = append(w.Ops, wl.Op{ID: fmt.Sprint("bucket ", b, " ", name), Kind: "allreduce", Job: name, Size: size, Buffer: wl.Region{Buffer: region.Buffer}})
		}
	}
	return w
}

// BenchmarkJobs: 64 ranks, 4 jobs with 30 buckets each.
func BenchmarkJobs(b *testing.B) {
	for b.Loop() {
		w := jobs(network(b, "dgxh100:8"), 4, 30, 1, 25<<20, model.Millisecond)
		require.NoError(b, w.Validate())
		s, err := joint.Schedule(b.Context(), w, joint.Options{Pieces: 1})
		require.NoError(b, err)
		transfers := 0
		for _, p := range s.Programs {
			transfers += len(p.Transfers)
		}
		b.ReportMetric(float64(transfers), "transfers")
		b.ReportMetric(float64(s.Makespan())/1e9, "makespan_ms")
	}
}
