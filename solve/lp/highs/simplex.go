package highs

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/solve/lp"
)

// Simplex returns the optimum of a linear program, found by the simplex method, or an error if there is none.
func Simplex(ctx context.Context, m *lp.Model) (Result, error) { return Optimum(ctx, m, "simplex") }

// Optimum returns the optimum of a linear program, a vertex, found by a method of Options, or an error if there is none.
func Optimum(ctx context.Context, m *lp.Model, method string) (Result, error) {
	r, err := Solve(ctx, m, Options{Method: method})
	if err == nil && r.Status != Optimal {
		err = fmt.Errorf("highs: the solver says %s", r.RawStatus)
	}
	return r, err
}
