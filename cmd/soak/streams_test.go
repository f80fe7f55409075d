package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/innetwork"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// tinyNet is a network of two to four ranks at a switch that adds, or at the leaves of a tree of
// such, with the links from each rank up to its top and down from there.
type tinyNet struct {
	*model.Topology
	up, down [][]int
	leaf     []int // of each rank
}

// drawTinyNet returns a network whose ranks may have links of unequal latency and rate, where
// SPEC 4.3 has no need of equal ones.
func drawTinyNet(r *rand.Rand) *tinyNet {
	n := &tinyNet{Topology: &model.Topology{Name: "tiny", Ranks: 2 + r.IntN(2)}}
	t := n.Topology
	alpha := func() model.Time { return model.Time(r.IntN(3)) }
	rate := func() int64 { return []int64{1e12, 1e12, 1e12, 5e11}[r.IntN(4)] }
	duplex := func(u, v int, up, down model.Time, to, back int64) {
		t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: up, Bandwidth: to}, model.Link{Src: v, Dst: u, Alpha: down, Bandwidth: back})
	}
	s := model.Switch{Name: "s", Copies: r.IntN(6) > 0, Reduces: model.SumsTurned, Sums: r.IntN(3)}
	same := r.IntN(2) == 0
	up, down, b := alpha(), alpha(), rate()
	end := func(v, at int) {
		switch {
		case s.Reduces == model.SumsRead:
			if !same {
				b = rate()
			}
			duplex(v, at, up, down, b, b)
		case same:
			duplex(v, at, up, down, b, b)
		default:
			duplex(v, at, alpha(), alpha(), rate(), rate())
		}
	}
	switch r.IntN(5) {
	case 0, 1:
		s.Reduces = model.SumsRead
	case 2: // a tree
		top := s
		top.Name = "top"
		t.Switches = []model.Switch{s, s, top}
		t.Switches[1].Name = "s1"
		for v := range t.Ranks {
			end(v, t.Ranks+v%2)
		}
		duplex(t.Ranks, t.Ranks+2, up, down, b, b)
		if !same {
			up, down, b = alpha(), alpha(), rate()
		}
		duplex(t.Ranks+1, t.Ranks+2, up, down, b, b)
		for v := range t.Ranks {
			leaf := 2*t.Ranks + 2*(v%2)
			n.up, n.down, n.leaf = append(n.up, []int{2 * v, leaf}), append(n.down, []int{leaf + 1, 2*v + 1}), append(n.leaf, v%2)
		}
		return n
	default:
		t.Ranks += r.IntN(2)
	}
	t.Switches = []model.Switch{s}
	for v := range t.Ranks {
		end(v, t.Ranks)
		n.up, n.down, n.leaf = append(n.up, []int{2 * v}), append(n.down, []int{2*v + 1}), append(n.leaf, v)
	}
	return n
}

// ways returns the routes from one rank to another: over the top, and around it.
func (n *tinyNet) ways(src, dst int) [][]int {
	all := [][]int{slices.Concat(n.up[src], n.down[dst])}
	if len(n.up[0]) == 2 && n.leaf[src] == n.leaf[dst] {
		all = append(all, []int{n.up[src][0], n.down[dst][1]})
	}
	return all
}

// part is a transfer of a stream, its times counted from the first start.
type part struct {
	model.Transfer
	links []int
}

// tinyStream is transfers that go together, or one.
type tinyStream struct {
	parts []part
	busy  []uint64 // by link
	lasts model.Time
	fixed map[int]model.Interval // by slot: when only the stream may write it
	turns bool                   // several sources, not read at the switch
}

// tinyStreams finds the shortest schedules of tiny problems on a tinyNet by trying all streams at
// every instant: those of all sets of ranks, where terms and branches wait for an instant
// or two at switches at which sums are read. It knows nothing of bounds. It leaves out: routes with ranks
// inside, streams to ranks that are about to send the chunk, copies to ranks that hold the same, and
// sums to such as hold a part of it when they start. What it finds is executed by its caller.
type tinyStreams struct {
	*search // goals and what values are worth
	net     *tinyNet
	all     []tinyStream
}

func newTinyStreams(p *model.Problem, n *tinyNet, budget int) *tinyStreams {
	s := &tinyStreams{search: &search{p: p, goals: map[int]value{}, first: make([]value, p.Topology.Ranks*len(p.Chunks)), budget: budget}, net: n}
	start, goal := verifytest.Conditions(p)
	pack := func(c verifytest.Counts) (v value) {
		for j, n := range c {
			v |= value(n) << (8 * j)
		}
		return v
	}
	for at, c := range start {
		s.first[s.slot(at.Rank, at.Chunk)] = pack(c)
	}
	for at, c := range goal {
		s.goals[s.slot(at.Rank, at.Chunk)] = pack(c)
	}
	defer func() {
		s.quick = slices.Repeat([]model.Time{1 << 40}, len(s.first))
		for _, x := range s.all {
			for _, t := range x.parts {
				at := s.slot(int(t.Dst), int(t.Chunk))
				s.quick[at] = min(s.quick[at], t.End-t.Start)
			}
		}
	}()
	for k := range p.Chunks {
		for sources := 1; sources < 1<<n.Ranks; sources++ {
			for dests := 1; dests < 1<<n.Ranks; dests++ {
				s.add(k, sources, dests)
			}
		}
	}
	return s
}

// add adds the streams of a chunk from each of some ranks to each of some, of every shape that
// is right by itself.
func (s *tinyStreams) add(k, sources, dests int) {
	var pairs [][2]int
	for a := range s.net.Ranks {
		for b := range s.net.Ranks {
			if a != b && sources>>a&1 == 1 && dests>>b&1 == 1 {
				pairs = append(pairs, [2]int{a, b})
			}
		}
	}
	if len(pairs) == 0 || len(pairs) == 1 && sources&(sources-1)+dests&(dests-1) != 0 {
		return // none, or no stream but one that is there with fewer ranks
	}
	reads := s.net.Reduces(s.net.Ranks) == model.SumsRead
	waits := 1
	if reads {
		for range pairs {
			waits *= s.waits()
		}
	}
	for _, op := range []model.Op{model.Copy, model.Reduction} {
		if op == model.Copy && sources&(sources-1) != 0 || op == model.Reduction && !s.p.Collective.Kind.Reduces() {
			continue
		}
		for around := range 2 {
			for wait := range waits {
				if x, ok := s.shape(k, pairs, op, around, wait, sources&(sources-1) != 0, dests&(dests-1) != 0); ok {
					s.all = append(s.all, x)
				}
			}
		}
	}
}

// waits returns how many instants a transfer can wait, and one.
func (s *tinyStreams) waits() int {
	if s.net.Ranks > 2 {
		return 2
	}
	return 3
}

// shape returns one stream, or ok false if there is none like that.
func (s *tinyStreams) shape(k int, pairs [][2]int, op model.Op, around, wait int, sum, casts bool) (x tinyStream, ok bool) {
	size := s.p.Chunks[k].Size
	reads := s.net.Reduces(s.net.Ranks) == model.SumsRead
	other := false
	longest := model.Time(0)
	var spans [][]model.Interval
	for _, pair := range pairs {
		ways := s.net.ways(pair[0], pair[1])
		links := ways[min(around, len(ways)-1)]
		other = other || around < len(ways)
		lasts := verifytest.Duration(s.p, pair[0], links, size) + model.Time(wait%s.waits())
		span := slices.Clone(verifytest.Spans(s.p, pair[0], links, size))
		if reads {
			span[1].From, span[1].To = span[1].From+model.Time(wait%s.waits()), span[1].To+model.Time(wait%s.waits())
		}
		wait /= s.waits()
		spans = append(spans, span)
		longest = max(longest, lasts)
		x.parts = append(x.parts, part{model.Transfer{Chunk: int32(k), Src: int32(pair[0]), Dst: int32(pair[1]), Op: op, End: lasts}, links})
	}
	if !other {
		return x, false
	}
	x.lasts = longest
	x.turns = sum && !reads
	x.busy = make([]uint64, len(s.net.Links))
	x.fixed = map[int]model.Interval{}
	mask := func(l int, from, to model.Time) bool {
		if from < 0 || to > 60 {
			return false
		}
		x.busy[l] |= (1<<to - 1) &^ (1<<from - 1)
		return true
	}
	schedule := &model.Schedule{Form: model.Timed}
	for i := range x.parts {
		t := &x.parts[i]
		if sum && !casts { // they end together
			t.Start, t.End = longest-t.End, longest
		}
		for n, l := range t.links {
			a := spans[i][n]
			if !mask(l, t.Start+a.From, t.Start+a.To) {
				return x, false
			}
		}
		up, down := s.net.Links[t.links[0]], s.net.Links[t.links[len(t.links)-1]]
		shift := up.Alpha // of the end of a span on a link to the switch and on that back
		if s.p.Cost == model.Blocking {
			shift = down.Alpha
		}
		switch at := spans[i][len(t.links)-1]; {
		case !reads:
		case sum && !mask(s.net.up[t.Dst][0], t.Start+at.From-up.Alpha, t.Start+at.To-shift):
			return x, false
		case casts:
			a := spans[i][0]
			if !mask(s.net.down[t.Src][0], t.Start+a.From+up.Alpha, t.Start+a.To+shift) {
				return x, false
			}
		}
		if sum {
			at := s.slot(int(t.Dst), k)
			x.fixed[at] = model.Interval{From: 0, To: longest}
		}
		if reads && casts {
			x.fixed[s.slot(int(t.Src), k)] = model.Interval{From: 0, To: longest}
		}
		t.Route = int32(len(schedule.Routes))
		schedule.Routes = append(schedule.Routes, t.links)
		schedule.Transfers = append(schedule.Transfers, t.Transfer)
	}
	q := *s.p
	q.Release = nil
	f := verifytest.Execute(&q, schedule)
	return x, !f.Malformed && len(f.Network) == 0
}

// going is a transfer under way, or to come.
type going struct {
	start, end model.Time
	src, slot  int
	op         model.Op
	stream     int // number of the stream among those under way
	value      value
}

// moment is what matters for the future.
type moment struct {
	slots []value
	going []going
	fixed []struct {
		model.Interval
		slot, stream int
	}
	busy []uint64
	came *trail
}

func (x *moment) key(now model.Time) string {
	var b []byte
	for _, v := range x.slots {
		b = binary.AppendUvarint(b, uint64(v))
	}
	for _, g := range x.going {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(g.start-now)), int64(g.end-now))
		b = append(b, byte(g.src), byte(g.slot), byte(g.op))
		b = binary.AppendUvarint(b, uint64(g.value))
	}
	b = append(b, 0xff)
	for _, f := range x.fixed {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(f.From-now)), int64(f.To-now))
		b = append(b, byte(f.slot))
	}
	for _, m := range x.busy {
		b = binary.AppendUvarint(b, m)
	}
	return string(b)
}

// pass executes what ends and starts now, and returns false if that is wrong or of no use.
func (s *tinyStreams) pass(x *moment, now model.Time) bool {
	last := map[int]model.Op{}
	var left []going
	for _, g := range x.going {
		if g.end != now {
			left = append(left, g)
			continue
		}
		op, twice := last[g.slot]
		if twice && (op == model.Copy || g.op == model.Copy) {
			return false
		}
		for _, f := range x.fixed {
			if f.slot == g.slot && f.stream != g.stream && f.From < now && now <= f.To {
				return false
			}
		}
		last[g.slot] = g.op
		v, ok := s.write(x.slots[g.slot], g.op, g.slot%len(s.p.Chunks), g.value)
		if !ok {
			return false
		}
		x.slots[g.slot] = v
	}
	x.going = left
	for i := range x.going {
		if g := &x.going[i]; g.start == now {
			g.value = x.slots[s.slot(g.src, g.slot%len(s.p.Chunks))]
			if g.value == 0 || !s.useful(g.slot%len(s.p.Chunks), g.value) {
				return false
			}
		}
	}
	x.fixed = slices.DeleteFunc(x.fixed, func(f struct {
		model.Interval
		slot, stream int
	}) bool {
		return f.To <= now
	})
	return true
}

// shortest returns a schedule of least makespan, or nil if there is none, and
// whether the budget was enough.
func (s *tinyStreams) shortest() (*model.Schedule, bool) {
	for s.limit = 1; s.limit <= tinyStreamLimit; s.limit++ {
		if found, decided := s.within(); found != nil || !decided {
			return found, decided
		}
	}
	return nil, true
}

// tinyStreamLimit is how long a schedule may be that is looked for, in picoseconds.
const tinyStreamLimit = 20

// within returns a schedule that takes no longer than the limit, as shortest does.
func (s *tinyStreams) within() (*model.Schedule, bool) {
	streams := 0
	arrived := model.Time(0)
	for _, at := range s.p.Release {
		arrived = max(arrived, at)
	}
	seen := map[string]bool{}
	layer := []*moment{{slots: s.first, busy: make([]uint64, len(s.net.Links))}}
	for now := model.Time(0); now <= s.limit; now++ {
		next := map[string]*moment{}
		for _, x := range layer {
			if !s.pass(x, now) {
				continue
			}
			if len(x.going) == 0 && s.done(x.slots) {
				return s.build(x.came), true
			}
			var choose func(first int, x *moment, chosen []int)
			choose = func(first int, x *moment, chosen []int) {
				if s.budget--; s.budget <= 0 {
					return
				}
				y := *x
				if len(chosen) > 0 {
					y.came = &trail{x.came, now, slices.Clone(chosen)}
				}
				y.busy = slices.Clone(x.busy)
				for l := range y.busy {
					y.busy[l] >>= 1
				}
				y.slots, y.going, y.fixed = slices.Clone(x.slots), slices.Clone(x.going), slices.Clone(x.fixed)
				slices.SortFunc(y.going, func(a, b going) int {
					return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.slot, b.slot), cmp.Compare(a.start, b.start), cmp.Compare(a.src, b.src), cmp.Compare(a.op, b.op), cmp.Compare(a.value, b.value))
				})
				var flights []flight
				for _, g := range y.going {
					flights = append(flights, flight{slot: g.slot})
				}
				if !s.late(y.slots, flights, now+1) {
					if key := y.key(now); !seen[key] {
						seen[key] = now >= arrived
						next[key] = &y
					}
				}
				for i := first; i < len(s.all); i++ {
					m := &s.all[i]
					if now+m.lasts > s.limit || !s.fits(x, m, now) {
						continue
					}
					streams++
					z := moment{slots: x.slots, busy: slices.Clone(x.busy), going: slices.Clone(x.going), fixed: slices.Clone(x.fixed), came: x.came}
					for l, b := range m.busy {
						z.busy[l] |= b
					}
					for _, t := range m.parts {
						g := going{now + t.Start, now + t.End, int(t.Src), s.slot(int(t.Dst), int(t.Chunk)), t.Op, streams, 0}
						if t.Start == 0 {
							g.value = x.slots[s.slot(g.src, int(t.Chunk))]
						}
						z.going = append(z.going, g)
					}
					for _, at := range slices.Sorted(maps.Keys(m.fixed)) {
						z.fixed = append(z.fixed, struct {
							model.Interval
							slot, stream int
						}{model.Interval{From: now + m.fixed[at].From, To: now + m.fixed[at].To}, at, streams})
					}
					choose(i+1, &z, append(slices.Clone(chosen), i))
				}
			}
			choose(0, x, nil)
			if s.budget <= 0 {
				return nil, false
			}
		}
		layer = layer[:0]
		for _, key := range slices.Sorted(maps.Keys(next)) {
			layer = append(layer, next[key])
		}
	}
	return nil, true
}

// fits reports whether a stream can start now.
func (s *tinyStreams) fits(x *moment, m *tinyStream, now model.Time) bool {
	for l, b := range m.busy {
		if x.busy[l]&b != 0 {
			return false
		}
	}
	for _, t := range m.parts {
		v := x.slots[s.slot(int(t.Src), int(t.Chunk))]
		if t.Start == 0 && (v == 0 || !s.useful(int(t.Chunk), v)) {
			return false
		}
		if old := x.slots[s.slot(int(t.Dst), int(t.Chunk))]; t.Op == model.Copy && old == v || t.Op == model.Reduction && t.Start == 0 && (old == 0 || !s.useful(int(t.Chunk), old+v)) {
			return false
		}
		if r := s.p.Release; r != nil && now+t.Start < max(r[t.Src], r[t.Dst]) {
			return false
		}
		if m.turns && slices.ContainsFunc(x.going, func(g going) bool {
			return g.src == int(t.Dst) && g.op == model.Reduction && g.slot%len(s.p.Chunks) == int(t.Chunk)
		}) {
			return false
		}
	}
	return true
}

// build returns the schedule that a trail lists.
func (s *tinyStreams) build(end *trail) *model.Schedule {
	out := &model.Schedule{Form: model.Timed}
	for x := end; x != nil; x = x.before {
		for _, i := range x.moves {
			for _, t := range s.all[i].parts {
				t.Start, t.End, t.Route = t.Start+x.at, t.End+x.at, int32(len(out.Routes))
				out.Routes, out.Transfers = append(out.Routes, t.links), append(out.Transfers, t.Transfer)
			}
		}
	}
	return out
}

// TestSoakStreams sets bounds against the least makespan by streams on tiny networks whose
// switches add and copy: none is above it, replay, smt and a naive execution agree about the
// schedule that has it, and in-network finds nothing below it.
func TestSoakStreams(t *testing.T) {
	soak(t, 60, map[string]float64{"least": 0.3, "sums": 0.1, "met by in-network": 0.02}, func(c *trial) error {
		n := drawTinyNet(c.Rand)
		kinds := []model.Kind{model.AllReduce, model.AllReduce, model.Reduce, model.ReduceScatter, model.AllGather, model.Broadcast}
		p := &model.Problem{Topology: n.Topology, Cost: []model.CostModel{model.Blocking, model.Pipelined}[c.IntN(2)]}
		p.Collective = model.Collective{Kind: kinds[c.IntN(len(kinds))]}
		if p.Collective.Kind.Rooted() {
			p.Collective.Root = c.IntN(n.Ranks)
		}
		p.Size = int64(p.Shards()) + c.Int64N(2)
		p.Release = verifytest.DrawRelease(c.Rand, n.Ranks)
		verifytest.DrawChunks(c.Rand, p, 1+c.IntN(2)/(n.Ranks-1))
		if p.Validate() != nil || len(p.Chunks) > 3 {
			c.count("not drawn")
			return nil
		}
		s := newTinyStreams(p, n, 20_000)
		found, decided := s.shortest()
		if found == nil {
			c.count(map[bool]string{true: "too long", false: "not decided"}[decided])
			return nil
		}
		f := verifytest.Execute(p, found)
		if !f.Right() {
			return fmt.Errorf("searched for, but %v\n%s", f.All().Sorted(), show(p, found))
		}
		c.count("least")
		c.count(p.Collective.Kind.String())
		if f.Sums > 0 {
			c.count("sums")
		}
		if err := agree(c, p, found); err != nil {
			return err
		}
		if err := below(c, p, found); err != nil {
			return err
		}
		got, err := innetwork.All()[0].Solve(context.Background(), p, solve.Options{})
		if err == nil && got.Schedule != nil {
			switch at := got.Makespan(); {
			case at < f.Makespan:
				return fmt.Errorf("in-network takes %v, less than the least, %v\n%s", at, f.Makespan, show(p, got.Schedule))
			case at == f.Makespan:
				c.count("met by in-network")
			}
		}
		return nil
	})
}
