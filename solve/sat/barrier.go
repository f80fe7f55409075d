package sat

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/place"
)

// barrier is the method "sat-barrier".
type barrier struct{}

// NewBarrier returns the method "sat-barrier": an allreduce in rounds as the reducescatter
// and the allgather of least rounds, one after the other.
func NewBarrier() solve.Solver { return barrier{} }

// Name implements solve.Solver.
func (barrier) Name() string { return "sat-barrier" }

// halves returns the two problems.
func halves(p *model.Problem) (all [2]*model.Problem) {
	for i, kind := range []model.Kind{model.ReduceScatter, model.AllGather} {
		half := *p
		half.Collective.Kind = kind
		if kind == model.AllGather {
			half.Collective.Op = 0
		}
		all[i] = &half
	}
	return all
}

// About implements solve.Solver.
func (barrier) About() solve.About { return ofOneShape }

// ofOneShape describes the methods that look at allreduces of one shape.
var ofOneShape = solve.About{
	Serves:    "allreduce in rounds",
	Guarantee: "least rounds among algorithms of one shape, according to the solver",
	Source:    "`solve/sat`",
	Uses:      solve.UsesSeed,

	ComparisonOnly: true,
	NeedsCut:       solve.AlwaysNeedsCut,
}

// Serves implements solve.Solver.
func (barrier) Serves(p *model.Problem) error {
	if p.Collective.Kind != model.AllReduce || !p.Cost.Synchronous() {
		return solve.NotServed("serves allreduce in rounds, not %v under %v", p.Collective.Kind, p.Cost)
	}
	p = solve.Cut(p, 1)
	for _, half := range halves(p) {
		if err := half.Validate(); err != nil {
			return solve.NotServed("as a %v: %v", half.Collective.Kind, err)
		}
		if err := New().Serves(half); err != nil {
			return err
		}
	}
	return nil
}

// Solve implements solve.Solver.
func (b barrier) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := b.Serves(p); err != nil {
		return solve.Result{}, err
	}
	p = solve.Cut(p, o.Chunks)
	result := solve.Result{Problem: p, Stop: solve.Done}
	program := place.NewProgram(p)
	for _, half := range halves(p) {
		r, err := New().Solve(ctx, half, solve.Options{TimeLimit: o.TimeLimit / 2, Seed: o.Seed, Threads: o.Threads, Progress: o.Progress})
		if err != nil {
			return solve.Result{}, err
		}
		if r.Schedule == nil {
			result.Stop = r.Stop
			return result, nil
		}
		if result.Note != "" {
			result.Note += ", "
		}
		result.Note += fmt.Sprintf("%v in %d rounds", half.Collective.Kind, r.Schedule.Rounds())
		program.Append(r.Schedule)
		program.Barrier()
	}
	var err error
	result.Schedule, err = program.PlaceInOrder()
	return result, err
}
