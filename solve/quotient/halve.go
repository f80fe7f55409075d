package quotient

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of moving hops.
const (
	grafted      = 8       // trials
	graftedFiner = 2       // of which parts are halved
	graftPart    = 2       // times the usual work
	graftRounds  = 3       // one of as many parts of the work is for each round
	rehangPart   = 4       // one of as many parts of a trial's work is for leaves: see rehanging
	mostGrafted  = 1 << 14 // jobs
	mostHalved   = 6       // how often parts are halved
	worthHalving = 0.9995  // of the makespan is left then, or less
	latentGap    = 0.1     // from which on latencies count more than what links have to do
)

// Steps of grafting: one of as many parts of the makespan, by which it is to fall at a time.
const (
	largestStep  = 50
	smallestStep = 800
)

// sooner returns when the plan is to end next, if it is to end sooner by one of some parts of its makespan.
func (x *plan) sooner(parts int) model.Time { return x.end - max(1, x.end/model.Time(parts)) }

// gathers reports whether trees of gatherings, or of sums, are all that is looked for.
func (s *search) gathers() bool {
	return s.p.Collective.Kind == model.AllGather || s.p.Collective.Kind == model.ReduceScatter
}

// graft moves hops of the best gatherings, of less and less of them for longer (successive halving; see explore), then halves
// their parts, moves hops again, and so on: see grafting.
func (s *search) graft() {
	if s.best == nil || !s.gathers() {
		return
	}
	list, until := s.ungrafted(grafted), s.work+graftPart*s.ample/2
	for len(list) > 0 {
		if !s.graftAll(list, (until-s.work)/graftRounds) {
			return
		}
		if len(list) <= graftedFiner {
			break
		}
		list = s.leaders(list, max(graftedFiner, len(list)/2))
	}
	until += graftPart * s.ample / 2
	for level := 0; s.p.Chunks == nil && level < mostHalved && s.work < until; level++ {
		var finer []*trial
		for _, t := range list {
			if x := s.halved(t); x != nil {
				finer = append(finer, x)
			}
		}
		if list = finer; !s.graftAll(list, (until-s.work)/2) {
			return
		}
	}
}

// ungrafted returns the best n trials whose hops can still be moved, of which no two have as many parts.
func (s *search) ungrafted(n int) (list []*trial) {
	for _, t := range s.leaders(s.trials, len(s.trials)) {
		same := func(u *trial) bool { return u.cut.count() == t.cut.count() }
		if len(list) < n && t.step <= smallestStep && !slices.ContainsFunc(list, same) {
			list = append(list, t)
		}
	}
	return list
}

// graftAll moves hops of some trials for so much work in all, and reports whether there may be more to do.
func (s *search) graftAll(list []*trial, all int64) bool {
	for i, t := range list {
		if s.ctx.Err() != nil || s.met() || s.gap() <= littleGap {
			return false
		}
		if len(t.best.jobs) <= mostGrafted {
			work := &counter{ctx: s.ctx, limit: all / int64(len(list)-i) / rehangPart}
			t.rehang(work)
			work.limit *= rehangPart
			t.graft(s.bound, work)
			s.work += work.n
			all -= work.n
			s.note(t)
		}
	}
	return len(list) > 0
}

// halved returns a trial with parts half as large as those of another, which go the same ways, or nil if that is of no use.
func (s *search) halved(t *trial) *trial {
	c := t.cut
	c.halved++
	if s.transfers(t.x, c.count()) > mostFiner {
		return nil
	}
	x := s.newTrial(t.x.index, c, t.roots)
	if x == nil {
		return nil
	}
	x.divide()
	x.rules = t.rules
	x.keep(t.best.halved(x.x.s, x.parts), t.rules...)
	for again := true; again && s.ctx.Err() == nil; s.work += hopWork * int64(len(x.best.jobs)) {
		again = x.best.justify(nil)
	}
	if float64(x.best.end) > worthHalving*float64(t.best.end) {
		return nil
	}
	s.trials = append(s.trials, x)
	s.note(x)
	return x
}

// halved returns a plan with other parts, the halves of those of x: they go the ways of the whole, one after the other.
func (x *plan) halved(s *shop, parts []part) *plan {
	roots := 1 // of parts with one number
	for roots < len(x.parts) && x.parts[roots].root != x.parts[0].root {
		roots++
	}
	y := &plan{s: s, parts: parts}
	for _, j := range x.jobs {
		number, root := int(j.part)/roots, int(j.part)%roots
		for half := range 2 {
			k := j
			k.part = int32((2*number+half)*roots + root)
			k.start += model.Time(half)
			y.jobs = append(y.jobs, k)
		}
	}
	y.early(y.waits(), nil)
	return y
}

// graft moves hops of the best plan of an allgather, or of a reduce-scatter read backwards.
func (t *trial) graft(bound model.Time, work *counter) {
	if !t.p.Collective.Reduces() {
		x := *t.best
		t.step = x.graft(t.step, bound, t.rng, work)
		t.keep(&x, t.rules...)
		return
	}
	x := t.x.r.backward(t.best, t.x.turns)
	x.early(x.waits(), nil)
	t.step = x.graft(t.step, bound, t.rng, work)
	x = t.x.s.backward(x, t.x.twins)
	x.early(x.waits(), nil)
	for x.justify(nil) {
		work.n += 4 * hopWork * int64(len(x.jobs))
	}
	t.keep(x, t.rules...)
}

// graft improves a plan of gatherings by moving hops: see grafting. It is to end sooner by a step, from the largest on if that is 0,
// and by a smaller one once many changes in turn gain nothing; each time it is justified. It ends after the smallest step, at the
// bound, or when its work is done, and returns the step to go on with.
func (x *plan) graft(step int, bound model.Time, rng *rand.Rand, work *counter) int {
	for step = max(step, largestStep); step <= smallestStep && x.end > bound && !work.stop(); {
		y := &plan{s: x.s, parts: x.parts, jobs: slices.Clone(x.jobs), end: x.end}
		done := newGrafting(y, x.sooner(step), rng, work).run()
		y.end = 0
		for i := range y.jobs {
			y.end = max(y.end, y.jobs[i].end)
		}
		for y.justify(nil) {
			work.n += 4 * hopWork * int64(len(y.jobs))
		}
		if y.end < x.end {
			*x = *y
		}
		if !done && !work.stop() {
			step *= 2
		}
	}
	return step
}
