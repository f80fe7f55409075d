package judge

import (
	"context"
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/schedules"
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
	if format == nil {
		if err := Ours(file, by); err != nil {
			return nil, err
		}
		sol, err := schedules.Load(ctx, file, model.MaxHeld)
		if err != nil {
			return nil, err
		}
		r = &Right{Problem: sol.Problem, Schedule: sol.Schedule, Verdict: replay.Check(ctx, sol.Problem, sol.Schedule)}
	} else {
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

// Ours returns an error if something was asked of a file of ours that only other tools' know.
func Ours(file string, by *foreign.Truth) error {
	if by.Given() {
		return fmt.Errorf("%s: is no schedule of another tool, which --topology, --collective, --size, --root and --chunks are for", file)
	}
	return nil
}
