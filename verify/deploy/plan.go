package deploy

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/plan"
)

// CheckPlan decides about a file of execution plans. Of the options, Runtime and Size matter; the
// collective and the mode are those of the file. It takes the time of plan.Check. An error is
// about the options.
func CheckPlan(ctx context.Context, f *model.PlanFile, o Options) (*Report, error) {
	r := &Report{Size: o.Size, named: o.Runtime != "", Collective: f.Collective, Schedule: &model.Deployable{
		Line: f.Line, Collective: f.Collective, Ranks: f.Ranks, Chunks: f.Chunks, Protocol: f.Protocol, Steps: f.Ops, InPlace: f.InPlace, OutOfPlace: !f.InPlace}}
	r.Loadings = f.Loadings
	if o.Runtime != "" {
		r.Loadings = slices.DeleteFunc(slices.Concat(f.Loadings, f.Others), func(l model.Loading) bool { return l.Runtime != o.Runtime })
		if len(r.Loadings) == 0 {
			return nil, fmt.Errorf("runtime %q: does not exist", o.Runtime)
		}
	}
	r.Schedule.Loadings = slices.Concat(f.Loadings, f.Others)
	if r.Grade() >= model.Refused {
		r.Verdict = verify.Verdict{Outcome: verify.Refuted, Engine: plan.Engine, Claim: "is loaded by the runtime", Violations: r.refusals()}
		r.Kind = Reject
	} else {
		r.Plan = plan.Check(ctx, f, plan.Options{Size: o.Size})
		r.Verdict, r.Kind = r.Plan.Verdict, kindOf(r.Plan.Verdict)
	}
	level := Error
	if r.Verdict.Outcome != verify.Refuted {
		level = Warning
	}
	r.Findings = append(r.Findings, counted(level, r.Verdict.Violations)...)
	if r.Plan != nil {
		r.Findings = append(r.Findings, counted(Warning, r.Plan.Warnings)...)
		if high := r.Plan.High; high > 0 && high < f.Max && f.Max < math.MaxInt64 && o.Size == 0 && r.Plan.Beyond != "" {
			r.Findings = append(r.Findings, Finding{Level: Note, Code: verify.SizeLimit, Line: f.Line, Message: fmt.Sprintf("the plan is for messages of up to %d bytes, and proved for up to %d: %s", f.Max, high, r.Plan.Beyond), Times: 1})
		}
	}
	return r, nil
}

// counted are findings of a level, the first of each code with how many there are.
func counted(level Level, list []verify.Violation) []Finding {
	var all []Finding
	first := map[verify.Code]int{}
	for _, v := range list {
		i, seen := first[v.Code]
		if !seen {
			i, first[v.Code] = len(all), len(all)
		}
		all = append(all, Finding{Level: level, Code: v.Code, Line: v.Line, Where: v.Where, Message: v.Message})
		all[i].Times++
	}
	return all
}

// kindOf is a verdict in a word: the code of what was found first.
func kindOf(v verify.Verdict) order.Kind {
	switch {
	case v.Outcome == verify.Proved:
		return order.Pass
	case v.Outcome == verify.Unknown:
		return order.Unknown
	}
	return order.Kind(v.Violations[0].Code)
}
