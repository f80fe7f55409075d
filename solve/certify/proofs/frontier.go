//go:build !js

package proofs

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/certify/pareto"
)

// WriteFrontier writes the schedules, certificates and proofs of a frontier to a directory,
// the proofs from the directory scratch, and returns the files of the points. What bounds and
// proofs are about is the problem in units, which has the rounds and steps of the real one.
func WriteFrontier(ctx context.Context, dir string, f *pareto.Frontier, scratch, tool string) (map[*pareto.Point]string, error) {
	p, err := begin(ctx, dir, scratch, tool)
	if err != nil {
		return nil, err
	}
	at := map[*pareto.Point]string{}
	const problem, units = "problem.json", "units.json"
	if err := p.Problem(problem, f.Problem, ""); err != nil {
		return nil, err
	}
	if err := p.Problem(units, f.Units, problem); err != nil {
		return nil, err
	}
	for _, x := range f.Points {
		at[x] = fmt.Sprintf("schedule-%d-chunks-%d-steps-%d-rounds.json", x.Chunks, x.Steps, x.Rounds)
		if err := p.Schedule(at[x], problem, x.Row.Solution(tool), false); err != nil {
			return nil, err
		}
	}
	for _, x := range f.Refuted {
		if err := p.add(ctx, units, x.Certificate); err != nil {
			return nil, err
		}
		at[x] = p.files[x.Certificate]
	}
	for _, c := range append([]*model.Certificate{f.Hops}, f.Bounds...) {
		if err := p.add(ctx, units, c); err != nil {
			return nil, err
		}
	}
	return at, p.Close()
}
