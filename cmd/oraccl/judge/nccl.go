//go:build !js

package judge

import (
	"context"
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/nccllog"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
)

// NCCL returns what NCCL would run for p as schedules to compare, nccl-ring and, for an allreduce,
// nccl-tree and, where switches add and heads of NVLS are known, nccl-nvls or nccl-nvls-tree: over the rings and
// trees in a log or a dump of graphs or, for "", over those that a model of a named machine has.
func NCCL(ctx context.Context, file string, p *model.Problem) ([]certify.Given, error) {
	l, err := ncclLog(ctx, file, p)
	if err != nil {
		return nil, err
	}
	var given []certify.Given
	_, adds := p.Topology.Reducer()
	allreduce := p.Collective.Kind == model.AllReduce
	nvls := "nccl-nvls"
	if l.NVLSName() != "NVLS" {
		nvls = "nccl-nvls-tree"
	}
	for _, x := range []struct {
		name string
		plan func(*model.Problem) (*nccllog.Plan, error)
		has  bool
	}{
		{"nccl-ring", l.Ring, len(l.Rings) > 0},
		{"nccl-tree", l.Tree, len(l.Trees) > 0 && allreduce},
		{nvls, func(p *model.Problem) (*nccllog.Plan, error) { return l.NVLS(ctx, p) }, len(l.Heads) > 0 && allreduce && adds},
	} {
		if !x.has {
			continue
		}
		g := certify.Given{Name: x.name}
		plan, err := x.plan(p)
		switch {
		case err != nil:
			g.Before = map[string]verify.Verdict{"nccl": {Engine: "nccl", Reason: err.Error()}}
		case p.Chunks != nil && len(p.Chunks) != len(plan.Problem.Chunks):
			return nil, fmt.Errorf("%s: has a cut of its own, %d chunks, and --chunks or --total-chunks asks for %d", x.name, len(plan.Problem.Chunks), len(p.Chunks))
		default:
			g.Problem, g.Schedule, g.Order = plan.Problem, plan.Schedule, plan.Order
			g.Note = strings.Join(append([]string{plan.Note}, l.Notes.Strings()...), "; ")
		}
		given = append(given, g)
	}
	if len(given) > 0 {
		given[0].Note = strings.Join(append([]string{given[0].Note}, l.Beside(p)...), "; ")
	}
	if len(given) == 0 {
		return nil, fmt.Errorf("%s: no rings in it, no trees for allreduce, and no heads of NVLS for an allreduce on switches that add", file)
	}
	return given, nil
}

// ncclLog reads a log, or guesses one.
func ncclLog(ctx context.Context, file string, p *model.Problem) (*nccllog.Log, error) {
	if file == "" {
		return nccllog.Guess(p.Topology)
	}
	f, err := files.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l, err := nccllog.Read(ctx, file, f)
	if err == nil && l.Ranks != p.Topology.Ranks {
		err = fmt.Errorf("%s: is of %d ranks, and %s has %d", file, l.Ranks, p.Topology.Name, p.Topology.Ranks)
	}
	return l, err
}
