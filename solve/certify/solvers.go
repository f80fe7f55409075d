//go:build !js

package certify

import (
	"context"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/dual"
	"github.com/oraccl/oraccl/solve/exact"
	"github.com/oraccl/oraccl/solve/overtime"
	"github.com/oraccl/oraccl/solve/sat"
)

// solvers returns the methods that ask a SAT or MILP solver.
func solvers() []solve.Solver {
	return []solve.Solver{sat.NewBarrier(), sat.NewTrees(), sat.New(), exact.NewRolling(), exact.NewReward(), exact.New()}
}

// servedOverTime reports whether there are prices that change with time to look for.
func servedOverTime(p *model.Problem) bool { return overtime.Serves(p) }

// overTime returns prices that change with time and what is expected of them, more than what is known.
func overTime(ctx context.Context, p *model.Problem, known model.Time) (*model.TimedPrices, model.Time, error) {
	return overtime.Find(ctx, p, known)
}

// sharedOverTime returns prices that change with time, with costs, of what is copied or added up on its way, or of
// what one rank contributes to an allreduce.
func sharedOverTime(ctx context.Context, p *model.Problem, known model.Time, detour int, one bool) (w *model.TimedPotentials, estimate model.Time, complete bool, err error) {
	return overtime.FindShared(ctx, p, known, detour, one)
}

// dualWitnesses returns the witnesses that linear programs yield. Where there is an error, they are those found before it.
func dualWitnesses(ctx context.Context, p *model.Problem, known, below model.Time) ([]model.Witness, error) {
	found, err := dual.Find(ctx, p, dual.Options{TimeLimit: DualTime, Known: known, Below: below})
	var witnesses []model.Witness
	for _, f := range found {
		witnesses = append(witnesses, f.Witness)
	}
	return witnesses, err
}
