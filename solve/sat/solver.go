package sat

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/place"
	"github.com/oraccl/oraccl/solve/sat/cadical"
)

// solver is the method "sat", or with trees "sat-trees".
type solver struct{ trees bool }

// New returns the method "sat": it asks for a schedule of as few epochs as the bound
// allows, and of one more until there is one, and keeps the refutation of the largest
// horizon without. An epoch is a round, or as long as suits the times of the hops, which
// are rounded down to epochs; what comes of it is timed again, exactly.
//
// Where a question stays open, it goes on from the other end: from the best schedule
// known downwards.
func New() solve.Solver { return solver{} }

// NewTrees returns the method "sat-trees": sat for an allreduce whose chunks are each
// reduced along a tree to one root and spread from there, without a barrier between. Its
// rounds are the least of that shape, according to the solver.
func NewTrees() solve.Solver { return solver{trees: true} }

// Name implements solve.Solver.
func (s solver) Name() string {
	if s.trees {
		return "sat-trees"
	}
	return "sat"
}

// maxTokens limits the instances that are taken on: chunks times arcs times epochs.
const maxTokens = 3_000_000

// About implements solve.Solver.
func (s solver) About() solve.About {
	if s.trees {
		return ofOneShape
	}
	return solve.About{
		Serves:    "all eight, allreduce in rounds; no switches that copy; small ones",
		Guarantee: "least rounds, or least epochs of the quickest hop, with a proof in LRAT that fewer are impossible",
		Source:    "formula as in SCCL's (Cai et al., PPoPP 2021) and by contributions, decided by CaDiCaL",
		NeedsCut:  solve.AlwaysNeedsCut,
		WarmStart: true,
		Uses:      solve.UsesSeed,
	}
}

// Serves implements solve.Solver. It encodes the smallest horizon.
func (s solver) Serves(p *model.Problem) error {
	if _, err := cadical.Find(); err != nil {
		return solve.NotServed("%v", err)
	}
	if err := place.Reachable(p.Topology); err != nil {
		return solve.NotServed("%v", err)
	}
	if n := p.DefaultChunks(1); p.Chunks == nil && int64(n)*int64(max(len(p.Topology.Links), p.Topology.Ranks)) > maxTokens/4 {
		return tooLarge(n, p)
	}
	p = solve.Cut(p, 1)
	q := &Question{Problem: p, Horizon: 1, Trees: s.trees}
	if !p.Cost.Synchronous() {
		q.Epoch = 1
	}
	if err := q.check(); err != nil {
		return err
	}
	if p.Collective.Kind == model.AllReduce && p.Topology.Ranks > 16 {
		return solve.NotServed("allreduce among %d ranks, want at most 16", p.Topology.Ranks)
	}
	n := p.Topology.Ranks
	if p.Collective.Kind == model.AllReduce && len(p.Chunks)*len(p.Topology.Links)*n > 1<<17 ||
		len(p.Chunks)*max(len(p.Topology.Links), n) > maxTokens/4 {
		return tooLarge(len(p.Chunks), p)
	}
	return nil
}

func tooLarge(chunks int, p *model.Problem) error {
	return solve.NotServed("too large: %d chunks over %d links: try fewer --chunks or --method tacos", chunks, len(p.Topology.Links))
}

// durations returns how long chunks take over one arc, and how long they keep its links
// busy, each time once, ascending: first those of whole transfers alone.
func durations(p *model.Problem) (transfers, all []model.Time, err error) {
	cost := p.Cost
	if cost == model.Rounds {
		cost = model.LinkRounds // there a hop is what is between two ranks
	}
	bundles := hop.Bundles(p.Topology)
	arcs, err := arcsOf(p.Topology, cost, bundles)
	if err != nil {
		return nil, nil, err
	}
	small, large := p.Chunks[0].Size, p.Chunks[0].Size
	for _, c := range p.Chunks {
		small, large = min(small, c.Size), max(large, c.Size)
	}
	for _, a := range arcs {
		var route []int
		for _, b := range a.Bundles {
			route = append(route, bundles[b].Links[0])
		}
		for _, size := range []int64{small, large} {
			transfers = append(transfers, p.Topology.Duration(route, size))
			for _, b := range p.Topology.Busy(p.Cost, route, size, nil) {
				all = append(all, b.To-b.From)
			}
		}
	}
	all = append(all, transfers...)
	for _, list := range []*[]model.Time{&transfers, &all} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return transfers, all, nil
}

// finest is how many epochs the slowest transfer takes at most.
const finest = 40

// epochFor returns the length of an epoch: of the times that divide one of those that
// matter, that which all of them are nearest to a multiple of, from above; of equals the
// longest. No transfer is shorter.
func epochFor(transfers, all []model.Time) model.Time {
	best, most := model.Time(0), -1.0
	for _, x := range all {
		for parts := model.Time(1); parts <= 8; parts++ {
			epoch := x / parts
			if epoch < 1 || epoch > transfers[0] || transfers[len(transfers)-1]/epoch > finest {
				continue
			}
			worst := 1.0
			for _, y := range all {
				worst = min(worst, float64(y/epoch*epoch)/float64(max(y, 1)))
			}
			if worst > most+1e-9 || worst > most-1e-9 && epoch > best {
				best, most = epoch, worst
			}
		}
	}
	if best == 0 {
		return transfers[0]
	}
	return best
}

// run is one call of Solve.
type run struct {
	budget  *solve.Budget
	trees   bool
	options solve.Options
	p       *model.Problem
	epoch   model.Time
	result  solve.Result
	best    int // horizon of the best schedule, 0 if there is none
	refuted int // the largest horizon that is refuted or below the bound
}

// Solve implements solve.Solver.
func (s solver) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := s.Serves(p); err != nil {
		return solve.Result{}, err
	}
	p = solve.Cut(p, o.Chunks)
	transfers, all, err := durations(p)
	if err != nil {
		return solve.Result{}, solve.NotServed("%v", err)
	}
	if len(transfers) == 0 {
		return solve.Result{}, solve.NotServed("no rank can send to another")
	}
	slowest := transfers[len(transfers)-1]
	if s.trees {
		o.Start, o.Scratch = nil, ""
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	r := &run{budget: b, trees: s.trees, options: o, p: p, epoch: epochFor(transfers, all), result: solve.Result{Problem: p, Stop: solve.Done}}
	if p.Cost.Synchronous() {
		r.epoch = 0
	}
	start := o.Start
	if start != nil && (start.Schedule == nil || !start.Problem.SameUpToCut(p) || len(start.Problem.Chunks) != len(p.Chunks)) {
		start = nil
	}
	if start != nil {
		r.result.Schedule = start.Schedule
		r.best = r.horizonOf(start)
	}
	if r.epoch > 0 {
		r.refuted = int(min(maxVars, max(0, (o.Bound-1)/r.epoch)))
	} else if slowest > 0 && p.Cost == model.LinkRounds { // no round lasts longer
		r.refuted = int(min(maxVars, max(0, (o.Bound-1)/slowest)))
	}
	if err := r.search(); err != nil {
		return solve.Result{}, err
	}
	// That there are no fewer rounds may be known, and tell more of time once it is refuted.
	more := r.epoch == 0 && o.Scratch != "" && transfers[0].Mul(int64(r.best)) > o.Bound
	if h := r.best - 1; (o.Refute || more) && h >= 1 && h <= r.refuted && len(r.result.Refuted) == 0 {
		limit := r.left()
		if limit == 0 || limit > maxRefute {
			limit = maxRefute
		}
		if _, err := r.ask(h, limit); err != nil {
			return solve.Result{}, err
		}
	}
	if start != nil && r.result.Schedule == start.Schedule {
		r.note("%s is the best", o.WarmStart())
	}
	if r.best > 0 && r.best == r.refuted+1 && !s.trees {
		r.result.Stop = solve.Optimal
	}
	return r.result, nil
}

func (r *run) note(format string, args ...any) {
	r.result.Note = strings.TrimPrefix(r.result.Note+"; "+fmt.Sprintf(format, args...), "; ")
}

// horizonOf returns the number of epochs or rounds within which a schedule ends.
func (r *run) horizonOf(s *solve.Result) int {
	if r.epoch > 0 {
		return int(min(maxVars, (s.Makespan()+r.epoch-1)/r.epoch))
	}
	rounds := model.Time(0)
	for i := range s.Schedule.Transfers {
		rounds = max(rounds, s.Schedule.Transfers[i].End)
	}
	return int(min(maxVars, rounds))
}

// maxRefute is how long at most a proof is looked for of what a bound says already.
const maxRefute = 10 * time.Second

// maxMet is for how many horizons a schedule is asked for at most where timed exactly
// they last longer.
const maxMet = 3

// search goes up from what is refuted, and where a question stays open, down from what
// is known.
func (r *run) search() error {
	met := 0 // how often the formula could be satisfied
	for h := r.refuted + 1; r.best == 0 || h < r.best; h++ {
		if least := r.epoch.Mul(int64(h - 1)); r.options.Best > 0 && least >= r.options.Best && !r.options.Refute {
			r.note("gave up: nothing ends before %v, and %v is known", least, r.options.Best)
			return nil
		}
		answer, err := r.ask(h, r.share())
		if err != nil {
			return err
		}
		if answer == cadical.Unsatisfiable {
			r.refuted = h // unless met, which cannot be: longer horizons allow more
			continue
		}
		if answer == cadical.Satisfiable {
			if r.epoch == 0 || r.result.Makespan() <= r.epoch.Mul(int64(h)) || r.stopped() {
				return nil
			}
			if met++; met == maxMet {
				return nil
			}
			continue // hops are longer than their epochs: there may be better ones further up
		}
		if met > 0 || r.stopped() || r.best == 0 {
			return nil
		}
		break
	}
	if met > 0 {
		return nil
	}
	for h := r.best - 1; h > r.refuted+1; h-- {
		answer, err := r.ask(h, r.left())
		if err != nil || answer != cadical.Satisfiable {
			if answer == cadical.Unsatisfiable {
				r.refuted = h
			}
			return err
		}
	}
	return nil
}

// left returns the time that is left, at least a millisecond; 0 means no limit.
func (r *run) left() time.Duration {
	left := r.budget.Left()
	if left == math.MaxInt64 {
		return 0
	}
	return max(time.Millisecond, left)
}

// share is the time for one question on the way up.
func (r *run) share() time.Duration {
	if r.best == 0 {
		return r.left()
	}
	return r.left() * 2 / 3
}

// stopped reports whether the search has to end, and remembers why.
func (r *run) stopped() bool {
	stop := r.budget.Stop()
	if stop == 0 {
		return false
	}
	r.result.Stop = stop
	return true
}

// ask decides one horizon and keeps what comes of it.
func (r *run) ask(h int, limit time.Duration) (cadical.Answer, error) {
	if r.options.Progress != nil {
		what := fmt.Sprintf("%d epochs of %v", h, r.epoch)
		if r.epoch == 0 {
			what = fmt.Sprintf("%d rounds", h)
		}
		r.options.Progress(solve.Progress{Incumbent: r.result.Makespan(), Bound: r.options.Bound, Note: what})
	}
	q := &Question{Problem: r.p, Epoch: r.epoch, Horizon: h, Trees: r.trees}
	o := Limits{Time: limit, Seed: r.options.Seed}
	if r.options.Scratch != "" {
		o.Proof = filepath.Join(r.options.Scratch, fmt.Sprintf("%v-%d.lrat", r.p.Collective.Kind, h))
	}
	d, err := q.Decide(r.budget.Context(), o)
	if err != nil {
		if d.Size == "" {
			return cadical.Unknown, err
		}
		r.note("%v", err) // too large at this horizon
		return cadical.Unknown, nil
	}
	switch d.Answer {
	case cadical.Satisfiable:
		if found := r.horizonOf(&solve.Result{Problem: r.p, Schedule: d.Schedule}); r.best == 0 || found < r.best {
			r.best = found
		}
		if r.result.Schedule == nil || r.p.Makespan(d.Schedule) < r.result.Makespan() || r.epoch == 0 {
			r.result.Schedule = d.Schedule
			r.note("one within %d %s: %s", h, r.unit(), d.Size)
		}
	case cadical.Unsatisfiable:
		if d.Proof != "" {
			r.result.Refuted = append(r.result.Refuted, solve.Refuted{Epoch: r.epoch, Horizon: h, Proof: d.Proof})
		}
		r.note("none within %d %s: %s", h, r.unit(), d.Size)
	default:
		if !r.stopped() {
			r.note("%d %s undecided", h, r.unit())
		}
	}
	return d.Answer, nil
}

func (r *run) unit() string {
	if r.epoch == 0 {
		return "rounds"
	}
	return fmt.Sprintf("epochs of %v", r.epoch)
}
