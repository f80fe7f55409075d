package workloads_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	checks "github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/solve/workload"
	"github.com/oraccl/oraccl/verify"
)

// What a function has written may be carried in finer pieces than it was written in: of HiTopKComm's
// pairs each rank's are cut.
func TestTopKInPieces(t *testing.T) {
	for _, pieces := range []int{2, 4} {
		x := &workload.TopK{Nodes: blocks(2, 2), Elements: 1024, Value: 4, Index: 4, Keep: 8, Select: 5000, Scatter: 8000, Pieces: pieces}
		w, err := x.Workload(network(t, "full:4"), model.Pipelined)
		solved(t, w, err)
	}
}

// Of pieces of what functions made, a function reads what is there in the order in which it is there: the
// goal holds if these are the bytes that it names, however they are cut, and else it does not.
func TestFunctionsOfPieces(t *testing.T) {
	net := network(t, "full:2")
	region := func(buffer string, offset, size int64) wl.Access {
		return wl.Access{Region: wl.Region{Buffer: buffer, Offset: offset, Size: size}}
	}
	compute := func(id, function string, reads, writes []wl.Access) wl.Op {
		return wl.Op{ID: id, Kind: wl.Compute, Duration: []model.Time{1000}, Function: function, Reads: reads, Writes: writes}
	}
	list := func(all ...wl.Access) []wl.Access { return all }
	input := func(buffer string) wl.Value { return wl.Value{Rank: -1, Input: &wl.Region{Buffer: buffer}} }
	call := func(function string, sizes []int64, of ...wl.Value) wl.Value {
		return wl.Value{Rank: -1, Function: function, Of: of, Bytes: sizes}
	}
	sum := func(of ...wl.Value) wl.Value { return wl.Value{Rank: -1, Operator: "sum", Of: of} }
	all := func(v wl.Value) wl.Value { // the sum over both ranks
		v = wl.Value{Rank: -1, Operator: "sum", Over: "all", Of: []wl.Value{v}}
		return v
	}
	f := compute("f", "f", list(region("x", 0, 8)), list(region("p", 0, 8)))
	fx := call("f", []int64{8}, input("x"))
	for name, c := range map[string]struct {
		ops   []wl.Op
		goal  wl.Value
		right bool
	}{
		"whole":             {[]wl.Op{f, compute("g", "g", list(region("p", 0, 8)), list(region("y", 0, 4)))}, call("g", []int64{8}, fx), true},
		"two parts, copied": {[]wl.Op{f, compute("copy", "", list(region("p", 0, 4), region("p", 4, 4)), list(region("q", 0, 4), region("q", 4, 4))), compute("g", "g", list(region("q", 0, 8)), list(region("y", 0, 4)))}, call("g", []int64{8}, fx), true},
		"two parts, exchanged": {[]wl.Op{f, compute("copy", "", list(region("p", 0, 4), region("p", 4, 4)), list(region("q", 4, 4), region("q", 0, 4))),
			compute("g", "g", list(region("q", 0, 8)), list(region("y", 0, 4)))}, call("g", []int64{8}, fx), false},
		"one part twice": {[]wl.Op{f, compute("copy", "", list(region("p", 0, 4), region("p", 0, 4)), list(region("q", 0, 4), region("q", 4, 4))),
			compute("g", "g", list(region("q", 0, 8)), list(region("y", 0, 4)))}, call("g", []int64{8}, fx), false},
		"parts of two functions": {[]wl.Op{f, compute("h", "h", list(region("x", 0, 8)), list(region("r", 0, 8))),
			compute("copy", "", list(region("p", 0, 4), region("r", 4, 4)), list(region("q", 0, 4), region("q", 4, 4))),
			compute("g", "g", list(region("q", 0, 8)), list(region("y", 0, 4)))}, call("g", []int64{8}, fx), false},
		"two arguments for one": {[]wl.Op{f, compute("g", "g", list(region("p", 0, 4), region("p", 4, 4)), list(region("y", 0, 4)))}, call("g", []int64{8}, fx), false},
		"a sum of two functions, in parts": {[]wl.Op{f, compute("h", "h", list(region("x", 0, 8)), list(region("q", 0, 8))),
			{ID: "add", Kind: wl.Compute, Duration: []model.Time{1000}, Operator: "sum", Reads: list(region("p", 0, 2), region("p", 2, 6)), Writes: list(region("q", 0, 2), region("q", 2, 6))},
			compute("g", "g", list(region("q", 0, 8)), list(region("y", 0, 4)))}, call("g", []int64{8}, sum(call("h", []int64{8}, input("x")), fx)), true},
		"a part that lacks one of them": {[]wl.Op{f, compute("h", "h", list(region("x", 0, 8)), list(region("q", 0, 8))),
			{ID: "add", Kind: wl.Compute, Duration: []model.Time{1000}, Operator: "sum", Reads: list(region("p", 0, 2)), Writes: list(region("q", 0, 2))},
			compute("g", "g", list(region("q", 0, 8)), list(region("y", 0, 4)))}, call("g", []int64{8}, sum(call("h", []int64{8}, input("x")), fx)), false},
		"an allreduce in chunks": {[]wl.Op{f, {ID: "sum", Kind: "allreduce", Size: 8, Chunks: []model.Chunk{{Size: 4}, {Offset: 4, Size: 4}}, Buffer: wl.Region{Buffer: "p"}},
			compute("g", "g", list(region("p", 0, 8)), list(region("y", 0, 4)))}, call("g", []int64{8}, all(fx)), true},
		"an allreduce of a part": {[]wl.Op{f, {ID: "sum", Kind: "allreduce", Size: 4, Chunks: []model.Chunk{{Size: 2}, {Offset: 2, Size: 2}}, Buffer: wl.Region{Buffer: "p"}},
			compute("g", "g", list(region("p", 0, 8)), list(region("y", 0, 4)))}, call("g", []int64{8}, all(fx)), false},
		"an input in parts": {[]wl.Op{{ID: "sum", Kind: "allreduce", Size: 8, Chunks: []model.Chunk{{Size: 4}, {Offset: 4, Size: 4}}, Buffer: wl.Region{Buffer: "x"}},
			compute("g", "g", list(region("x", 0, 8)), list(region("y", 0, 4)))}, call("g", []int64{8}, all(input("x"))), true},
	} {
		w := &wl.Workload{Topology: net, Cost: model.Pipelined, Groups: []wl.Group{{Name: "all", Ranks: []int{0, 1}}}, Ops: c.ops}
		for i := 1; i < len(w.Ops); i++ {
			w.Edges = append(w.Edges, wl.Edge{From: i - 1, To: i})
		}
		w.Goal = []wl.Goal{{Region: wl.Region{Buffer: "y", Size: 4}, Value: c.goal}}
		require.NoError(t, w.Validate(), name)
		s, _, err := checks.Find(t.Context(), w, nil)
		require.NoError(t, err, name)
		_, each, err := checks.Check(t.Context(), s, 0)
		require.NoError(t, err, "%s: %+v", name, each)
		require.Len(t, each, 3)
		for _, e := range each {
			want := verify.Refuted
			if c.right {
				want = verify.Proved
			}
			require.Equal(t, want, e.Outcome, "%s: %s: %s %v", name, e.Engine, e.Reason, e.Violations)
		}
	}
}
