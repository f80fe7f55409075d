package judge

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/replay"
)

// Right is a schedule that is right, ours or another tool's.
type Right struct {
	Problem  *model.Problem
	Schedule *model.Schedule
	Verdict  verify.Verdict    // of replay, and of the reader of another tool's file
	Deployed *deploy.Report    // of MSCCL-IR; nil: it is another format
	Notes    model.Notes       // of the reader of another tool's file
	Order    *model.Precedence // what transfers wait for because of the form of the file; nil: what Schedule says
}

// NotRightError is why a schedule that must be right is not.
type NotRightError struct {
	File    string
	Claim   string // what is not proved
	Verdict verify.Verdict
	Notes   model.Notes // of the reader of another tool's file
}

// Error returns what is wrong, as verify prints it.
func (e *NotRightError) Error() string {
	why := e.Verdict.Reason
	if len(e.Verdict.Violations) > 0 {
		why = e.Verdict.Violations[0].String()
	}
	return fmt.Sprintf("%s %s: %s\n%s", strings.ToUpper(e.Verdict.Outcome.String()), quote.Name(e.File), e.Claim, why)
}

// Lines returns what is wrong, and what was therefore not done with the schedule: "converted".
func (e *NotRightError) Lines(done string) []string {
	lines := append(strings.Split(e.Error(), "\n"), "not "+done)
	if len(e.Verdict.Violations) > 0 {
		lines[len(lines)-1] += "; oraccl verify says more"
	}
	return lines
}

// ReadRight reads a schedule, ours or another tool's, and has it executed. That it is not right
// is a *NotRightError.
func ReadRight(ctx context.Context, file string, by *foreign.Truth) (*Right, error) {
	if IsDeployed(ctx, file) {
		return rightDeployed(ctx, file, by)
	}
	format, b, err := foreign.Recognise(ctx, file)
	if err != nil {
		return nil, err
	}
	var r *Right
	switch {
	case format == nil && timetable(ctx, file):
		if r, err = rightOne(ctx, file, by); err != nil {
			return nil, err
		}
	case format == nil:
		if err := Ours(file, by); err != nil {
			return nil, err
		}
		sol, err := schedules.Load(ctx, file, model.MaxHeld)
		if err != nil {
			return nil, err
		}
		r = &Right{Problem: sol.Problem, Schedule: sol.Schedule, Verdict: replay.Check(ctx, sol.Problem, sol.Schedule)}
	default:
		m, err := format.Read(ctx, by, nil, file, b)
		if err != nil {
			return nil, err
		}
		v := m.Verdict(ctx) // which may change what was imported
		r = &Right{Problem: m.Problem, Schedule: m.Schedule, Verdict: v, Notes: m.Notes, Order: m.Order}
	}
	if r.Verdict.Outcome != verify.Proved {
		return nil, &NotRightError{file, fmt.Sprint(r.Problem), r.Verdict, r.Notes}
	}
	return r, nil
}

// rightOne reads a schedule of a workload whose operations are one collective together, and has that executed.
func rightOne(ctx context.Context, file string, by *foreign.Truth) (*Right, error) {
	if (foreign.Truth{Collective: by.Collective}) != *by || by.Collective == "" {
		return nil, fmt.Errorf("%s: is a schedule of a workload; want --collective, and nothing else, for the collective that its operations make together", file)
	}
	kind, err := model.ParseKind(by.Collective)
	if err != nil {
		return nil, fmt.Errorf("--collective: %w", err)
	}
	b, err := files.Read(ctx, file)
	if err != nil {
		return nil, err
	}
	s, err := native.ReadTimetable(file, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	p, one, err := s.One(model.Collective{Kind: kind})
	if err != nil {
		return nil, fmt.Errorf("%s: as one %v: %w", file, kind, err)
	}
	return &Right{Problem: p, Schedule: one, Verdict: replay.Check(ctx, p, one)}, nil
}

// Ours returns an error if something was asked of a file of ours that only other tools' know.
func Ours(file string, by *foreign.Truth) error {
	if by.Given() {
		return fmt.Errorf("%s: is no schedule of another tool, which --topology, --collective, --size, --root and --chunks are for", file)
	}
	return nil
}
