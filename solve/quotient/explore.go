package quotient

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

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

// early tries a few gatherings of the largest group and moves their hops, before all else, where latencies count, ranks are many, and those
// few are so far from the bound that moving hops gains most.
func (s *search) early() {
	if !s.gathers() || len(s.trials) == 0 || s.jobs() < manyJobs {
		return
	}
	before := s.work
	s.probe()
	if s.best != nil && s.gap() > hopelessGap && float64(s.bound) < fewLatencies*s.best.latency() {
		s.graft()
	}
	s.budget += s.work - before
}

// probe tries a few cuts with the largest group, until a plan is not hopelessly far from the bound.
func (s *search) probe() {
	for _, t := range s.trials[:min(fewCuts, len(s.trials))] {
		if t.x.index == s.trials[0].x.index && s.gap() > hopelessGap {
			s.spend(t, 1)
		}
	}
}

// manyJobs is from how many jobs of one part a rank that stands for others on gatherings are moved early.
const manyJobs = 60

// first tries each trial of the largest group, and of each other group as many as there is work for, two at least. Of gatherings
// in which latencies count few of the largest group are tried, and of other groups none that have many jobs where they do not. Half of the usual
// work at least is left to explore with.
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
		if s.gathers() && shop > 0 && s.gap() < largeGap && len(t.x.s.reps)*(len(s.p.Members())-1)*t.cut.count() > mostJobs {
			continue
		}
		soon := !s.gathers() || n < fewCuts || s.gap() < hopelessGap || s.work < all
		if n++; shop == 0 && soon || shop > 0 && (n <= 2 && s.work < 2*all || s.work < until) {
			s.spend(t, all/32)
		}
	}
	s.budget = max(s.budget, s.work+s.usual/2)
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
		if t != nil && !slices.Contains(more, t) && !slices.Contains(s.arms, t) {
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
