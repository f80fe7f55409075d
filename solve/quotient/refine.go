package quotient

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of finer cuts.
const (
	mostRefined = 1 << 17 // transfers
	littleGap   = 0.004
	largeGap    = 0.05
	refined     = 3 // trials
)

// refine cuts twice as finely as the best trials do, and four times, and what goes to one rank, or comes from one, up to
// 128 times: where no symmetry makes a few parts fit, finer ones fit better. It is not done where there is little to gain,
// or where many transfers would be made.
func (s *search) refine() {
	if s.p.Chunks != nil || s.p.Collective.Kind == model.AllToAll {
		return
	}
	best, most := s.different(refined, even), 4
	if conveys(s.p) {
		most = 128 // they go over few links
	}
	for times := 2; times <= most; times *= 2 {
		before := s.best
		for _, t := range best {
			c := cut{parts: times * t.cut.count(), ratio: 1}
			if s.ctx.Err() != nil || s.near() || s.transfers(t.x, c.parts) > mostRefined {
				continue
			}
			if finer := s.add(t.x.index, c, t.roots, false); finer != nil {
				s.budget, s.last = s.work+s.usual, s.work
				s.spend(finer, s.usual/6)
			}
		}
		if s.best == before && s.gap() > largeGap {
			return // latencies count more than what is left idle
		}
	}
}

// graftFirst moves hops of allreduces before they are polished, with draws of its own: what it does not make better is polished as it would
// have been. What is far from the bound after some of the work goes on with roots that exchange sums.
func (s *search) graftFirst() {
	if s.p.Collective.Kind != model.AllReduce || s.gap() < graftGap {
		return
	}
	draws := make([]*rand.Rand, len(s.trials))
	for i, t := range s.trials {
		draws[i], t.rng = t.rng, rand.New(rand.NewPCG(s.o.Seed, ^uint64(i)))
	}
	s.graftAll(s.different(grafted, graftable), s.ample/graftRounds)
	s.exchange()
	s.graft()
	for i, r := range draws {
		s.trials[i].rng = r
	}
}

// Limits of polish.
const (
	polished     = 3       // trials
	maxPolished  = 3 << 10 // jobs
	manyPolished = 1 << 13 // among many ranks, whose links are soon balanced
	hopelessGap  = 0.3
	mostPolish   = 3 // times the usual work
	polishRounds = 8
	mayCatchUp   = 1.02 // times the best plan's end
	graftGap     = 0.03 // above the bound that a plan is at least for its hops to be moved before it is polished
)

// small reports whether the best plan has few enough jobs to be worked on.
func (t *trial) small() bool {
	return len(t.best.jobs) <= maxPolished || t.many() && len(t.best.jobs) <= manyPolished
}

// worthPolish reports whether a plan may become the best of all methods' if it is worked on.
func (s *search) worthPolish(t *trial) bool {
	return t.latent && !t.balanced && t.sketch == nil && t.small() && s.gap() > littleGap && s.gap() < hopelessGap
}

// polish has the best trials of an allreduce work on where latencies count, as the gap shows: how sums and gatherings
// overlap best is found by trying.
func (s *search) polish() {
	if s.p.Collective.Kind != model.AllReduce || s.best == nil || !s.best.small() {
		return
	}
	s.budget = s.work + mostPolish*s.usual
	share := mostPolish * s.usual / polishRounds / polished
	for range polishRounds {
		list := slices.DeleteFunc(s.leaders(s.trials, len(s.trials)), func(t *trial) bool {
			return !s.worthPolish(t) || float64(t.best.end) > mayCatchUp*float64(s.best.best.end)
		})
		for _, t := range list[:min(polished, len(list))] {
			if s.ctx.Err() != nil || s.met() {
				return
			}
			s.last, t.alternates = s.work, true
			s.workOn(t, share)
		}
	}
}

// workOn has a trial make attempts or move hops: what made it better last goes on.
func (s *search) workOn(t *trial, work int64) {
	end := t.best.end
	if t.grafts {
		w := &counter{ctx: s.ctx, limit: work}
		t.graft(s.bound, w)
		s.work += w.n
		s.note(t)
	} else {
		s.spend(t, work)
	}
	if t.best.end == end {
		t.grafts, t.step = !t.grafts, 0
	}
}

// different returns the best n of the trials that are suitable, of which no two have as many parts.
func (s *search) different(n int, suitable func(t *trial) bool) (list []*trial) {
	for _, t := range s.leaders(s.trials, len(s.trials)) {
		same := func(u *trial) bool { return u.cut.count() == t.cut.count() }
		if len(list) < n && suitable(t) && !slices.ContainsFunc(list, same) {
			list = append(list, t)
		}
	}
	return list
}

// even reports whether a trial has equal parts, and trees that are not balanced.
func even(t *trial) bool { return t.cut.ratio == 1 && !t.balanced }
