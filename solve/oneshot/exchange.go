package oneshot

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of the search for a mixture of plans.
const (
	fewExchanged  = 8 // chunks, each with its images
	mostExchanged = 64
	patience      = 100 // trials without a better schedule
	climbing      = 4   // a number of chunks gets this part of the work that is left
)

// mixture is how many chunks follow each plan, and by how much longer than it is the time after each of its steps counts where
// hops are put in order.
type mixture struct {
	counts []int
	more   [][]model.Time // by plan and step
}

// exchange looks for a mixture of plans: for each of some numbers of chunks it begins with the best of the mixtures of the linear
// program and the first plan, and climbs, as long as all are sooner over, by other numbers of chunks or other orders.
func (s *search) exchange(plans []*plan) {
	of := candidates(best(plans))
	parts := s.mixtures(of)
	r := rand.New(rand.NewPCG(7, uint64(s.n())))
	for chunks := fewExchanged; chunks <= mostExchanged && !s.over() && plans[0].transfers(chunks*s.copies) <= maxComposition; chunks *= 2 {
		k := len(s.divided(chunks * s.copies).p.Chunks)
		now := &mixture{counts: make([]int, len(of))}
		for _, q := range of {
			now.more = append(now.more, make([]model.Time, q.steps()))
		}
		turns := len(plans[0].turns)
		for i := range k {
			now.counts[i%min(turns, len(of))]++
		}
		least := s.mixed(of, now, model.MaxTime, chunks)
		for _, x := range parts {
			next := &mixture{counts(x, k), now.more}
			if end := s.mixed(of, next, least, chunks); end < least {
				now, least = next, end
			}
		}
		if least == model.MaxTime {
			continue
		}
		until := s.work + (s.most-s.work)/climbing
		for idle := 0; idle < patience && s.work < until && !s.over(); idle++ {
			next := s.moved(r, of, now, least)
			if end := s.mixed(of, next, least, chunks); end < least {
				now, least, idle = next, end, 0
			}
		}
	}
}

// moved returns a mixture in which some chunks of a plan follow another one, or the hops of a step of a plan are placed sooner
// or later.
func (s *search) moved(r *rand.Rand, of []*plan, now *mixture, end model.Time) *mixture {
	next := &mixture{slices.Clone(now.counts), now.more}
	var used, fit []int
	for i, q := range of {
		if now.counts[i] > 0 {
			used = append(used, i)
		}
		if s.course(q, 0).tails[0] < end {
			fit = append(fit, i)
		}
	}
	from := used[r.IntN(len(used))]
	if r.IntN(2) == 0 && len(fit) > 0 {
		to := fit[r.IntN(len(fit))]
		if r.IntN(2) == 0 {
			to = used[r.IntN(len(used))]
		}
		some := 1 + r.IntN(now.counts[from])
		if r.IntN(2) == 0 {
			some = 1
		}
		next.counts[from] -= some
		next.counts[to] += some
		return next
	}
	next.more = slices.Clone(now.more)
	next.more[from] = slices.Clone(now.more[from])
	most := max(1, end-of[from].courses[0].tails[0])
	next.more[from][r.IntN(len(next.more[from]))] = model.Time(r.Int64N(int64(2*most))) - most
	return next
}

// best returns the plans of which no other one is less busy, in all or in a step, and sooner over, and the first ones.
func best(plans []*plan) (list []*plan) {
	for i, q := range plans {
		if i < 2*bestPlans || !slices.ContainsFunc(plans, func(x *plan) bool {
			return x.busy <= q.busy && x.latency <= q.latency && x.peak <= q.peak && (x.busy < q.busy || x.latency < q.latency || x.peak < q.peak)
		}) {
			list = append(list, q)
		}
	}
	return list
}

// mixed places chunks of which some follow each plan, and returns the makespan, MaxTime if that is not before some time.
func (s *search) mixed(of []*plan, x *mixture, before model.Time, chunks int) model.Time {
	b := s.divided(chunks * s.copies)
	var courses []*course
	var more [][]model.Time
	left := slices.Clone(x.counts)
	for len(courses) < len(b.p.Chunks) { // in turn
		for i, q := range of {
			if left[i] > 0 {
				courses, more = append(courses, b.course(q, x.counts[i]-left[i])), append(more, x.more[i])
				left[i]--
			}
		}
	}
	if !b.place(courses, more, before) || len(b.transfers)*b.copies > maxComposition {
		return model.MaxTime
	}
	return s.keep(b, "each chunk by one of several compositions")
}
