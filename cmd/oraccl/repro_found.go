package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/cert"
)

// found is the best proved schedule of a problem, with the certified bound of its cut.
type found struct {
	Method       string
	Chunks       int
	Rounds       int `json:",omitempty"`
	AfterArrival int `json:",omitempty"` // rounds
	Transfers    int
	Makespan     model.Time
	Proved       string // the engines
	Bound        model.Time
	Kind         string // of the bound's certificate; empty: none
	LeastRounds  int    `json:",omitempty"` // that the certificate leaves
	Seconds      float64
}

// best runs methods on a problem, has what they find proved, and returns the best.
func (b *bench) best(ctx context.Context, p *model.Problem, methods string) (*found, error) {
	var err error
	if b.Methods, err = methodsListed(methods); err != nil {
		return nil, err
	}
	ev, err := b.Evaluate(ctx, p)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() // some methods may not have begun
	}
	if ev.AnyRefuted() {
		return nil, fmt.Errorf("%v: a schedule of ours is refuted", p)
	}
	r := ev.Best()
	if r == nil {
		var why []string
		for _, l := range ev.LeftOut {
			why = append(why, l.Method+": "+l.Reason)
		}
		return nil, fmt.Errorf("%v: no proved schedule (%s)", p, strings.Join(why, "; "))
	}
	f := &found{Method: r.Method, Chunks: len(r.Result.Problem.Chunks), Transfers: len(r.Result.Schedule.Transfers), Makespan: r.Makespan, Seconds: r.Solving.Seconds()}
	if f.Proved, err = r.ProvedBy(); err != nil {
		return nil, fmt.Errorf("%s: %v: %w", r.Method, p, err)
	}
	if r.Result.Schedule.Form == model.InRounds {
		f.Rounds, f.AfterArrival = r.Result.Schedule.Rounds(), r.Result.Problem.RoundsAfterArrival(r.Result.Schedule)
	}
	if r.Bound != nil {
		f.Bound, f.Kind, f.LeastRounds = r.Bound.Bound, r.Bound.Witness.Kind(), cert.LeastRounds(r.Bound)
	}
	return f, nil
}

// into sets what a row says of a schedule of ours.
func (f *found) into(r *repro.Row) {
	r.By, r.Proved, r.Seconds = f.Method, f.Proved, f.Seconds
}

// percent writes by how much a is above b.
func percent(a, b float64) string {
	v := 100 * (a/b - 1)
	if v > 0 && v < .05 {
		return fmt.Sprintf("%.1g %%", v)
	}
	return fmt.Sprintf("%.1f %%", v)
}
