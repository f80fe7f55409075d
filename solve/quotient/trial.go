package quotient

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/oraccl/oraccl/model"
)

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
	half       float64    // half of the bound, in ps: about when its sums are there
	step       int        // with which grafting goes on; 0: it has not begun
	grafts     bool       // of an allreduce: the next work on it moves hops, as attempts gained nothing
	alternates bool       // sums and gatherings of the best plan are built again in turn
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

// newTrial returns a trial, nil if it is too large.
func (s *search) newTrial(shop int, c cut, where roots) *trial {
	x := s.shops[shop]
	if s.p.Chunks == nil {
		n := s.transfers(x, c.count()) // or fewer, where members have less than others
		most := max(fewTransfers, min(manyMoved*int64(x.s.g.Order()), int64(s.o.AtMost(maxTransfers*provedAs)/provedAs)))
		if !c.fits(s.p) || n > maxTransfers || n > most && c.count() > 1 {
			return nil
		}
	}
	spread := model.Time(0)
	if s.gathers() {
		spread = x.spread
	}
	return &trial{x: x, cut: c, roots: where, p: s.p, half: float64(s.bound) / 2, spread: spread, rng: rand.New(rand.NewPCG(s.o.Seed, uint64(len(s.trials))))}
}

// add adds a trial and returns it, or one like it that has no plan yet; nil if that has one, or it is too large.
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
		t.x, t.parts = t.x.divide(t.p, t.roots, t.cut)
	}
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
