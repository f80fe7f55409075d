package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/crossover"
	"github.com/oraccl/oraccl/solve/crossover/exact"
	place "github.com/oraccl/oraccl/solve/workload"
	timed "github.com/oraccl/oraccl/solve/workload/exact"
	"github.com/oraccl/oraccl/solve/workload/joint"
	"github.com/oraccl/oraccl/solve/workload/modulo"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/workload"
)

// The methods for workloads.
const (
	List          = "compose"
	CriticalPath  = "critical-path"
	FirstCome     = "fcfs"
	Shortest      = "spt"
	RoundRobin    = "round-robin"
	Johnson       = "johnson"
	Greedy        = "greedy"
	GilmoreGomory = "gilmore-gomory"
	Modulo        = "modulo"
	Exact         = "exact"
	SAT           = "sat"
)

// Method is a way to schedule all of a workload.
type Method struct {
	Name, Does string

	// solve returns a schedule. An error that wraps solve.ErrNotServed states why it makes none.
	solve func(ctx context.Context, a *attempt) (*wl.Schedule, error)
}

// Methods returns all methods, those first that are quick.
func Methods() []Method {
	return []Method{
		{List, "the operation that can begin first is placed next, as early as links and ports allow", listed(place.Soonest)},
		{CriticalPath, "likewise; of those that can begin, the one with the longest way to the end", listed(place.CriticalPath)},
		{FirstCome, "likewise; the one that has been ready longest", listed(place.FirstCome)},
		{Shortest, "likewise; of those that can begin, the shortest", listed(place.Shortest)},
		{Greedy, "all transfers of all operations together, each link and GPU with something to do as soon as it is free", greedy},
		{RoundRobin, "jobs take turns on GPUs and network, in the best order", roundRobin},
		{Johnson, "jobs take turns, in Johnson's order", johnson},
		{GilmoreGomory, "jobs take turns in lock-step, in the order of Gilmore and Gomory", lockStep},
		{Modulo, "what goes on for ever: all operations on a circle of the length of the period, over the links of the network (iterative modulo scheduling)", onCircle},
		{Exact, "a mixed-integer program (HiGHS): jobs take turns; of small workloads of another kind, all transfers and computations at once, or, with a period, all operations over the links of the network", exactly},
		{SAT, "a formula (CaDiCaL) for each number of ticks: all transfers and computations of small workloads at once", satisfied},
	}
}

// MethodsListed returns the methods of a list with commas, all for "".
func MethodsListed(list string) ([]Method, error) {
	all := Methods()
	if list == "" {
		return all, nil
	}
	var chosen []Method
	for _, name := range strings.Split(list, ",") {
		i := slices.IndexFunc(all, func(m Method) bool { return m.Name == name })
		if i < 0 {
			var known []string
			for _, m := range all {
				known = append(known, m.Name)
			}
			return nil, fmt.Errorf("method %s for workloads: want one of %s", model.Quote(name), strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Row is what a method found.
type Row struct {
	Method string
	*Report
	Claim string // what a solver says beside it, which nothing has checked; "": nothing
}

// Left is a method without a row.
type Left struct{ Method, Why string }

// Comparison is what methods found for a workload.
type Comparison struct {
	Workload *wl.Workload
	Bounds   []*wl.Bound // for every cut of what has none, checked, the largest first
	Rows     []Row       // the shortest first, those that are not proved last
	Left     []Left
	Stop     solve.Stop
}

// Best returns the shortest schedule that is proved, or nil.
func (c *Comparison) Best() *Row {
	if len(c.Rows) > 0 && c.Rows[0].Verdict.Outcome == verify.Proved {
		return &c.Rows[0]
	}
	return nil
}

// Gap returns how far a row is above the best bound.
func (c *Comparison) Gap(r *Row) model.Gap {
	if len(c.Bounds) == 0 {
		return model.GapOf(r.Verdict.Makespan, 0)
	}
	return model.GapOf(r.Verdict.Makespan, c.Bounds[0].Value)
}

// Evaluate has each method schedule a workload, verifies what it finds, and passes what there is to found
// after each. With onlyBetter it verifies only what is shorter than the best so far. When ctx is done it
// returns what it has.
func Evaluate(ctx context.Context, w *wl.Workload, methods []Method, onlyBetter bool, found func(*Comparison)) (*Comparison, error) {
	c := &Comparison{Workload: w, Bounds: workload.Bounds(ctx, w)}
	a := &attempt{w: w}
	if len(c.Bounds) > 0 {
		a.least = c.Bounds[0].Value
	}
	for _, m := range methods {
		if ctx.Err() != nil {
			c.Left = append(c.Left, Left{m.Name, "the time was over"})
			continue
		}
		s, err := m.solve(ctx, a)
		switch {
		case err != nil && ctx.Err() != nil:
			c.Left = append(c.Left, Left{m.Name, "the time was over"})
			continue
		case errors.Is(err, solve.ErrNotServed):
			c.Left = append(c.Left, Left{m.Name, err.Error()})
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		s.Origin = model.Origin{Method: m.Name}
		length := s.Period
		if length == 0 {
			length = s.Makespan()
		}
		if b := c.Best(); onlyBetter && b != nil && length >= b.Verdict.Makespan {
			c.Left = append(c.Left, Left{m.Name, fmt.Sprintf("its schedule takes %v, no less than that of %s", length, b.Method)})
			continue
		}
		v, each, err := Check(ctx, s, SolverTime)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		if v.Outcome == verify.Proved && len(c.Bounds) > 0 {
			if err := verify.Below(v.Makespan, c.Bounds[0].Value, c.Bounds[0].Kind); err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
		}
		s.Origin.Verdict = map[string]string{}
		for _, e := range each {
			s.Origin.Verdict[e.Engine] = e.Outcome.String()
		}
		next := *c // found may still read the last one
		next.Rows = append(slices.Clone(c.Rows), Row{m.Name, &Report{Schedule: s, Methods: a.methods(m.Name), Verdict: v, Each: each, Bounds: c.Bounds}, a.claim})
		next.Left = slices.Clone(c.Left)
		slices.SortStableFunc(next.Rows, func(x, y Row) int {
			px, py := x.Verdict.Outcome == verify.Proved, y.Verdict.Outcome == verify.Proved
			if px != py {
				if px {
					return -1
				}
				return 1
			}
			return cmp.Compare(x.Verdict.Makespan, y.Verdict.Makespan)
		})
		c, a.claim = &next, ""
		if b := c.Best(); b != nil && b.Schedule.Period == 0 {
			a.known = b.Schedule
		}
		found(c)
		if b := c.Best(); onlyBetter && b != nil && c.Gap(b) == 0 {
			break
		}
	}
	if ctx.Err() != nil {
		c.Stop = solve.StopOf(ctx)
	}
	return c, nil
}

// attempt is what methods share.
type attempt struct {
	w     *wl.Workload
	parts *Composition
	turns *crossover.Turns
	why   error               // why there are no turns
	best  *crossover.Schedule // of those that take turns
	order []int               // of jobs, in it
	claim string
	least model.Time   // nothing is shorter
	known *wl.Schedule // the shortest that ends and is proved
}

// methods returns the method of each collective in the schedule of a method.
func (a *attempt) methods(of string) map[string]string {
	if a.parts == nil || of == Greedy || of == SAT || of == Exact && a.turns == nil {
		return nil
	}
	return a.parts.Methods
}

// compose finds a program for each collective, once.
func (a *attempt) compose(ctx context.Context) (*Composition, error) {
	var err error
	if a.parts == nil {
		a.parts, err = Parts(ctx, a.w, nil)
	}
	return a.parts, err
}

// taken returns the jobs that take turns.
func (a *attempt) taken(ctx context.Context) (*crossover.Turns, error) {
	if a.turns == nil && a.why == nil {
		of, err := a.compose(ctx)
		if err != nil {
			return nil, err
		}
		a.turns, a.why = crossover.Of(of.Workload, of.Programs)
	}
	if a.why != nil {
		return nil, solve.NotServed("%v", a.why)
	}
	return a.turns, nil
}

// keep remembers the best schedule of those that take turns, for exact, and returns it as one of the workload.
func (a *attempt) keep(s *crossover.Schedule, order []int) *wl.Schedule {
	if a.best == nil || s.Period > 0 && s.Period < a.best.Period || s.Period == 0 && s.End(a.jobs(order)) < a.best.End(a.jobs(a.order)) {
		a.best, a.order = s, order
	}
	return a.turns.Timetable(s, order)
}

// jobs returns the jobs in an order.
func (a *attempt) jobs(order []int) []crossover.Job {
	if order == nil {
		return a.turns.Jobs
	}
	return crossover.Reorder(a.turns.Jobs, order)
}

func listed(rule place.Rule) func(context.Context, *attempt) (*wl.Schedule, error) {
	return func(ctx context.Context, a *attempt) (*wl.Schedule, error) {
		if a.w.Periodic {
			return nil, solve.NotServed("serves what ends")
		}
		of, err := a.compose(ctx)
		if err != nil {
			return nil, err
		}
		return place.Place(ctx, of.Workload, slices.Clone(of.Programs), rule)
	}
}

// mostAgain is how many transfers a schedule of greedy has at most for which it tries more.
const mostAgain = 1 << 15

func greedy(ctx context.Context, a *attempt) (*wl.Schedule, error) {
	var best *wl.Schedule
	for pieces := 1; pieces <= 8; pieces *= 2 {
		better, large := false, false
		for _, nearest := range []bool{false, true} {
			s, err := joint.Schedule(ctx, a.w, joint.Options{Pieces: pieces, Nearest: nearest})
			if err != nil {
				if best == nil {
					return nil, err
				}
				return best, nil
			}
			if best == nil || s.Makespan() < best.Makespan() {
				best, better = s, true
			}
			transfers := 0
			for _, p := range s.Programs {
				transfers += len(p.Transfers)
			}
			if large = transfers > mostAgain; large {
				break
			}
		}
		if !better || large || !slices.ContainsFunc(a.w.Ops, func(o wl.Op) bool { _, collective := o.Kind.Collective(); return collective && o.Chunks == nil }) {
			break
		}
	}
	return best, nil
}

func roundRobin(ctx context.Context, a *attempt) (*wl.Schedule, error) {
	t, err := a.taken(ctx)
	if err != nil {
		return nil, err
	}
	if a.w.Periodic {
		return a.keep(crossover.Rates(ctx, t.Jobs), nil), nil
	}
	order := crossover.BestRoundRobin(t.Jobs)
	return a.keep(crossover.Finite(a.jobs(order), crossover.RoundRobin), order), nil
}

func johnson(ctx context.Context, a *attempt) (*wl.Schedule, error) {
	t, err := a.taken(ctx)
	switch {
	case err != nil:
		return nil, err
	case a.w.Periodic:
		return nil, solve.NotServed("serves what ends")
	}
	order := crossover.Johnson(t.Jobs)
	return a.keep(crossover.Finite(a.jobs(order), crossover.RoundRobin), order), nil
}

func lockStep(ctx context.Context, a *attempt) (*wl.Schedule, error) {
	t, err := a.taken(ctx)
	switch {
	case err != nil:
		return nil, err
	case !a.w.Periodic || len(t.Jobs) < 2:
		return nil, solve.NotServed("serves two or more jobs that go on for ever")
	}
	for i := range t.Jobs {
		if !t.Jobs[i].IsCoarse() || t.Jobs[i].Rate != 1 {
			return nil, solve.NotServed("serves jobs with one iteration a period, and one bucket, ready at the end")
		}
	}
	return a.keep(crossover.InLockStep(t.Jobs, crossover.BestLockStep(t.Jobs)), nil), nil
}

// mostExact is how long exact looks at most.
const mostExact = 10 * time.Second

func onCircle(ctx context.Context, a *attempt) (*wl.Schedule, error) {
	if !a.w.Periodic {
		return nil, solve.NotServed("serves what goes on for ever")
	}
	of, err := a.compose(ctx)
	if err != nil {
		return nil, err
	}
	return modulo.Schedule(ctx, of.Workload, of.Programs, a.least)
}

// shareOf returns how long exact looks.
func shareOf(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return max(time.Millisecond, min(mostExact, time.Until(end)/2))
	}
	return mostExact
}

// incumbent returns the best schedule of the other methods, of which greedy is tried if none ran.
func (a *attempt) incumbent(ctx context.Context) (*wl.Schedule, error) {
	if a.known != nil {
		return a.known, nil
	}
	s, err := greedy(ctx, a)
	if errors.Is(err, solve.ErrNotServed) {
		return listed(place.CriticalPath)(ctx, a)
	}
	return s, err
}

// allAtOnce looks by a solver for what is shorter than the best of the other methods. It makes no schedule where it
// neither finds one nor knows more than is known.
func (a *attempt) allAtOnce(ctx context.Context, solver string, search func(context.Context, *wl.Schedule, timed.Options) (*timed.Result, error)) (*wl.Schedule, error) {
	if a.w.Periodic {
		return nil, solve.NotServed("serves what ends")
	}
	incumbent, err := a.incumbent(ctx)
	if err != nil {
		return nil, err
	}
	limit := shareOf(ctx)
	x, err := search(ctx, incumbent, timed.Options{TimeLimit: limit, Least: a.least})
	if err != nil {
		return nil, solve.NotServed("%v", err)
	}
	best := incumbent
	if x.Schedule != nil {
		best = x.Schedule
	}
	form := "in which chunks, cut as here, go from member to member along trees"
	if x.Tick > 0 { // of two that exchange, each sends a tick before it receives, and a picosecond might do
		form += fmt.Sprintf(", at multiples of %v", x.Tick)
	}
	switch length := best.Makespan(); {
	case length <= a.least:
	case x.Closed:
		a.claim = fmt.Sprintf("%s claims that nothing is shorter %s; which is not checked", solver, form)
	case x.Before > a.least:
		a.claim = fmt.Sprintf("%s claims that nothing ends before %v %s; which is not checked", solver, x.Before, form)
	case x.Schedule == nil:
		return nil, solve.NotServed("found nothing that ends before %v in %v, and does not know whether there is something", length, limit.Round(time.Millisecond))
	}
	again := *best
	return &again, nil
}

// satisfied asks a SAT solver.
func satisfied(ctx context.Context, a *attempt) (*wl.Schedule, error) {
	return a.allAtOnce(ctx, "CaDiCaL", timed.Satisfy)
}

// exactly asks a solver: of jobs that take turns for their order; of what goes on for ever also, where that is not
// known to be the best, for one on the links; of other workloads for all transfers and computations.
func exactly(ctx context.Context, a *attempt) (*wl.Schedule, error) {
	s, err := a.inTurns(ctx)
	switch {
	case !a.w.Periodic && errors.Is(err, solve.ErrNotServed) && a.turns == nil:
		return a.allAtOnce(ctx, "HiGHS", timed.Schedule)
	case !a.w.Periodic || err == nil && s.Period <= a.least:
		return s, err
	}
	claim := a.claim
	c, cerr := a.onLinks(ctx)
	if cerr == nil && (err != nil || c.Period < s.Period) || a.turns == nil {
		return c, cerr
	}
	a.claim = claim
	return s, err
}

// inTurns looks for the best of the schedules in which jobs take turns.
func (a *attempt) inTurns(ctx context.Context) (*wl.Schedule, error) {
	if a.best == nil {
		if _, err := roundRobin(ctx, a); err != nil {
			return nil, err
		}
	}
	var x *exact.Result
	var err error
	if a.w.Periodic {
		x, err = exact.Periodic(ctx, a.turns.Jobs, a.best, exact.Options{TimeLimit: shareOf(ctx)})
	} else {
		x, err = exact.Finite(ctx, a.jobs(a.order), a.best, exact.Options{TimeLimit: shareOf(ctx)})
	}
	if err != nil { // too large, or there is no solver
		return nil, solve.NotServed("%v", err)
	}
	if x.Schedule != nil {
		a.best = x.Schedule
	}
	if x.Closed {
		a.claim = "HiGHS claims that nothing that takes turns is shorter, which is not checked"
	}
	return a.turns.Timetable(a.best, a.order), nil
}

// onLinks looks for the shortest period in which programs are moved as a whole over the links of the network.
func (a *attempt) onLinks(ctx context.Context) (*wl.Schedule, error) {
	of, err := a.compose(ctx)
	if err != nil {
		return nil, err
	}
	limit := shareOf(ctx)
	x, err := modulo.Exact(ctx, of.Workload, of.Programs, modulo.Options{TimeLimit: limit, Least: a.least})
	switch {
	case err != nil:
		return nil, solve.NotServed("%v", err)
	case x.Schedule == nil:
		return nil, solve.NotServed("found nothing in %v", limit.Round(time.Millisecond))
	case x.Closed && x.Schedule.Period > a.least:
		a.claim = "HiGHS claims that no period is shorter in which each collective, carried as here, is moved as a whole; which is not checked"
	}
	return x.Schedule, nil
}
