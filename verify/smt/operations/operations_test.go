package operations_test

import (
	"context"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/operations"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

// liar answers every question alike.
type liar struct {
	status smt.Status
	one    bool // all unknowns are 1
	err    error
}

func (liar) Name() string { return "liar" }

func (l liar) Solve(_ context.Context, q smt.Question) (smt.Answer, error) {
	a := smt.Answer{Status: l.status, Values: smt.Assignment{}, Reason: "tired"}
	for _, name := range q.Constants {
		if a.Values[name] = new(big.Int); l.one {
			a.Values[name] = big.NewInt(1)
		}
	}
	return a, l.err
}

// Nothing is proved by a solver that fails, gives up, finds what is assumed contradictory, or finds
// something wrong that is not.
func TestSolverIsNotTrusted(t *testing.T) {
	s := read(t, "../../../testdata/workloads/accept/periodic.json")
	for _, l := range []liar{{status: smt.Undecided}, {status: smt.Sat}, {status: smt.Unsat}, {err: errors.New("broken")}} {
		v := operations.Check(t.Context(), s, l, 0)
		require.Equal(t, verify.Unknown, v.Outcome, "%+v", l)
		require.NotEmpty(t, v.Reason)
	}
	v := operations.Check(t.Context(), s, liar{status: smt.Sat, one: true}, 0)
	require.Equal(t, verify.Refuted, v.Outcome)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, "interrupted", operations.Check(done, s, z3.New(), 0).Reason)
	require.Equal(t, "the time limit was reached", operations.Check(t.Context(), s, z3.New(), time.Nanosecond).Reason)
}

// one is a computation on two ranks that combines what each has by an operator, and a goal.
func one(operators []wl.Operator, ops []wl.Op, goal wl.Value) *wl.Schedule {
	pair := &model.Topology{Name: "pair", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1e12}, {Src: 1, Dst: 0, Bandwidth: 1e12}}}
	w := &wl.Workload{Topology: pair, Cost: model.Pipelined, Operators: operators, Ops: ops}
	if goal.Operator != "" || goal.Function != "" || goal.Input != nil {
		w.Goal = []wl.Goal{{Region: wl.Region{Buffer: "y", Size: 8}, Value: goal}}
	}
	s := &wl.Schedule{Workload: w}
	at := model.Time(0)
	for i := range ops {
		s.Placed = append(s.Placed, wl.Placement{Op: i, Program: -1, Starts: []model.Time{at, at}})
		if i > 0 {
			w.Edges = append(w.Edges, wl.Edge{From: i - 1, To: i})
		}
		at += ops[i].Duration[0]
	}
	return s
}

func at(buffer string) wl.Access { return wl.Access{Region: wl.Region{Buffer: buffer, Size: 8}} }

func input(buffer string) wl.Value {
	return wl.Value{Rank: -1, Input: &wl.Region{Buffer: buffer}}
}

func compute(id, function, operator, to string, from ...string) wl.Op {
	op := wl.Op{ID: id, Kind: wl.Compute, Duration: []model.Time{5}, Function: function, Operator: operator, Writes: []wl.Access{at(to)}}
	for _, x := range from {
		op.Reads = append(op.Reads, at(x))
	}
	return op
}

// Operators and functions have their laws, and no others.
func TestValues(t *testing.T) {
	of := func(operator string, of ...wl.Value) wl.Value { return wl.Value{Rank: -1, Operator: operator, Of: of} }
	f := func(function string, of ...wl.Value) wl.Value {
		v := wl.Value{Rank: -1, Function: function, Of: of}
		for range of {
			v.Bytes = append(v.Bytes, 8)
		}
		return v
	}
	product := []wl.Operator{{Name: "product", Associative: true, Elementwise: true}}
	float := []wl.Operator{{Name: "float", Commutative: true, Elementwise: true, Tree: wl.Chain}}
	a, b, y := input("a"), input("b"), input("y")
	for _, c := range []struct {
		name      string
		operators []wl.Operator
		ops       []wl.Op
		goal      wl.Value
		want      verify.Outcome
	}{
		{"a copy", nil, []wl.Op{compute("c", "", "", "y", "a")}, a, verify.Proved},
		{"a copy of another buffer", nil, []wl.Op{compute("c", "", "", "y", "a")}, b, verify.Refuted},
		{"a sum in another order", nil, []wl.Op{compute("c", "", "sum", "y", "a"), compute("d", "", "sum", "y", "b")}, of("sum", b, y, a), verify.Proved},
		{"one twice", nil, []wl.Op{compute("c", "", "sum", "y", "a"), compute("d", "", "sum", "y", "a")}, of("sum", y, a), verify.Refuted},
		{"the largest twice", nil, []wl.Op{compute("c", "", "max", "y", "a"), compute("d", "", "max", "y", "a")}, of("max", a, y), verify.Proved},
		{"the largest of others", nil, []wl.Op{compute("c", "", "max", "y", "a")}, of("max", b, y), verify.Refuted},
		{"the least", nil, []wl.Op{compute("c", "", "min", "y", "a"), compute("d", "", "min", "y", "b")}, of("min", a, b, y), verify.Proved},
		{"a product in order", product, []wl.Op{compute("c", "", "product", "y", "a"), compute("d", "", "product", "y", "b")}, of("product", y, of("product", a, b)), verify.Proved},
		{"a product in another order", product, []wl.Op{compute("c", "", "product", "y", "a"), compute("d", "", "product", "y", "b")}, of("product", y, b, a), verify.Refuted},
		{"a tree, exchanged", float, []wl.Op{compute("c", "", "float", "y", "a"), compute("d", "", "float", "y", "b")}, of("float", a, y, b), verify.Proved},
		{"another tree", float, []wl.Op{compute("c", "", "float", "y", "a"), compute("d", "", "float", "y", "b")}, of("float", a, b, y), verify.Refuted},
		{"a function", nil, []wl.Op{compute("c", "f", "", "y", "a", "b")}, f("f", a, b), verify.Proved},
		{"arguments exchanged", nil, []wl.Op{compute("c", "f", "", "y", "a", "b")}, f("f", b, a), verify.Refuted},
		{"another function", nil, []wl.Op{compute("c", "g", "", "y", "a", "b")}, f("f", a, b), verify.Refuted},
		{"a function thrice is not the function", nil, []wl.Op{compute("c", "f", "", "y", "a"), compute("d", "f", "", "z", "y"), compute("e", "f", "", "y", "z")}, f("f", a), verify.Refuted},
		{"of a sum is not the sum of", nil, []wl.Op{compute("c", "f", "", "y", "a"), compute("d", "f", "sum", "y", "b")}, f("f", of("sum", a, b)), verify.Refuted},
		{"what is new is not what was there", nil, []wl.Op{compute("c", "", "", "y")}, y, verify.Refuted},
		{"two operators whose laws together are not known here", nil, []wl.Op{compute("c", "", "max", "y", "a"), compute("d", "", "sum", "y", "b")}, of("sum", of("max", a, y), b), verify.Unknown},
	} {
		s := one(c.operators, c.ops, c.goal)
		require.NoError(t, s.Validate(), c.name)
		v := operations.Check(t.Context(), s, z3.New(), 0)
		require.Equal(t, c.want, v.Outcome, "%s: %s %v", c.name, v.Reason, v.Violations)
	}
}
