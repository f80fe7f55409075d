package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// synthesis is what all tries on a problem share.
type synthesis struct {
	p        *model.Problem
	forward  *network
	backward *network // for reductions
	pattern  *pattern // of what spreads, or of the trees of a reduction; nil for allreduce, whose roots differ from try to try
	ways     [2]*distances
	both     *allReduce // for trees that are chosen together; nil: none are
	floor    model.Time // no schedule ends before
	threads  int        // for each try
}

func newSynthesis(p *model.Problem) (*synthesis, error) {
	s := &synthesis{p: p, forward: newNetwork(p, false)}
	reduces := p.Collective.Kind.Reduces()
	if reduces {
		s.backward = newNetwork(p, true)
	}
	pt := trees(p, 0)
	if !reduces {
		var err error
		if pt, err = spreading(p); err != nil {
			return nil, err
		}
	}
	if p.Collective.Kind != model.AllReduce {
		s.pattern = pt
	}
	if s.pattern != nil && !p.Late() {
		n := s.forward
		if reduces {
			n = s.backward
		}
		s.floor = n.floor(pt)
	}
	if s.both = s.newAllReduce(); s.both != nil {
		s.floor = s.both.volume
	}
	if pt.to == nil {
		return s, nil
	}
	for i, n := range s.networks() {
		if n != nil {
			s.ways[i] = newDistances(n, pt)
			if err := s.ways[i].unreachable(n, pt); err != nil {
				return nil, solve.NotServed("%v", err)
			}
		}
	}
	return s, nil
}

// networks returns the networks that are needed, by index into ways.
func (s *synthesis) networks() [2]*network {
	if s.p.Collective.Kind.Reduces() && s.p.Collective.Kind != model.AllReduce {
		return [2]*network{nil, s.backward}
	}
	return [2]*network{s.forward, s.backward}
}

// try makes one schedule, or nil if it is stopped. An allreduce is made of two halves, or
// of trees that are chosen together, whichever is shorter; where no schedule of the one kind
// can be shorter than one of the other, it is left out.
func (s *synthesis) try(seed uint64, i int, stop func() bool) *model.Schedule {
	if s.both == nil {
		return s.halves(seed, i, stop)
	}
	first := !s.forward.private || s.both.halves <= s.both.volume+s.both.volume/64
	var best *model.Schedule
	least := model.MaxTime
	for n := range 2 {
		var t *model.Schedule
		if first == (n == 0) {
			if s.both.halves < least {
				t = s.halves(seed, i, stop)
			}
		} else if s.both.volume+s.both.volume/64 < least {
			t = s.together(seed, i, least, stop)
		}
		if t != nil {
			if makespan := s.p.Makespan(t); makespan < least {
				best, least = t, makespan
			}
		}
	}
	return best
}

// halves makes one schedule, or nil if it is stopped.
func (s *synthesis) halves(seed uint64, i int, stop func() bool) *model.Schedule {
	number := streamOf(seed, uint64(i))
	pt := s.pattern
	if pt == nil {
		pt = trees(s.p, i)
	}
	far := (i%2 == 1) != s.p.Collective.Kind.Rooted() // the one is better here, the other there
	quick := i == 0                                   // the next tries are more thorough
	if !s.p.Collective.Kind.Reduces() {
		spread, ok := s.spread(s.forward, pt, number.next(), far, quick, stop)
		if !ok {
			return nil
		}
		return s.schedule(spread)
	}
	reduce, ok := s.reduce(pt, number.next(), far, quick, stop)
	if !ok {
		return nil
	}
	var spread []model.Transfer
	if s.p.Collective.Kind == model.AllReduce {
		if spread, ok = s.spread(s.forward, pt, number.next(), far, quick, stop); !ok {
			return nil
		}
	} else if !s.p.Late() {
		return s.schedule(reduce)
	}
	return s.join(pt, reduce, spread, stop)
}

// schedule returns the schedule that consists of moves.
func (s *synthesis) schedule(moves []model.Transfer) *model.Schedule {
	return &model.Schedule{Form: model.FormFor(s.p.Cost), Routes: s.forward.routes, Transfers: moves}
}

// spread makes the transfers of a pattern, in the order of their ends: in time of the
// network, which may be mirrored. Where chunks are steered, far says that the farthest
// go first. Large patterns that flood are made in lockstep, if that is quick enough or
// quick is asked for. It returns false if it is stopped.
func (s *synthesis) spread(n *network, pt *pattern, seed uint64, far, quick bool, stop func() bool) ([]model.Transfer, bool) {
	moves := make([]model.Transfer, 0, pt.deliveries(n))
	if count := pt.deliveries(n); count >= lockstepFrom && (quick && !n.patient || count >= lockstepAlways) {
		if e := newSweep(n, pt, seed); e != nil {
			ok := e.run(s.threads, stop, func(list []model.Transfer) bool {
				moves = append(moves, list...)
				return true
			})
			if !n.even() {
				slices.SortStableFunc(moves, func(a, b model.Transfer) int { return cmp.Compare(a.End, b.End) })
			}
			return moves, ok
		}
	}
	emit := func(t model.Transfer) { moves = append(moves, t) }
	var e *engine
	if pt.to == nil {
		f := newFlood(n, pt.from, seed)
		e = newEngine(n, f, seed, emit)
		f.e = e
	} else {
		st := newSteer(n, pt, s.ways[way(n)], far, s.outsiders(n))
		e = newEngine(n, st, seed, emit)
		st.e = e
	}
	if !e.run(stop) {
		return nil, false
	}
	if pt.to != nil {
		moves = n.prune(pt, moves)
	}
	return moves, true
}

// way returns the index of a network in synthesis.ways.
func way(n *network) int {
	if n.mirrored {
		return 1
	}
	return 0
}

// deliveries says how much work a try is, about.
func (s *synthesis) deliveries() int {
	count := len(s.p.Chunks) * s.p.Topology.Ranks
	if s.p.Collective.Kind == model.AllReduce {
		count *= halves
	}
	if s.both != nil && !s.forward.private {
		count *= 2
	}
	if n := s.forward; !n.private {
		count += count / crowd * len(n.lanes) / n.p.Topology.Ranks
	}
	return max(1, count)
}

// outsiders says of each rank that it adds nothing of its own to a reduction: the
// first chunk that comes to it is copied, and the others are added, so that the first
// one must not come together with another.
func (s *synthesis) outsiders(n *network) []bool {
	if !n.mirrored {
		return nil
	}
	out := make([]bool, s.p.Topology.Ranks)
	for r := range out {
		out[r] = true
	}
	for _, r := range s.p.Members() {
		out[r] = false
	}
	return out
}

// prune leaves out the transfers to ranks that neither want the chunk nor pass it on.
// moves must be in the order of their ends.
func (n *network) prune(pt *pattern, moves []model.Transfer) []model.Transfer {
	words := (len(pt.from) + 63) / 64
	useful := make([]uint64, n.p.Topology.Ranks*words)
	bit := func(r, k int32) (*uint64, uint64) { return &useful[int(r)*words+int(k>>6)], 1 << (k & 63) }
	for k := range pt.from {
		for _, r := range pt.to[k] {
			w, b := bit(r, int32(k))
			*w |= b
		}
	}
	kept := len(moves)
	for i := len(moves) - 1; i >= 0; i-- {
		t := moves[i]
		if n.mirrored {
			t.Src, t.Dst = t.Dst, t.Src
		}
		if w, b := bit(t.Dst, t.Chunk); *w&b != 0 {
			w, b = bit(t.Src, t.Chunk)
			*w |= b
			kept--
			moves[kept] = moves[i]
		}
	}
	return moves[kept:]
}

// reduce makes the transfers of a reduction along the trees of a pattern, in the order
// of their starts. It returns false if it is stopped.
func (s *synthesis) reduce(pt *pattern, seed uint64, far, quick bool, stop func() bool) ([]model.Transfer, bool) {
	moves, ok := s.spread(s.backward, pt, seed, far, quick, stop)
	if !ok {
		return nil, false
	}
	end := last(moves)
	slices.Reverse(moves)
	for i := range moves {
		t := &moves[i]
		t.Start, t.End = end-t.End, end-t.Start
		t.Op = model.Reduction
	}
	if !everyone(s.p) {
		s.copyFirst(moves, func(t *model.Transfer) model.Time { return t.End })
	}
	return moves, true
}

// copyFirst makes copies of the transfers that bring an outsider the first of a chunk, by
// some time of theirs, and reductions of the others.
func (s *synthesis) copyFirst(moves []model.Transfer, by func(*model.Transfer) model.Time) {
	out := s.outsiders(s.backward)
	type slot struct{ rank, chunk int32 }
	first := map[slot]int{}
	for i := range moves {
		t := &moves[i]
		if !out[t.Dst] {
			continue
		}
		t.Op = model.Reduction
		at := slot{t.Dst, t.Chunk}
		if j, known := first[at]; !known || by(t) < by(&moves[j]) {
			first[at] = i
		}
	}
	for _, i := range first {
		moves[i].Op = model.Copy
	}
}

func last(moves []model.Transfer) model.Time {
	end := model.Time(0)
	for i := range moves {
		end = max(end, moves[i].End)
	}
	return end
}
