package workloads_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/solve/workload"
	"github.com/oraccl/oraccl/verify"
)

// received returns how many bytes each rank receives in all, and how many enter the set of ranks
// that in names.
func received(s *wl.Schedule, in func(rank int) bool) (each map[int]int64, entering int64) {
	each = map[int]int64{}
	for _, p := range s.Placed {
		if p.Program < 0 {
			continue
		}
		for _, x := range s.Programs[p.Program].Transfers {
			bytes := s.Workload.Ops[p.Op].Chunks[x.Chunk].Size
			each[int(x.Dst)] += bytes
			if in(int(x.Dst)) && !in(int(x.Src)) {
				entering += bytes
			}
		}
	}
	return each, entering
}

// The volumes of the literature are those of the schedules. Hierarchical, m nodes of n: a rank
// receives 2(nm-1)/(nm)·D, as few as any allreduce on average, and a node 2(m-1)/m·D.
func TestHierarchicalVolume(t *testing.T) {
	const m, n = 4, 8
	const size = 1 << 16
	w, err := workload.Hierarchical(network(t, "full:32"), model.Pipelined, blocks(m, n), size, 1)
	require.NoError(t, err)
	r, err := workloads.Solve(t.Context(), w, []solve.Solver{named(t, "ring")})
	require.NoError(t, err)
	require.Equal(t, verify.Proved, r.Verdict.Outcome)
	each, node := received(r.Schedule, func(v int) bool { return v < n })
	total := int64(0)
	for _, b := range each {
		total += b
	}
	require.EqualValues(t, 2*(n*m-1)*size, total)
	require.EqualValues(t, 2*(m-1)*size/m, node)
}

// HiTopKComm: a rank receives (n-1)/n·D·v densely, (m-1)·k pairs between nodes, (n-1)·m·k within.
func TestTopKVolume(t *testing.T) {
	const m, n, elements, keep, value, index = 3, 4, 4800, 7, 4, 4
	w, err := (&workload.TopK{Nodes: blocks(m, n), Elements: elements, Value: value, Index: index, Keep: keep, Select: 5000, Scatter: 8000}).Workload(network(t, "full:12"), model.Pipelined)
	s := solved(t, w, err).Schedule
	each, node := received(s, func(v int) bool { return v < n })
	const pairs = keep * (value + index)
	for v, b := range each {
		require.EqualValues(t, (n-1)*elements*value/n+(m-1)*pairs+(n-1)*m*pairs, b, v)
	}
	require.EqualValues(t, n*(m-1)*pairs, node, "what must enter a node: n(m-1) results that it does not have")
}

// SUMMA2.5-LM, X and W kept for the backward pass: (q-1)/q of 2·q blocks each forward and in the
// reduces, and 2(d-1)/d of W over depth; [2,2,1] and [2,2,2].
func TestGridVolume(t *testing.T) {
	for _, depth := range []int{1, 2} {
		const q = 2
		x := &workload.Grid{Side: q, Depth: depth, X: 4000, W: 2000, Y: 1000, Multiply: 3000, Chunks: 2, Backward: true}
		w, err := x.Workload(network(t, "full:8"), model.Pipelined)
		s := solved(t, w, err).Schedule
		each, _ := received(s, func(int) bool { return false })
		total := int64(0)
		for _, b := range each {
			total += b
		}
		ranks := int64(q * q * depth)
		want := ranks*2*(q-1)*(x.X+x.W) + q*q*2*int64(depth-1)*x.W
		require.Equal(t, want, total, "depth %d", depth)
	}
}

// Adasum of n ranks moves what a sum by halving and doubling moves, and its scalars: on level l
// an allreduce among 2^(l+1) ranks: l+1 rounds where a rank sends to one at a time, one where, as
// here, each pair has a link.
func TestAdasumVolume(t *testing.T) {
	const n, size, scalars = 8, 4096, 24
	w, err := workload.Adasum(network(t, "full:8"), model.Pipelined, n, size, scalars, 100, 200)
	s := solved(t, w, err).Schedule
	each, _ := received(s, func(int) bool { return false })
	total := int64(0)
	for _, b := range each {
		total += b
	}
	require.GreaterOrEqual(t, total, int64(2*(n-1)*size+scalars*(8+24*1+7*2)))
	require.GreaterOrEqual(t, s.Makespan(), w.Topology.Links[0].Alpha*(2*3+3), "the latency of 2 L exchanges and of L sums of scalars")
}
