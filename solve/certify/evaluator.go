package certify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// Progress is told how far the work has come.
type Progress interface {
	// Begin is called before a method starts, and may set o.Progress.
	Begin(method string, o *solve.Options)
	// Note says what is being done.
	Note(text string)
	// End is called when the work is done.
	End()
}

// Silent reports nothing.
type Silent struct{}

func (Silent) Begin(string, *solve.Options) {}

func (Silent) Note(string) {}

func (Silent) End() {}

// Evaluator runs methods on a problem.
type Evaluator struct {
	Methods []solve.Solver
	Named   bool // the methods were asked for by name
	Options solve.Options
	SMT     smt.Options
	Scratch string // a directory for proofs; empty: none are written
	Refute  bool   // proofs are wanted where other bounds say as much, too
	// Horizons holds, by cut, the checked certificate of the largest horizon without a
	// schedule.
	Horizons map[string]*model.Certificate
	// bounds says what is known below the makespan before a method begins; nil: certified.
	Bounds   func(context.Context, *model.Problem) (*model.Certificate, error)
	Progress Progress
}

// Close removes what was left in the directory for proofs.
func (e *Evaluator) Close() {
	if e.Scratch != "" {
		os.RemoveAll(e.Scratch)
	}
}

// Evaluate runs every method that serves p, verifies what they find, and bounds
// it. A method that fails is left out with its reason; if ctx ends, the rows that
// are there by then are returned.
func (e *Evaluator) Evaluate(ctx context.Context, p *model.Problem) (*Report, error) {
	ev := &Report{Problem: p}
	for _, m := range e.Methods {
		about := m.About()
		if !e.Named && !p.Late() && about.LateOnly {
			ev.LeftOut = append(ev.LeftOut, LeftOut{m.Name(), "no rank is late (name it in --methods to have it all the same)"})
			continue
		}
		if !e.Named && about.ComparisonOnly {
			continue
		}
		if err := m.Serves(p); err != nil {
			ev.LeftOut = append(ev.LeftOut, LeftOut{m.Name(), err.Error()})
			continue
		}
		if ctx.Err() != nil {
			ev.LeftOut = append(ev.LeftOut, LeftOut{m.Name(), "interrupted before it began"})
			continue
		}
		r, err := e.Run(ctx, m, p, ev.Rows)
		var wrong *verify.Contradiction
		switch {
		case errors.As(err, &wrong):
			return nil, fmt.Errorf("%s: %w", m.Name(), err)
		case err != nil && (errors.Is(err, solve.ErrNotServed) || len(e.Methods) > 1):
			ev.LeftOut = append(ev.LeftOut, LeftOut{m.Name(), err.Error()})
		case err != nil:
			return nil, fmt.Errorf("%s: %w", m.Name(), err)
		case r.Result.Schedule == nil:
			ev.LeftOut = append(ev.LeftOut, LeftOut{m.Name(), "found no schedule: " + r.StopReason()})
		default:
			ev.Rows = append(ev.Rows, r)
		}
	}
	return ev, e.boundRows(ctx, ev)
}

// Run runs one method and verifies what it finds.
func (e *Evaluator) Run(ctx context.Context, m solve.Solver, p *model.Problem, before []*Row) (*Row, error) {
	o := e.Options
	if needs := m.About().NeedsCut; needs != nil && needs(p) {
		p = solve.Cut(p, max(1, o.Chunks))
	}
	if best := bestStart(p, before); best != nil {
		o.Start, o.StartFrom = &best.Result, best.Method
	}
	bounds := e.Bounds
	if bounds == nil {
		bounds = Bound
	}
	if c, err := bounds(ctx, p); err == nil && c != nil { // for every cut, where p leaves it open
		o.Bound = c.Bound
	}
	if c := e.Horizons[CutKey(p)]; c != nil {
		o.Bound = max(o.Bound, c.Bound)
	}
	o.Scratch, o.Refute = e.Scratch, e.Refute
	e.Progress.Begin(m.Name(), &o)
	defer e.Progress.End()
	start := time.Now()
	result, err := m.Solve(ctx, p, o)
	if err != nil {
		return nil, err
	}
	r := &Row{Method: m.Name(), Result: result, Seed: o.Seed, Solving: time.Since(start)}
	if err := e.keepRefuted(context.WithoutCancel(ctx), result); err != nil {
		return nil, err
	}
	if result.Schedule == nil {
		return r, nil
	}
	if !p.SameUpToCut(result.Problem) {
		return nil, fmt.Errorf("answered another problem: %v", result.Problem)
	}
	if result.Schedule.Form == model.Ordered { // its verifiers look at no capacity
		return nil, errors.New("answered with an order, want times or rounds")
	}
	r.Makespan = result.Makespan()
	e.Progress.Note("verifying")
	r.Verification, err = VerifyFound(ctx, result.Problem, result.Schedule, e.SMT, Engines)
	return r, err
}

// bestStart returns the best proved row so far of the cut of p, of any cut where p leaves it
// open, or nil.
func bestStart(p *model.Problem, before []*Row) *Row {
	var best *Row
	for _, r := range before {
		if r.Outcome() == verify.Proved && (p.Chunks == nil || slices.Equal(r.Result.Problem.Chunks, p.Chunks)) &&
			(best == nil || r.Makespan < best.Makespan) {
			best = r
		}
	}
	return best
}
