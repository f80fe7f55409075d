//go:build cgo

package oneshot

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// ranked is chunks on courses whose hops have ranks of their own, by which they are placed.
type ranked struct {
	courses []*course
	ranks   [][]model.Time
}

// keepRanked places chunks, and keeps them if they are the best. It returns the makespan, MaxTime if that is not before some time.
func (s *search) keepRanked(b *builder, x *ranked, before model.Time) model.Time {
	if b.ranks = x.ranks; !b.place(x.courses, nil, before) {
		return model.MaxTime
	}
	old := s.makespan
	end := s.keep(b, mixedNote)
	if s.makespan < old {
		s.ranked = x
	}
	return end
}

// Limits of variations.
const (
	varying   = 2    // they get this part of the work that is left
	leastWork = 8    // hops count as one that is placed, even if the first of all cannot be: they are sorted
	mostShift = 0.04 // of the makespan, by which the ranks of hops change
)

// vary places the chunks of the best schedule again, if they have ranks: with the hops of one of them sooner or later, or some of these, the
// first ones or the last ones. It goes on from what is sooner over, as long as there is work for it.
func (s *search) vary() {
	best := s.ranked
	if best == nil {
		return
	}
	s.together(s.imagesOf)
	r, chunks, hops := s.draws(17), len(best.courses)*s.imagesOf, s.hops(best.courses)
	for until := s.work + (s.most-s.work)/varying; s.work < until && !s.over(); {
		s.work += hops/leastWork + 1
		next := &ranked{best.courses, slices.Clone(best.ranks)}
		k := r.IntN(len(next.ranks))
		next.ranks[k] = shifted(r, next.ranks[k], mostShift*float64(s.makespan))
		if before := s.makespan; s.keepRanked(s.divided(chunks), next, before) < before {
			best = next
		}
	}
}

// shifted returns ranks of which all, or those from some rank on, or those up to it, are greater or less by one figure, which is at most some
// number.
func shifted(r *rand.Rand, ranks []model.Time, most float64) []model.Time {
	ranks = slices.Clone(ranks)
	by := model.Time((2*r.Float64() - 1) * most)
	low, high := slices.Min(ranks), slices.Max(ranks)
	at := low + model.Time(r.Int64N(int64(high-low)+1))
	switch r.IntN(4) {
	case 0:
		low = at
	case 1:
		high = at
	}
	for i, rank := range ranks {
		if low <= rank && rank <= high {
			ranks[i] += by
		}
	}
	return ranks
}
