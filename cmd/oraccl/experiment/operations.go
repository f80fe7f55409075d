package experiment

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/topologies"
	"github.com/oraccl/oraccl/model/instance"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	made "github.com/oraccl/oraccl/solve/workload"
	"github.com/oraccl/oraccl/verify"
)

// performed is what is known of a workload.
type performed struct {
	Makespan, Bound       model.Time
	Kind, Proved          string
	Ops                   int
	Total, Most, IntoNode int64 // bytes: received by all, by one rank, and by one node from outside, at most
	Seconds               float64
}

// operations measures workloads of the families of package solve/workload.
func operations() *Measure {
	return &Measure{"the workload that make names, with its arguments, is scheduled on the topology and proved: hierarchical, hitopk, summa or adasum with the parameters of oraccl workload, times in ps, and use, the methods of its collectives, and per_node, ranks of a machine; received_all, received_most and into_node are bytes",
		[]string{"makespan", "bound", "operations", "received_all", "received_most", "into_node", "method", "proved", "kind", "seconds", "reason"},
		"the schedule of the workload is verified by three engines as it is computed; oraccl workload -o writes one",
		func(ctx context.Context, x *Runner, s spec) (expression.Record, error) {
			k, err := keep(ctx, x, s.label("workload"), "workload "+s.key(), func(*evidence) (*performed, error) { return perform(ctx, s) })
			if err != nil {
				return nil, err
			}
			return expression.Record{
				"makespan": expression.Number(k.Makespan), "bound": expression.Number(k.Bound), "operations": expression.Number(k.Ops),
				"received_all": expression.Number(k.Total), "received_most": expression.Number(k.Most), "into_node": expression.Number(k.IntoNode),
				"method": expression.Text("compose"), "proved": expression.Text(k.Proved), "kind": expression.Text(k.Kind), "seconds": expression.Float(k.Seconds), "reason": expression.Text(""),
			}, nil
		}}
}

// build returns the workload that a spec asks for, on a topology, and how many ranks a machine is said to have. Times are
// whole picoseconds.
func build(s spec, t *model.Topology) (w *wl.Workload, perNode int, err error) {
	f, err := made.FamilyNamed(s["make"])
	if err != nil {
		return nil, 0, err
	}
	given := func(name string) string {
		if s[name] != "" && slices.ContainsFunc(f.Parameters, func(p made.Parameter) bool { return p.Name == name && p.Kind == made.Duration }) {
			return s[name] + "ps"
		}
		return s[name]
	}
	if perNode, err = strconv.Atoi(s["per_node"]); err != nil || perNode < 1 {
		return nil, 0, fmt.Errorf("per_node %q: want a whole number from 1 on", s["per_node"])
	}
	w, err = f.Make(given, made.Target{Topology: t, Cost: model.Pipelined})
	return w, perNode, err
}

// perform computes what operations measures.
func perform(ctx context.Context, s spec) (*performed, error) {
	begin := time.Now()
	in := instance.Flags{Alpha: s["alpha"], Bandwidth: s["bandwidth"], Collective: "allreduce", Size: instance.DefaultSize, Straggler: -1}
	p, err := in.Problem(network{topologies.Files{Context: ctx}, false}, s["topology"])
	if err != nil {
		return nil, err
	}
	w, per, err := build(s, p.Topology)
	if err != nil {
		return nil, err
	}
	var methods []solve.Solver
	if s["use"] != "" {
		if methods, err = certify.MethodsNamed(methodNames(s["use"])...); err != nil {
			return nil, err
		}
	}
	r, err := workloads.Solve(ctx, w, methods)
	if err != nil {
		return nil, err
	}
	if r.Verdict.Outcome != verify.Proved || len(r.Bounds) == 0 {
		return nil, fmt.Errorf("%v: the schedule is not proved, or has no bound: %v %s", w, r.Verdict.Outcome, r.Verdict.Reason)
	}
	k := &performed{Makespan: r.Verdict.Makespan, Bound: r.Bounds[0].Value, Kind: r.Bounds[0].Kind, Ops: len(w.Ops), Proved: r.Verdict.Engine}
	received, into := r.Schedule.Moved(p.Topology.Ranks/per+1, func(v int) int { return v / per })
	for _, b := range received {
		k.Total += b
	}
	k.Most, k.IntoNode = slices.Max(received), slices.Max(into)
	k.Seconds = time.Since(begin).Seconds()
	return k, nil
}
