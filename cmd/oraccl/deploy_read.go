package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/replay"
)

// rightDeployed reads MSCCL-IR as a schedule. The file must be right as verify finds it, for
// the size that is asked about, and so must what was made of it. What is not right is
// printed, with what it was to be: "converted".
func rightDeployed(ctx context.Context, w io.Writer, file string, by *foreign.Truth, tobe string) (*deployed, *model.Problem, *model.Schedule, error) {
	if by.Chunks != 0 {
		return nil, nil, nil, fmt.Errorf("--chunks: %s has as many chunks as it has", file)
	}
	var asked deploy.Options
	if err := askedBy(by, &asked); err != nil {
		return nil, nil, nil, err
	}
	d, err := judgeDeployed(ctx, file, asked)
	if err != nil {
		return nil, nil, nil, err
	}
	if v := d.report.Verdict; v.Outcome != verify.Proved {
		why := v.Reason
		if len(v.Violations) > 0 {
			why = v.Violations[0].String()
		}
		report.Line(w, "%s %s: %s", strings.ToUpper(v.Outcome.String()), quote.Name(file), v.Claim)
		report.Line(w, "%s", why)
		report.Line(w, "not %s; oraccl verify says more", tobe)
		return nil, nil, nil, exit.Status(d.status())
	}
	topology, err := networkOf(ctx, by, d.algo.Ranks)
	if err != nil {
		return nil, nil, nil, err
	}
	meaning := model.Meaning{Collective: d.report.Collective, InPlace: d.report.Calls[0].InPlace, Root: by.Root}
	m, err := d.algo.Import(meaning, topology, asked.Size)
	if safe := d.safe(); err == nil && asked.Size == 0 && safe > 0 && m.Problem.Size > safe { // nothing was asked: a size that it is proved for
		m, err = d.algo.Import(meaning, topology, safe)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if len(m.Objections) > 0 {
		o := m.Objections[0]
		return nil, nil, nil, proved(w, file, m.Problem, verify.Verdict{Outcome: verify.Refuted, Violations: []verify.Violation{verify.Wrong(verify.Code(o.Code), o.Where, o.Message)}}, tobe)
	}
	v := replay.Check(ctx, m.Problem, m.Schedule)
	if v.Outcome == verify.Refuted {
		return nil, nil, nil, fmt.Errorf("%s: what was made of it is not right, and is not written: %v", file, v.Violations[0])
	}
	return d, m.Problem, m.Schedule, proved(w, file, m.Problem, v, tobe)
}

// safe is the size of the larger buffer up to which the file is proved, or 0 where there is
// none or no limit.
func (d *deployed) safe() int64 {
	least := int64(0)
	for _, c := range d.report.Calls {
		if safe := c.Slots.Safe; safe > 0 && (least == 0 || safe < least) {
			least = safe
		}
	}
	return least
}

// networkOf returns the topology that was asked for, or links between any two ranks.
func networkOf(ctx context.Context, t *foreign.Truth, ranks int) (*model.Topology, error) {
	if network, err := t.Load(ctx); network != nil || err != nil {
		return network, err
	}
	return topo.Parse(fmt.Sprintf("full:%d", ranks), topo.Options{})
}
