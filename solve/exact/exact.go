// Package exact finds optimal schedules of small instances: a mixed-integer program
// on the time-expanded network (package ten), solved by HiGHS, for growing
// horizons until one has a solution.
//
// Broadcast, scatter, gather, allgather, alltoall and custom patterns without
// reduction are encoded as they are; reduce and reducescatter are solved on the
// reversed topology and read backwards; allreduce is a reducescatter followed by an
// allgather, which start as soon as their data allow.
//
// What leaves a rank at one time, and parts at a switch that copies, passes each link once; read
// backwards that is a sum of a switch that adds. A sum that a switch turns round to all in the same
// pass is not in the program, and nothing waits in a switch.
//
// What the solver returns is rounded, checked against the encoding in exact
// numbers, turned into a program of transfers and timed again in picoseconds. The
// word "optimal" is the solver's, for the grid of epochs that the note names.
package exact

import (
	"context"
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/improve"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/place"
	"github.com/oraccl/oraccl/solve/ten"
)

// maxColumns limits the instances that are taken on: HiGHS needs about 10 kB a
// column, and beyond this hours.
const maxColumns = 60000

// solver is one of the methods.
type solver struct{ aim aim }

// aim is what a method asks the solver for.
type aim uint8

const (
	leastHorizon aim = iota
	reward           // the most reward within a horizon
	rolling          // progress, one round after the other
)

// New returns the exact method.
func New() solve.Solver { return solver{leastHorizon} }

// NewReward returns the method exact-reward: with half as many epochs again as are needed,
// it maximises what TE-CCL does (Liu et al., SIGCOMM 2024, section 3.1), the sum over
// demands and epochs t of 1/(t+1) for each demand that is met by then. It is for
// comparison: the makespan may be longer.
func NewReward() solve.Solver { return solver{reward} }

// NewRolling returns the method rolling: the time is divided into rounds of a few epochs,
// each solved for the most progress, as TE-CCL's A* does (section 4). It is a heuristic
// for instances too large for the exact method.
func NewRolling() solve.Solver { return solver{rolling} }

// Name implements solve.Solver.
func (s solver) Name() string { return [...]string{"exact", "exact-reward", "rolling"}[s.aim] }

// About implements solve.Solver.
func (s solver) About() solve.About {
	switch s.aim {
	case reward:
		return solve.About{
			Serves:    "as `exact`",
			Guarantee: "the most of TE-CCL's reward in half as many epochs again as are needed, according to the solver; for comparison",
			Source:    "Liu et al., SIGCOMM 2024",
			Uses:      solve.UsesSeed,

			ComparisonOnly: true,
			NeedsCut:       solve.AlwaysNeedsCut,
		}
	case rolling:
		return solve.About{
			Serves:    "as `exact`, larger ones",
			Guarantee: "none: rounds of a rolling horizon, each an MILP",
			Source:    "as TE-CCL's A*",
			Uses:      solve.UsesSeed,

			ComparisonOnly: true,
			NeedsCut:       solve.AlwaysNeedsCut,
		}
	}
	return solve.About{
		Serves:    fmt.Sprintf("all eight collectives, custom ones without reduction, multicasts and sums of switches; up to %d columns", maxColumns),
		Guarantee: "least makespan on a grid of epochs, according to the solver; `optimal` only where a checked bound is met",
		Source:    "time-expanded MILP as in TE-CCL, solved by HiGHS",
		NeedsCut:  solve.AlwaysNeedsCut,
		WarmStart: true,
		Uses:      solve.UsesSeed | solve.UsesEffort,
	}
}

// Serves implements solve.Solver. It counts the columns of the least horizon.
func (s solver) Serves(p *model.Problem) error {
	if err := highs.Available(); err != nil {
		return solve.NotServed("%v", err)
	}
	if err := place.Reachable(p.Topology); err != nil {
		return solve.NotServed("%v", err)
	}
	if n := p.DefaultChunks(1); p.Chunks == nil && int64(n)*int64(p.Topology.Ranks) > maxColumns {
		return tooLarge(int64(n)*int64(p.Topology.Ranks), "for %d chunks at %d ranks", n, p.Topology.Ranks)
	}
	q := forward(solve.Cut(p, 1))
	if q == nil {
		return solve.NotServed("serves no custom collective that reduces, and none with reductions where ranks are late")
	}
	if int64(len(q.Chunks))*int64(q.Topology.Ranks) > maxColumns {
		return tooLarge(int64(len(q.Chunks))*int64(q.Topology.Ranks), "for %d chunks at %d ranks", len(q.Chunks), q.Topology.Ranks)
	}
	hops := hop.All(q.Topology)
	if columns := len(q.Chunks) * len(hops); columns > maxColumns {
		return tooLarge(int64(columns), "for %d chunks over %d hops", len(q.Chunks), len(hops))
	}
	n := ten.New(q, hops, grids(q, hops)[0], 0)
	if k, r, ok := n.Unreachable(); ok {
		return solve.NotServed("chunk %d cannot reach rank %d", k, r)
	}
	n.Horizon = n.LeastHorizon()
	if s.aim == rolling {
		return servesRounds(n)
	}
	if columns, _ := size(n); columns > maxColumns {
		return tooLarge(int64(columns), "for %d epochs", n.Horizon)
	}
	return nil
}

func tooLarge(columns int64, format string, args ...any) error {
	return solve.NotServed("too large: more than %d columns %s, want at most %d: try fewer --chunks, or --method rolling or tacos",
		columns-1, fmt.Sprintf(format, args...), maxColumns)
}

// forward returns the problem without reduction that p is solved through, or nil.
func forward(p *model.Problem) *model.Problem {
	switch kind := p.Collective.Kind; {
	case kind == model.AllReduce:
		q := *p
		q.Collective.Kind = model.AllGather
		if p.Late() || len(p.Chunks)%len(p.Members()) != 0 || q.Validate() != nil {
			return nil
		}
		return &q
	case kind == model.Reduce || kind == model.ReduceScatter:
		q, ok := solve.Reverse(p)
		if !ok {
			return nil
		}
		return q
	case p.Collective.Reduces():
		return nil
	}
	for k := range p.Chunks { // a custom chunk must be the same wherever it starts
		for _, v := range p.Start(k) {
			if _, single := v.Single(); !single {
				return nil
			}
		}
		starts := -1
		for _, v := range p.Start(k) {
			r, _ := v.Single()
			if starts >= 0 && r != starts {
				return nil
			}
			starts = r
		}
	}
	return p
}

// Solve implements solve.Solver.
func (s solver) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := s.Serves(p); err != nil {
		return solve.Result{}, err
	}
	p = solve.Cut(p, o.Chunks)
	if forward(p) == nil {
		return solve.Result{}, solve.NotServed("does not serve %d chunks here", len(p.Chunks))
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	r := &run{budget: b, options: o, p: p, aim: s.aim}
	if s.aim == leastHorizon && o.Start != nil && o.Start.Schedule != nil && sameCut(o.Start.Problem, p) && o.Bound > 0 && o.Start.Makespan() <= o.Bound {
		models, err := r.shorter(o.Start.Makespan())
		return solve.Result{Problem: p, Schedule: o.Start.Schedule, Stop: solve.Optimal, Models: models, Note: o.WarmStart() + " meets the bound"}, err
	}
	result := solve.Result{Problem: p}
	var halves []*model.Schedule
	for _, q := range stages(p) {
		half := r.stage(q)
		if half == nil {
			break
		}
		halves = append(halves, half)
	}
	result.Stop, result.Raw, result.Note, result.Models = r.stop, r.raw, strings.Join(r.notes, "; "), r.models
	if len(halves) == len(stages(p)) {
		schedule, err := join(p, halves)
		if err != nil {
			return solve.Result{}, err
		}
		result.Schedule = schedule
	}
	if s.aim == leastHorizon && o.Start != nil && o.Start.Schedule != nil && sameCut(o.Start.Problem, p) &&
		(result.Schedule == nil || o.Start.Makespan() < result.Makespan()) {
		result.Schedule = o.Start.Schedule
		result.Note = strings.TrimPrefix(result.Note+"; "+o.WarmStart()+" is better, and is returned", "; ")
		if result.Stop == solve.Optimal {
			result.Stop = solve.Done // a finer clock than the grid's does better
		}
	}
	if p.Collective.Kind == model.AllReduce && result.Stop == solve.Optimal {
		result.Stop = solve.Done // both halves are, the whole need not be
		result.Note += "; each half is solver-optimal"
	}
	if s.aim == leastHorizon {
		result = improve.Result(r.budget.Context(), result, o)
	}
	return result, nil
}

func sameCut(a, b *model.Problem) bool { return a.SameUpToCut(b) && len(a.Chunks) == len(b.Chunks) }

// stages returns the problems whose schedules, one after the other, are one of p.
func stages(p *model.Problem) []*model.Problem {
	if p.Collective.Kind != model.AllReduce {
		return []*model.Problem{p}
	}
	scatter, gather := *p, *p
	scatter.Collective.Kind, gather.Collective.Kind = model.ReduceScatter, model.AllGather
	return []*model.Problem{&scatter, &gather}
}

// join times the schedules of the stages again, as one program.
func join(p *model.Problem, stages []*model.Schedule) (*model.Schedule, error) {
	program := place.NewProgram(p)
	for _, s := range stages {
		program.Append(s)
	}
	return program.PlaceInOrder()
}

// run is one call of Solve.
type run struct {
	budget  *solve.Budget
	options solve.Options
	p       *model.Problem
	stop    solve.Stop
	raw     string
	notes   []string
	models  []solve.Model
	aim     aim
	w       switches // of the stage
}

// stage solves one problem that is forward or the reverse of one, on each grid, and
// returns the best schedule, with times; nil if none was found.
func (r *run) stage(p *model.Problem) *model.Schedule {
	q := forward(p)
	r.w = switchesOf(p, q)
	hops := hop.All(q.Topology)
	var best *model.Schedule
	r.stop = solve.Done
	bound := r.boundOf(p)
	search, epochs := r.grid, grids(q, hops)
	if r.aim == rolling {
		search, epochs = r.rounds, epochs[:1]
	}
	for i, epoch := range epochs {
		s, done := search(q, hops, epoch, bound)
		if s == nil {
			if i == 0 {
				return nil
			}
			break
		}
		if q != p {
			s = solve.ReverseSchedule(p, s)
		}
		program := place.NewProgram(p)
		program.Append(s)
		timed, err := program.PlaceInOrder()
		if err != nil {
			r.notes = append(r.notes, err.Error())
			break
		}
		if best == nil || p.Makespan(timed) < p.Makespan(best) {
			best = timed
		}
		if !done || p.Makespan(best) <= bound {
			break
		}
	}
	return best
}

// boundOf returns what no schedule of a stage ends before: what the caller knows of the
// whole problem or, of a half, what a quick search takes for a bound.
func (r *run) boundOf(stage *model.Problem) model.Time {
	if stage == r.p {
		return r.options.Bound
	}
	if w, err := bound.Quick(r.budget.Context(), stage); err == nil && w != nil {
		return w.Estimate
	}
	return 0
}

// grid looks for the least horizon on one grid. done says that it was found, all
// shorter ones being infeasible according to the solver.
func (r *run) grid(q *model.Problem, hops []hop.Hop, epoch, bound model.Time) (s *model.Schedule, done bool) {
	n := ten.New(q, hops, epoch, 0)
	least := n.LeastHorizon()
	if epoch > 0 { // what fits into fewer epochs would end before the bound
		least = max(least, int((bound+epoch-1)/epoch))
	}
	for n.Horizon = max(1, least); ; n.Horizon++ {
		if least := r.leastOf(q, hops, epoch, n.Horizon-1); r.options.Best > 0 && least >= r.options.Best && r.aim == leastHorizon {
			r.stop = solve.Done
			r.notes = append(r.notes, fmt.Sprintf("gave up at %d epochs of %v: according to the solver nothing ends before %v, and %v is known", n.Horizon, epoch, least, r.options.Best))
			return nil, false
		}
		columns, rows := size(n)
		if columns > maxColumns {
			r.stop = solve.Done
			r.notes = append(r.notes, fmt.Sprintf("gave up at %d epochs of %v: %d columns, %d rows, want at most %d columns: --method rolling or tacos takes larger ones", n.Horizon, epoch, columns, rows, maxColumns))
			return nil, false
		}
		if r.options.Progress != nil {
			r.options.Progress(solve.Progress{Bound: epoch.Mul(int64(n.Horizon - 1)), Note: fmt.Sprintf("%d epochs of %v: %d columns, %d rows", n.Horizon, epoch, columns, rows)})
		}
		e := encode(n, r.w)
		if r.budget.Stop() != 0 {
			return nil, r.stopped(n, epoch)
		}
		result, err := highs.Solve(r.budget.Context(), &e.Model, highs.Options{Seed: r.options.Seed, Threads: max(0, r.options.Threads)})
		if err != nil {
			r.stop = solve.Done
			r.notes = append(r.notes, err.Error())
			return nil, false
		}
		r.raw = result.RawStatus
		switch {
		case result.HasSolution:
			s, err := e.decode(result.Values)
			if err != nil {
				r.stop = solve.Done
				r.notes = append(r.notes, err.Error())
				return nil, false
			}
			r.stop = solve.Optimal
			if r.aim == reward {
				return r.rewarded(q, n, s), true
			}
			grid := fmt.Sprintf("grid of %d epochs of %v", n.Horizon, epoch)
			if q.Cost.Synchronous() {
				grid = fmt.Sprintf("%d rounds", n.Horizon)
			}
			r.notes = append(r.notes, fmt.Sprintf("%s, %v%s", grid, e.Dims(), r.error(q, hops, epoch, n.Horizon)))
			if r.w.reading() {
				r.stop = solve.Done
				r.notes = append(r.notes, "nothing waits in a switch")
			}
			for _, feasible := range []bool{true, false} {
				if err := r.keep(n, epoch, feasible); err != nil {
					r.notes = append(r.notes, err.Error())
				}
				n.Horizon--
			}
			return s, true
		case result.Status == highs.Infeasible:
			continue
		default:
			return nil, r.stopped(n, epoch)
		}
	}
}

// stopped records that a limit ended the search for the least horizon; it returns false.
func (r *run) stopped(n *ten.Network, epoch model.Time) bool {
	r.limited()
	r.notes = append(r.notes, fmt.Sprintf("%v at %d epochs of %v; shorter ones are infeasible", r.stop, n.Horizon, epoch))
	return false
}

// limited states which limit ended the search.
func (r *run) limited() {
	if r.stop = r.budget.Stop(); r.stop == 0 { // HiGHS has its own clock
		r.stop = solve.TimeLimit
	}
}

// decode rounds the solver's values, checks them against the model exactly, and
// returns the sends as a schedule whose times are epochs.
func (e *encoding) decode(values []float64) (*model.Schedule, error) {
	x, err := e.Round(values)
	if err != nil {
		return nil, fmt.Errorf("the solver's values: %w", err)
	}
	// Only the binaries decide; what each rank has when follows from them.
	violations, err := e.Check(e.follow(x))
	if err != nil {
		return nil, fmt.Errorf("the solver's values: %w", err)
	}
	if len(violations) > 0 {
		return nil, fmt.Errorf("the solver's values, rounded, violate the model: %v", violations[0])
	}
	s := &model.Schedule{Form: model.FormFor(e.Problem.Cost)}
	routes := map[int]int32{}
	for i, f := range e.sends {
		if x[i].Sign() == 0 {
			continue
		}
		h := e.Hops[f.hop]
		route, known := routes[f.hop]
		if !known {
			route = int32(len(s.Routes))
			routes[f.hop] = route
			s.Routes = append(s.Routes, h.Routes[0])
		}
		s.Transfers = append(s.Transfers, model.Transfer{
			Chunk: int32(f.chunk), Src: int32(h.Src), Dst: int32(h.Dst), Route: route, Op: model.Copy,
			Start: model.Time(f.epoch), End: model.Time(f.epoch + e.Delay(f.chunk, f.hop)),
		})
	}
	return s, nil
}

// follow replaces the values of all columns but F by what those imply.
func (e *encoding) follow(x []lp.Rat) []lp.Rat {
	type key struct{ chunk, rank int }
	arrived := map[key]int{}
	for i, f := range e.sends {
		if x[i].Sign() != 0 {
			at := f.epoch + e.Delay(f.chunk, f.hop)
			k := key{f.chunk, e.Hops[f.hop].Dst}
			if first, known := arrived[k]; !known || at < first {
				arrived[k] = at
			}
		}
	}
	i := len(e.sends)
	for k := range e.Problem.Chunks {
		for r := range e.Problem.Topology.Ranks {
			if e.Holds(k, r) || e.Earliest(k, r) > e.Horizon {
				continue
			}
			first, known := arrived[key{k, r}]
			for t := e.Earliest(k, r); t <= e.Horizon; t++ {
				x[i] = lp.Int(0)
				if known && t >= first {
					x[i] = lp.Int(1)
				}
				i++
			}
		}
	}
	e.derive(x)
	return x
}
