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
	patience      = 60 // trials without a better schedule
)

// exchange has chunks change their plans, one or some at a time, as long as all are sooner over: hill climbing over how many
// chunks follow each plan.
func (s *search) exchange(plans []*plan) {
	of := candidates(best(plans))
	r := rand.New(rand.NewPCG(7, uint64(s.n())))
	for chunks := fewExchanged; chunks <= mostExchanged && !s.over(); chunks *= 2 {
		counts := make([]int, len(of))
		k := len(s.divided(chunks * s.copies).p.Chunks)
		orders := len(plans[0].orders)
		for i := range k {
			counts[i%min(orders, len(of))]++
		}
		least := s.mixed(of, counts, model.MaxTime, chunks)
		for idle := 0; idle < patience && !s.over(); idle++ {
			next := slices.Clone(counts)
			from, to := r.IntN(len(of)), r.IntN(len(of))
			if some := 1 + r.IntN(max(1, k/4)); from != to && counts[from] > 0 && s.course(of[to], 0).tails[0] < least {
				some = min(some, counts[from])
				next[from], next[to] = next[from]-some, next[to]+some
			} else {
				idle--
				if r.IntN(1000) == 0 {
					break
				}
				continue
			}
			if end := s.mixed(of, next, least, chunks); end < least {
				counts, least, idle = next, end, 0
			}
		}
	}
}

// best returns the plans of which no other one is less busy and sooner over, the best first.
func best(plans []*plan) (list []*plan) {
	for _, q := range plans {
		if !slices.ContainsFunc(plans, func(x *plan) bool {
			return x.busy <= q.busy && x.latency <= q.latency && (x.busy < q.busy || x.latency < q.latency)
		}) {
			list = append(list, q)
		}
	}
	return list
}

// mixed places chunks of which some follow each plan, and returns the makespan, MaxTime if that is not before some time.
func (s *search) mixed(of []*plan, counts []int, before model.Time, chunks int) model.Time {
	b := s.divided(chunks * s.copies)
	var courses []*course
	left := slices.Clone(counts)
	for len(courses) < len(b.p.Chunks) { // in turn
		for i, q := range of {
			if left[i] > 0 {
				courses = append(courses, b.course(q, counts[i]-left[i]))
				left[i]--
			}
		}
	}
	if !b.place(courses, before) || len(b.transfers)*b.copies > maxComposition {
		return model.MaxTime
	}
	return s.keep(b, "each chunk by one of several compositions")
}
