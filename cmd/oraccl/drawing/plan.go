package drawing

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/judge"
	"github.com/oraccl/oraccl/cmd/oraccl/view"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/course"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
)

// maxPlanOps is how many operations a plan has at most, iterations of pipelines counted each, of
// which a picture is made.
const maxPlanOps = 1 << 20

// Plan is the picture of an execution plan.
type Plan struct {
	Picture *view.PlanPicture
	Verdict verify.Verdict
}

// ReadPlan reads and verifies an execution plan, right or wrong, and carries out one execution of it
// for a message of the size that is asked about, or one for which it fails, or else the smallest. That there
// is no execution, since nothing loads the file or it names what does not exist, is a *judge.NotRightError.
func ReadPlan(ctx context.Context, file string, by *foreign.Truth) (*Plan, error) {
	switch {
	case by.OnTopology():
		return nil, fmt.Errorf("--topology: the picture of %s, an execution plan, has threadblocks and no links", file)
	case by.Chunks != 0:
		return nil, fmt.Errorf("--chunks: %s has as many chunks as it has", file)
	}
	var asked deploy.Options
	if err := judge.AskedDeployed(by, &asked); err != nil {
		return nil, err
	}
	d, err := judge.ReadDeployed(ctx, file, asked)
	if err != nil {
		return nil, err
	}
	v, r := d.Report.Verdict, d.Report.Plan
	not := &judge.NotRightError{File: file, Claim: v.Claim, Verdict: v}
	if r == nil || slices.ContainsFunc(v.Violations, func(x verify.Violation) bool {
		return x.Code == verify.BadReference || x.Code == verify.SizeLimit
	}) {
		return nil, not
	}
	f := d.Plan.Plan()
	size := asked.Size
	if size == 0 {
		size = r.Fails
	}
	if size == 0 {
		size = r.Low
	}
	sizes := []model.PlanSizes{{Each: size}}
	if size == 0 {
		sizes = f.Sizes
	}
	var p *model.Plan
	err = model.ErrNotDivided
	for i := 0; i < len(sizes) && errors.Is(err, model.ErrNotDivided); i++ {
		size = sizes[i].Each
		p, err = f.At(size, 0)
	}
	if errors.Is(err, model.ErrNotDivided) {
		return nil, not
	}
	if err != nil {
		return nil, fmt.Errorf("%s: messages of %d bytes: %w", file, size, err)
	}
	n := 0
	for b := range p.Blocks {
		n += len(p.Blocks[b].Ops)
	}
	if n > maxPlanOps {
		return nil, fmt.Errorf("%s: %d operations for a message of %d bytes, want at most %d for a picture", file, n, size, maxPlanOps)
	}
	c, err := course.Run(ctx, p, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	pic := &view.PlanPicture{Title: filepath.Base(file), Course: c, Verdict: view.Verdict{Outcome: v.Outcome.String(), Engine: v.Engine, Claim: v.Claim, Reason: v.Reason}}
	for _, x := range v.Violations {
		pic.Verdict.Violations = append(pic.Verdict.Violations, view.Violation{Code: string(x.Code), Where: x.Where, Message: x.Message, Transfer: -1})
	}
	for _, x := range r.Warnings {
		pic.Notes = append(pic.Notes, "Warning: "+x.String())
	}
	pic.Notes = append(pic.Notes, fmt.Sprintf("The file is an execution plan of MSCCL++ (%s): one execution is drawn, for a message of %s.", f.Format, model.FormatBytes(size)))
	if len(c.Stuck) > 0 {
		pic.Notes = append(pic.Notes, fmt.Sprintf("The execution that is drawn does not end: %d of %d threadblocks wait for ever.", len(c.Stuck), len(p.Blocks)))
	}
	return &Plan{Picture: pic, Verdict: v}, nil
}

// ReadStuck draws a file of MSCCL-IR that is wrong and of which there is no schedule, since an execution of
// it does not end, for instance: its threadblocks, up to where each comes. The error tells why there
// is no such picture.
func ReadStuck(ctx context.Context, file string, by *foreign.Truth) (*Plan, error) {
	var asked deploy.Options
	if err := judge.AskedDeployed(by, &asked); err != nil {
		return nil, err
	}
	d, err := judge.ReadDeployed(ctx, file, asked)
	if err != nil {
		return nil, err
	}
	v := d.Report.Verdict
	if v.Outcome != verify.Refuted {
		return nil, fmt.Errorf("%s: is %s", file, v.Outcome)
	}
	p, err := d.Program(by.Root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if n := p.Steps(); n > maxPlanOps {
		return nil, fmt.Errorf("%s: %d steps, want at most %d for a picture", file, n, maxPlanOps)
	}
	c, err := course.Program(ctx, p)
	if err != nil {
		return nil, err
	}
	pic := &view.PlanPicture{Title: filepath.Base(file), Course: c, Verdict: view.Verdict{Outcome: v.Outcome.String(), Engine: v.Engine, Claim: v.Claim, Reason: v.Reason}}
	pic.Place = func(at course.Place) string {
		b := &c.Plan.Blocks[at.Block]
		o := &b.Ops[at.Op]
		return fmt.Sprintf("gpu %d tb %d step %d (%s, line %d)", b.Rank, b.ID, o.Label, o.Name, o.Line)
	}
	for _, x := range v.Violations {
		pic.Verdict.Violations = append(pic.Verdict.Violations, view.Violation{Code: string(x.Code), Where: x.Where, Message: x.Message, Transfer: -1})
	}
	pic.Notes = append(pic.Notes, "The file is MSCCL-IR and wrong: its threadblocks are drawn, in one execution with as many slots as it needs.")
	if len(c.Stuck) > 0 {
		pic.Notes = append(pic.Notes, fmt.Sprintf("It does not end: %d of %d threadblocks wait for ever.", len(c.Stuck), len(c.Plan.Blocks)))
	}
	return &Plan{Picture: pic, Verdict: v}, nil
}
