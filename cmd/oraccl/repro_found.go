package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
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

// provedBy names the engines that proved a schedule, and those that gave up, or returns an
// error if it is not proved.
func (v *verified) provedBy() (string, error) {
	switch v.verdict.Outcome {
	case verify.Proved:
		return strings.TrimPrefix(v.verdict.Basis(), "proved by "), nil
	case verify.Refuted:
		return "", fmt.Errorf("the schedule is refuted: %v", sortedViolations(v.verdicts))
	}
	return "", fmt.Errorf("the schedule is not proved: %s", v.verdict.Reason)
}

// best runs methods on a problem, has what they find proved, and returns the best.
func (b *bench) best(ctx context.Context, p *model.Problem, methods string) (*found, error) {
	var err error
	if b.methods, err = methodsNamed(methods); err != nil {
		return nil, err
	}
	ev, err := b.evaluate(ctx, p)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() // some methods may not have begun
	}
	if ev.anyRefuted() {
		return nil, fmt.Errorf("%v: a schedule of ours is refuted", p)
	}
	r := ev.best()
	if r == nil {
		var why []string
		for _, l := range ev.left {
			why = append(why, l.method+": "+l.reason)
		}
		return nil, fmt.Errorf("%v: no proved schedule (%s)", p, strings.Join(why, "; "))
	}
	f := &found{Method: r.method, Chunks: len(r.result.Problem.Chunks), Transfers: len(r.result.Schedule.Transfers), Makespan: r.makespan, Seconds: r.solving.Seconds()}
	if f.Proved, err = r.provedBy(); err != nil {
		return nil, fmt.Errorf("%s: %v: %w", r.method, p, err)
	}
	if r.result.Schedule.Form == model.InRounds {
		f.Rounds, f.AfterArrival = r.result.Schedule.Rounds(), r.result.Problem.RoundsAfterArrival(r.result.Schedule)
	}
	if r.bound != nil {
		f.Bound, f.Kind, f.LeastRounds = r.bound.Bound, r.bound.Witness.Kind(), cert.LeastRounds(r.bound)
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
