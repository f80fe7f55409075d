package cert_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// brute finds optimal schedules of tiny problems by trying everything. It knows
// nothing of bounds: it executes the semantics instant by instant, or round by round,
// and keeps every state that can be reached.
//
// Values are sets of contributions, one bit each. Where an operator is not
// idempotent, a slot that contained a contribution twice could never help: whatever
// is made of it contains it twice, and nothing that the goal wants does. Such
// transfers are not tried.
type brute struct {
	p      *model.Problem
	t      *model.Topology
	moves  []move
	unit   bool // only copies are of use: every value is the same single contribution
	budget int  // states and choices that may still be looked at
}

// move is a transfer without its time.
type move struct {
	chunk, src, dst int
	op              model.Op
	route           []int
	duration        model.Time
	busy            []model.Interval
	release         model.Time // the arrival of the last rank on the route
}

func newBrute(p *model.Problem, budget int) *brute {
	b := &brute{p: p, t: p.Topology, budget: budget, unit: true}
	for k := range p.Chunks {
		var one model.Value
		same := func(v model.Value) {
			if one.Len() == 0 {
				one = v
			}
			if _, single := v.Single(); !single || !model.Identical(one, v) {
				b.unit = false
			}
		}
		for _, v := range p.Start(k) {
			same(v)
		}
		for _, v := range p.Goal(k) {
			same(v)
		}
	}
	for r := range b.t.Ranks {
		b.extend(r, nil, []int{r})
	}
	return b
}

// extend adds the moves over all simple paths that begin with route.
func (b *brute) extend(src int, route, visited []int) {
	at := visited[len(visited)-1]
	if len(route) > 0 && b.t.IsRank(at) {
		for k, c := range b.p.Chunks {
			for _, op := range []model.Op{model.Copy, model.Reduction} {
				if op == model.Reduction && b.unit {
					continue
				}
				m := move{chunk: k, src: src, dst: at, op: op, route: slices.Clone(route)}
				m.duration = b.t.Duration(route, c.Size)
				m.busy = b.t.Busy(b.p.Cost, route, c.Size, nil)
				m.release = b.p.ReleaseOf(src)
				for _, l := range route {
					if v := b.t.Links[l].Dst; b.t.IsRank(v) {
						m.release = max(m.release, b.p.ReleaseOf(v))
					}
				}
				b.moves = append(b.moves, m)
			}
		}
		if b.p.Cost == model.LinkRounds {
			return
		}
	}
	for i, l := range b.t.Links {
		if l.Src == at && !slices.Contains(visited, l.Dst) {
			b.extend(src, append(slices.Clone(route), i), append(slices.Clone(visited), l.Dst))
		}
	}
}

// state is what matters for the future.
type state struct {
	slots   []uint8 // by rank·chunks+chunk: set of contributions, 0 undefined
	flights []flight
	links   []uint64 // bit i: busy from i to i+1, counted from now
	came    *step    // how it was reached
}

type flight struct {
	end   model.Time
	move  int
	value uint8
}

// step is a chain of what was started when.
type step struct {
	before *step
	at     model.Time
	moves  []int
}

func (b *brute) key(s *state) string {
	var k []byte
	k = append(k, s.slots...)
	for _, f := range s.flights {
		k = fmt.Appendf(k, "|%d,%d,%d,%d,%d", f.end, b.moves[f.move].dst, b.moves[f.move].chunk, b.moves[f.move].op, f.value)
	}
	for _, l := range s.links {
		k = fmt.Appendf(k, "/%x", l)
	}
	return string(k)
}

func (b *brute) slot(rank, chunk int) int { return rank*len(b.p.Chunks) + chunk }

func (b *brute) initial() *state {
	s := &state{slots: make([]uint8, b.t.Ranks*len(b.p.Chunks)), links: make([]uint64, len(b.t.Links))}
	for k := range b.p.Chunks {
		for r, v := range b.p.Start(k) {
			s.slots[b.slot(r, k)] = set(v)
		}
	}
	return s
}

func set(v model.Value) (s uint8) {
	for c := range v.Terms() {
		s |= 1 << c
	}
	return s
}

func (b *brute) done(s *state) bool {
	for k := range b.p.Chunks {
		for r, v := range b.p.Goal(k) {
			if s.slots[b.slot(r, k)] != set(v) {
				return false
			}
		}
	}
	return true
}

// optimum returns the least makespan of any schedule, or ok false if that is beyond
// limit or the budget is used up; exhausted tells which.
func (b *brute) optimum(limit model.Time) (least model.Time, found *state, exhausted bool) {
	if b.p.Cost.Synchronous() {
		return b.byRounds(limit)
	}
	return b.byTime(limit)
}

func (b *brute) byTime(limit model.Time) (model.Time, *state, bool) {
	layer := []*state{b.initial()}
	for now := model.Time(0); now <= limit; now++ {
		next := map[string]*state{}
		for _, s := range layer {
			if !b.land(s, now) {
				continue
			}
			if len(s.flights) == 0 && b.done(s) {
				return now, s, false
			}
			b.start(s, now, limit, 0, nil, func(started []int, links []uint64) {
				n := &state{slots: s.slots, links: make([]uint64, len(links)), flights: slices.Clone(s.flights), came: s.came}
				if len(started) > 0 {
					n.came = &step{s.came, now, slices.Clone(started)}
				}
				for _, i := range started {
					m := &b.moves[i]
					n.flights = append(n.flights, flight{now + m.duration, i, s.slots[b.slot(m.src, m.chunk)]})
				}
				slices.SortFunc(n.flights, func(x, y flight) int {
					return cmp.Or(cmp.Compare(x.end, y.end), cmp.Compare(x.move, y.move), cmp.Compare(x.value, y.value))
				})
				for l := range links {
					n.links[l] = links[l] >> 1
				}
				n.slots = slices.Clone(n.slots)
				next[b.key(n)] = n
			})
			if b.budget <= 0 {
				return 0, nil, true
			}
		}
		layer = layer[:0]
		for _, key := range slices.Sorted(maps.Keys(next)) { // in the same order every time
			layer = append(layer, next[key])
		}
	}
	return 0, nil, false
}

// land executes the writes that end now. It returns false if that is a violation,
// or no use.
func (b *brute) land(s *state, now model.Time) bool {
	written := map[int]model.Op{}
	for len(s.flights) > 0 && s.flights[0].end == now {
		f := s.flights[0]
		s.flights = s.flights[1:]
		m := &b.moves[f.move]
		i := b.slot(m.dst, m.chunk)
		if op, twice := written[i]; twice && (op == model.Copy || m.op == model.Copy) {
			return false
		}
		written[i] = m.op
		if !b.write(s.slots, i, m.op, f.value) {
			return false
		}
	}
	return true
}

func (b *brute) write(slots []uint8, i int, op model.Op, value uint8) bool {
	if op == model.Copy {
		slots[i] = value
		return true
	}
	if slots[i] == 0 || slots[i]&value != 0 && !b.p.Collective.Op.Idempotent() {
		return false
	}
	slots[i] |= value
	return true
}

// start calls with for every set of moves from first on that can start now beside
// those of chosen.
func (b *brute) start(s *state, now, limit model.Time, first int, chosen []int, with func([]int, []uint64)) {
	if b.budget--; b.budget <= 0 {
		return
	}
	if links, ok := b.occupy(s.links, chosen); ok {
		with(chosen, links)
	} else {
		return
	}
	for i := first; i < len(b.moves); i++ {
		m := &b.moves[i]
		value := s.slots[b.slot(m.src, m.chunk)]
		if value == 0 || now < m.release || now+m.duration > limit {
			continue
		}
		if b.unit && (s.slots[b.slot(m.dst, m.chunk)] != 0 || b.coming(s, m, now)) {
			continue
		}
		b.start(s, now, limit, i+1, append(chosen, i), with)
	}
}

// coming reports whether the chunk is on its way to where m would bring it, and will be
// there no later.
func (b *brute) coming(s *state, m *move, now model.Time) bool {
	for _, f := range s.flights {
		if n := &b.moves[f.move]; n.dst == m.dst && n.chunk == m.chunk && f.end <= now+m.duration {
			return true
		}
	}
	return false
}

// occupy adds what the chosen moves occupy from now on, or returns false if they
// cannot go together.
func (b *brute) occupy(links []uint64, chosen []int) ([]uint64, bool) {
	all := slices.Clone(links)
	for n, i := range chosen {
		m := &b.moves[i]
		for h, l := range m.route {
			span := mask(m.busy[h])
			if links[l]&span != 0 {
				return nil, false
			}
			for _, o := range chosen[:n] {
				g := slices.Index(b.moves[o].route, l)
				if g >= 0 && mask(b.moves[o].busy[g])&span != 0 && !b.branches(&b.moves[o], m, g, h) {
					return nil, false
				}
			}
			all[l] |= span
		}
	}
	for _, p := range b.t.Ports {
		for i := range 64 {
			n := 0
			for _, l := range p.Links {
				n += int(all[l] >> i & 1)
			}
			if n > p.Capacity {
				return nil, false
			}
		}
	}
	return all, true
}

func mask(i model.Interval) uint64 {
	return (1<<uint(i.To) - 1) &^ (1<<uint(i.From) - 1)
}

// branches reports whether two moves that start together may share the link that is
// number g of the one's route and number h of the other's.
func (b *brute) branches(x, y *move, g, h int) bool {
	if x.chunk != y.chunk || x.src != y.src || g != h || !slices.Equal(x.route[:g+1], y.route[:g+1]) {
		return false
	}
	n := g + 1
	for n < len(x.route) && n < len(y.route) && x.route[n] == y.route[n] {
		n++
	}
	return n < len(x.route) && n < len(y.route) && b.t.Copies(b.t.Links[x.route[n]].Src)
}

// byRounds looks at states in order of the time at which they can be reached.
func (b *brute) byRounds(limit model.Time) (model.Time, *state, bool) {
	queue := map[string]*state{}
	reached := map[string]model.Time{}
	first := b.initial()
	queue[string(first.slots)], reached[string(first.slots)] = first, 0
	for len(queue) > 0 {
		var key string
		best := model.MaxTime
		for k := range queue {
			if reached[k] < best || reached[k] == best && k < key {
				key, best = k, reached[k]
			}
		}
		s := queue[key]
		delete(queue, key)
		if b.done(s) {
			return best, s, false
		}
		b.round(s, 0, nil, func(chosen []int) {
			slots := slices.Clone(s.slots)
			written := map[int]model.Op{}
			from, duration := best, model.Time(0)
			for _, i := range chosen {
				m := &b.moves[i]
				at := b.slot(m.dst, m.chunk)
				if op, twice := written[at]; twice && (op == model.Copy || m.op == model.Copy) {
					return
				}
				written[at] = m.op
				if !b.write(slots, at, m.op, s.slots[b.slot(m.src, m.chunk)]) {
					return
				}
				from, duration = max(from, m.release), max(duration, m.duration)
			}
			at := from + duration
			if at > limit {
				return
			}
			if old, known := reached[string(slots)]; !known || at < old {
				reached[string(slots)] = at
				queue[string(slots)] = &state{slots: slots, came: &step{s.came, 0, slices.Clone(chosen)}}
			}
		})
		if b.budget <= 0 {
			return 0, nil, true
		}
	}
	return 0, nil, false
}

// round calls with for every set of moves that go together in a round.
func (b *brute) round(s *state, first int, chosen []int, with func([]int)) {
	if b.budget--; b.budget <= 0 || !b.together(chosen) {
		return
	}
	with(chosen)
	for i := first; i < len(b.moves); i++ {
		m := &b.moves[i]
		if s.slots[b.slot(m.src, m.chunk)] == 0 || b.unit && s.slots[b.slot(m.dst, m.chunk)] != 0 {
			continue
		}
		b.round(s, i+1, append(chosen, i), with)
	}
}

func (b *brute) together(chosen []int) bool {
	used := uint64(0)
	for n, i := range chosen {
		m := &b.moves[i]
		for h, l := range m.route {
			for _, o := range chosen[:n] {
				if g := slices.Index(b.moves[o].route, l); g >= 0 && !b.branches(&b.moves[o], m, g, h) {
					return false
				}
			}
			used |= 1 << l
		}
	}
	count := func(links []int) (n int) {
		for _, l := range links {
			n += int(used >> l & 1)
		}
		return n
	}
	for _, p := range b.t.Ports {
		if count(p.Links) > p.Capacity {
			return false
		}
	}
	var sends, receives uint64
	for u := used; u != 0; u &= u - 1 {
		l := b.t.Links[bits.TrailingZeros64(u)]
		if b.p.Cost == model.LinkRounds {
			continue
		}
		if b.t.IsRank(l.Src) && sends>>l.Src&1 == 1 || b.t.IsRank(l.Dst) && receives>>l.Dst&1 == 1 {
			return false
		}
		sends |= 1 << l.Src
		receives |= 1 << l.Dst
	}
	return true
}

// schedule writes down how a state was reached.
func (b *brute) schedule(s *state) *model.Schedule {
	out := &model.Schedule{Form: model.FormFor(b.p.Cost)}
	for _, m := range b.moves {
		out.Routes = append(out.Routes, m.route)
	}
	var steps []*step
	for at := s.came; at != nil; at = at.before {
		steps = append(steps, at)
	}
	slices.Reverse(steps)
	for round, at := range steps {
		for _, i := range at.moves {
			m := &b.moves[i]
			t := model.Transfer{Chunk: int32(m.chunk), Src: int32(m.src), Dst: int32(m.dst), Route: int32(i), Op: m.op, Start: at.at, End: at.at + m.duration}
			if b.p.Cost.Synchronous() {
				t.Start, t.End = model.Time(round), model.Time(round+1)
			}
			out.Transfers = append(out.Transfers, t)
		}
	}
	return out
}
