package quotient

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/solve/symmetry"
)

// search looks for the best group, cut, rules and deadline.
type search struct {
	ctx     context.Context
	p       *model.Problem
	o       solve.Options
	bound   model.Time // of all schedules of p
	shops   []*reducing
	trials  []*trial
	work    int64 // done so far
	budget  int64
	best    *trial
	last    int64   // the work after which it was last better by as much as counts
	worth   float64 // its end then
	joined  bool    // all kinds of trials are there
	refused error   // why a group could not be used
	stage   int     // how many of the stages are over
	usual   int64   // the work of explore
	ample   int64   // the same where there are many jobs
	arms    []*trial
	round   int // of explore
}

// trial is a group and a cut, with the best plan found for them.
type trial struct {
	x          *reducing
	cut        cut
	roots      roots
	p          *model.Problem // with chunks, once it is divided
	parts      []part         // nil: it is not divided yet
	best       *plan
	sums       model.Time // the least end of sums alone
	trees      *balance   // with balanced loads
	balanced   bool       // it builds those
	sketch     *sketch    // which the trees follow, if any
	rng        *rand.Rand
	rules      []rule     // of the best plan
	spread     model.Time // by how much the latencies of ways differ, of an allgather or reduce-scatter
	wentFar    bool       // its first rule was tried that has hops over long ways go first
	fitted     bool       // its cut fits that: see fitting
	latent     bool       // it is an allreduce in which latencies count
	step       int        // with which grafting goes on; 0: it has not begun
	alternates bool       // sums and gatherings of the best plan are built again in turn
}

func newSearch(ctx context.Context, p *model.Problem, o solve.Options) *search {
	return &search{ctx: ctx, p: p, o: o}
}

// Budgets are in units of work: an offer that is looked at, about 10 ns.
const (
	usualWork = 6e7
	hopWork   = 40 // for a hop that is made
)

// fewJobs is how many jobs of one part a rank are enough for all the usual work.
const fewJobs = 30

// jobs returns how many jobs there are with one part a rank that stands for others.
func (s *search) jobs() int64 {
	if len(s.shops) == 0 {
		return 0
	}
	n := int64(len(s.shops[0].s.reps) * (len(s.p.Members()) - 1))
	if s.p.Collective.Kind == model.AllReduce {
		n *= 2
	}
	return n
}

// stages are what a search does, in turn. One that its context ends is begun again if the search goes on.
var stages = []func(s *search){
	(*search).begin,
	(*search).colour,
	(*search).follow,
	(*search).first,
	func(s *search) {
		if before := s.work; s.gap() > latentGap {
			s.graft()
			s.budget += s.work - before
		}
	},
	(*search).explore,
	func(s *search) {
		if s.gap() > largeGap && !s.gathers() {
			s.rehang(s.usual / 2)
		}
	},
	(*search).refine,
	(*search).polish,
	func(s *search) {
		if !s.gathers() || s.gap() < largeGap {
			s.finish()
		}
	},
	(*search).graft,
}

// begin finds a bound, the groups and the first trials.
func (s *search) begin() {
	s.budget = usualWork
	switch {
	case s.o.Effort > 0:
		s.budget *= int64(s.o.Effort)
	case s.o.Effort < 0:
		s.budget /= 100
	}
	s.bound = s.o.Bound
	s.findBound()
	s.groups()
	s.ample = s.budget
	if n := s.jobs(); n < fewJobs && n > 0 {
		s.budget = s.budget/10 + s.budget*9/10*n/fewJobs
	}
	s.usual = s.budget
	s.addAll()
}

// firstAgain is the stage from which on a search that came to its end tries more, with other draws.
const firstAgain = 5

// mostAgain is how often that is done in turn at most.
const mostAgain = 100

// run searches and returns the best schedule found. The result can go on with the search, unless nothing can be better.
func (s *search) run() (solve.Result, error) {
	for ; s.stage < len(stages) && s.ctx.Err() == nil; s.stage++ {
		if stages[s.stage](s); s.ctx.Err() != nil {
			break
		}
	}
	r := solve.Result{Problem: solve.Cut(s.p, s.o.Chunks), Stop: s.stop()}
	if s.best == nil || s.best.best == nil {
		if r.Stop == solve.Done {
			if s.refused == nil {
				s.refused = errors.New("no plan reaches all members")
			}
			return r, solve.NotServed("%v", s.refused)
		}
		return r, nil
	}
	t := s.best
	r.Problem, r.Schedule = t.p, t.best.emit(t.p)
	r.Note = t.String()
	if r.Stop != solve.Interrupted && !s.met() {
		r.More = s.more
	}
	return r, nil
}

// more goes on with a search that a time limit ended, or tries more after its end.
func (s *search) more(ctx context.Context, o solve.Options) (solve.Result, error) {
	if o.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit)
		defer cancel()
	}
	s.ctx, s.bound = ctx, max(s.bound, o.Bound)
	s.o.Enough, s.o.Progress = max(s.o.Enough, o.Enough), o.Progress
	r, err := s.run()
	for again := 0; again < mostAgain && r.Stop == solve.Done && !s.met(); again++ {
		s.afresh()
		r, err = s.run()
	}
	return r, err
}

// afresh has the search explore again, with new trials like its best ones.
func (s *search) afresh() {
	s.stage, s.round = firstAgain, 0
	s.budget, s.last = s.work+s.usual, s.work
	s.arms = s.arms[:0]
	for _, t := range s.leaders(s.trials, fewTrials/2) {
		if x := s.newTrial(t.x.index, t.cut, t.roots); x != nil {
			x.balanced, x.sketch = t.balanced, t.sketch
			s.trials = append(s.trials, x)
			s.arms = append(s.arms, x)
		}
	}
}

func (s *search) stop() solve.Stop {
	switch {
	case s.best != nil && s.met():
		return solve.Done
	case errors.Is(s.ctx.Err(), context.DeadlineExceeded):
		return solve.TimeLimit
	case s.ctx.Err() != nil:
		return solve.Interrupted
	}
	return solve.Done
}

// String returns "group of order 16, 4 machines, 2 parts a rank".
func (t *trial) String() string {
	s := t.x.s
	text := fmt.Sprintf("a group of order %d leaves %d of %d links to schedule, and %d of %d chunks", s.g.Order(), len(s.lanes), len(s.t.Links), len(t.parts), len(t.p.Chunks))
	if t.cut.ratio != 1 {
		text += fmt.Sprintf("; each chunk of a rank has %g times the size of the one before", t.cut.ratio)
	}
	return text
}

// maxBounded is up to how many ranks the bound is looked for with all means.
const maxBounded = 128

// findBound finds a bound, to know when to stop, if the caller knows none.
func (s *search) findBound() {
	if s.bound > 0 {
		return
	}
	var w *bound.Proposal
	var err error
	if s.p.Topology.Ranks <= maxBounded {
		w, err = bound.Best(s.ctx, s.p)
	} else {
		w, err = bound.Quick(s.ctx, s.p)
	}
	if err == nil && w != nil {
		s.bound = max(s.bound, w.Estimate)
	}
}

// met reports whether the best plan is as good as it can be, or as good as makes no odds.
func (s *search) met() bool {
	return s.best != nil && s.best.best != nil && s.best.best.end <= max(s.bound+s.bound/100000, s.o.Enough)
}

// Limits of the search for groups.
const (
	maxSeveral = 128     // ranks up to which several groups are looked for
	maxHops    = 1 << 19 // hops of one part a rank that stands for others
	fewHops    = 1 << 14 // as many are no reason to look for larger groups
)

// groups finds the groups and divides the network by them.
func (s *search) groups() {
	o := symmetry.Options{Labels: s.labels(), StayingRanks: s.p.Collective.Kind.Rooted()}
	t := s.p.Topology
	var found []*symmetry.Group
	if t.Ranks <= maxSeveral {
		found = symmetry.Several(s.ctx, t, o)
	} else {
		found = []*symmetry.Group{symmetry.Find(s.ctx, t, o)}
	}
	if !o.StayingRanks && t.Ranks*t.Ranks/found[0].Order() > fewHops {
		o.StayingLinks, o.Base = true, found[0]
		found = append(found, symmetry.Find(s.ctx, t, o))
	}
	type size struct{ order, machines int }
	seen := map[size]bool{}
	var list []*reducing
	for _, g := range found {
		for _, order := range g.Orders() {
			if s.ctx.Err() != nil && len(list) > 0 {
				break
			}
			if t.Ranks*t.Ranks/order > maxHops && order < found[0].Order() {
				continue
			}
			x, err := newShop(s.ctx, s.p, g.Sub(order))
			if err == nil {
				err = x.reaches(s.p)
			}
			if err != nil {
				s.refused = err
				continue
			}
			if k := (size{order, len(x.lanes)}); !seen[k] {
				seen[k] = true
				list = append(list, newReducing(x))
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *reducing) int { return b.s.g.Order() - a.s.g.Order() })
	for i, x := range list {
		x.index = i
	}
	s.shops = list
}

// labels returns what symmetries must keep of the nodes beside the network.
func (s *search) labels() []int {
	labels := make([]int, s.p.Topology.Nodes())
	for _, v := range s.p.Members() {
		labels[v] = 1
	}
	if s.p.Collective.Kind.Rooted() {
		labels[s.p.Collective.Root] = 2
	}
	kinds := map[[2]int64]int{}
	for v := range s.p.Topology.Ranks {
		k := [2]int64{int64(labels[v]), int64(s.p.ReleaseOf(v))}
		if _, known := kinds[k]; !known {
			kinds[k] = len(kinds) + 1
		}
		labels[v] = kinds[k]
	}
	return labels
}

// addAll adds trials of all groups, cuts and roots.
func (s *search) addAll() {
	for i, x := range s.shops {
		several := len(x.s.orbits(central)) < len(x.s.orbits(anywhere))
		for _, c := range s.fitting(x) {
			if t := s.add(i, c, anywhere, false); t != nil {
				t.fitted = true
			}
		}
		for _, k := range s.cuts() {
			if i > 0 && len(s.trials) >= maxTrials {
				break
			}
			s.add(i, cut{parts: k, ratio: 1}, anywhere, false)
			if s.p.Collective.Kind == model.AllReduce && several {
				s.add(i, cut{parts: k, ratio: 1}, central, false)
			}
		}
		if i == 0 {
			s.addUnequal()
		}
	}
	if len(s.trials) == 0 && len(s.shops) > 0 {
		s.refused = fmt.Errorf("would make %d transfers or more, at most %d are made", s.transfers(s.shops[0], 1), maxTransfers)
	}
}

// addUnequal adds trials of unequal cuts of gatherings among many ranks, where few parts are all that is allowed.
func (s *search) addUnequal() {
	most := 0
	for _, t := range s.trials {
		most = max(most, t.cut.parts)
	}
	if s.p.Chunks != nil || !s.gathers() || most < 3 || most >= manyParts {
		return
	}
	for _, ratio := range manyRanksRatios {
		s.add(0, cut{parts: most, ratio: ratio}, anywhere, false)
	}
}

// manyParts are enough for small ones to be sent first and last.
const manyParts = 12

// unequalRatios are ratios of the size of a part to that of the one before.
var unequalRatios = []float64{0.85, 0.7, 0.57}

// manyRanksRatios are those for many ranks: what comes first and is small is sent on soon, and what is small comes last.
var manyRanksRatios = []float64{1.8, 1.4, 0.7}

// explore has the better half of the trials work for longer, again and again (successive
// halving; Karnin, Koren, Somekh, ICML 2013). Once few are left, those are joined by cuts into
// unequal parts and by balanced trees.
func (s *search) explore() {
	if len(s.arms) == 0 {
		s.arms = s.leaders(s.trials, fewTrials)
	}
	for ; !s.done() && len(s.arms) > 0; s.round++ {
		if s.round >= 1 && !s.joined {
			s.joined = true
			s.last = s.work
			s.arms = append(s.arms, s.join(s.arms)...)
		}
		for _, t := range s.arms {
			t.alternates = s.joined && t.best != nil && s.worthPolish(t)
			s.spend(t, s.budget/rounds/int64(len(s.arms)))
		}
		if s.ctx.Err() != nil {
			return
		}
		best := s.leaders(s.arms, len(s.arms))
		s.arms = best[:max(min(2, len(best)), (len(best)+1)/2)]
	}
}

// colour tries trees that follow sketches, in the order of edge colourings, where no symmetry moves all ranks, with numbers of chunks
// of which ranks of groups of other sizes can have equal shares, too.
func (s *search) colour() {
	if s.p.Collective.Kind.Rooted() || conveys(s.p) || len(s.shops) == 0 || len(s.shops[0].s.reps) == 1 {
		return
	}
	for _, k := range sketches(s.p.Topology) {
		if !k.colours(s.shops[0].s) {
			continue
		}
		var best *trial
		counts := []int{1, 2, 4, 8, 16, 32}
		for _, n := range k.size {
			for c := n; c <= mostSketched; c *= 2 {
				counts = append(counts, c)
			}
		}
		slices.Sort(counts)
		if s.p.Chunks != nil {
			counts = []int{0}
		}
		for _, c := range slices.Compact(counts) {
			if s.done() {
				return
			}
			t := s.newTrial(0, cut{parts: c, ratio: 1}, anywhere)
			if t == nil {
				break
			}
			t.sketch = k
			t.divide()
			alike(t.parts)
			t.x = t.x.timed(t.parts)
			if t.tryColoured(s.ctx, s.bound); t.best == nil {
				break
			}
			s.work += hopWork * int64(len(t.best.jobs))
			if s.note(t); s.best == t {
				best = t
			}
		}
		if best != nil {
			s.trials = append(s.trials, best)
		}
	}
}

// tryColoured makes attempts with trees that follow a sketch, in the order of an edge colouring.
func (t *trial) tryColoured(ctx context.Context, bound model.Time) {
	k, goal := t.sketch, max(bound, 1)
	switch t.p.Collective.Kind {
	case model.AllGather:
		t.keep(k.gathered(t.x, t.parts, goal, t.rng))
	case model.ReduceScatter:
		t.keep(k.summed(t.x, t.parts, goal, t.rng))
	default:
		t.keep(k.both(ctx, t.x, t.parts, goal, t.rng))
		if owned := slices.Clone(t.parts); ctx.Err() == nil && k.own(t.x.s, owned) && t.keep(k.both(ctx, t.x, owned, goal, t.rng)) {
			t.parts = owned
		}
	}
	if x := t.best; x != nil && len(x.jobs) <= maxJustified {
		for ctx.Err() == nil && x.justify(nil) {
		}
	}
}

// follow tries trees that follow sketches, with more and more chunks as long as that helps.
func (s *search) follow() {
	if s.p.Collective.Kind.Rooted() || conveys(s.p) || len(s.shops) == 0 {
		return
	}
	until := s.work + s.budget/firstPart
	for _, k := range append(sketches(s.p.Topology), s.shops[0].s.busiest()...) {
		try := func(c cut) *trial {
			t := s.newTrial(0, c, anywhere)
			if t == nil {
				return nil
			}
			t.sketch = k
			s.trials = append(s.trials, t)
			for try := 0; try < balancings && (try == 0 || t.best != nil); try++ {
				s.spend(t, 0)
			}
			return t
		}
		best, parts := never, 1
		for ; parts <= mostSketched && s.work < until && !s.done(); parts *= 2 {
			c := cut{parts: parts, ratio: 1}
			if s.p.Chunks != nil {
				c.parts = 0
			}
			t := try(c)
			if t == nil || t.best == nil || c.parts == 0 || t.best.end >= best/1000*worthTwice {
				break
			}
			best = t.best.end
		}
		if s.p.Chunks != nil || s.p.Collective.Kind == model.AllReduce {
			continue
		}
		for _, ratio := range fallingSketched {
			if s.p.Collective.Reduces() { // what is added up first is small
				ratio = 1 / ratio
			}
			if parts = min(parts, mostSketched); parts >= 4 && s.work < until && !s.done() {
				try(cut{parts: parts, ratio: ratio})
			}
		}
	}
}

// fallingSketched are ratios of the sizes of parts of gatherings that follow sketches: what comes last to a group is passed on last.
var fallingSketched = []float64{0.8, 0.9}

// first tries each trial of the largest group, and of each other group as many as there is work for, two at least. Where latencies
// count, few of the largest group are tried, and of other groups none that have many jobs where they do not.
func (s *search) first() {
	all := s.budget / firstPart
	shop, until, n := -1, int64(0), 0
	for _, t := range s.trials {
		if t.x.index != shop {
			shop, n = t.x.index, 0
			until = s.work + all/2
			if shop > 0 {
				until = s.work + all/2/int64(len(s.shops)-1)
			}
		}
		if shop > 0 && s.gap() < largeGap && len(t.x.s.reps)*(len(s.p.Members())-1)*t.cut.count() > mostJobs {
			continue
		}
		if n++; shop == 0 && (n <= fewCuts || s.gap() < hopelessGap || s.work < all) || shop > 0 && (n <= 2 && s.work < 2*all || s.work < until) {
			s.spend(t, all/32)
		}
	}
}

// Limits of explore.
const (
	maxTrials = 96 // before smaller groups are left out
	fewTrials = 16
	fewCuts   = 4       // of the largest group, where the best plan is far from the bound
	mostJobs  = 1 << 13 // of a trial of another group, if the best is near the bound
	firstPart = 5       // one part of this many of the work is for the first attempts
	rounds    = 7       // more or less
)

// join returns more trials, from the best so far.
func (s *search) join(best []*trial) []*trial {
	var more []*trial
	add := func(t *trial) {
		if t != nil {
			more = append(more, t)
		}
	}
	if s.p.Chunks == nil && !conveys(s.p) {
		for _, t := range best[:min(2, len(best))] {
			for _, k := range []int{t.cut.parts, 6, 10, 16} {
				for _, ratio := range unequalRatios {
					if k >= 3 {
						add(s.add(t.x.index, cut{parts: k, ratio: ratio}, t.roots, false))
					}
				}
			}
		}
	}
	if s.p.Collective.Kind == model.AllReduce && s.gap() > 0.001 {
		for _, t := range best[:min(2, len(best))] {
			for _, k := range []int{0, 2, 4, 8, 16, 6, 3} {
				if (k == 0) == (s.p.Chunks != nil) {
					add(s.add(t.x.index, cut{parts: k, ratio: 1}, t.roots, true))
				}
			}
		}
	}
	return more
}

// gap returns how far the best plan is above the bound.
func (s *search) gap() float64 {
	if s.best == nil || s.best.best == nil || s.bound == 0 {
		return 1
	}
	return float64(s.best.best.end)/float64(s.bound) - 1
}

// Limits of annealing.
const (
	maxBalanced = 1 << 13 // jobs
	moveWork    = 25
)

// tryBalanced makes one attempt with balanced trees: new ones at first, then others near by.
func (t *trial) tryBalanced(bound model.Time, work *counter) {
	jobs := 2 * t.x.s.t.Ranks * len(t.parts)
	moves, heat := min(10*jobs, 40000), 0.05
	if t.trees == nil {
		moves, heat = min(120*jobs, 400000), 0.3
		t.trees = newBalance(t.x, t.parts, max(bound, 1), t.x.s.depth(t.parts), t.rng)
		t.trees.growAll()
	}
	t.trees.improve(moves, heat)
	x := t.trees.plan()
	x.schedule(12, t.rng)
	for x.justify(nil) {
	}
	t.keep(x)
	work.n += int64(moves)*moveWork + 15*2*hopWork*int64(jobs)
}

// trySketched makes one attempt with trees that follow a sketch: as they are at first, and then with balanced loads.
func (t *trial) trySketched(bound model.Time, work *counter) {
	work.n += hopWork
	switch {
	case t.trees == nil:
		t.trees = t.sketch.trees(t.p.Collective.Kind, t.x, t.parts, max(bound, 1), t.rng)
	case t.best == nil || len(t.best.jobs) > maxBalanced:
		return
	default:
		moves := min(10*len(t.best.jobs), 40000)
		t.trees.improve(moves, 0.05)
		work.n += int64(moves) * moveWork
	}
	if len(t.trees.trees) == 0 {
		return
	}
	x := t.trees.plan()
	tries := 12
	if len(x.jobs) > maxJustified {
		tries = 4
	}
	x.schedule(tries, t.rng)
	if len(x.jobs) <= maxJustified {
		for x.justify(nil) {
			work.n += 4 * hopWork * int64(len(x.jobs))
		}
	}
	t.keep(x)
	work.n += int64(tries) * hopWork * int64(len(x.jobs))
}

// cuts returns the numbers of chunks of a member to try, the likely ones first.
func (s *search) cuts() []int {
	if s.p.Chunks != nil {
		return []int{0}
	}
	if s.p.Collective.Kind.Rooted() && conveys(s.p) { // few links are used, by little each
		return []int{8, 2, 32, 4, 16, 1, 64, 3, 6, 12}
	}
	if conveys(s.p) {
		return []int{1, 2, 3, 4, 6, 8}
	}
	return []int{1, 2, 4, 3, 6, 8, 12, 16, 5, 7, 10, 14, 9, 11, 13, 15}
}

// newTrial returns a trial, nil if it is too large.
func (s *search) newTrial(shop int, c cut, where roots) *trial {
	x := s.shops[shop]
	if s.p.Chunks == nil {
		if n := s.transfers(x, c.count()); !c.fits(s.p) || n > maxTransfers || n > fewTransfers && c.count() > 1 {
			return nil
		}
	}
	spread := model.Time(0)
	if s.p.Collective.Kind == model.AllGather || s.p.Collective.Kind == model.ReduceScatter {
		spread = x.spread
	}
	return &trial{x: x, cut: c, roots: where, p: s.p, spread: spread, rng: rand.New(rand.NewPCG(s.o.Seed, uint64(len(s.trials))))}
}

// add adds a trial and returns it, or one like it that was not tried yet; nil if that was tried, or it is too large.
func (s *search) add(shop int, c cut, where roots, balanced bool) *trial {
	for _, t := range s.trials {
		if t.x.index == shop && t.cut == c && t.roots == where && t.balanced == balanced && t.sketch == nil {
			if t.best == nil {
				return t
			}
			return nil
		}
	}
	t := s.newTrial(shop, c, where)
	if t == nil {
		return nil
	}
	if t.balanced = balanced; balanced {
		if t.divide(); 2*len(t.parts)*s.p.Topology.Ranks > maxBalanced {
			return nil
		}
	}
	s.trials = append(s.trials, t)
	return t
}

// transfers returns how many transfers a schedule takes with k chunks a member.
func (s *search) transfers(x *reducing, k int) int64 {
	n := transfers(s.p, s.p.Chunks, k)
	if s.p.Collective.Kind != model.AllToAll || len(x.s.reps) == 0 {
		return n
	}
	if x.far == 0 { // hops from all ranks to all others
		sizes := make([]int64, len(x.s.reps))
		for _, c := range x.s.class {
			sizes[c]++
		}
		for c, u := range x.s.reps {
			for _, far := range x.s.hops(int(u)) {
				x.far += sizes[c] * int64(max(0, far))
			}
		}
	}
	members := int64(len(s.p.Members()))
	return max(n, n*x.far/(members*members))
}

// divide makes the parts of a trial, once.
func (t *trial) divide() {
	if t.parts == nil {
		t.p = t.cut.apply(t.p)
		t.x, t.parts = t.x.divide(t.p, t.roots)
	}
}

// spend has a trial work so much more, at least one attempt.
func (s *search) spend(t *trial, work int64) {
	allreduce := s.p.Collective.Kind == model.AllReduce
	if s.done() {
		return
	}
	until := s.work + work
	t.divide()
	t.latent = allreduce && float64(s.bound) < manyLatencies*t.latency()
	for first := true; first || s.work < until; first = false {
		if s.done() {
			return
		}
		c := &counter{ctx: s.ctx, limit: s.budget / 4}
		if s.best == nil {
			c.limit = 100 * s.budget
		}
		if t.sketch != nil {
			t.trySketched(s.bound, c)
		} else if t.balanced {
			t.tryBalanced(s.bound, c)
		} else {
			t.try(allreduce, s.bound, c)
		}
		s.work += c.n
		s.note(t)
	}
}

// done reports whether to stop: the work is done, or it was long ago that it was worth while.
func (s *search) done() bool {
	return s.ctx.Err() != nil || s.met() || s.best != nil && (s.work > s.budget || s.joined && s.work > s.last+s.budget/5)
}

// note keeps a trial if it is the best.
func (s *search) note(t *trial) {
	if t.best == nil || s.best != nil && !t.better(s.best) {
		return
	}
	if s.best == nil || float64(t.best.end) < s.worth*0.9999 {
		s.last, s.worth = s.work, float64(t.best.end)
	}
	s.best = t
	if s.o.Progress != nil {
		s.o.Progress(solve.Progress{Incumbent: t.best.end, Bound: s.bound, Note: fmt.Sprintf("group of order %d, %d chunks", t.x.s.g.Order(), len(t.p.Chunks))})
	}
}

// leaders returns the best n of some trials, the best first.
func (s *search) leaders(list []*trial, n int) []*trial {
	list = slices.DeleteFunc(slices.Clone(list), func(t *trial) bool { return t.best == nil })
	slices.SortStableFunc(list, func(a, b *trial) int {
		switch {
		case a.better(b):
			return -1
		case b.better(a):
			return 1
		}
		return 0
	})
	return list[:min(n, len(list))]
}

// better reports whether t is worth more than u: transfers have a price, small where there are
// few.
func (t *trial) better(u *trial) bool { return t.price() < u.price() }

func (t *trial) price() float64 {
	n := float64(len(t.best.jobs)) * float64(t.x.s.g.Order())
	return float64(t.best.end) * (1 + 1e-5*(n/16384) + 1e-6*float64(len(t.parts)))
}

// try makes one attempt.
func (t *trial) try(allreduce bool, bound model.Time, work *counter) {
	if conveys(t.p) {
		x := t.x.s.convey(t.parts, max(bound, 1), t.rng, work)
		if x != nil && !work.stop() {
			x.schedule(4, t.rng)
			work.n += 4 * hopWork * int64(len(x.jobs))
			if len(x.jobs) <= maxJustified {
				for x.justify(nil) {
					work.n += 4 * hopWork * int64(len(x.jobs))
				}
			}
			t.keep(x)
		}
		return
	}
	until := t.deadline(bound)
	if !allreduce {
		r := t.rule(0, false)
		t.keep(t.gather(r, until, work), r)
		return
	}
	sumsUntil := until
	if t.best != nil {
		sumsUntil = model.Time(float64(t.sums) * (0.97 + 0.2*t.rng.Float64()))
	}
	first := t.rule(0, true)
	if sumsUntil < until {
		sumsUntil += model.Time(first.apart)
	}
	sums := t.x.sum(t.parts, first, sumsUntil, t.rng, work)
	if sums == nil {
		return
	}
	if t.sums == 0 || sums.end < t.sums {
		t.sums = sums.end
	}
	for range 4 {
		r := t.rule(1, true)
		late, justified := until, len(sums.jobs) <= maxJustified
		if justified && until < never-1 { // what is late by a little may be moved
			late = model.Time(float64(until) * (1 + 0.03*t.rng.Float64()))
		}
		x := t.x.allreduce(sums, r, late, t.rng, work)
		if x != nil && justified {
			for x.justify(nil) {
				work.n += 4 * hopWork * int64(len(x.jobs))
			}
		}
		if t.keep(x, first, r) {
			until = min(until, t.best.end-1)
		}
	}
	if t.alternates && t.best != nil {
		t.alternate(work)
	}
}

// gather builds a plan of a collective other than an allreduce. What would be late by a little may be moved: see justify.
func (t *trial) gather(r rule, until model.Time, work *counter) (x *plan) {
	moved := t.spread > 0 && len(t.parts)*t.x.s.t.Ranks <= maxJustified
	if moved && until < never-1 {
		until = model.Time(float64(until) * (1 + 0.03*t.rng.Float64()))
	}
	if t.p.Collective.Reduces() {
		x = t.x.sum(t.parts, r, until, t.rng, work)
	} else {
		x = t.x.s.gather(t.parts, state{busy: t.x.s.books()}, r, until, t.rng, work)
	}
	for moved && x != nil && x.justify(nil) {
		work.n += 4 * hopWork * int64(len(x.jobs))
	}
	return x
}

// alternate builds the sums of the best plan of an allreduce again, with its gatherings as they are, and then the gatherings, and
// so on as long as one of them ends sooner.
func (t *trial) alternate(work *counter) {
	for missed := 0; missed < mostMissed && !work.stop(); missed++ {
		until := t.best.end - 1
		work.n += 4 * hopWork * int64(len(t.best.jobs))
		x := t.x.again(t.best, t.rule(0, true), until, t.rng, work)
		if x == nil {
			x = t.x.allreduce(t.best.sums(), t.rule(1, true), until, t.rng, work)
		}
		if x == nil {
			continue
		}
		if len(x.jobs) <= maxJustified {
			for x.justify(nil) {
				work.n += 4 * hopWork * int64(len(x.jobs))
			}
		}
		if t.keep(x, t.rules...) {
			missed = -1
		}
	}
}

// mostMissed is after how many attempts in turn that are not better alternate ends.
const mostMissed = 4

// conveys reports whether each chunk of p goes to one rank as it is.
func conveys(p *model.Problem) bool {
	switch p.Collective.Kind {
	case model.AllToAll, model.Gather, model.Scatter:
		return true
	}
	return false
}

// deadline draws a deadline for the next plan: below the best one, by a part of what it is above
// the bound, or by a part of itself that may be small.
func (t *trial) deadline(bound model.Time) model.Time {
	if t.best == nil {
		return never - 1
	}
	end, draw := float64(t.best.end), t.rng.Float64()
	if t.rng.IntN(2) == 0 && t.best.end > bound {
		return model.Time(end - (end-float64(bound))*draw)
	}
	return model.Time(end*(1-0.03*math.Pow(10, -3*draw))) - 1
}

// maxJustified is up to how many jobs are moved to and fro.
const maxJustified = 1 << 13

// keep keeps a plan if it is the best.
func (t *trial) keep(x *plan, rules ...rule) bool {
	if x == nil || t.best != nil && x.end >= t.best.end {
		return false
	}
	t.best, t.rules = x, rules
	return true
}

// manyLatencies is after how many of them they count no longer.
const manyLatencies = 250

// latency returns the latency of a hop.
func (t *trial) latency() float64 {
	tm := &t.x.s.ways[0].times[0]
	return float64(tm.lasts - tm.stride)
}

// mostApart is how many latencies the sums of parts are over one before the other at most. While some are still added up, others are
// gathered, so that links need not wait for the first to be gathered after the last was added up.
const mostApart = 6

// rule draws a rule for sums (0) or gatherings (1): at first one that often does well, later one near
// that of the best plan half of the time.
func (t *trial) rule(i int, allreduce bool) rule {
	draw := t.rng.Float64
	late := 2 * draw()
	if allreduce && i == 0 && draw() < 0.5 {
		late = -late
	}
	r := rule{choices: 2 * draw(), rare: 4 * draw(), long: draw(), late: late, random: 0.3 * draw()}
	if t.spread > 0 && draw() < t.likelyFar() {
		r.far = max(1, float64(t.spread)*draw()*draw())
		r.wait = 0.3 * draw() * draw()
		r.rare = 6*draw() - 3
		r.even = evenWeight * draw() * draw()
	}
	if t.latent && i == 0 && draw() < 0.7 {
		r.apart = draw() * mostApart * t.latency()
	}
	if t.rules == nil {
		usual := rule{choices: 1.5, rare: 1, long: 0.5, late: 1.5, random: 0.1}
		if allreduce && i == 0 && t.cut.ratio == 1 {
			usual.late = -1.5 // what is gathered first is added up first
			if t.latent && t.rng.IntN(2) == 0 {
				usual.apart = 2 * t.latency()
			}
		}
		if t.fitted {
			return rule{rare: -1, late: 1, random: 0.1, far: 0.05 * float64(t.spread), wait: 0.1}
		}
		if t.spread > 0 && !t.wentFar && len(t.parts)*t.x.s.t.Ranks >= costlyJobs {
			t.wentFar = true
			return rule{rare: 3, random: 0.1, far: 0.05 * float64(t.spread), wait: 0.05, even: 3}
		}
		return usual
	}
	if draw() < 0.5 || i >= len(t.rules) {
		return r
	}
	old := t.rules[i]
	if (old.far > 0) != (r.far > 0) {
		return r
	}
	mix := 0.3 * draw()
	blend := func(a, b float64) float64 { return a + mix*(b-a) }
	return rule{
		choices: blend(old.choices, r.choices), rare: blend(old.rare, r.rare), long: blend(old.long, r.long), late: blend(old.late, r.late),
		random: blend(old.random, r.random), wait: blend(old.wait, r.wait), far: blend(old.far, r.far), even: blend(old.even, r.even), apart: blend(old.apart, r.apart),
	}
}

// costlyJobs is from how many jobs on there is no time for many attempts: then the first has the rule that did best at the first
// attempt on dragonflies, and is the quickest.
const costlyJobs = 1 << 10

// evenWeight is the weight of even loads at most: see rule.
const evenWeight = 5

// likelyFar is the share of rules that have hops over long ways go first: more if that did best.
func (t *trial) likelyFar() float64 {
	if t.rules != nil && t.rules[0].far > 0 {
		return 0.7
	}
	return 0.25
}

// counter counts work, up to a limit.
type counter struct {
	ctx   context.Context
	n     int64
	limit int64
}

// stop reports whether to give up.
func (c *counter) stop() bool { return c.n > c.limit || c.ctx.Err() != nil }
