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

// operations measures workloads that package solve/workload makes.
func operations() *Measure {
	return &Measure{"the workload that make names, with its arguments, is scheduled on the topology and proved: hierarchical (nodes, per_node, bytes, parts), topk (nodes, per_node, elements, keep, value, index, select, scatter), grid (side, depth, x, w, y, multiply, chunks, backward, inside: rows, columns or depths), adasum (members, bytes, scalars, dot, combine), each with use, the method of its collectives, and per_node, ranks of a machine; received_all, received_most and into_node are bytes",
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

// numbers reads the arguments of a measure; the first that is wrong is kept.
type numbers struct {
	s   spec
	err error
}

func (n *numbers) of(name string, otherwise int64) int64 {
	text, ok := n.s[name]
	if !ok {
		return otherwise
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if (err != nil || v < 1 || v > model.MaxSize) && n.err == nil {
		n.err = fmt.Errorf("%s %q: want a whole number from 1 on", name, text)
	}
	return v
}

// build returns the workload that a spec asks for, on a topology.
func (n *numbers) build(t *model.Topology) (*wl.Workload, error) {
	num := func(name string, otherwise int64) int { return int(n.of(name, otherwise)) }
	ps := func(name string) model.Time { return model.Time(n.of(name, 1)) }
	nodes := func() (all [][]int) {
		m, k := num("nodes", 1), num("per_node", 1)
		if m > t.Ranks || k > t.Ranks {
			return [][]int{{}}
		}
		for a := range m {
			var ranks []int
			for i := range k {
				ranks = append(ranks, a*k+i)
			}
			all = append(all, ranks)
		}
		return all
	}
	var w *wl.Workload
	var err error
	switch n.s["make"] {
	case "hierarchical":
		w, err = made.Hierarchical(t, model.Pipelined, nodes(), n.of("bytes", 1), num("parts", 1))
	case "topk":
		x := &made.TopK{Nodes: nodes(), Elements: n.of("elements", 1), Value: n.of("value", 4), Index: n.of("index", 4), Keep: n.of("keep", 1), Select: ps("select"), Scatter: ps("scatter")}
		w, err = x.Workload(t, model.Pipelined)
	case "grid":
		lines := []string{"rows", "columns", "depths"}
		inside := max(0, slices.Index(lines, n.s["inside"]))
		x := &made.Grid{Side: num("side", 1), Depth: num("depth", 1), Inside: made.Line(inside), X: n.of("x", 1), W: n.of("w", 1), Y: n.of("y", 1),
			Multiply: ps("multiply"), Chunks: num("chunks", 1), Backward: n.s["backward"] == "true"}
		w, err = x.Workload(t, model.Pipelined)
	case "adasum":
		w, err = made.Adasum(t, model.Pipelined, num("members", 1), n.of("bytes", 1), n.of("scalars", 24), ps("dot"), ps("combine"))
	default:
		return nil, fmt.Errorf("make %q: want hierarchical, topk, grid or adasum", n.s["make"])
	}
	if n.err != nil {
		return nil, n.err
	}
	return w, err
}

// perform computes what operations measures.
func perform(ctx context.Context, s spec) (*performed, error) {
	begin := time.Now()
	in := instance.Flags{Alpha: s["alpha"], Bandwidth: s["bandwidth"], Collective: "allreduce", Size: instance.DefaultSize, Straggler: -1}
	p, err := in.Problem(network{topologies.Files{Context: ctx}, false}, s["topology"])
	if err != nil {
		return nil, err
	}
	n := &numbers{s: s}
	w, err := n.build(p.Topology)
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
	per := int(n.of("per_node", 1))
	if n.err != nil {
		return nil, n.err
	}
	received, into := r.Schedule.Moved(p.Topology.Ranks/per+1, func(v int) int { return v / per })
	for _, b := range received {
		k.Total += b
	}
	k.Most, k.IntoNode = slices.Max(received), slices.Max(into)
	k.Seconds = time.Since(begin).Seconds()
	return k, nil
}
