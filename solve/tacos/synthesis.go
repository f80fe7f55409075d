package tacos

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/random"
	"github.com/oraccl/oraccl/solve/treepack"
)

// synthesis is what all tries on a problem share.
type synthesis struct {
	p        *model.Problem
	forward  *network.Network
	backward *network.Network // mirrored, for reductions
	pattern  *network.Pattern // of what spreads, or of the trees of a reduction; nil for allreduce, whose roots differ from try to try
	ways     [2]*network.Distances
	both     *treepack.Packer // for trees that are chosen together; nil: none are
	floor    model.Time       // no schedule ends before
	threads  int              // for each try
}

// newSynthesis prepares tries on p. It returns nil if stop ends it.
func newSynthesis(p *model.Problem, stop func() bool) (*synthesis, error) {
	s := &synthesis{p: p, forward: network.Until(p, false, stop)}
	reduces := p.Collective.Kind.Reduces() || solve.SumsUp(p)
	if reduces && s.forward != nil {
		s.backward = network.Until(p, true, stop)
	}
	if s.forward == nil || reduces && s.backward == nil {
		return nil, nil
	}
	pt := network.Trees(p, 0)
	if !reduces {
		var err error
		if pt, err = network.Spreading(p); err != nil {
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
		s.floor = n.Floor(pt)
	}
	if 2*len(p.Chunks)*p.Topology.Ranks <= maxDeliveries {
		s.both = treepack.New(s.forward, s.backward)
	}
	if s.both != nil {
		s.floor = s.both.Volume
	}
	if pt.To == nil {
		return s, nil
	}
	for i, n := range s.networks() {
		if n != nil {
			if s.ways[i] = network.NewDistances(n, pt, stop); s.ways[i] == nil {
				return nil, nil
			}
			if err := s.ways[i].Unreachable(n, pt); err != nil {
				return nil, solve.NotServed("%v", err)
			}
		}
	}
	return s, nil
}

// networks returns the networks that are needed, by index into ways.
func (s *synthesis) networks() [2]*network.Network {
	if s.backward != nil && s.p.Collective.Kind != model.AllReduce {
		return [2]*network.Network{nil, s.backward}
	}
	return [2]*network.Network{s.forward, s.backward}
}

// try makes one schedule, or nil if it is stopped. An allreduce is made of two halves, or
// of trees that are chosen together, whichever is shorter; where no schedule of the one kind
// can be shorter than one of the other, it is left out.
func (s *synthesis) try(seed uint64, i int, stop func() bool) *model.Schedule {
	if s.both == nil {
		return s.halves(seed, i, stop)
	}
	first := !s.forward.Private || s.both.Halves <= s.both.Volume+s.both.Volume/64
	var best *model.Schedule
	least := model.MaxTime
	for n := range 2 {
		var t *model.Schedule
		if first == (n == 0) {
			if s.both.Halves < least {
				t = s.halves(seed, i, stop)
			}
		} else if s.both.Volume+s.both.Volume/64 < least {
			if list := s.both.Try(seed, i, least, stop); list != nil {
				t = s.schedule(list)
			}
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
	number := random.New(seed, uint64(i))
	pt := s.pattern
	if pt == nil {
		pt = network.Trees(s.p, i)
	}
	far := (i%2 == 1) != s.p.Collective.Kind.Rooted() // the one is better here, the other there
	quick := i == 0                                   // the next tries are more thorough
	if s.backward == nil {
		spread, ok := s.spread(s.forward, pt, number.Next(), far, quick, stop)
		if !ok {
			return nil
		}
		return s.schedule(spread)
	}
	reduce, ok := s.reduce(pt, number.Next(), far, quick, stop)
	if !ok {
		return nil
	}
	var spread []model.Transfer
	if s.p.Collective.Kind == model.AllReduce {
		if spread, ok = s.spread(s.forward, pt, number.Next(), far, quick, stop); !ok {
			return nil
		}
	} else if !s.p.Late() {
		return s.schedule(reduce)
	}
	return s.join(pt, reduce, spread, stop)
}

// schedule returns the schedule that consists of moves.
func (s *synthesis) schedule(moves []model.Transfer) *model.Schedule {
	return &model.Schedule{Form: model.FormFor(s.p.Cost), Routes: s.forward.Routes, Transfers: moves}
}

// spread makes the transfers of a pattern, in the order of their ends: in time of the
// network, which may be mirrored. Where chunks are steered, far is that the farthest
// go first. Large patterns that flood are made in lockstep, if that is quick enough or
// quick is asked for. It returns false if it is stopped.
func (s *synthesis) spread(n *network.Network, pt *network.Pattern, seed uint64, far, quick bool, stop func() bool) ([]model.Transfer, bool) {
	moves := make([]model.Transfer, 0, pt.Deliveries(n))
	if count := pt.Deliveries(n); count >= lockstepFrom && (quick && !n.Patient || count >= lockstepAlways) {
		if e := newSweep(n, pt, seed); e != nil {
			ok := e.run(s.threads, stop, func(list []model.Transfer) bool {
				moves = append(moves, list...)
				return true
			})
			if !n.Even() {
				slices.SortStableFunc(moves, func(a, b model.Transfer) int { return cmp.Compare(a.End, b.End) })
			}
			return moves, ok
		}
	}
	emit := func(t model.Transfer) { moves = append(moves, t) }
	var e *engine
	if pt.To == nil {
		f := newFlood(n, pt.From, seed)
		e = newEngine(n, f, seed, emit)
		f.e = e
	} else {
		st := newSteer(n, pt, s.ways[way(n)], far, n.Outsiders())
		e = newEngine(n, st, seed, emit)
		st.e = e
	}
	if !e.run(stop) {
		return nil, false
	}
	if pt.To != nil {
		moves = prune(n, pt, moves)
	}
	return moves, true
}

// way returns the index of a network in synthesis.ways.
func way(n *network.Network) int {
	if n.Mirrored {
		return 1
	}
	return 0
}

// deliveries returns how much work a try is, about.
func (s *synthesis) deliveries() int {
	count := len(s.p.Chunks) * s.p.Topology.Ranks
	if s.p.Collective.Kind == model.AllReduce {
		count *= allReduceWork
	}
	if s.both != nil && !s.forward.Private {
		count *= 2
	}
	if n := s.forward; !n.Private {
		count += count / sharing * len(n.Hops) / n.Problem.Topology.Ranks
	}
	return max(1, count)
}

// prune leaves out the transfers to ranks that neither want the chunk nor pass it on.
// moves must be in the order of their ends.
func prune(n *network.Network, pt *network.Pattern, moves []model.Transfer) []model.Transfer {
	words := (len(pt.From) + 63) / 64
	useful := make([]uint64, n.Problem.Topology.Ranks*words)
	bit := func(r, k int32) (*uint64, uint64) { return &useful[int(r)*words+int(k>>6)], 1 << (k & 63) }
	for k := range pt.From {
		for _, r := range pt.To[k] {
			w, b := bit(r, int32(k))
			*w |= b
		}
	}
	kept := len(moves)
	for i := len(moves) - 1; i >= 0; i-- {
		t := moves[i]
		if n.Mirrored {
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
func (s *synthesis) reduce(pt *network.Pattern, seed uint64, far, quick bool, stop func() bool) ([]model.Transfer, bool) {
	moves, ok := s.spread(s.backward, pt, seed, far, quick, stop)
	if !ok {
		return nil, false
	}
	end := solve.End(moves)
	slices.Reverse(moves)
	for i := range moves {
		t := &moves[i]
		t.Start, t.End = end-t.End, end-t.Start
		t.Op = model.Reduction
	}
	if !network.Everyone(s.p) {
		solve.CopyFirst(s.p, moves, func(t *model.Transfer) model.Time { return t.End })
	}
	return moves, true
}
