//go:build cgo

package z3_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

func solve(t *testing.T, script string, constants ...string) smt.Answer {
	t.Helper()
	a, err := z3.New().Solve(context.Background(), smt.Question{Script: script, Constants: constants})
	require.NoError(t, err)
	return a
}

func TestSolve(t *testing.T) {
	require.Equal(t, smt.Unsat, solve(t, "(declare-const p Bool)(assert (and p (not p)))").Status)
	a := solve(t, "(declare-const x Int)(declare-const p Bool)(assert (and p (= (+ x x) (- 6))))", "x", "p")
	require.Equal(t, smt.Answer{Status: smt.Sat, Values: smt.Assignment{"x": big.NewInt(-3), "p": big.NewInt(1)}}, a)
	require.Equal(t, smt.Answer{Status: smt.Sat}, solve(t, ""))
	require.Regexp(t, `^\d+\.\d+\.\d+$`, z3.Version())
	require.Equal(t, "z3 "+z3.Version(), z3.New().Name())
}

// TestCleanState says that nothing of a script is left for the next one.
func TestCleanState(t *testing.T) {
	for range 3 {
		require.Equal(t, smt.Unsat, solve(t, "(declare-const x Int)(assert (< x x))").Status)
		require.Equal(t, smt.Sat, solve(t, "(declare-const x Bool)(assert x)", "x").Status)
		require.Equal(t, smt.Sat, solve(t, "(define-fun x () Int 5)(assert (= x 5))").Status)
	}
}

// TestLargeNumbers goes beyond 32 and 64 bits both ways.
func TestLargeNumbers(t *testing.T) {
	large := new(big.Int).Lsh(big.NewInt(3), 70)
	a := solve(t, fmt.Sprintf("(declare-const x Int)(declare-const y Int)(assert (= x %v))(assert (= y (- 4294967301)))", large), "x", "y")
	require.Equal(t, smt.Assignment{"x": large, "y": big.NewInt(-(1<<32 + 5))}, a.Values)
	require.Equal(t, smt.Unsat, solve(t, "(assert (= 4294967301 5))").Status)
}

// TestErrors says that what Z3 cannot read is an error, and ends neither the
// process nor the use of the backend.
func TestErrors(t *testing.T) {
	for _, script := range []string{
		"(assert (= 1 true))", "(assert (+ 1 2))", "(assert x)", "(assert", ")", "(assert (bvadd 1 2))",
		"(declare-const x Int)(declare-const x Int)", "nonsense", "(check-sat)", "(echo \"unsat\")", "(assert false)(check-sat)(nothing)",
		"(pop 5)", "(exit)", "(set-option :no-such-option 1)", "(set-option :timeout 1)", "(set-logic QF_LIA)", "(reset)", strings.Repeat("(", 10000), "(check-sat",
	} {
		a, err := z3.New().Solve(context.Background(), smt.Question{Script: script})
		require.Error(t, err, "%.40q", script)
		require.Equal(t, smt.Undecided, a.Status)
		require.Equal(t, smt.Unsat, solve(t, "(assert false)").Status)
	}
	_, err := z3.New().Solve(context.Background(), smt.Question{Constants: []string{"x"}})
	require.ErrorContains(t, err, "x")
}

// hard is a script that Z3 cannot decide in a lifetime: n+1 pigeons in n holes.
func hard(n int) string {
	var b strings.Builder
	for i := range n + 1 {
		for j := range n {
			fmt.Fprintf(&b, "(declare-const p%d_%d Bool)", i, j)
		}
		b.WriteString("(assert (or")
		for j := range n {
			fmt.Fprintf(&b, " p%d_%d", i, j)
		}
		b.WriteString("))\n")
	}
	for j := range n {
		for i := range n + 1 {
			for k := range i {
				fmt.Fprintf(&b, "(assert (not (and p%d_%d p%d_%d)))", i, j, k, j)
			}
		}
	}
	return b.String()
}

// TestLong: a script that is given to Z3 piece by piece means the same as in one piece: commands of several lines are not divided, and a
// mistake in any piece is an error.
func TestLong(t *testing.T) {
	var b strings.Builder
	b.WriteString("(declare-const x0 Int)\n")
	for i := range 30_000 {
		fmt.Fprintf(&b, "(define-fun x%d () Int\n(+ x0\n%d))\n", i+1, i+1)
	}
	require.Greater(t, b.Len(), 1<<19)
	require.Equal(t, smt.Unsat, solve(t, b.String()+"(assert (not (= x30000 (+ x0 30000))))").Status)
	require.Equal(t, smt.Sat, solve(t, b.String()+"(assert (not (= x30000 (+ x0 30001))))").Status)
	require.Equal(t, smt.Unsat, solve(t, "(assert false)\n"+b.String()).Status)
	for _, script := range []string{b.String() + "(assert y)", "(assert y)\n" + b.String()} {
		_, err := z3.New().Solve(context.Background(), smt.Question{Script: script})
		require.ErrorContains(t, err, "y")
	}
}

func TestCancel(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Millisecond, 60 * time.Millisecond} {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(wait, cancel)
		start := time.Now()
		a, err := z3.New().Solve(ctx, smt.Question{Script: hard(20)})
		require.NoError(t, err)
		require.Equal(t, smt.Answer{Reason: "interrupted"}, a)
		require.Less(t, time.Since(start), wait+2*time.Second)

		ctx, cancel = context.WithTimeout(context.Background(), wait)
		a, err = z3.New().Solve(ctx, smt.Question{Script: hard(20)})
		cancel()
		require.NoError(t, err)
		require.Equal(t, smt.Answer{Reason: "the time limit was reached"}, a)
	}
	// The backend is as good as new.
	require.Equal(t, smt.Unsat, solve(t, hard(3)).Status)
}

// TestUnknown has Z3 give up by itself.
func TestUnknown(t *testing.T) {
	a := solve(t, "(declare-const x Real)(assert (= (^ 2.0 x) 7.0))", "x")
	require.Equal(t, smt.Undecided, a.Status)
	require.Contains(t, a.Reason, "reason-unknown")
}

// TestParallel puts many scripts, right and wrong, to the backend at once.
func TestParallel(t *testing.T) {
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			for j := range 5 {
				a, err := z3.New().Solve(context.Background(), smt.Question{Script: fmt.Sprintf("(declare-const x Int)(assert (= (* 2 x) %d))", i+j), Constants: []string{"x"}})
				if (i+j)%2 == 1 {
					if a.Status != smt.Unsat || err != nil {
						t.Errorf("%d is even: %+v %v", i+j, a, err)
					}
				} else if a.Status != smt.Sat || err != nil || a.Values["x"].Int64() != int64(i+j)/2 {
					t.Errorf("half of %d: %+v %v", i+j, a, err)
				}
			}
		})
	}
	group.Wait()
}
