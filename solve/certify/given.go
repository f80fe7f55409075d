package certify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/verify"
)

// Given is a schedule that is compared with what the methods find: of a file, of another tool,
// of a program of the user's.
type Given struct {
	Name     string
	Problem  *model.Problem  // that of the comparison, with the cut of the schedule
	Schedule *model.Schedule // nil: Before is all that there is
	// Order is what the transfers wait for, where their times are to be found; nil: the schedule has times, or
	// if it is Ordered waits for what it states.
	Order *model.Precedence
	// Before has what was decided about the schedule before, by engine, such as by one that
	// knows its form; nil: nothing.
	Before map[string]verify.Verdict
	Note   string // a remark for the user
}

// Row gives g times, if it has none, has it verified, and returns its row. A schedule that was
// refuted before, or has no times at which it is right, is left out instead, with its verdict. An
// error means that two engines contradict each other.
func (g *Given) Row(ctx context.Context, e *Evaluator) (*Row, *LeftOut, error) {
	var before []verify.Verdict
	for _, v := range g.Before {
		before = append(before, v)
	}
	if all := verify.All(before...); len(before) > 0 && all.Outcome == verify.Refuted {
		return nil, &LeftOut{Method: g.Name, Reason: "REFUTED " + all.Violations[0].String(), Given: true, Refuted: true}, nil
	}
	if g.Schedule == nil {
		return nil, &LeftOut{Method: g.Name, Reason: "UNKNOWN " + verify.All(before...).Reason, Given: true}, nil
	}
	r := &Row{Method: g.Name, Result: solve.Result{Problem: g.Problem, Schedule: g.Schedule, Stop: solve.Done, Note: g.Note}}
	start := time.Now()
	if g.Order != nil || g.Schedule.Form == model.Ordered {
		placed, err := Timed(ctx, g.Problem, g.Schedule, g.Order)
		if err != nil {
			return nil, &LeftOut{Method: g.Name, Reason: fmt.Sprintf("has no times at which it can run: %v", err), Given: true}, nil
		}
		r.Result.Schedule = placed
	}
	r.Solving = time.Since(start)
	r.Makespan = r.Result.Makespan()
	engines := Engines
	if e.SMTMost > 0 && len(r.Result.Schedule.Transfers) > e.SMTMost {
		engines = engines[:1]
	}
	var err error
	if r.Verification, err = Verify(ctx, r.Result.Problem, r.Result.Schedule, e.SMT, engines); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", g.Name, err)
	}
	for engine, v := range g.Before {
		if _, ran := r.Verdicts[engine]; !ran {
			r.Verdicts[engine] = v
		}
	}
	if len(before) > 0 {
		claim := r.Verdict.Claim
		r.Verdict = verify.All(append([]verify.Verdict{r.Verdict}, before...)...)
		r.Verdict.Claim = claim
	}
	return r, nil, nil
}

// addGiven puts the schedules that were given into the report.
func (e *Evaluator) addGiven(b *solve.Budget, ev *Report) error {
	for i := range e.Given {
		g := &e.Given[i]
		e.Progress.Begin(g.Name, &solve.Options{})
		e.Progress.Note("verifying")
		share, done := shareOf(b, len(e.Given)-i+min(1, len(e.Methods)))
		after, cancel := solve.Grace(share.Context(), Grace)
		r, out, err := g.Row(after, e)
		cancel()
		done()
		e.Progress.End()
		switch {
		case err != nil:
			return err
		case out != nil:
			if !out.Refuted {
				out.Stop = b.Stop()
			}
			ev.LeftOut = append(ev.LeftOut, *out)
		default:
			r.Given = true
			ev.Rows = append(ev.Rows, r)
		}
		if e.Found != nil {
			e.Found(ev.soFar())
		}
	}
	return nil
}

// GivenUndecided reports whether a schedule that was given is neither proved nor refuted.
func (ev *Report) GivenUndecided() bool {
	return slices.ContainsFunc(ev.LeftOut, func(l LeftOut) bool { return l.Given && !l.Refuted }) ||
		slices.ContainsFunc(ev.Rows, func(r *Row) bool { return r.Given && r.Outcome() == verify.Unknown })
}

// Beyond returns the names of what is more than a part of the bound for every cut above it, 0.05
// for five percent, or of which that is not known: of the schedules that were given, or where there are
// none the best row.
func (ev *Report) Beyond(part float64) (names []string) {
	given := false
	for _, l := range ev.LeftOut {
		if l.Given {
			names, given = append(names, l.Method), true
		}
	}
	for _, r := range ev.Rows {
		if given = given || r.Given; r.Given && !r.Within(part) {
			names = append(names, r.Method)
		}
	}
	if best := ev.Best(); !given && (best == nil || !best.Within(part)) {
		names = append(names, "the best schedule")
	}
	return names
}
