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

// grafts reports whether hops of plans are moved: of gatherings, and of allreduces in which latencies count.
func (s *search) grafts() bool {
	return s.gathers() || s.p.Collective.Kind == model.AllReduce && s.latent() && s.gap() > littleGap
}

// graft moves hops of the best plans, of less and less of them for longer (successive halving; see explore), then halves
// their parts, moves hops again, and so on: see grafting.
func (s *search) graft() {
	if s.best == nil || !s.grafts() {
		return
	}
	list, until := s.different(grafted, graftable), s.work+graftPart*s.ample/2
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
			if x := s.halved(t, worthHalving); x != nil {
				finer = append(finer, x)
			}
		}
		if list = finer; !s.graftAll(list, (until-s.work)/2) {
			return
		}
	}
}

// graftable reports whether hops of a trial can still be moved.
func graftable(t *trial) bool { return t.step <= smallestStep }

// graftAll moves hops of some trials for so much work in all, and reports whether there may be more to do.
func (s *search) graftAll(list []*trial, all int64) bool {
	for i, t := range list {
		if s.ctx.Err() != nil || s.near() {
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

// halved returns a trial with parts half as large as those of another, which go the same ways, or nil if it takes more than some part
// of the other's time.
func (s *search) halved(t *trial, worth float64) *trial {
	c := t.cut.half()
	if s.transfers(t.x, c.count()) > mostFiner {
		return nil
	}
	x := s.newTrial(t.x.index, c, t.roots)
	if x == nil {
		return nil
	}
	if x.divide(); len(x.parts) != 2*len(t.parts) {
		return nil
	}
	x.rules = t.rules
	x.keep(t.best.halved(x.x.s, x.parts, s.p.Collective.Kind == model.AllReduce), t.rules...)
	for again := true; again && s.ctx.Err() == nil; s.work += hopWork * int64(len(x.best.jobs)) {
		again = x.best.justify(nil)
	}
	if float64(x.best.end) > worth*float64(t.best.end) {
		return nil
	}
	s.trials = append(s.trials, x)
	s.note(x)
	return x
}

// halved returns the halves of a plan, as early as they can be.
func (x *plan) halved(s *shop, parts []part, free bool) *plan {
	y := x.halves(s, parts, free)
	y.early(y.waits(), nil)
	return y
}

// halves returns a plan with other parts, the halves of those of x: they go the ways of the whole at its times, one after the other. If
// roots are free, the halves have those of the whole.
func (x *plan) halves(s *shop, parts []part, free bool) *plan {
	roots := 1 // of parts with one number
	for !free && roots < len(x.parts) && x.parts[roots].root != x.parts[0].root {
		roots++
	}
	for i := range parts {
		if free {
			parts[i].root = x.parts[i/2].root
		}
	}
	y := &plan{s: s, parts: parts, end: x.end}
	for _, j := range x.jobs {
		number, root := int(j.part)/roots, int(j.part)%roots
		for half := range 2 {
			k := j
			k.part = int32((2*number+half)*roots + root)
			k.start += model.Time(half)
			y.jobs = append(y.jobs, k)
		}
	}
	return y
}

// graft moves hops of the best plan.
func (t *trial) graft(bound model.Time, work *counter) {
	x := *t.best
	t.step = x.graft(t.step, bound, t.rng, work)
	t.keep(&x, t.rules...)
}

// graft improves a plan by moving hops: see grafting. It is to last less by a step, from the largest on if that is 0,
// and by a smaller one once many changes in turn gain nothing; each time it is justified. It ends after the smallest step, at the
// bound, or when its work is done, and returns the step to go on with.
func (x *plan) graft(step int, bound model.Time, rng *rand.Rand, work *counter) int {
	for step = max(step, largestStep); step <= smallestStep && x.end > bound && !work.stop(); {
		y := &plan{s: x.s, parts: x.parts, jobs: slices.Clone(x.jobs), end: x.end}
		done := newGrafting(y, y.window(x.sooner(step), rng), rng, work).run()
		y.shift()
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

// window returns from when to when a plan is to last next, for so long: it begins later, or ends sooner.
func (x *plan) window(long model.Time, rng *rand.Rand) model.Interval {
	var has [2]bool
	for i := range x.jobs {
		has[x.jobs[i].op] = true
	}
	if has[model.Copy] && (!has[model.Reduction] || rng.IntN(2) == 0) {
		return model.Interval{From: 0, To: long}
	}
	return model.Interval{From: x.end - long, To: x.end}
}

// shift has the first job of a plan that begins with sums start at 0.
func (x *plan) shift() {
	by := model.Time(0)
	for i := range x.jobs {
		if x.jobs[i].op == model.Reduction {
			by = never
		}
	}
	for i := range x.jobs {
		by = min(by, x.jobs[i].start)
	}
	x.end = 0
	for i := range x.jobs {
		x.jobs[i].start -= by
		x.jobs[i].end -= by
		x.end = max(x.end, x.jobs[i].end)
	}
}
