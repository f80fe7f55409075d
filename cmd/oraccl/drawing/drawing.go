// Package drawing reads schedules, has them executed, and makes of each, right or wrong, the
// picture that package view draws.
package drawing

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/view"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// Drawing is a schedule that was read and executed, with its picture.
type Drawing struct {
	Picture *view.Picture
	Verdict verify.Verdict
	Partial bool        // the run that wrote the file was interrupted
	Notes   model.Notes // of those who read the file and its topology

	Standing *certify.Standing // of what is proved and has times, after Bound
}

// Read reads a schedule, ours or another tool's, and has it executed, against the problem asked if
// there is one, else against the file's own. Of MSCCL-IR there is a
// schedule to draw only if it is right: if it is not, that is a *judge.NotRightError.
func Read(ctx context.Context, file string, asked *model.Problem, by *foreign.Truth) (*Drawing, error) {
	if judge.IsDeployed(ctx, file) {
		if asked != nil {
			return nil, fmt.Errorf("%s: is MSCCL-IR, whose problem --collective, --size and --topology state; want no --problem", file)
		}
		return deployed(ctx, file, by)
	}
	format, b, err := foreign.Recognise(ctx, file)
	if err != nil {
		return nil, err
	}
	if format == nil {
		if err := judge.Ours(file, by); err != nil {
			return nil, err
		}
		sol, err := drawable(ctx, file)
		if err != nil {
			return nil, err
		}
		if asked != nil {
			if sol.Problem, err = judge.AskedFor(file, asked, sol.Problem); err != nil {
				return nil, err
			}
			if err := sol.Schedule.Validate(sol.Problem); err != nil {
				return nil, fmt.Errorf("%s: does not fit the problem asked: %w", file, err)
			}
		}
		s := seen(ctx, file, sol.Problem, sol.Schedule, nil, replay.Check(ctx, sol.Problem, sol.Schedule))
		if s.Partial = sol.Origin.Partial; s.Partial {
			s.Picture.Notes = append(s.Picture.Notes, "The file is marked as partial: the run that wrote it was interrupted, and transfers are missing.")
		}
		return s, nil
	}
	m, err := format.Read(ctx, by, asked, file, b)
	if err != nil {
		return nil, err
	}
	if m.Problem == nil || m.Schedule == nil || m.Problem.Chunks == nil {
		return nil, fmt.Errorf("%s: cannot be drawn; oraccl verify says more", file)
	}
	v := m.Verdict(ctx)
	s := seen(ctx, file, m.Problem, m.Schedule, m.Order, v)
	s.Picture.Notes = append(s.Picture.Notes, m.Notes.Strings()...)
	s.Notes = append(slices.Clone(m.Notes), s.Notes...)
	return s, nil
}

// maxDrawn is how many transfers a page draws: about 13 bytes of it are one.
const maxDrawn = model.MaxHeld

// drawable reads a schedule of ours that is not too large for a page.
func drawable(ctx context.Context, file string) (*model.Solution, error) {
	const hint = "oraccl verify judges files of any size; for a picture, solve the same on a smaller network or in fewer chunks"
	o, err := schedules.OrbitOf(ctx, file)
	if err != nil {
		return nil, err
	}
	if o != nil && o.Orbit.Transfers() > maxDrawn {
		return nil, exit.Hint(fmt.Errorf("%s: %d transfers, want at most %d for a picture", file, o.Orbit.Transfers(), maxDrawn), hint)
	}
	sol, err := schedules.Load(ctx, file, maxDrawn)
	switch {
	case errors.Is(err, compact.ErrTooMany):
		return nil, exit.Hint(fmt.Errorf("%s: more than %d transfers, more than a picture can show", file, maxDrawn), hint)
	case err != nil:
		return nil, err
	case len(sol.Schedule.Transfers) > maxDrawn:
		return nil, exit.Hint(fmt.Errorf("%s: %d transfers, want at most %d for a picture", file, len(sol.Schedule.Transfers), maxDrawn), hint)
	}
	return sol, nil
}

// deployed reads MSCCL-IR. What is wrong is drawn as one execution of it, where there is one that
// ends.
func deployed(ctx context.Context, file string, by *foreign.Truth) (*Drawing, error) {
	r, err := judge.ReadRight(ctx, file, by)
	var not *judge.NotRightError
	if errors.As(err, &not) && not.Verdict.Outcome == verify.Refuted {
		if wrong, werr := judge.Wrong(ctx, file, by); werr == nil {
			return refuted(ctx, file, wrong, not), nil
		}
	}
	if err != nil {
		return nil, err
	}
	v := seen(ctx, file, r.Problem, r.Schedule, r.Order, r.Verdict)
	v.Picture.Verdict.Engine, v.Picture.Verdict.Claim = r.Deployed.Verdict.Engine, r.Deployed.Verdict.Claim+r.Deployed.Proviso
	v.Picture.Notes = append(v.Picture.Notes, "The file is MSCCL-IR: it is drawn as a schedule of transfers between slots.")
	return v, nil
}

// refuted draws one execution of a file of MSCCL-IR that is wrong, with what is wrong in it as
// verify finds it, and the transfers that are to blame where replay finds some.
func refuted(ctx context.Context, file string, r *judge.Right, not *judge.NotRightError) *Drawing {
	d := seen(ctx, file, r.Problem, r.Schedule, r.Order, r.Verdict)
	pic := d.Picture
	found := pic.Verdict.Violations
	pic.Verdict = view.Verdict{Outcome: not.Verdict.Outcome.String(), Engine: not.Verdict.Engine, Claim: not.Claim, Reason: not.Verdict.Reason}
	for _, x := range not.Verdict.Violations {
		pic.Verdict.Violations = append(pic.Verdict.Violations, view.Violation{Code: string(x.Code), Where: x.Where, Message: x.Message, Transfer: -1})
	}
	for _, x := range found {
		if x.Transfer >= 0 {
			pic.Verdict.Violations = append(pic.Verdict.Violations, x)
		}
	}
	pic.Facts = nil // of what is wrong there is no bandwidth
	pic.Notes = append(pic.Notes, "The file is MSCCL-IR and wrong: it is drawn as one execution of it, in which some of what is wrong need not be seen.")
	d.Verdict = not.Verdict
	return d
}

// seen puts a schedule with its verdict into a picture. One that has only an order, and is
// right, gets the times at which it can run.
func seen(ctx context.Context, file string, p *model.Problem, s *model.Schedule, order *model.Precedence, v verify.Verdict) *Drawing {
	pic := &view.Picture{Title: filepath.Base(file), Problem: p, Schedule: s, Verdict: view.Verdict{
		Outcome: v.Outcome.String(), Engine: v.Engine, Claim: verify.Claim(p, s), Reason: v.Reason,
	}}
	for _, x := range v.Violations {
		at, _ := x.Transfer() // -1: none
		pic.Verdict.Violations = append(pic.Verdict.Violations, view.Violation{Code: string(x.Code), Where: x.Where, Message: x.Message, Transfer: at})
	}
	defer func() { pic.Facts = bandwidths(p, pic.Schedule, v) }()
	if s.Form == model.Ordered && v.Outcome == verify.Proved {
		if t, err := certify.Timed(ctx, p, s, order); err == nil {
			pic.Schedule = t
			pic.Notes = append(pic.Notes, "The file has an order and no times: these are the times at which it can run.")
		}
	}
	pic.Notes = append(pic.Notes, p.Topology.Notes.Strings()...)
	return &Drawing{Picture: pic, Verdict: v, Notes: p.Topology.Notes}
}

// bandwidths returns the algorithm and bus bandwidth of a schedule that is right and has times.
func bandwidths(p *model.Problem, s *model.Schedule, v verify.Verdict) []view.Fact {
	if v.Outcome != verify.Proved || s.Form == model.Ordered {
		return nil
	}
	makespan := p.Makespan(s)
	if makespan <= 0 {
		return nil
	}
	algbw := float64(p.Size) / report.InSeconds(makespan) / 1e9
	return []view.Fact{{Name: "algbw", Value: fmt.Sprintf("%.4g GB/s", algbw)}, {Name: "busbw", Value: fmt.Sprintf("%.4g GB/s", algbw*report.BusFactor(p))}}
}

// Bound gives the picture the best checked bound for every cut, as gap prints it, if one is
// found within ten seconds. What is known for the cut of the schedule alone becomes a note. That
// what is drawn is proved and ends before its bound is an error, a *verify.Contradiction.
func (d *Drawing) Bound(ctx context.Context) error {
	pic := d.Picture
	b, err := certify.Below(ctx, pic.Problem)
	if err != nil {
		pic.Notes = append(pic.Notes, fmt.Sprintf("No bound: %v.", err))
		return nil
	}
	if b.ForCut() {
		pic.Notes = append(pic.Notes, fmt.Sprintf("No schedule%s ends before %v. %s", report.ChunksOf(pic.Problem, " with"), b.Bound.Bound, report.Limit(b.Bound)))
	}
	c := b.EveryCut
	if c != nil {
		pic.Bound = &view.Bound{Value: c.Bound, Kind: c.Witness.Kind(), Holds: report.HoldsFor(c), Detail: report.Limit(c)}
	}
	if d.Verdict.Outcome != verify.Proved || pic.Schedule.Form == model.Ordered {
		return nil
	}
	d.Standing = &certify.Standing{Problem: pic.Problem, Schedule: pic.Schedule, Makespan: pic.Problem.Makespan(pic.Schedule), Known: b}
	if c == nil {
		return nil
	}
	return verify.Below(d.Standing.Makespan, c.Bound, c.Witness.Kind())
}
