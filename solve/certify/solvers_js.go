package certify

import (
	"context"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// In a web page (command oraccl-site) no SAT, LP or MILP solver can be asked. What asks one
// is left out of the program, which each visitor loads.

// solvers returns no methods.
func solvers() []solve.Solver { return nil }

// servedOverTime reports that there are none.
func servedOverTime(*model.Problem) bool { return false }

// overTime finds none.
func overTime(context.Context, *model.Problem, model.Time) (*model.TimedPrices, model.Time, error) {
	return nil, 0, nil
}

// sharedOverTime finds none.
func sharedOverTime(context.Context, *model.Problem, model.Time, int, bool) (*model.TimedPotentials, model.Time, bool, error) {
	return nil, 0, true, nil
}

// dualWitnesses finds none.
func dualWitnesses(context.Context, *model.Problem, model.Time, model.Time) ([]model.Witness, error) {
	return nil, nil
}
