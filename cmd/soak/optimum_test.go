package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// search finds the best schedules of tiny problems by trying everything, instant by instant
// or round by round, and keeping every state that can be reached. It knows nothing of
// bounds. What it leaves out cannot help:
//
//   - a value that no goal of its chunk contains, which stays so whatever is added to it;
//   - where every value of a chunk is the same at the start and at the end, a transfer to a
//     rank that has the chunk, or gets it no later;
//   - a state in which a slot lacks what it must hold and no transfer to it can end in time.
//
// What it finds is a schedule, which its caller has executed: nothing need be believed.
type search struct {
	p      *model.Problem
	moves  []tinyMove
	goals  map[int]value // by slot
	first  []value       // by slot
	plain  []bool        // by chunk: only copies are of use
	quick  []model.Time  // by slot: how long the shortest transfer to it takes
	limit  model.Time    // later ends are not looked for
	budget int           // sets of moves that may still be looked at
}

// value holds how often each rank's contribution is in it, in eight bits each. 0 is
// undefined.
type value uint64

// tinyMove is a transfer without its time.
type tinyMove struct {
	chunk, src, dst int
	op              model.Op
	links           []int
	spans           []uint64 // by link: bit i is set if it is busy from i to i+1, from the start
	lasts           model.Time
	release         model.Time // when the last rank on the way arrives
}

// tinyLimit is how long a schedule may be that is looked for at first, in picoseconds, and
// tinyMoves how many different transfers a problem may have.
const (
	tinyLimit = 40
	tinyMoves = 150
)

// newSearch returns false for what is not tiny.
func newSearch(p *model.Problem, budget int) (*search, bool) {
	s := &search{p: p, limit: tinyLimit, goals: map[int]value{}, first: make([]value, p.Topology.Ranks*len(p.Chunks)), plain: slices.Repeat([]bool{true}, len(p.Chunks)), budget: budget}
	if p.Topology.Ranks > 8 {
		return nil, false
	}
	start, goal := verifytest.Conditions(p)
	for _, conditions := range []map[verifytest.Slot]verifytest.Counts{start, goal} {
		for _, c := range conditions {
			for _, n := range c {
				if n > 100 {
					return nil, false
				}
			}
		}
	}
	one := make([]value, len(p.Chunks))
	pack := func(at verifytest.Slot, c verifytest.Counts) (v value) {
		for j, n := range c {
			if s.idempotent() {
				n = 1
			}
			v |= value(n) << (8 * j)
		}
		if one[at.Chunk] == 0 {
			one[at.Chunk] = v
		}
		s.plain[at.Chunk] = s.plain[at.Chunk] && one[at.Chunk] == v
		return v
	}
	for at, c := range start {
		s.first[s.slot(at.Rank, at.Chunk)] = pack(at, c)
	}
	for at, c := range goal {
		s.goals[s.slot(at.Rank, at.Chunk)] = pack(at, c)
	}
	for r := range p.Topology.Ranks {
		if !s.extend(r, nil, []int{r}) {
			return nil, false
		}
	}
	s.quick = slices.Repeat([]model.Time{1 << 40}, len(s.first))
	for _, m := range s.moves {
		at := s.slot(m.dst, m.chunk)
		s.quick[at] = min(s.quick[at], m.lasts)
	}
	return s, true
}

func (s *search) idempotent() bool {
	return s.p.Collective.Op == model.Min || s.p.Collective.Op == model.Max
}

func (s *search) slot(rank, chunk int) int { return rank*len(s.p.Chunks) + chunk }

// extend adds the moves over all routes that begin with some links.
func (s *search) extend(src int, links, visited []int) bool {
	t := s.p.Topology
	at := visited[len(visited)-1]
	if len(links) > 0 && at < t.Ranks {
		for k, c := range s.p.Chunks {
			for _, op := range []model.Op{model.Copy, model.Reduction} {
				if op == model.Reduction && s.plain[k] {
					continue
				}
				m := tinyMove{chunk: k, src: src, dst: at, op: op, links: slices.Clone(links), lasts: verifytest.Duration(s.p, src, links, c.Size)}
				for _, v := range visited {
					if v < t.Ranks && s.p.Release != nil {
						m.release = max(m.release, s.p.Release[v])
					}
				}
				for _, span := range verifytest.Spans(s.p, src, links, c.Size) {
					if span.To > 60 {
						return false
					}
					m.spans = append(m.spans, (1<<span.To-1)&^(1<<span.From-1))
				}
				if s.moves = append(s.moves, m); len(s.moves) > tinyMoves {
					return false
				}
			}
		}
		if s.p.Cost == model.LinkRounds {
			return true
		}
	}
	for l, k := range t.Links {
		if k.Src == at && !slices.Contains(visited, k.Dst) && !s.extend(src, append(slices.Clone(links), l), append(slices.Clone(visited), k.Dst)) {
			return false
		}
	}
	return true
}

// useful reports whether a goal of the chunk contains v.
func (s *search) useful(chunk int, v value) bool {
	for at, g := range s.goals {
		if at%len(s.p.Chunks) != chunk {
			continue
		}
		fits := true
		for j := 0; j < 64; j += 8 {
			fits = fits && v>>j&0xff <= g>>j&0xff
		}
		if fits {
			return true
		}
	}
	return false
}

// write returns what a slot holds after a write, or false if that is wrong, or of no use.
func (s *search) write(old value, op model.Op, chunk int, v value) (value, bool) {
	switch {
	case op == model.Copy:
		return v, true
	case old == 0:
		return 0, false
	case s.idempotent():
		v |= old
	default:
		v += old
	}
	return v, s.useful(chunk, v)
}

func (s *search) done(slots []value) bool {
	for at, g := range s.goals {
		if slots[at] != g {
			return false
		}
	}
	return true
}

// branches reports whether two moves that start together may share a link, the one at a
// place on both routes.
func (s *search) branches(a, b *tinyMove, place int) bool {
	if a.chunk != b.chunk || a.src != b.src || place >= len(a.links) || place >= len(b.links) {
		return false
	}
	for n := range min(len(a.links), len(b.links)) {
		if a.links[n] != b.links[n] {
			at := s.p.Topology.Links[a.links[n]].Src
			return n > place && at >= s.p.Topology.Ranks && s.p.Topology.Switches[at-s.p.Topology.Ranks].Copies
		}
	}
	return false
}

// trail lists what starts when, from the last to the first.
type trail struct {
	before *trail
	at     model.Time
	moves  []int
}

// flight is a transfer under way.
type flight struct {
	end   model.Time
	slot  int
	op    model.Op
	value value
}

// state is what matters for the future.
type state struct {
	slots   []value
	flights []flight // by end
	busy    []uint64 // by link: bit i is set if it is busy from i to i+1, counted from the state's time
	came    *trail
}

func (x *state) key(now model.Time) string {
	var b []byte
	for _, v := range x.slots {
		b = binary.AppendUvarint(b, uint64(v))
	}
	for _, f := range x.flights {
		b = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, uint64(f.end-now)), uint64(f.slot)), uint64(f.op)), uint64(f.value))
	}
	b = append(b, 0xff)
	for _, m := range x.busy {
		b = binary.AppendUvarint(b, m)
	}
	return string(b)
}

// late reports whether some slot cannot hold what it must in time, where nothing new starts
// before now.
func (s *search) late(slots []value, flights []flight, now model.Time) bool {
	for at, g := range s.goals {
		if slots[at] != g && now+s.quick[at] > s.limit && !slices.ContainsFunc(flights, func(f flight) bool { return f.slot == at }) {
			return true
		}
	}
	return false
}

// best returns a schedule of least makespan, or nil if there is none within the limit. It
// returns false if the budget is used up.
func (s *search) best() (*model.Schedule, bool) {
	if s.p.Cost.Synchronous() {
		return s.bestRounds()
	}
	arrived := model.Time(0)
	for _, at := range s.p.Release {
		arrived = max(arrived, at)
	}
	layer := []*state{{slots: s.first, busy: make([]uint64, len(s.p.Topology.Links))}}
	seen := map[string]bool{} // since all ranks are there; what was possible before is no better later
	for now := model.Time(0); now <= s.limit; now++ {
		next := map[string]*state{}
		for _, x := range layer {
			if !s.land(x, now) {
				continue
			}
			if len(x.flights) == 0 && s.done(x.slots) {
				return s.schedule(x.came), true
			}
			s.start(x, now, 0, nil, x.busy, func(chosen []int, busy []uint64) {
				y := &state{slots: slices.Clone(x.slots), flights: slices.Clone(x.flights), busy: make([]uint64, len(busy)), came: x.came}
				if len(chosen) > 0 {
					y.came = &trail{x.came, now, slices.Clone(chosen)}
				}
				for _, i := range chosen {
					m := &s.moves[i]
					y.flights = append(y.flights, flight{now + m.lasts, s.slot(m.dst, m.chunk), m.op, x.slots[s.slot(m.src, m.chunk)]})
				}
				slices.SortFunc(y.flights, func(a, b flight) int {
					return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.slot, b.slot), cmp.Compare(a.op, b.op), cmp.Compare(a.value, b.value))
				})
				if s.late(y.slots, y.flights, now+1) {
					return
				}
				for l, m := range busy {
					y.busy[l] = m >> 1
				}
				key := y.key(now + 1)
				if now >= arrived {
					if seen[key] {
						return
					}
					seen[key] = true
				}
				next[key] = y
			})
			if s.budget <= 0 {
				return nil, false
			}
		}
		if len(next) == 0 {
			return nil, true
		}
		layer = layer[:0]
		for _, key := range slices.Sorted(maps.Keys(next)) { // the same order every time
			layer = append(layer, next[key])
		}
	}
	return nil, true
}

// land executes the writes that end now.
func (s *search) land(x *state, now model.Time) bool {
	last := map[int]model.Op{}
	for len(x.flights) > 0 && x.flights[0].end == now {
		f := x.flights[0]
		x.flights = x.flights[1:]
		if op, twice := last[f.slot]; twice && (op == model.Copy || f.op == model.Copy) {
			return false
		}
		last[f.slot] = f.op
		v, ok := s.write(x.slots[f.slot], f.op, f.slot%len(s.p.Chunks), f.value)
		if !ok {
			return false
		}
		x.slots[f.slot] = v
	}
	return true
}

// start calls with for every set of moves, those chosen and others from number first on,
// that can start together now.
func (s *search) start(x *state, now model.Time, first int, chosen []int, busy []uint64, with func(chosen []int, busy []uint64)) {
	if s.budget--; s.budget <= 0 {
		return
	}
	with(chosen, busy)
	for i := first; i < len(s.moves); i++ {
		m := &s.moves[i]
		v := x.slots[s.slot(m.src, m.chunk)]
		if v == 0 || now < m.release || now+m.lasts > s.limit || !s.useful(m.chunk, v) || s.plain[m.chunk] && s.comes(x, m, now) {
			continue
		}
		if more, ok := s.occupy(x.busy, busy, chosen, m); ok {
			s.start(x, now, i+1, append(chosen, i), more, with)
		}
	}
}

// comes reports whether the destination of m has the chunk by the time that m would end.
func (s *search) comes(x *state, m *tinyMove, now model.Time) bool {
	at := s.slot(m.dst, m.chunk)
	return x.slots[at] != 0 || slices.ContainsFunc(x.flights, func(f flight) bool { return f.slot == at && f.end <= now+m.lasts })
}

// occupy adds what m occupies, or returns false if it cannot go with those chosen. before is
// what is busy without these.
func (s *search) occupy(before, busy []uint64, chosen []int, m *tinyMove) ([]uint64, bool) {
	more := slices.Clone(busy)
	for place, l := range m.links {
		if before[l]&m.spans[place] != 0 {
			return nil, false
		}
		if busy[l]&m.spans[place] != 0 {
			for _, j := range chosen {
				o := &s.moves[j]
				if g := slices.Index(o.links, l); g >= 0 && o.spans[g]&m.spans[place] != 0 && !(g == place && s.branches(o, m, place)) {
					return nil, false
				}
			}
		}
		more[l] |= m.spans[place]
	}
	for _, port := range s.p.Topology.Ports {
		for i := range 64 {
			n := 0
			for _, l := range port.Links {
				n += int(more[l] >> i & 1)
			}
			if n > port.Capacity {
				return nil, false
			}
		}
	}
	return more, true
}

// rounds calls with for every set of moves that go together in a round that begins with some
// slots, and with what the slots hold after it.
func (s *search) rounds(slots []value, with func(chosen []int, slots []value)) {
	var choose func(first int, chosen []int)
	choose = func(first int, chosen []int) {
		if s.budget--; s.budget <= 0 {
			return
		}
		if len(chosen) > 0 {
			if after, ok := s.round(slots, chosen); ok {
				with(chosen, after)
			}
		}
		for i := first; i < len(s.moves); i++ {
			m := &s.moves[i]
			v := slots[s.slot(m.src, m.chunk)]
			if v == 0 || !s.useful(m.chunk, v) || s.plain[m.chunk] && slots[s.slot(m.dst, m.chunk)] != 0 || !s.together(chosen, m) {
				continue
			}
			choose(i+1, append(chosen, i))
		}
	}
	choose(0, nil)
}

// round returns what slots hold after a round.
func (s *search) round(slots []value, chosen []int) ([]value, bool) {
	after := slices.Clone(slots)
	last := map[int]model.Op{}
	for _, i := range chosen {
		m := &s.moves[i]
		at := s.slot(m.dst, m.chunk)
		if op, twice := last[at]; twice && (op == model.Copy || m.op == model.Copy || s.plain[m.chunk]) {
			return nil, false
		}
		last[at] = m.op
		v, ok := s.write(after[at], m.op, m.chunk, slots[s.slot(m.src, m.chunk)])
		if !ok {
			return nil, false
		}
		after[at] = v
	}
	return after, true
}

// together reports whether m can go with those chosen in one round.
func (s *search) together(chosen []int, m *tinyMove) bool {
	used := map[int]bool{} // links, each by one transfer or by the branches of one
	for _, j := range chosen {
		for _, l := range s.moves[j].links {
			used[l] = true
		}
	}
	for place, l := range m.links {
		for _, j := range chosen {
			o := &s.moves[j]
			if g := slices.Index(o.links, l); g >= 0 && !(g == place && s.branches(o, m, place)) {
				return false
			}
		}
		used[l] = true
	}
	count := func(of func(l int) bool) (n int) {
		for l := range used {
			if of(l) {
				n++
			}
		}
		return n
	}
	for _, port := range s.p.Topology.Ports {
		if count(func(l int) bool { return slices.Contains(port.Links, l) }) > port.Capacity {
			return false
		}
	}
	if s.p.Cost == model.Rounds {
		for r := range s.p.Topology.Ranks {
			if count(func(l int) bool { return s.p.Topology.Links[l].Src == r }) > 1 || count(func(l int) bool { return s.p.Topology.Links[l].Dst == r }) > 1 {
				return false
			}
		}
	}
	return true
}

func slotsKey(slots []value) string {
	var b []byte
	for _, v := range slots {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return string(b)
}

// bestRounds looks at what slots can hold in order of the time at which they can hold it.
func (s *search) bestRounds() (*model.Schedule, bool) {
	type node struct {
		slots []value
		came  *trail
		at    model.Time
	}
	queue := map[string]*node{slotsKey(s.first): {slots: s.first}}
	reached := map[string]model.Time{slotsKey(s.first): 0}
	for len(queue) > 0 {
		var x *node
		var key string
		for k, y := range queue {
			if x == nil || y.at < x.at || y.at == x.at && k < key {
				key, x = k, y
			}
		}
		delete(queue, key)
		if s.done(x.slots) {
			return s.schedule(x.came), true
		}
		s.rounds(x.slots, func(chosen []int, slots []value) {
			from, lasts := x.at, model.Time(0)
			for _, i := range chosen {
				from, lasts = max(from, s.moves[i].release), max(lasts, s.moves[i].lasts)
			}
			at, k := from+lasts, slotsKey(slots)
			if old, known := reached[k]; at <= s.limit && !s.late(slots, nil, at) && (!known || at < old) {
				reached[k] = at
				queue[k] = &node{slots, &trail{x.came, 0, slices.Clone(chosen)}, at}
			}
		})
		if s.budget <= 0 {
			return nil, false
		}
	}
	return nil, true
}

// fewest returns a schedule of the fewest rounds, of those whose rounds fall into at most
// steps steps (0: any number), or nil if there is none with at most most rounds. A step is a
// run of rounds that reads nothing that is written in it. It returns false if the budget is
// used up.
func (s *search) fewest(steps, most int) (*model.Schedule, bool) {
	type node struct {
		slots   []value
		written []bool // in this step, by slot
		steps   int
		came    *trail
	}
	layer := []*node{{slots: s.first, written: make([]bool, len(s.first)), steps: 1}}
	seen := map[string]bool{}
	for n := 0; n <= most; n++ {
		var next []*node
		for _, x := range layer {
			if s.done(x.slots) {
				return s.schedule(x.came), true
			}
			s.rounds(x.slots, func(chosen []int, slots []value) {
				reads := slices.ContainsFunc(chosen, func(i int) bool { return x.written[s.slot(s.moves[i].src, s.moves[i].chunk)] })
				for _, begins := range []bool{false, true} { // whether the round begins a step
					y := &node{slots, make([]bool, len(slots)), x.steps, &trail{x.came, 0, slices.Clone(chosen)}}
					switch {
					case steps == 0 && begins, steps > 0 && reads && !begins:
						continue
					case begins:
						y.steps++
					case steps > 0:
						copy(y.written, x.written)
					}
					if steps > 0 {
						if y.steps > steps {
							continue
						}
						for _, i := range chosen {
							y.written[s.slot(s.moves[i].dst, s.moves[i].chunk)] = true
						}
					}
					if k := fmt.Sprint(slotsKey(y.slots), y.written, y.steps); !seen[k] {
						seen[k] = true
						next = append(next, y)
					}
				}
			})
			if s.budget <= 0 {
				return nil, false
			}
		}
		layer = next
	}
	return nil, true
}

// schedule returns what a trail lists.
func (s *search) schedule(end *trail) *model.Schedule {
	out := &model.Schedule{Form: model.FormFor(s.p.Cost)}
	for _, m := range s.moves {
		out.Routes = append(out.Routes, m.links)
	}
	var list []*trail
	for x := end; x != nil; x = x.before {
		list = append(list, x)
	}
	slices.Reverse(list)
	for round, x := range list {
		for _, i := range x.moves {
			m := &s.moves[i]
			t := model.Transfer{Chunk: int32(m.chunk), Src: int32(m.src), Dst: int32(m.dst), Route: int32(i), Op: m.op, Start: x.at, End: x.at + m.lasts}
			if out.Form == model.InRounds {
				t.Start, t.End = model.Time(round), model.Time(round+1)
			}
			out.Transfers = append(out.Transfers, t)
		}
	}
	return out
}

// reached is what is known of a problem's schedules.
type reached struct {
	best    *model.Schedule    // right; nil if none is known
	least   model.Time         // its makespan
	optimal bool               // none ends earlier
	rounds  [][]model.Interval // of all right schedules in rounds that were met
}

// optimum returns the best right schedule that it finds: the optimum, if a search ends within
// its budget, and else the best of some random ones and of one that is known, unless that is
// nil.
func optimum(r *rand.Rand, p *model.Problem, known *model.Schedule, budget int) (*reached, error) {
	x := &reached{}
	take := func(s *model.Schedule) error {
		f := verifytest.Execute(p, s)
		if !f.Right() {
			return fmt.Errorf("drawn or searched for, but wrong: %v\n%s", f.All().Sorted(), show(p, s))
		}
		if x.best == nil || f.Makespan < x.least {
			x.best, x.least = s, f.Makespan
		}
		if s.Form == model.InRounds {
			x.rounds = append(x.rounds, f.Rounds)
		}
		return nil
	}
	if known != nil {
		if err := take(known); err != nil {
			return nil, err
		}
	}
	attempts := func(n int) error {
		for range n {
			if s, ok := verifytest.Attempt(r, p); ok {
				if err := take(s); err != nil {
					return err
				}
			}
		}
		return nil
	}
	standard := p.Collective.Kind != model.Custom
	if standard {
		if err := attempts(12); err != nil {
			return nil, err
		}
	}
	s, tiny := newSearch(p, budget)
	if !tiny {
		if standard && x.best != nil {
			return x, attempts(40)
		}
		return x, nil
	}
	if x.best != nil {
		s.limit = min(s.limit, x.least-1)
	}
	found, decided := s.best()
	if found != nil {
		if err := take(found); err != nil {
			return nil, err
		}
	}
	x.optimal = decided && x.best != nil
	if p.Cost.Synchronous() {
		s.limit, s.budget = tinyLimit, budget
		if found, _ := s.fewest(0, 6); found != nil {
			if err := take(found); err != nil {
				return nil, err
			}
		}
	}
	return x, nil
}

// drawTiny returns a problem that is small enough to try everything: 2 to 4 ranks, switches
// that copy or do not, ports, parallel links, several late ranks, 1 to 3 chunks of a byte or
// two, a collective among some ranks, or conditions of its own with counts. For some of
// these it returns a schedule.
func drawTiny(r *rand.Rand) (*model.Problem, *model.Schedule) {
	for {
		p := &model.Problem{Cost: model.CostModel(1 + r.IntN(4))}
		p.Topology = drawTinyTopology(r, r.IntN(8) == 0 || p.Cost == model.Rounds && r.IntN(2) == 0)
		n := p.Topology.Ranks
		if r.IntN(3) == 0 {
			p.Release = make([]model.Time, n)
			for i := range p.Release {
				if r.IntN(3) > 0 {
					p.Release[i] = model.Time(r.IntN(6))
				}
			}
		}
		var known *model.Schedule
		if r.IntN(5) == 0 {
			p.Collective.Op = model.Operator(r.IntN(4))
			if r.IntN(2) == 0 {
				drawConditions(r, p)
			} else if s, ok := verifytest.Custom(r, p, []int{1, 1, 1, 2, 3}); ok {
				known = s
			} else {
				continue
			}
		} else {
			p.Collective = verifytest.DrawCollective(r, n)
			p.Size = int64(p.Shards()) + r.Int64N(4)
			if p.Collective.Kind == model.AllToAll {
				p.Size = int64(len(p.Members()))
			}
			if r.IntN(4) == 0 && p.Validate() == nil { // shards of sizes of their own
				p = verifytest.Spelled(p, func() int64 { return 1 + r.Int64N(3) })
			}
			verifytest.DrawChunks(r, p, 1+r.IntN(3))
		}
		if p.Validate() == nil && len(p.Chunks) <= 6 {
			return p, known
		}
	}
}

// drawTinyTopology returns a network with few links, or, if it is to be full, with one from
// each rank to each other.
func drawTinyTopology(r *rand.Rand, full bool) *model.Topology {
	t := &model.Topology{Name: "tiny", Ranks: 2 + r.IntN(3)}
	link := func(u, v int) {
		if u != v {
			t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(r.IntN(3)), Bandwidth: []int64{1e12, 1e12, 5e11, 4e11, 2e12}[r.IntN(5)]})
		}
	}
	copies := r.IntN(2) == 0
	for i := range []int{0, 0, 1, 1, 2}[r.IntN(5)] {
		t.Switches = append(t.Switches, model.Switch{Name: fmt.Sprint(i), Copies: copies})
	}
	switch {
	case full: // all alike
		t.Switches = nil
		link(0, 1)
		for u := range t.Ranks {
			for v := range t.Ranks {
				if k := t.Links[0]; u != v && u+v > 1 || u == 1 && v == 0 {
					k.Src, k.Dst = u, v
					t.Links = append(t.Links, k)
				}
			}
		}
		return t
	case len(t.Switches) == 1 && r.IntN(2) == 0:
		for u := range t.Ranks {
			link(u, t.Ranks)
			link(t.Ranks, u)
		}
	default:
		order := r.Perm(t.Nodes())
		for i, u := range order {
			if r.IntN(8) > 0 { // or else there may be no way
				link(u, order[(i+1)%len(order)])
			}
			if r.IntN(2) == 0 {
				link(order[(i+1)%len(order)], u)
			}
		}
	}
	for range r.IntN(3) {
		link(r.IntN(t.Nodes()), r.IntN(t.Nodes()))
	}
	for len(t.Links) > 0 && r.IntN(3) == 0 { // one like another
		t.Links = append(t.Links, t.Links[r.IntN(len(t.Links))])
	}
	for range r.IntN(3) {
		v := r.IntN(t.Nodes())
		links := slices.Clone([][]int{t.Out()[v], t.In()[v]}[r.IntN(2)])
		r.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
		if len(links) > 0 {
			t.Ports = append(t.Ports, model.Port{Links: links[:1+r.IntN(len(links))], Capacity: 1 + r.IntN(2)})
		}
	}
	return t
}

// drawConditions gives p a custom collective of one or two chunks.
func drawConditions(r *rand.Rand, p *model.Problem) {
	n := p.Topology.Ranks
	c := model.Collective{Kind: model.Custom, Op: p.Collective.Op, Chunks: 1 + r.IntN(2)}
	same := r.IntN(3) == 0 // one contribution, which some ranks have and others want
	counts := func(among []int) verifytest.Counts {
		v := verifytest.Counts{}
		if same {
			return verifytest.Counts{0: 1}
		}
		for len(v) == 0 {
			for _, j := range among {
				if r.IntN(2) == 0 {
					v[j] = []int{1, 1, 1, 2, 3}[r.IntN(5)]
				}
			}
		}
		return v
	}
	for k := range c.Chunks {
		var there []int
		for a := range n {
			if r.IntN(2) == 0 {
				v := verifytest.Counts{a: 1}
				if same || r.IntN(4) == 0 {
					v = counts(r.Perm(n))
				}
				for j := range v {
					there = append(there, j)
				}
				c.Pre = append(c.Pre, model.Condition{Rank: a, Chunk: k, Value: verifytest.Multiset(v)})
			}
		}
		slices.Sort(there)
		there = slices.Compact(there)
		for a := range n {
			if len(there) > 0 && r.IntN(2) == 0 {
				c.Post = append(c.Post, model.Condition{Rank: a, Chunk: k, Value: verifytest.Multiset(counts(there))})
			}
		}
	}
	p.Collective = c
	for range c.Chunks {
		size := 1 + r.Int64N(2)
		p.Chunks = append(p.Chunks, model.Chunk{Offset: p.Size, Size: size})
		p.Size += size
	}
}
