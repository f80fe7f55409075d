package quotient

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// colour tries trees that follow sketches, in the order of edge colourings, where no symmetry moves all ranks, with numbers of chunks
// of which ranks of groups of other sizes can have equal shares, too. An allreduce that went in generations needs none.
func (s *search) colour() {
	if s.grew || s.p.Collective.Kind.Rooted() || conveys(s.p) || len(s.shops) == 0 || len(s.shops[0].s.reps) == 1 {
		return
	}
	for _, k := range sketches(s.p.Topology) {
		if !k.colours(s.shops[0].s) {
			continue
		}
		var best *trial
		counts := []int{1, 2, 4, 8, 16, 32}
		for _, n := range k.size {
			for c := n; c <= mostSketched; c *= 2 {
				counts = append(counts, c)
			}
		}
		slices.Sort(counts)
		if s.p.Chunks != nil {
			counts = []int{0}
		}
		for _, c := range slices.Compact(counts) {
			if s.done() {
				return
			}
			t := s.newSketched(k, cut{parts: c, ratio: 1})
			if t == nil {
				break
			}
			if t.tryColoured(s.ctx, s.bound); t.best == nil {
				break
			}
			s.work += hopWork * int64(len(t.best.jobs))
			if s.note(t); s.best == t {
				best = t
			}
		}
		if best != nil {
			s.trials = append(s.trials, best)
		}
	}
}

// newSketched returns a divided trial that follows a sketch, in which parts whose sizes differ by a byte take as long; nil if it is too large.
func (s *search) newSketched(k *sketch, c cut) *trial {
	t := s.newTrial(0, c, anywhere)
	if t == nil {
		return nil
	}
	t.sketch = k
	t.divide()
	alike(t.parts)
	t.x = t.x.timed(t.parts)
	return t
}

// tryColoured makes attempts with trees that follow a sketch, in the order of an edge colouring.
func (t *trial) tryColoured(ctx context.Context, bound model.Time) {
	k, goal := t.sketch, max(bound, 1)
	switch t.p.Collective.Kind {
	case model.AllGather:
		t.keep(k.gathered(t.x, t.parts, goal, t.rng))
	case model.ReduceScatter:
		t.keep(k.summed(t.x, t.parts, goal, t.rng))
	default:
		t.keep(k.both(ctx, t.x, t.parts, goal, t.rng))
		if owned := slices.Clone(t.parts); ctx.Err() == nil && k.own(t.x.s, owned) && t.keep(k.both(ctx, t.x, owned, goal, t.rng)) {
			t.parts = owned
		}
	}
	if x := t.best; x != nil && len(x.jobs) <= maxJustified {
		x.justifyAll(ctx)
	}
}

// follow tries trees that follow sketches, with more and more chunks as long as that helps.
func (s *search) follow() {
	if s.p.Collective.Kind.Rooted() || conveys(s.p) || len(s.shops) == 0 {
		return
	}
	until := s.work + s.budget/firstPart
	for _, k := range append(sketches(s.p.Topology), s.shops[0].s.busiest()...) {
		try := func(c cut) *trial {
			t := s.newTrial(0, c, anywhere)
			if t == nil {
				return nil
			}
			t.sketch = k
			s.trials = append(s.trials, t)
			for try := 0; try < balancings && (try == 0 || t.best != nil); try++ {
				s.spend(t, 0)
			}
			return t
		}
		best, parts := never, 1
		for ; parts <= mostSketched && s.work < until && !s.done(); parts *= 2 {
			c := cut{parts: parts, ratio: 1}
			if s.p.Chunks != nil {
				c.parts = 0
			}
			t := try(c)
			if t == nil || t.best == nil || c.parts == 0 || t.best.end >= best/1000*worthTwice {
				break
			}
			best = t.best.end
		}
		if s.p.Chunks != nil || s.p.Collective.Kind == model.AllReduce {
			continue
		}
		for _, ratio := range fallingSketched {
			if s.p.Collective.Reduces() { // what is added up first is small
				ratio = 1 / ratio
			}
			if parts = min(parts, mostSketched); parts >= 4 && s.work < until && !s.done() {
				try(cut{parts: parts, ratio: ratio})
			}
		}
	}
}

// fallingSketched are ratios of the sizes of parts of gatherings that follow sketches: what comes last to a group is passed on last.
var fallingSketched = []float64{0.8, 0.9}

// trySketched makes one attempt with trees that follow a sketch: as they are at first, and then with balanced loads.
func (t *trial) trySketched(bound model.Time, work *counter) {
	work.n += hopWork
	switch {
	case t.trees == nil:
		t.trees = t.sketch.trees(t.p.Collective.Kind, t.x, t.parts, max(bound, 1), t.rng)
	case t.best == nil || len(t.best.jobs) > maxBalanced:
		return
	default:
		moves := min(10*len(t.best.jobs), 40000)
		t.trees.improve(moves, 0.05)
		work.n += int64(moves) * moveWork
	}
	if len(t.trees.trees) == 0 {
		return
	}
	x := t.trees.plan()
	tries := 12
	if len(x.jobs) > maxJustified {
		tries = 4
	}
	x.schedule(tries, t.rng)
	if len(x.jobs) <= maxJustified {
		for x.justify(nil) {
			work.n += 4 * hopWork * int64(len(x.jobs))
		}
	}
	t.keep(x)
	work.n += int64(tries) * hopWork * int64(len(x.jobs))
}
