package highs

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/solve/lp"
)

// Simplex returns the optimum of a linear program, found by the simplex method, or an error if there is none.
func Simplex(ctx context.Context, m *lp.Model) (Result, error) {
	r, err := Solve(ctx, m, Options{Method: "simplex"})
	if err == nil && r.Status != Optimal {
		err = fmt.Errorf("highs: the solver says %s", r.RawStatus)
	}
	return r, err
}
