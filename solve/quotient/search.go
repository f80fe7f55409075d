package quotient

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
)

// search looks for the best group, cut, rules and deadline.
type search struct {
	ctx      context.Context
	p        *model.Problem
	o        solve.Options
	bound    model.Time // of all schedules of p
	shops    []*reducing
	trials   []*trial
	work     int64 // done so far
	budget   int64
	best     *trial
	last     int64   // the work after which it was last better by as much as counts
	worth    float64 // its end then
	joined   bool    // all kinds of trials are there
	refused  error   // why a group could not be used
	stage    int     // how many of the stages are over
	usual    int64   // the work of explore
	ample    int64   // the same where there are many jobs
	arms     []*trial
	round    int       // of explore
	wide     *reducing // see widest; nil: it was not looked for
	ejecting *ejecting
	sought   bool // it was looked for
	meetings int  // how many have come to their ends: see meet
	patterns *patterns
	lines    []*generations // that are still to be tried; nil: they were not looked for
	grew     bool           // they have led to some schedule
	rounds   *roundsSearch
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

// once and again are what a search does, in turn. One that its context ends is begun again if the search goes on. A search that came to
// its end tries more with other draws, from the first of again on.
var once, again = []func(s *search){
	(*search).begin,
	(*search).inGenerations,
	(*search).slotted,
	(*search).ring,
	(*search).inRounds,
	(*search).meet,
	(*search).ejectFar,
	(*search).early,
	(*search).colour,
	(*search).follow,
	(*search).first,
	(*search).insert,
	func(s *search) {
		if s.gap() > latentGap {
			s.eject()
		}
	},
	func(s *search) {
		if before := s.work; s.gap() > latentGap && s.latent() {
			s.graft()
			s.budget += s.work - before
		}
	},
}, []func(s *search){
	(*search).explore,
	func(s *search) {
		if s.gap() > largeGap && !s.gathers() {
			s.rehang(s.usual / 2)
		}
	},
	(*search).eject,
	(*search).refine,
	(*search).graftFirst,
	(*search).polish,
	func(s *search) {
		if !s.gathers() || s.gap() < largeGap {
			s.finish()
		}
	},
	(*search).graft,
}

// latent reports whether latencies count: there are not many of them in the bound.
func (s *search) latent() bool {
	return s.best != nil && float64(s.bound) < manyLatencies*s.best.latency()
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

// mostAgain is how often a search tries more in turn, at most.
const mostAgain = 100

// run searches and returns the best schedule found. The result can go on with the search, unless nothing can be better.
func (s *search) run() (solve.Result, error) {
	stages := slices.Concat(once, again)
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
	s.stage, s.round = len(once), 0
	s.budget, s.last = s.work+s.usual, s.work
	s.arms = s.arms[:0]
	for _, t := range s.leaders(s.trials, fewTrials/2) {
		c := t.cut
		c.halved = 0
		if x := s.newTrial(t.x.index, c, t.roots); x != nil {
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

// near reports whether the best plan is soon enough, or hardly above the bound.
func (s *search) near() bool { return s.met() || s.gap() <= littleGap }

// gap returns how far the best plan is above the bound.
func (s *search) gap() float64 {
	if s.best == nil || s.best.best == nil || s.bound == 0 {
		return 1
	}
	return float64(s.best.best.end)/float64(s.bound) - 1
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

// counter counts work, up to a limit.
type counter struct {
	ctx   context.Context
	n     int64
	limit int64
}

// stop reports whether to give up.
func (c *counter) stop() bool { return c.n > c.limit || c.ctx.Err() != nil }
