package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/workload"
)

// product is a product of matrices of two ranks, which has an order: rank 0 sends its factor, and
// rank 1 multiplies its own by it from the right.
func product(members ...int) *wl.Schedule {
	factor := wl.Region{Buffer: "g", Size: 8}
	w := &wl.Workload{Topology: pair(), Cost: model.Pipelined, Operators: []wl.Operator{{Name: "product", Associative: true, Elementwise: true}},
		Groups: []wl.Group{{Name: "factors", Ranks: members}, {Name: "one", Ranks: []int{1}}},
		Ops: []wl.Op{
			{ID: "send", Kind: wl.SendRecv, Size: 8, Chunks: []model.Chunk{{Size: 8}}, Buffer: wl.Region{Buffer: "g"}, Into: wl.Region{Buffer: "other"}},
			{ID: "multiply", Kind: wl.Compute, Group: "one", Duration: []model.Time{5}, Operator: "product",
				Reads: []wl.Access{{Region: wl.Region{Buffer: "other", Size: 8}}}, Writes: []wl.Access{{Region: factor}}}},
		Goal: []wl.Goal{{Region: factor, Group: "one", Value: wl.Value{Rank: -1, Operator: "product", Over: "factors", Of: []wl.Value{{Rank: -1, Input: &wl.Region{Buffer: "g"}}}}}}}
	w.After("multiply", "send", wl.ByRank)
	send := &model.Schedule{Form: model.Timed, Routes: [][]int{{0}}, Transfers: []model.Transfer{{Dst: 1, End: 8}}}
	return &wl.Schedule{Workload: w, Programs: []*model.Schedule{send}, Placed: []wl.Placement{{Op: 0}, {Op: 1, Program: -1, Starts: []model.Time{8}}}}
}

// The order of factors counts where an operator is not commutative.
func TestProductHasAnOrder(t *testing.T) {
	for _, c := range []struct {
		members []int
		want    verify.Outcome
	}{{[]int{1, 0}, verify.Proved}, {[]int{0, 1}, verify.Refuted}} {
		_, each := check(t, product(c.members...))
		for _, e := range each {
			require.Equal(t, c.want, e.Outcome, "%v: %s %s %v", c.members, e.Engine, e.Reason, e.Violations)
		}
	}
}

// A function of arguments that are divided otherwise is another one, though their bytes are the same.
func TestArgumentsHaveSizes(t *testing.T) {
	at := func(offset, size int64) wl.Access {
		return wl.Access{Region: wl.Region{Buffer: "g", Offset: offset, Size: size}}
	}
	for _, c := range []struct {
		split int64
		want  verify.Outcome
	}{{8, verify.Proved}, {4, verify.Refuted}} {
		s := product(0, 1)
		s.Workload.Groups[1].Ranks = []int{0, 1}
		s.Workload.Ops = []wl.Op{{ID: "f", Kind: wl.Compute, Duration: []model.Time{5}, Function: "f", Reads: []wl.Access{at(0, c.split), at(c.split, 16-c.split)},
			Writes: []wl.Access{{Region: wl.Region{Buffer: "y", Size: 8}}}}, {ID: "look", Kind: wl.Compute, Duration: []model.Time{5}, Function: "h", Reads: []wl.Access{at(0, 4), at(4, 4), at(8, 8)},
			Writes: []wl.Access{{Region: wl.Region{Buffer: "z", Size: 8}}}}}
		s.Workload.Edges, s.Programs = nil, nil
		of := func(offset int64) wl.Value {
			return wl.Value{Rank: -1, Input: &wl.Region{Buffer: "g", Offset: offset}}
		}
		s.Workload.Goal = []wl.Goal{{Region: wl.Region{Buffer: "y", Size: 8}, Value: wl.Value{Rank: -1, Function: "f", Of: []wl.Value{of(0), of(8)}, Bytes: []int64{8, 8}}}}
		s.Placed = []wl.Placement{{Op: 0, Program: -1, Starts: []model.Time{0, 0}}, {Op: 1, Program: -1, Starts: []model.Time{5, 5}}}
		_, each := check(t, s)
		for _, e := range each {
			require.Equal(t, c.want, e.Outcome, "%v: %s %s %v", c.split, e.Engine, e.Reason, e.Violations)
		}
	}
}

// What orders an operation on one rank does not on another one that is not of its group, though both
// access the same: a collective whose iterations a rank of another group holds apart.
func TestOrderIsThatOfTheRank(t *testing.T) {
	for _, c := range []struct {
		everywhere bool
		want       verify.Outcome
	}{{true, verify.Proved}, {false, verify.Refuted}} {
		s := turns(2, false)
		w := s.Workload
		w.Jobs, w.Groups = w.Jobs[:1], []wl.Group{{Name: "one", Ranks: []int{0}}}
		empty := wl.Op{ID: "between", Kind: wl.Barrier, Job: "A", Group: "one"}
		if c.everywhere {
			empty.Group = ""
		}
		w.Ops = []wl.Op{w.Ops[1], empty}
		w.Edges = []wl.Edge{{From: 0, To: 1}, {From: 1, To: 0, Height: 1}}
		s.Programs = s.Programs[:1]
		s.Placed = []wl.Placement{{At: 0}, {Op: 1, Program: -1, At: 4}, {At: 4, Iteration: 1}, {Op: 1, Iteration: 1, Program: -1, At: 8}}
		require.NoError(t, s.Validate())
		v := workload.Compose(t.Context(), s)
		require.Equal(t, c.want, v.Outcome, "%s %v", v.Reason, v.Violations)
	}
}

// Accesses on a rank are ordered by a path that leads over other ranks, too.
func TestOrderOverOtherRanks(t *testing.T) {
	for _, c := range []struct {
		scope wl.Scope
		edges int
		want  verify.Outcome
	}{{wl.ByRank, 3, verify.Proved}, {wl.ByAll, 3, verify.Proved}, {wl.ByRank, 2, verify.Refuted}} {
		a := wl.Access{Region: wl.Region{Buffer: "a", Size: 1}}
		w := &wl.Workload{Topology: pair(), Cost: model.Pipelined, Groups: []wl.Group{{Name: "zero", Ranks: []int{0}}, {Name: "one", Ranks: []int{1}}}}
		for i, group := range []string{"zero", "one", "one", "zero"} {
			op := wl.Op{ID: string(rune('w' + i)), Kind: wl.Compute, Group: group, Duration: []model.Time{1}, Function: "f", Reads: []wl.Access{a}, Writes: []wl.Access{a}}
			op.Writes[0].Buffer += group
			op.Reads[0].Buffer += group
			w.Ops = append(w.Ops, op)
		}
		w.Edges = []wl.Edge{{From: 0, To: 1, Scope: wl.ByAll}, {From: 1, To: 2, Scope: c.scope}, {From: 2, To: 3, Scope: wl.ByAll}}[:c.edges]
		s := &wl.Schedule{Workload: w}
		for i := range 4 {
			s.Placed = append(s.Placed, wl.Placement{Op: i, Program: -1, Starts: []model.Time{model.Time(i)}})
		}
		require.NoError(t, s.Validate())
		v := workload.Compose(t.Context(), s)
		require.Equal(t, c.want, v.Outcome, "%s %v", v.Reason, v.Violations)
	}
}
