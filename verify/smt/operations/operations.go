// Package operations states the claim that a schedule of a workload is right as formulas, and lets a
// solver decide them: verify/SPEC.md, section 19. It shares nothing with package verify/workload but
// the model. One collective by itself is decided by package smt.
//
// # The formulas
//
// A question lists conditions each of which would be wrong; "unsat" says that none can hold.
//
// Edges, releases, routes and durations: conditions on times. In a periodic workload two unknown
// integers are the periods of the two ends of an edge, any two from 0 on that the iterations of the
// ends fit; so an answer holds for ever, without an argument by induction.
//
// Links, ports, computations and memory: one unknown, an instant; what is in use then is counted. In
// a periodic workload it is an instant of one period, and everything is there in each period that
// reaches the instant.
//
// Deadlock: the unknowns say which collectives never happen, and from which period on. One that
// never happens has on some rank one before it that never happens.
//
// Races: an unknown integer for each operation and rank counts how many iterations have begun there
// at some instant of some execution, another one how many have ended; edges relate them. Of two
// accesses to one place of which one writes, both are never under way. Where a writer's own
// iterations follow each other, which is asked as well, a difference of counts that all executions
// keep is the height of a path of edges, so that the counts miss no race.
//
// Values: inputs are unknown integers, sums are sums, and functions are functions of which nothing
// is known. Operators that are not associative are functions, symmetric ones if they are commutative:
// a∘b is u(a,b) + u(b,a). What a cell holds is a definition over what wrote it last; that this
// is the last write is among the conditions. Two terms that are equal for all inputs and all
// functions are equal as terms [sums of different terms can be told apart by some functions].
//
// # What is left undecided
//
// Workloads in which several operators that are associative and commutative meet (the sum of integers
// has other laws in common with the maximum than those that engines use), switches that copy, and what
// exceeds MaxConditions or MaxTerms.
package operations

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// Limits on what is asked.
const (
	MaxConditions = 1 << 16 // in one question
	MaxTerms      = 1 << 17 // in one question
	MaxTransfers  = 1 << 16 // of all placements
)

// decides are the violations that a proof rules out. Races are not among them: the solver follows chunks
// that wait for chunks through several operations, which the other engines need not.
var decides = []verify.Code{verify.MissingContribution, verify.DoubleContribution, verify.WrongValue, verify.SendUndefined, verify.ReduceUndefined,
	verify.LinkOverlap, verify.PortOverload, verify.NoSuchLink, verify.TooFast, verify.TooSlow, verify.BeforeRelease, verify.Malformed, verify.Deadlock,
	verify.ComputeOverlap, verify.BeforeDependency, verify.OutOfMemory, verify.WrongTree}

// errUndecided is why a question has no answer.
type errUndecided string

func (e errUndecided) Error() string { return string(e) }

// Check decides whether a schedule, which must be valid, is right. A limit, or whatever goes wrong with
// the solver, makes the verdict Unknown, with the reason. A timeout of 0 is no limit.
func Check(ctx context.Context, s *wl.Schedule, backend smt.Backend, timeout time.Duration) verify.Verdict {
	v := verify.Verdict{Engine: smt.Engine, Decides: decides, Claim: fmt.Sprintf("performs %v", s.Workload)}
	if s.Period > 0 {
		v.Claim += fmt.Sprintf(", every %v for ever", s.Period)
	}
	v.Claim += "; races are not decided"
	if timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = limited
	}
	e := &encoder{ctx: ctx, backend: backend, s: s, w: s.Workload, known: map[string]smt.Answer{}}
	err := e.read()
	for _, part := range []func() error{e.times, e.resources, e.deadlock, e.races, e.programs, e.values} {
		if err != nil || len(e.wrong) > 0 {
			break
		}
		err = part()
	}
	var undecided errUndecided
	switch {
	case len(e.wrong) > 0:
		v.Outcome, v.Violations = verify.Refuted, e.wrong
	case ctx.Err() != nil:
		v.Reason = verify.Stopped(ctx)
	case errors.As(err, &undecided):
		v.Reason = err.Error()
	case err != nil:
		v.Reason = fmt.Sprintf("%s: %v", backend.Name(), err)
	default:
		v.Outcome = verify.Proved
		if v.Makespan = s.Makespan(); s.Period > 0 {
			v.Makespan = s.Period
		}
	}
	return v
}

// span is a time in which something goes on.
type span struct{ from, to model.Time }

// and returns the span from the earlier start to the later end; ok: there is one already.
func (s span) and(t span, ok bool) span {
	if !ok {
		return t
	}
	return span{min(s.from, t.from), max(s.to, t.to)}
}

// slot is a chunk on a rank.
type slot struct{ rank, chunk int }

// placed is a placement with what its program does.
type placed struct {
	wl.Placement
	name    string
	problem *model.Problem  // nil: no collective
	program *model.Schedule // nil: no collective
	on      map[int]span    // of each rank that takes part
	slots   map[slot]span   // that transfers touch
	written map[slot]bool
}

// encoder makes the questions about a schedule.
type encoder struct {
	ctx     context.Context
	backend smt.Backend
	s       *wl.Schedule
	w       *wl.Workload
	wrong   []verify.Violation
	known   map[string]smt.Answer

	placed []placed
	of     [][]int // of an operation, by iteration: its placement
}

// read finds when each placement is where.
func (e *encoder) read() error {
	for i := range e.w.Topology.Switches {
		if e.w.Topology.Switches[i].Copies {
			return errUndecided("switches that copy are not asked about")
		}
	}
	e.of = make([][]int, len(e.w.Ops))
	for i := range e.w.Ops {
		e.of[i] = make([]int, e.w.Iterations(i))
	}
	problems := map[int]*model.Problem{}
	transfers := 0
	for i, p := range e.s.Placed {
		e.of[p.Op][p.Iteration] = i
		x := placed{Placement: p, name: e.w.Ops[p.Op].ID, on: map[int]span{}, slots: map[slot]span{}, written: map[slot]bool{}}
		if e.w.Iterations(p.Op) > 1 {
			x.name = fmt.Sprintf("%s, iteration %d", x.name, p.Iteration)
		}
		members := e.w.Members(e.w.Ops[p.Op].Group)
		for m, at := range p.Starts {
			x.on[members[m]] = span{at, at + e.w.DurationOn(p.Op, m)}
		}
		if p.Program >= 0 {
			if problems[p.Op] == nil {
				problems[p.Op] = e.w.Problem(p.Op)
			}
			x.problem, x.program = problems[p.Op], e.s.Programs[p.Program]
			if transfers += len(x.program.Transfers); transfers > MaxTransfers {
				return errUndecided(fmt.Sprintf("more than the %d transfers that are asked about", MaxTransfers))
			}
			x.follow(e.w.Topology)
		}
		for _, v := range members {
			if _, ok := x.on[v]; !ok {
				x.on[v] = span{p.At, p.At}
			}
		}
		e.placed = append(e.placed, x)
	}
	return nil
}

// follow notes where the transfers of a program are, and when.
func (x *placed) follow(topology *model.Topology) {
	for j := range x.program.Transfers {
		t := &x.program.Transfers[j]
		during := span{x.At + t.Start, x.At + t.End}
		for _, v := range append([]int{int(t.Src), int(t.Dst)}, passes(topology, x.program.Routes[t.Route])...) {
			was, ok := x.on[v]
			x.on[v] = was.and(during, ok)
		}
		for _, v := range []int32{t.Src, t.Dst} {
			k := slot{int(v), int(t.Chunk)}
			was, ok := x.slots[k]
			x.slots[k] = was.and(during, ok)
		}
		x.written[slot{int(t.Dst), int(t.Chunk)}] = true
	}
}

// passes returns the ranks on a route.
func passes(topology *model.Topology, route []int) (ranks []int) {
	for _, l := range route {
		for _, v := range []int{topology.Links[l].Src, topology.Links[l].Dst} {
			if topology.IsRank(v) {
				ranks = append(ranks, v)
			}
		}
	}
	return ranks
}

// text is a script that grows.
type text struct {
	strings.Builder
	names map[string]string
	n     int
}

func (t *text) put(format string, args ...any) { fmt.Fprintf(t, format, args...) }

// declare adds an unknown, or a function of integers, once for each name.
func (t *text) declare(name string, arguments int, sort string) string {
	key := "declare " + name
	if t.names == nil {
		t.names = map[string]string{}
	}
	if t.names[key] == "" {
		t.names[key] = name
		t.put("(declare-fun %s (%s) %s)\n", name, strings.TrimSpace(strings.Repeat("Int ", arguments)), sort)
	}
	return name
}

// define gives a term a name, once.
func (t *text) define(sort, term string) string {
	if t.names == nil {
		t.names = map[string]string{}
	}
	if t.names[term] == "" {
		t.names[term] = fmt.Sprintf("d%d", t.n)
		t.put("(define-fun d%d () %s %s)\n", t.n, sort, term)
		t.n++
	}
	return t.names[term]
}

// junction writes the disjunction or the conjunction of terms; none is the one with no terms.
func junction(operator, none string, of []string) string {
	switch len(of) {
	case 0:
		return none
	case 1:
		return of[0]
	}
	return "(" + operator + " " + strings.Join(of, " ") + ")"
}

func or(of ...string) string  { return junction("or", "false", of) }
func and(of ...string) string { return junction("and", "true", of) }

// question lists what would be wrong.
type question struct {
	text
	unknowns []string // whose values violations are read off
	assumed  bool     // something is asserted beside what would be wrong
	order    []string // the names of conditions
	wrong    map[string]func(smt.Assignment) verify.Violation
}

// unless adds a condition that would be wrong.
func (q *question) unless(condition string, wrong func(smt.Assignment) verify.Violation) {
	if condition == "false" {
		return
	}
	name := q.define("Bool", condition)
	if q.wrong == nil {
		q.wrong = map[string]func(smt.Assignment) verify.Violation{}
	}
	if q.wrong[name] == nil {
		q.wrong[name] = wrong
		q.order = append(q.order, name)
	}
}

// is states a violation that does not depend on unknowns.
func is(code verify.Code, where, format string, args ...any) func(smt.Assignment) verify.Violation {
	return func(smt.Assignment) verify.Violation { return verify.Wrong(code, where, fmt.Sprintf(format, args...)) }
}

// ask puts a question to the solver, and keeps what is wrong.
func (e *encoder) ask(q *question) error {
	if len(q.order) == 0 {
		return nil
	}
	if len(q.order) > MaxConditions || q.n > MaxTerms {
		return errUndecided(fmt.Sprintf("%d conditions in %d terms, more than the %d in %d that are asked about", len(q.order), q.n, MaxConditions, MaxTerms))
	}
	if q.assumed {
		a, err := e.solve(smt.Question{Script: q.String()})
		if err != nil {
			return err
		}
		if a.Status != smt.Sat {
			return errUndecided("what is assumed contradicts itself, so that it proves nothing")
		}
	}
	a, err := e.solve(smt.Question{Script: q.String() + "(assert " + or(q.order...) + ")\n", Constants: slices.Concat(q.order, q.unknowns)})
	if err != nil || a.Status == smt.Unsat {
		return err
	}
	for _, name := range q.order {
		if x := a.Values[name]; x != nil && x.Sign() != 0 && len(e.wrong) < verify.MaxViolations {
			e.wrong = append(e.wrong, q.wrong[name](a.Values))
		}
	}
	if len(e.wrong) == 0 {
		return errors.New("the solver's model has nothing that is wrong")
	}
	return nil
}

// solve asks the solver, unless the same was asked before.
func (e *encoder) solve(q smt.Question) (smt.Answer, error) {
	key := strings.Join([]string{q.Script, strings.Join(q.Cases, "\n"), strings.Join(q.Constants, " ")}, "\x00")
	a, ok := e.known[key]
	if !ok {
		var err error
		if a, err = e.backend.Solve(e.ctx, q); err != nil {
			return a, err
		}
		e.known[key] = a
	}
	if a.Status == smt.Undecided {
		return a, errUndecided(a.Reason)
	}
	return a, nil
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
