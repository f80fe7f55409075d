// Package workloads solves workloads, has what is found verified by the engines of
// verify/workload and verify/smt/operations, and sets it beside the bounds that verify/workload values. It stands beside
// package certify, above the methods.
package workloads

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	place "github.com/oraccl/oraccl/solve/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/workload"
)

// Report is what is known of a workload.
type Report struct {
	Schedule *wl.Schedule // nil: none was found
	Methods  map[string]string
	Verdict  verify.Verdict
	Each     []verify.Verdict
	Bounds   []*wl.Bound // checked, the largest first
}

// Gap returns how far the makespan, or the period, is above the best bound.
func (r *Report) Gap() model.Gap {
	if len(r.Bounds) == 0 {
		return model.GapOf(r.Verdict.Makespan, 0)
	}
	return model.GapOf(r.Verdict.Makespan, r.Bounds[0].Value)
}

// Engines are those that decide about schedules of workloads.
var Engines = []string{workload.ComposeEngine, workload.ExecuteEngine, smt.Engine}

// Check asks all engines about a schedule, which must be valid, and returns what all of them establish
// together, and what each says. The last one stops after a time; 0 is no limit. An error means that they
// contradict each other.
func Check(ctx context.Context, s *wl.Schedule, limit time.Duration) (verify.Verdict, []verify.Verdict, error) {
	return CheckBy(ctx, s, Engines, certify.Backend, limit)
}

// CheckBy is Check by some engines, and a solver.
func CheckBy(ctx context.Context, s *wl.Schedule, engines []string, backend smt.Backend, limit time.Duration) (verify.Verdict, []verify.Verdict, error) {
	var each []verify.Verdict
	for _, name := range engines {
		switch name {
		case workload.ComposeEngine:
			each = append(each, workload.Compose(ctx, s))
		case workload.ExecuteEngine:
			each = append(each, workload.Execute(ctx, s))
		case smt.Engine:
			each = append(each, bySolver(ctx, s, backend, limit))
		}
	}
	v, err := verify.Combine(each...)
	return v, each, err
}

// SolverTime is how long Verify waits for the solver; the other two engines prove without it.
const SolverTime = 30 * time.Second

// Verify returns what is known of a schedule. That a proved schedule ends before a bound is an
// error.
func Verify(ctx context.Context, s *wl.Schedule) (*Report, error) {
	v, each, err := Check(ctx, s, SolverTime)
	if err != nil {
		return nil, err
	}
	r := &Report{Schedule: s, Verdict: v, Each: each, Bounds: workload.Bounds(ctx, s.Workload)}
	if v.Outcome == verify.Proved && len(r.Bounds) > 0 {
		if err := verify.Below(v.Makespan, r.Bounds[0].Value, r.Bounds[0].Kind); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Solve finds a schedule of a workload that ends: the best program of a quick method for each
// collective, then all together by list scheduling. Operations without a cut get that of their
// method. methods are those to try; nil: all quick ones.
func Solve(ctx context.Context, w *wl.Workload, methods []solve.Solver) (*Report, error) {
	s, names, err := Find(ctx, w, methods)
	if err != nil {
		return nil, err
	}
	r, err := Verify(ctx, s)
	if r != nil {
		r.Methods = names
	}
	return r, err
}

// Find is Solve without the verification. names has the method of each collective.
func Find(ctx context.Context, w *wl.Workload, methods []solve.Solver) (s *wl.Schedule, names map[string]string, err error) {
	of, err := Parts(ctx, w, methods)
	if err != nil {
		return nil, nil, err
	}
	if s, err = place.Place(ctx, of.Workload, of.Programs, place.Soonest); err != nil {
		return nil, nil, err
	}
	s.Origin = model.Origin{Method: List}
	return s, of.Methods, nil
}

// Composition is a workload whose collectives each have a schedule.
type Composition struct {
	Workload *wl.Workload // with the cuts of the schedules
	Programs []*model.Schedule
	Methods  map[string]string // of each collective, by its name
}

// Parts finds the best program of a quick method for each collective of a workload by itself. methods are
// those to try; nil: all quick ones.
func Parts(ctx context.Context, w *wl.Workload, methods []solve.Solver) (of *Composition, err error) {
	if methods == nil {
		methods = quick()
	}
	again := *w
	again.Ops = slices.Clone(w.Ops)
	programs := make([]*model.Schedule, len(w.Ops))
	names := map[string]string{}
	known := map[string]found{}
	for i := range again.Ops {
		op := &again.Ops[i]
		if _, collective := op.Kind.Collective(); !collective {
			continue
		}
		if op.Given != nil {
			programs[i], names[op.ID] = op.Given, "given"
			continue
		}
		p := again.Problem(i)
		key := fmt.Sprint(p.Collective.Kind, p.Collective.Group, p.Collective.Root, p.Collective.Op, p.Size, op.Chunks, op.Kind == "custom")
		f, ok := known[key]
		if o, _ := w.OperatorOf(op.Operator); !ok || !o.Free() || op.Kind == "custom" {
			if f, err = best(ctx, p, methods, func(s *model.Schedule, cut []model.Chunk) bool { return o.Free() || treesFit(ctx, &again, i, s, cut) }); err != nil {
				return nil, fmt.Errorf("%s: %w", op.ID, err)
			}
			known[key] = f
		}
		programs[i], op.Chunks, names[op.ID] = f.schedule, f.chunks, f.method
	}
	return &Composition{&again, programs, names}, nil
}

// Program returns the shortest schedule that a quick method finds for a problem, with its cut and
// its makespan.
func Program(ctx context.Context, p *model.Problem) (s *model.Schedule, cut []model.Chunk, makespan model.Time, err error) {
	f, err := best(ctx, p, quick(), func(*model.Schedule, []model.Chunk) bool { return true })
	return f.schedule, f.chunks, f.makespan, err
}

// quick returns the methods that are tried for each collective.
func quick() []solve.Solver {
	return slices.DeleteFunc(certify.Methods(), func(m solve.Solver) bool { return !m.About().Quick || m.About().ComparisonOnly })
}

// found is a schedule of one collective.
type found struct {
	schedule *model.Schedule
	chunks   []model.Chunk
	method   string
	makespan model.Time
}

// best returns the shortest schedule that a quick method finds, among those that fit.
func best(ctx context.Context, p *model.Problem, methods []solve.Solver, fits func(*model.Schedule, []model.Chunk) bool) (found, error) {
	if len(p.Members()) == 1 {
		q := p
		if q.Chunks == nil {
			q = p.WithChunks(max(1, p.DefaultChunks(1)))
		}
		return found{&model.Schedule{Form: model.Timed}, q.Chunks, "nothing to do", 0}, nil
	}
	var all []found
	for _, m := range methods {
		if ctx.Err() != nil {
			return found{}, ctx.Err()
		}
		if m.Serves(p) != nil {
			continue
		}
		r, err := m.Solve(ctx, p, solve.Options{Threads: 1, Effort: -1})
		if err != nil || r.Schedule == nil || r.Problem == nil || r.Schedule.Form != model.Timed || !fits(r.Schedule, r.Problem.Chunks) {
			continue
		}
		all = append(all, found{r.Schedule, r.Problem.Chunks, m.Name(), r.Problem.Makespan(r.Schedule)})
	}
	if len(all) == 0 {
		return found{}, fmt.Errorf("no quick method serves %v: %w", p, solve.ErrNotServed)
	}
	return slices.MinFunc(all, func(a, b found) int { return cmp.Compare(a.makespan, b.makespan) }), nil
}

// treesFit reports whether a program combines as the operator of an operation needs.
func treesFit(ctx context.Context, w *wl.Workload, i int, s *model.Schedule, cut []model.Chunk) bool {
	one := *w
	op := w.Ops[i]
	op.Chunks, op.Job, op.Release, op.Given = cut, "", nil, nil
	one.Ops, one.Edges, one.Jobs, one.Goal, one.Periodic, one.Memory, one.Release = []wl.Op{op}, nil, nil, nil, false, nil, nil
	v, _, err := workload.Check(ctx, &wl.Schedule{Workload: &one, Programs: []*model.Schedule{s}, Placed: []wl.Placement{{Op: 0}}})
	return err == nil && v.Outcome == verify.Proved
}
