// Package tacos is the greedy synthesis of Won et al., "TACOS: Topology-Aware
// Collective Algorithm Synthesizer for Distributed Machine Learning" (MICRO 2024,
// arXiv:2304.05301): time goes from event to event, and whenever a link is free it
// is given a chunk that its source has and its destination lacks.
//
// It is sound by construction: a transfer only ever reads what had arrived before
// it started. It departs from the paper as follows.
//
//   - Of some candidates the rarest chunk is sent, not a random one, and quick links
//     may overtake slow ones: see flood.
//   - Chunks that only some ranks want are steered towards them: see steer. So ranks
//     outside the group forward.
//   - Switches are not unwound into links of a fraction of the bandwidth, unless that is
//     asked for (see unwind): a path over a switch takes the switch's own links, all at
//     once, for as long as it needs them. Who is served where links or ports are shared
//     is decided by a maximum matching: see share.
//   - Reductions are synthesised backwards in time, on a network that is the exact
//     mirror image of the topology under the cost model: see package network.
//   - The two halves of an allreduce have no barrier between them, and chunks may go
//     through both one after the other: see retime. Its chunks, of whatever number,
//     are rooted at the members in turn.
//   - Or the trees of both halves are chosen together, so that no link carries much more
//     than others: see package treepack. That is shorter where ranks differ in links. Into
//     how many chunks an allreduce is cut is chosen, too, where it is free: see cut.
//   - Where switches copy or add, chunks are also matched to multicasts and, backwards in time, to
//     sums, of all ranks that can be reached at once: see casting.
//   - Large allgathers and the like, on links that are alike, are made slot by slot, by
//     all cores: see lockstep.
//   - Some seeds are tried, and the best schedules are improved where they are too long, if
//     they are not too large for that: see package improve. The best is kept.
package tacos

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/improve"
	"github.com/oraccl/oraccl/solve/network"
)

// solver is the greedy method.
type solver struct{}

// New returns the greedy method. It tries Options.Tries seeds, derived from Options.Seed,
// or as many as fit into a fixed amount of work, at most 128, on all threads, and returns
// the first of the best: so that the number of threads makes no difference.
// Options.Effort is how much work goes into repairs, and Options.Unwind how switches are
// unwound.
func New() solve.Solver { return solver{} }

// Name implements solve.Solver.
func (solver) Name() string { return "tacos" }

// chains is how many schedules are repaired, each on its own: of the tries, dealt out in
// turn, the best of each hand.
const chains = 4

const (
	// maxDeliveries limits what is synthesised: schedules are held in memory, with 40
	// bytes a transfer.
	maxDeliveries = 1 << 26
	// work is the number of deliveries after which no more seeds are tried.
	work = 1 << 20
	// allReduceWork is what a delivery of an allreduce counts: it is reduced and spread, and
	// timed several times.
	allReduceWork = 12
	// sharing is how many hops into a rank make a delivery twice the work, where they
	// share links or ports.
	sharing = 16
	// maxTries is how many seeds are tried at most, if nobody asks for more.
	maxTries = 128
)

// About implements solve.Solver.
func (solver) About() solve.About {
	return solve.About{
		Serves:    "all eight, custom ones without reduction, and those that sum up at one rank what all have",
		Guarantee: "none; sound, same schedule for the same seed",
		Source:    "Won et al., MICRO 2024, arXiv:2304.05301",
		Uses:      solve.UsesSeed | solve.UsesTries | solve.UsesEffort | solve.UsesUnwind,
		NeedsCut:  func(p *model.Problem) bool { return p.Collective.Kind != model.AllReduce },
		Leads:     leads,
	}
}

// leads reports whether trees that are chosen together usually are the best for p: where ranks differ in links, and links are busy for
// many latencies.
func leads(p *model.Problem) bool {
	return p.Collective.Kind == model.AllReduce && !p.Late() && !p.Cost.Synchronous() && network.Uneven(p) && network.Latencies(p) >= manyLatencies
}

// manyLatencies is for how many latencies links are busy at least where tacos leads.
const manyLatencies = 10

// Serves implements solve.Solver.
func (solver) Serves(p *model.Problem) error {
	if p.Collective.Kind == model.Custom {
		switch sums := solve.SumsUp(p); {
		case sums && p.Late():
			return solve.NotServed("late ranks in a custom collective that reduces")
		case !sums:
			if _, err := network.Spreading(solve.Cut(p, 1)); err != nil {
				return err
			}
		}
	}
	chunks := len(p.Chunks)
	if p.Chunks == nil {
		chunks = p.DefaultChunks(1)
	}
	if err := fits(p, chunks); err != nil {
		return err
	}
	return network.Connected(p)
}

// fits returns an error if a schedule of that many chunks is not held in memory.
func fits(p *model.Problem, chunks int) error {
	if n := int64(chunks) * int64(p.Topology.Ranks); n > maxDeliveries {
		return solve.NotServed("would make up to %d transfers, at most %d are held in memory", n, maxDeliveries)
	}
	return nil
}

// Solve implements solve.Solver.
func (s solver) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := s.Serves(p); err != nil {
		return solve.Result{}, err
	}
	if err := fits(p, len(solve.Cut(p, o.Chunks).Chunks)); err != nil {
		return solve.Result{}, err
	}
	budget, cancel := o.Budget(ctx)
	defer cancel()
	if o.Unwind > 0 {
		return s.solveUnwound(p, o, budget)
	}
	share, end := budget.Share(4)
	through := throughSwitches(share.Context(), p, o)
	end()
	if through.Schedule != nil {
		if o.Progress != nil {
			o.Progress(solve.Progress{Incumbent: through.Makespan(), Note: through.Note})
		}
		if through.Makespan() <= o.Bound {
			return through, nil
		}
	}
	r, err := s.alone(budget, p, o)
	if err == nil {
		through.Stop = r.Stop
	}
	if through.Schedule == nil || r.Schedule != nil && r.Makespan() <= through.Makespan() {
		return r, err
	}
	return through, nil
}

// alone makes the schedules in which each transfer is by itself.
func (s solver) alone(budget *solve.Budget, p *model.Problem, o solve.Options) (solve.Result, error) {
	ctx := budget.Context()
	stop, threads := budget.Spent, budget.Threads()
	list, err := cuts(p, o, threads, stop)
	if err != nil {
		return solve.Result{}, err
	}
	if len(list) == 0 {
		return solve.Result{Problem: solve.Cut(p, o.Chunks), Stop: budget.Stop()}, nil
	}
	var b *best
	var syn *synthesis
	tries, whole := 0, true
	for _, c := range list {
		n := max(1, min(maxTries, work/c.syn.deliveries())/len(list))
		if o.Tries > 0 {
			n = o.Tries
		}
		d := c.tries(n, threads, o, stop)
		whole = whole && (d.ended == n || d.reached < n)
		if b == nil || d.schedule != nil && (b.schedule == nil || d.makespan < b.makespan) {
			b, syn, tries = d, c.syn, n
		}
	}
	p, repaired := syn.p, ""
	if b.schedule != nil && b.makespan > b.floor && o.Effort >= 0 && !stop() {
		switch {
		case !improve.Reroutes(p):
		case len(b.schedule.Transfers) <= improve.MaxRerouted:
			if syn.pattern != nil {
				b.offer(tries, s.shifts(ctx, p, o))
			}
			repaired = b.repair(syn, tries+1, improve.Options{Seed: o.Seed, Effort: o.Effort, Threads: threads, Stop: stop})
			whole = whole && (b.makespan <= b.floor || !stop())
		case syn.pattern != nil:
			repaired = fmt.Sprintf(", too large to be repaired with more than %d transfers", improve.MaxRerouted)
		}
	}
	if b.schedule != nil && b.makespan > b.floor && o.Effort >= 0 {
		if t := improve.Schedule(ctx, p, b.schedule, improve.Options{Effort: -1, Bound: b.floor, Stop: stop}); t != b.schedule {
			b.offer(tries+1+chains, t)
		}
	}
	r := solve.Result{Problem: p, Schedule: b.schedule, Stop: solve.Done, Note: strings.TrimPrefix(repaired, ", ")}
	if tries > 1 {
		r.Note = fmt.Sprintf("best of %d tries", tries) + repaired
	}
	switch {
	case whole:
	case !stop() && b.schedule == nil:
		return solve.Result{}, fmt.Errorf("no try came to an end on %v, which is a defect: please report it", p)
	case !stop(): // some tries were stuck, which is no loss
	default:
		r.Stop = budget.Stop()
	}
	return r, nil
}

// tries makes n attempts and returns the best.
func (c candidate) tries(tries, threads int, o solve.Options, stop func() bool) *best {
	syn := c.syn
	b := &best{p: syn.p, progress: o.Progress, floor: max(o.Bound, syn.floor), reached: tries}
	syn.threads = max(1, threads/tries)
	var wg sync.WaitGroup
	for w := range min(threads, tries) {
		wg.Go(func() {
			for i := w; i < tries; i += threads {
				if b.beyond(i) {
					return
				}
				if i == 0 && c.schedule != nil {
					b.offer(i, c.schedule)
					continue
				}
				if stop() {
					return // before the stores are made, which takes a while on a million hops
				}
				b.offer(i, syn.try(o.Seed, i, func() bool { return stop() || b.beyond(i) }))
			}
		})
	}
	wg.Wait()
	return b
}

// best keeps the best schedule so far, of equal ones that of the earliest try.
type best struct {
	p        *model.Problem
	progress func(solve.Progress)
	floor    model.Time // no schedule ends before
	mu       sync.Mutex
	schedule *model.Schedule
	makespan model.Time
	try      int
	ended    int // tries that came to their end
	reached  int // the earliest try that ended then
	hands    [chains]hand
}

// hand is the best of the tries whose numbers have the same remainder.
type hand struct {
	schedule *model.Schedule
	makespan model.Time
	try      int
}

// repair makes the schedules better, if it can, and returns a note.
func (b *best) repair(s *synthesis, tries int, o improve.Options) string {
	var list []*model.Schedule
	for _, h := range b.hands {
		list = append(list, h.schedule)
	}
	o.Bound = b.floor
	for i, better := range improve.Several(s.forward, list, o) {
		b.offer(tries+i, better)
	}
	if b.try >= tries {
		return ", repaired"
	}
	return ""
}

// beyond reports whether a try is of no use any more: an earlier one has reached the floor.
func (b *best) beyond(try int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return try > b.reached
}

// offer hands in the schedule of a try, or nil.
func (b *best) offer(try int, s *model.Schedule) {
	if s == nil {
		return
	}
	makespan := b.p.Makespan(s)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended++
	if h := &b.hands[try%chains]; h.schedule == nil || makespan < h.makespan || makespan == h.makespan && try < h.try {
		*h = hand{s, makespan, try}
	}
	if makespan <= b.floor {
		b.reached = min(b.reached, try)
	}
	if b.schedule != nil && (makespan > b.makespan || makespan == b.makespan && try > b.try) {
		return
	}
	if b.progress != nil && (b.schedule == nil || makespan < b.makespan) {
		b.progress(solve.Progress{Incumbent: makespan, Note: fmt.Sprintf("try %d", try+1)})
	}
	b.schedule, b.makespan, b.try = s, makespan, try
}
