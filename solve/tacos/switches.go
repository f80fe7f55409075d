package tacos

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/place"
)

const (
	// maxJoined limits the deliveries of schedules through switches, each of which is placed several
	// times.
	maxJoined = 1 << 18
	// maxCasts limits the transfers of a finer cut of an allreduce.
	maxCasts = 1 << 16
)

// throughSwitches makes the schedules of casting, with multicasts at switches that copy and sums at
// switches that add, and returns the best, or none where they do not help or do not reach: where
// ranks outside the group would have to add, too. It ends with ctx.
func throughSwitches(ctx context.Context, p *model.Problem, o solve.Options) (best solve.Result) {
	if !joinable(p) {
		return best
	}
	free := p.Chunks == nil && o.Chunks <= 0 && p.Collective.Kind == model.AllReduce
	for k, vain := max(1, o.Chunks), 0; vain < 2 && (!free || k <= maxPieces); k *= 2 {
		q := solve.Cut(p, k)
		if n := int64(len(q.Chunks)) * int64(p.Topology.Ranks); n > maxJoined || best.Schedule != nil && 2*n > maxCasts {
			break
		}
		s := newSwitched(ctx, q)
		if s == nil {
			break
		}
		vain++
		if t := s.best(); t != nil && (best.Schedule == nil || q.Makespan(t) < best.Makespan()-best.Makespan()/gain) {
			best, vain = solve.Result{Problem: q, Schedule: t, Stop: solve.Done, Note: s.String()}, 0
		}
		if !free || ctx.Err() != nil || int64(p.DefaultChunks(2*k)) > p.Space() {
			break
		}
	}
	return best
}

// joinable reports whether some switch adds or copies what p could have added or copied there.
func joinable(p *model.Problem) bool {
	sums := p.Collective.Kind.Reduces() || solve.SumsUp(p)
	if sums && !network.Everyone(p) {
		return false
	}
	for v := p.Topology.Ranks; v < p.Topology.Nodes(); v++ {
		if sums && p.Topology.Adds(v, &p.Collective) != model.NoReducing {
			return true
		}
		if p.Topology.Copies(v) && (!sums || p.Collective.Kind == model.AllReduce) {
			return p.Collective.Kind != model.AllToAll && p.Collective.Kind != model.Scatter && p.Collective.Kind != model.Gather
		}
	}
	return false
}

// switched is what all runs of casting on a problem with chunks share.
type switched struct {
	ctx      context.Context
	p        *model.Problem
	up, down *fans // of sums, of multicasts; nil: there are none
}

// newSwitched returns nil where there are too many ways.
func newSwitched(ctx context.Context, p *model.Problem) *switched {
	s := &switched{ctx: ctx, p: p}
	ok := true
	if sums := p.Collective.Kind.Reduces() || solve.SumsUp(p); sums {
		s.up, ok = newFans(p, true)
	}
	if ok && (s.up == nil || p.Collective.Kind == model.AllReduce) {
		s.down, ok = newFans(p, false)
	}
	if !ok {
		return nil
	}
	return s
}

// String names what there is.
func (s *switched) String() string {
	switch {
	case s.down == nil:
		return "sums at switches"
	case s.up == nil:
		return "multicasts at switches"
	}
	return "sums and multicasts at switches"
}

// patterns returns what is to be spread, or to be reduced along: for an allreduce there are two, with
// the chunks rooted at the members in turn, and all at one. Sums that switches turn round, to one
// rank, leave the links free that the multicasts from it need.
func (s *switched) patterns() []*network.Pattern {
	if s.up == nil {
		pt, err := network.Spreading(s.p)
		if err != nil {
			return nil
		}
		return []*network.Pattern{pt}
	}
	list := []*network.Pattern{network.Trees(s.p, 0)}
	if s.p.Collective.Kind == model.AllReduce && s.turns() {
		one := *list[0]
		one.From = slices.Repeat([][]int32{{int32(s.p.Members()[0])}}, len(one.From))
		list = append(list, &one)
	}
	return list
}

// turns reports whether some switch turns sums round.
func (s *switched) turns() bool {
	for v := range s.p.Topology.Nodes() {
		if s.p.Topology.Adds(v, &s.p.Collective) == model.SumsTurned {
			return true
		}
	}
	return false
}

// best returns the shortest schedule of some runs, or nil.
func (s *switched) best() (best *model.Schedule) {
	for _, pt := range s.patterns() {
		for _, patient := range []bool{true, false} {
			up, upWaited, ok := s.run(s.up, pt, patient)
			if !ok {
				continue
			}
			down, downWaited, ok := s.run(s.down, pt, patient)
			if !ok {
				continue
			}
			slices.Reverse(up)
			if t := s.levelled(up, down); t != nil && (best == nil || s.p.Makespan(t) < s.p.Makespan(best)) {
				best = t
			}
			if !upWaited && !downWaited {
				break
			}
		}
	}
	return best
}

// levelled places sums, and then multicasts, in the best of some numbers of levels: ever more, until
// that makes the schedule much longer.
func (s *switched) levelled(up, down []cast) (best *model.Schedule) {
	most := 1
	if len(up) > 0 && len(down) > 0 {
		most = len(s.p.Chunks)
	}
	for levels := 1; ; levels = min(2*levels, most) {
		t := s.place(up, down, levels)
		if t == nil {
			return best
		}
		makespan := s.p.Makespan(t)
		if best == nil || makespan < s.p.Makespan(best) {
			best = t
		}
		if least := s.p.Makespan(best); levels == most || makespan > least+least/8 {
			return best
		}
	}
}

// run returns the transfers of a pattern on some ways, in the order of their starts, of none if there
// are no ways, and reports whether any waited for more ranks, and whether it came to an end.
func (s *switched) run(f *fans, pt *network.Pattern, patient bool) (casts []cast, waited, ok bool) {
	if f == nil {
		return nil, false, true
	}
	c := newCasting(f, s.p, pt, patient)
	ok = c.run(func() bool { return s.ctx.Err() != nil })
	return slices.DeleteFunc(c.casts, func(x cast) bool { return len(x.to) == 0 }), c.waited, ok
}

// place gives sums, and then multicasts, their times, or returns nil if it is stopped. Chunks are dealt out to levels in the
// order in which they are reduced: what is of a level goes before what is of the next.
func (s *switched) place(up, down []cast, levels int) *model.Schedule {
	type batch struct {
		level int
		moves []place.Move
	}
	reduced := slices.Repeat([]int{-1}, len(s.p.Chunks)) // by chunk: its place among them
	count := 0
	for i := len(up) - 1; i >= 0; i-- {
		if k := up[i].chunk; reduced[k] < 0 {
			reduced[k] = count
			count++
		}
	}
	level := func(x *cast) int {
		if len(up) == 0 {
			return 0
		}
		return (count - 1 - reduced[x.chunk]) * levels / count
	}
	var batches []batch
	for i := range up {
		batches = append(batches, batch{level(&up[i]), up[i].moves(model.Reduction)})
	}
	for i := range down {
		batches = append(batches, batch{level(&down[i]), down[i].moves(model.Copy)})
	}
	slices.SortStableFunc(batches, func(a, b batch) int { return cmp.Compare(a.level, b.level) })
	g := place.NewProgram(s.p).Until(s.ctx)
	for _, b := range batches {
		g.Batch(b.moves...)
	}
	t, err := g.PlaceInOrder()
	if err != nil {
		return nil
	}
	return t
}

// moves returns a transfer of casting as what is to be placed at one time: read from its end if it
// is a sum.
func (x *cast) moves(op model.Op) []place.Move {
	var list []place.Move
	for _, b := range x.to {
		m := place.Move{Chunk: int(x.chunk), Src: int(x.from), Dst: int(b.to), Op: op}
		route := slices.Clone(b.links)
		if op == model.Reduction {
			m.Src, m.Dst = m.Dst, m.Src
			slices.Reverse(route)
		}
		m.Routes = [][]int{route}
		if len(x.to) > 1 {
			m.Stream = 1
		}
		list = append(list, m)
	}
	return list
}
