// Command setup is the last step of setup.sh beside it: it lets HiGHS solve a
// linear program and Z3 refute a formula, and prints the versions of both. If it
// does, the compilers, the libraries and the vendor directory are in place, and
// every other package builds with plain go commands.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
)

func main() {
	ctx := context.Background()
	err := tryHiGHS(ctx)
	if err == nil {
		err = tryZ3(ctx)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "setup: %v\n", err)
		os.Exit(2)
	}
	fmt.Printf("HiGHS %s and Z3 %s answer\n", highs.Version(), z3.Version())
}

// tryHiGHS asks for the most apples and pears under two constraints: 2 and 3.
func tryHiGHS(ctx context.Context) error {
	m := &lp.Model{Sense: lp.Maximise}
	apples, pears := m.AddNonNegative("apples", lp.Int(1)), m.AddNonNegative("pears", lp.Int(1))
	m.AddLE("", lp.Int(8), lp.T(apples, 1), lp.T(pears, 2))
	m.AddLE("", lp.Int(9), lp.T(apples, 3), lp.T(pears, 1))
	res, err := highs.Solve(ctx, m, highs.Options{})
	if err != nil {
		return err
	}
	if res.Status != highs.Optimal || res.Objective < 4.999 || res.Objective > 5.001 {
		return fmt.Errorf("HiGHS says %s with an objective of %v, want optimal with 5", res.RawStatus, res.Objective)
	}
	return nil
}

// tryZ3 asks whether a number is below and above 2^70 at the same time.
func tryZ3(ctx context.Context) error {
	answer, err := z3.New().Solve(ctx, smt.Question{Script: "(declare-const x Int) (assert (< x 1180591620717411303424)) (assert (> x 1180591620717411303424))"})
	if err != nil {
		return err
	}
	if answer.Status != smt.Unsat {
		return fmt.Errorf("Z3 says %v %s, want unsat", answer.Status, answer.Reason)
	}
	return nil
}
