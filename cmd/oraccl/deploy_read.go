package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
)

// rightDeployed reads MSCCL-IR as a schedule. The file must be right as it is, and so must
// what was made of it.
func rightDeployed(ctx context.Context, w io.Writer, file string, by *truth) (*model.Problem, *model.Schedule, error) {
	if by.chunks != 0 {
		return nil, nil, fmt.Errorf("--chunks: %s has as many chunks as it has", file)
	}
	d, err := judgeDeployed(ctx, file, deployment{collective: by.collective, root: by.root})
	if err != nil {
		return nil, nil, err
	}
	if d.outcome != verify.Proved {
		why := d.reason
		if len(d.bad) > 0 {
			why = d.bad[0].String()
		}
		fmt.Fprintf(w, "%s %s\n%s\nnot converted; oraccl verify says more\n", strings.ToUpper(d.outcome.String()), file, why)
		return nil, nil, status(d.status())
	}
	topology, err := by.network(d.algo.Ranks)
	if err != nil {
		return nil, nil, err
	}
	_, _, size, err := by.judged(nil)
	if err != nil {
		return nil, nil, err
	}
	m, err := d.algo.Import(msccl.Meaning{Collective: d.collective, InPlace: d.modes[0].inPlace, Root: by.root}, topology, size)
	if err != nil {
		return nil, nil, err
	}
	if len(m.Objections) > 0 {
		o := m.Objections[0]
		return nil, nil, proved(w, file, m.Problem, verify.Verdict{Outcome: verify.Refuted, Violations: []verify.Violation{{Code: verify.Code(o.Code), Where: o.Where, Message: o.Message}}})
	}
	v := replay.Check(ctx, m.Problem, m.Schedule)
	if v.Outcome == verify.Refuted {
		return nil, nil, fmt.Errorf("%s: what was made of it is not right, and is not written: %v", file, v.Violations[0])
	}
	return m.Problem, m.Schedule, proved(w, file, m.Problem, v)
}

// network returns the topology that was asked for, or links between any two ranks.
func (t *truth) network(ranks int) (*model.Topology, error) {
	if t.topology != "" {
		return loadTopology(t.topology, t.alpha, t.bandwidth)
	}
	return topo.Parse(fmt.Sprintf("full:%d", ranks), topo.Options{})
}
