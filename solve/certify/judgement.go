package certify

import (
	"context"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Judgement is what is decided about a schedule in a file.
type Judgement struct {
	File     string
	Claim    string     // what was decided, in words
	Makespan model.Time // 0: not known
	Periodic bool       // a workload without an end, whose period Makespan is
	Verification
	Asked   []string    // the engines that were asked, in the order of the text
	Partial bool        // the run that wrote the file was interrupted
	Tool    string      // another tool that writes such files; "": they are ours
	Notes   model.Notes // of those who read the file and its topology

	Problem  *model.Problem    // that was decided about
	Schedule *model.Schedule   // without transfers where these are not held
	Order    *model.Precedence // what the transfers wait for because of the form of the file; nil: what Schedule says
	Standing *Standing         // how it stands to the bounds; nil: that was not asked, or is not known
}

// Judge returns the judgement of the engines asked about the schedule s of p in a file. Where
// the transfers are not in s, because the file is not held in memory, the caller sets Makespan.
func Judge(file string, p *model.Problem, s *model.Schedule, v Verification, asked []string) *Judgement {
	j := &Judgement{File: file, Claim: verify.Claim(p, s), Makespan: p.Makespan(s), Verification: v, Asked: asked, Notes: p.Topology.Notes, Problem: p, Schedule: s}
	if v.Verdict.Decides != nil { // no engine that was asked decides the whole
		j.Claim = v.Verdict.Claim
	}
	return j
}

// mostPlaced is how many transfers without times get some at most.
const mostPlaced = 1 << 20

// Held reports whether the transfers are in memory.
func (j *Judgement) Held() bool { return j.Schedule != nil && len(j.Schedule.Transfers) > 0 }

// Stand finds how a proved schedule stands to the bounds, and sets Standing, and Makespan where the
// schedule has only an order.
func (j *Judgement) Stand(ctx context.Context) error {
	if j.Verdict.Outcome != verify.Proved || j.Problem == nil || j.Problem.Chunks == nil {
		return nil
	}
	if len(j.Schedule.Transfers) == 0 && j.Makespan > 0 { // they are not held
		b, err := Below(ctx, j.Problem)
		if err == nil {
			j.Standing = &Standing{Problem: j.Problem, Makespan: j.Makespan, Known: b}
		}
		return err
	}
	if len(j.Schedule.Transfers) > mostPlaced && j.Schedule.Form == model.Ordered {
		return nil
	}
	order := j.Order
	if j.Schedule.Form != model.Ordered {
		order = nil // its times stand
	}
	x, err := Stand(ctx, j.Problem, j.Schedule, order)
	if err != nil {
		return err
	}
	j.Standing, j.Makespan = x, x.Makespan
	return nil
}
