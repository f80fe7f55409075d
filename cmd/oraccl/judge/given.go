package judge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/foreign"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/model/format/mscclpp"
	"github.com/oraccl/oraccl/model/format/schedules"
	"github.com/oraccl/oraccl/model/pace"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/model/ways"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/plan"
	"github.com/oraccl/oraccl/verify/replay"
)

// Given reads the schedule in a file, ours or another tool's, to be compared with what methods
// find for p: at the size of p, on its topology, with its late ranks. What verify decides about
// the file, at that size, is part of the result. An error means that the file cannot be read, or
// is no schedule of that collective; limit is for the smt engine.
func Given(ctx context.Context, file string, p *model.Problem, limit time.Duration) (*certify.Given, error) {
	g := &certify.Given{Name: filepath.Base(file)}
	if IsDeployed(ctx, file) {
		return g, givenDeployed(ctx, g, file, p)
	}
	format, b, err := foreign.Recognise(ctx, file)
	if err != nil {
		return nil, err
	}
	if format == nil {
		return g, givenOurs(ctx, g, file, p)
	}
	q := *p
	q.Chunks = nil
	a := &Asked{Problem: &q, Engines: certify.Engines, TimeLimit: limit}
	m, v, _, err := a.decide(ctx, file, b, format)
	if err != nil {
		return nil, err
	}
	g.Before = map[string]verify.Verdict{m.Tool: v.Verdict}
	if v.Verdict.Outcome == verify.Refuted || m.Undecided != "" {
		return g, nil
	}
	g.Note = notesOf(m.Tool, m.Notes)
	return g, take(g, p, m.Problem, m.Schedule, m.Order, file)
}

// givenDeployed reads MSCCL-IR, or an execution plan, which is judged as its runtimes execute it.
func givenDeployed(ctx context.Context, g *certify.Given, file string, p *model.Problem) error {
	asked := deploy.Options{Size: p.Size, Root: p.Collective.Root}
	if IsPlan(ctx, file) {
		asked.Root = 0 // no collective of plans has one
	}
	d, err := ReadDeployed(ctx, file, asked)
	if err != nil {
		return err
	}
	if readable := d.Algo != nil || d.Plan != nil; readable {
		if n := d.ranks(); n != p.Topology.Ranks {
			return fmt.Errorf("%s: %d ranks, and %s has %d", file, n, p.Topology.Name, p.Topology.Ranks)
		}
		if kind, err := model.ParseKind(strings.ReplaceAll(d.Report.Collective, "_", "")); err != nil || kind != p.Collective.Kind {
			if d.Plan != nil || d.Report.Collective != "custom" && d.Algo.Coll != "" {
				return otherCollective(file, d.Report.Collective, p)
			}
			asked.Collective = p.Collective.Kind.String()
			if d, err = ReadDeployed(ctx, file, asked); err != nil {
				return err
			}
		}
	}
	v := d.Report.Verdict
	g.Before = map[string]verify.Verdict{order.Engine: v}
	tool, form := msccl.Tool, "threadblocks, channels and dependencies"
	if d.Plan != nil {
		g.Before = map[string]verify.Verdict{plan.Engine: v}
		tool, form = mscclpp.Tool, "threadblocks, joins and signals"
	}
	if v.Outcome != verify.Proved {
		return nil
	}
	m, err := d.schedule(ctx, p.Topology, p.Collective.Root, p.Size)
	if err != nil {
		g.Before[tool] = verify.Verdict{Engine: "import", Reason: err.Error()}
		return nil
	}
	if len(m.Objections) > 0 {
		o := m.Objections[0]
		g.Before[tool] = verify.Verdict{Outcome: verify.Refuted, Engine: "import", Violations: []verify.Violation{verify.Wrong(verify.Code(o.Code), o.Where, o.Message)}}
		return nil
	}
	g.Note = "the best times for its " + form + d.Report.Proviso
	if Parallel(p.Topology) {
		g.Note += "; what is sent on one channel takes one of the parallel links"
	}
	return take(g, p, m.Problem, m.Schedule, m.Order, file)
}

// Parallel reports whether two links of t have the same ends.
func Parallel(t *model.Topology) bool {
	ends := map[[2]int]bool{}
	for _, l := range t.Links {
		if ends[[2]int{l.Src, l.Dst}] {
			return true
		}
		ends[[2]int{l.Src, l.Dst}] = true
	}
	return false
}

// givenOurs reads a schedule of ours, which is judged by its own problem, and then timed for p.
func givenOurs(ctx context.Context, g *certify.Given, file string, p *model.Problem) error {
	sol, err := schedules.Load(ctx, file, model.MaxHeld)
	if err != nil {
		return err
	}
	if sol.Origin.Partial {
		g.Before = map[string]verify.Verdict{"reader": {Engine: "reader", Reason: "the file is marked as partial"}}
		return nil
	}
	if p.SameUpToCut(sol.Problem) && sol.Schedule.Form != model.Ordered { // its times stand
		return take(g, p, sol.Problem, sol.Schedule, nil, file)
	}
	v := replay.Check(ctx, sol.Problem, sol.Schedule)
	v.Engine = "replay of the file's own problem"
	if g.Before = map[string]verify.Verdict{v.Engine: v}; v.Outcome == verify.Refuted {
		return nil
	}
	g.Note = "the best times for its order"
	if sol.Problem.Size != p.Size {
		g.Note += fmt.Sprintf("; the file is for %d bytes", sol.Problem.Size)
	}
	return take(g, p, sol.Problem, sol.Schedule, pace.OrderOf(sol.Schedule), file)
}

// take puts a schedule for another problem, which differs in size, links or cost, into g as one
// for p.
func take(g *certify.Given, p, from *model.Problem, s *model.Schedule, order *model.Precedence, file string) error {
	if !sameCollective(p, from) {
		return otherCollective(file, fmt.Sprint(from.Collective), p)
	}
	q := *p
	switch n := len(from.Chunks); {
	case from.Size == p.Size:
		q.Chunks = from.Chunks
	case slices.Equal(from.Chunks, from.Cut(n)):
		q.Chunks = p.Cut(n)
	default:
		return fmt.Errorf("%s: its chunks are not equal parts of %d bytes, and cannot be scaled to %d", file, from.Size, p.Size)
	}
	if p.Chunks != nil && !slices.Equal(p.Chunks, q.Chunks) {
		return fmt.Errorf("%s: has %d chunks, and --chunks or --total-chunks asks for %d", file, len(q.Chunks), len(p.Chunks))
	}
	g.Problem = &q
	if order == nil && (s.Form == model.Ordered || !p.SameUpToCut(from)) {
		order = pace.OrderOf(s)
	}
	if g.Schedule, g.Order = s, order; p.Topology.Equal(from.Topology) {
		return nil
	}
	moved, missing := rerouted(&q, s)
	if missing != "" {
		g.Before["links"] = verify.Verdict{Outcome: verify.Refuted, Engine: "links", Violations: []verify.Violation{verify.Wrong(verify.NoSuchLink, "the file", missing)}}
		g.Schedule = nil
		return nil
	}
	g.Schedule = moved
	return nil
}

// rerouted returns s over the links of p's topology, which has as many ranks, or what is missing.
func rerouted(p *model.Problem, s *model.Schedule) (*model.Schedule, string) {
	t := p.Topology
	moved := &model.Schedule{Form: s.Form, Transfers: slices.Clone(s.Transfers), After: s.After}
	spread, known := ways.NewSpread(t), map[string]int32{}
	for i := range moved.Transfers {
		x := &moved.Transfers[i]
		if int(max(x.Src, x.Dst)) >= t.Ranks {
			return nil, fmt.Sprintf("rank %d, and %s has %d", max(x.Src, x.Dst), t.Name, t.Ranks)
		}
		route := spread.Route(int(x.Src), int(x.Dst), p.Chunks[x.Chunk].Size)
		if route == nil {
			return nil, fmt.Sprintf("%s has no link and no way over switches from rank %d to rank %d", t.Name, x.Src, x.Dst)
		}
		name := fmt.Sprint(route)
		id, ok := known[name]
		if !ok {
			id = int32(len(moved.Routes))
			known[name] = id
			moved.Routes = append(moved.Routes, route)
		}
		x.Route = id
	}
	return moved, ""
}

// sameCollective reports whether two problems ask for the same, whatever the size.
func sameCollective(p, q *model.Problem) bool {
	if p.Collective.Kind != q.Collective.Kind || p.Collective.Kind == model.Custom || !slices.Equal(p.Members(), q.Members()) {
		return false
	}
	return !p.Collective.Kind.Rooted() || p.Collective.Root == q.Collective.Root
}

func otherCollective(file, theirs string, p *model.Problem) error {
	return fmt.Errorf("%s: performs %s among its ranks, want %v among %d", file, theirs, p.Collective, len(p.Members()))
}

// notesOf joins what a reader says of a file.
func notesOf(tool string, notes model.Notes) string {
	return strings.Join(append([]string{tool + ": the best times for its order"}, notes.Strings()...), "; ")
}

// StandDeployed returns how MSCCL-IR that is right stands on the topology that t names.
func StandDeployed(ctx context.Context, file string, t *foreign.Truth) (*certify.Standing, error) {
	r, err := rightDeployed(ctx, file, t)
	if err != nil {
		return nil, err
	}
	return certify.Stand(ctx, r.Problem, r.Schedule, r.Order)
}

// StandAll returns, by file, how MSCCL-IR that is right stands on the topology that t names, if it names one;
// what is to be said of those that have no times there, and of those whose gap is more than gate or not
// known, where gate is not nil; and the exit status that follows.
func StandAll(ctx context.Context, all []*deploy.Report, t *foreign.Truth, gate *model.Gap) (stands map[string]*certify.Standing, said []string, status int, err error) {
	stands = map[string]*certify.Standing{}
	for _, d := range all {
		var x *certify.Standing
		if d.Verdict.Outcome == verify.Proved && t.OnTopology() {
			var wrong *verify.Contradiction
			if x, err = StandDeployed(ctx, d.File, t); errors.As(err, &wrong) {
				return nil, nil, 0, err
			} else if err != nil {
				said = append(said, fmt.Sprintf("%s: no times on %s: %v", quote.Name(d.File), t.Topology(), err))
				status = exit.Worse(status, exit.Unknown)
			} else {
				stands[d.File] = x
			}
		}
		if gate != nil && (x == nil || !x.Bounded() || x.Gap() > *gate) {
			said = append(said, fmt.Sprintf("--max-gap %v: exceeded, or not known, for %s", *gate, quote.Name(d.File)))
			status = exit.Worse(status, exit.Refuted)
		}
	}
	return stands, said, status, nil
}
