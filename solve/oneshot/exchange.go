package oneshot

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of the search for a mixture of plans.
const (
	fewExchanged  = 8   // chunks, each with its images
	mostExchanged = 64  // more where these are few transfers, and a thousandth is gained
	patience      = 100 // trials without a better schedule
	mostPatterned = 16  // members, among which a SAT solver finds patterns
	climbing      = 2   // a number of chunks gets this part of the work that is left
)

// mixture is how many chunks follow each plan, and by how much longer than it is the time after each of its steps counts where
// hops are put in order.
type mixture struct {
	counts []int
	more   [][]model.Time // by plan and step
}

// mixedNote is what is said of mixtures, patternNote of those of patterns.
const (
	mixedNote   = "each chunk by one of several compositions"
	patternNote = "each chunk by one of several patterns of few hops"
)

// try is a mixture of some number of chunks, and when it is over.
type try struct {
	*mixture
	chunks int
	end    model.Time
}

// exchange looks for a mixture of plans: for each of some numbers of chunks it returns the best of the mixtures of the linear
// program and the first plan, the best number first. It begins with some number.
func (s *search) exchange(plans []*plan, chunks int, of []*plan, parts [][]float64) (tries []*try) {
	before, last := 0, model.MaxTime
	for ; !s.over(); chunks *= 2 {
		transfers, k := plans[0].transfers(chunks*s.copies), len(s.divided(chunks*s.copies).p.Chunks)
		if transfers > s.room(s.copies) || chunks > mostExchanged && transfers > s.manyExchanged() || k == before {
			break
		}
		before = k
		x := &try{mixture: &mixture{counts: make([]int, len(of))}, chunks: chunks}
		for _, q := range of {
			x.more = append(x.more, make([]model.Time, q.steps()))
		}
		turns := len(plans[0].turns)
		for i := range k {
			x.counts[i%min(turns, len(of))]++
		}
		x.end = s.mixed(of, x.mixture, model.MaxTime, chunks)
		for _, y := range parts {
			next := &mixture{counts(y, k), x.more}
			if end := s.mixed(of, next, x.end, chunks); end < x.end {
				x.mixture, x.end = next, end
			}
		}
		if x.end < model.MaxTime {
			tries = append(tries, x)
		}
		if chunks >= mostExchanged && x.end > last/1000*999 {
			break
		}
		last = x.end
	}
	slices.SortStableFunc(tries, func(a, b *try) int { return cmp.Compare(a.end, b.end) })
	return tries
}

// manyExchanged is how many transfers more chunks than some may take: more where images of patterns, which are all that is tried, are proved together.
func (s *search) manyExchanged() int {
	if s.mixing != nil && s.mixing.patterns != nil && s.n() <= mostPatterned { // proofs among more take longer
		return fewTransfers / 4 * 3 * min(s.copies, moreImages)
	}
	return fewTransfers / 2
}

// climb goes on from mixtures, as long as all are sooner over, by other numbers of chunks of each plan or other orders.
func (s *search) climb(of []*plan, tries []*try) {
	r := s.draws(7)
	for _, x := range tries {
		until := s.work + (s.most-s.work)/climbing
		for idle := 0; idle < patience && s.work < until && !s.over(); idle++ {
			next := s.moved(r, of, x.mixture, x.end)
			if end := s.mixed(of, next, x.end, x.chunks); end < x.end {
				x.mixture, x.end, idle = next, end, 0
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
		if s.course(q, 0).tail < end {
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
		if to != from {
			next.counts[from] -= some
			next.counts[to] += some
			return next
		}
	}
	next.more = slices.Clone(now.more)
	next.more[from] = slices.Clone(now.more[from])
	most := max(1, end-of[from].courses[0].tail)
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
	note := mixedNote
	if s.mixing != nil && s.mixing.patterns != nil {
		note = patternNote
		var which []int
		courses, which = s.balanced(of, x.counts)
		for _, i := range which {
			more = append(more, x.more[i])
		}
	} else {
		left := slices.Clone(x.counts)
		for range b.p.Chunks { // in turn
			for i, q := range of {
				if left[i] > 0 {
					courses, more = append(courses, b.course(q, x.counts[i]-left[i])), append(more, x.more[i])
					left[i]--
				}
			}
		}
	}
	if len(courses) != len(b.p.Chunks) || slices.Contains(courses, nil) || !b.place(courses, more, before) || len(b.transfers)*b.copies > s.room(b.copies) {
		return model.MaxTime
	}
	return s.keep(b, note)
}
