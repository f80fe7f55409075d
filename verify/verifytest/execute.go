// Package verifytest holds what tests of several verifiers need: a reference that
// decides about a schedule in the most literal way, and random problems with right and
// wrong schedules to decide about.
//
// The reference is written from verify/SPEC.md alone, of which it cites the sections.
// It shares nothing with the verifiers but the types of package model: it derives
// conditions, durations and spans itself, compares all pairs, and is quick only because
// what it is given is small.
package verifytest

import (
	"maps"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Codes is a set of kinds of violations.
type Codes map[verify.Code]bool

// Sorted returns the members in order.
func (c Codes) Sorted() []verify.Code { return slices.Sorted(maps.Keys(c)) }

// Findings is what is wrong with a schedule.
type Findings struct {
	Malformed bool           // sections 1 and 2; nothing else is decided then
	Network   Codes          // sections 3 and 4: routes, durations, arrivals, capacity
	Data      []Codes        // sections 5 and 6, by chunk
	Ends      map[Slot]Codes // of these section 6.3, by slot

	Makespan model.Time       // section 3.3; 0 for a schedule without times
	Rounds   []model.Interval // from when to when each round lasts in which something is moved

	Sums int // how many streams with several sources pass a link: section 4.3
}

// Right reports whether nothing is wrong.
func (f *Findings) Right() bool {
	return !f.Malformed && len(f.Network) == 0 && f.DataRight()
}

// DataRight reports whether nothing is wrong with what is moved, whatever network it is
// moved on.
func (f *Findings) DataRight() bool {
	return !f.Malformed && !slices.ContainsFunc(f.Data, func(c Codes) bool { return len(c) > 0 })
}

// All returns the codes of everything that is wrong.
func (f *Findings) All() Codes {
	all := maps.Clone(f.Network)
	if all == nil {
		all = Codes{}
	}
	if f.Malformed {
		all[verify.Malformed] = true
	}
	for _, c := range f.Data {
		maps.Copy(all, c)
	}
	return all
}

// Raced reports whether a race leaves open what some slot holds.
func (f *Findings) Raced() bool {
	all := f.All()
	return all[verify.ReadWriteRace] || all[verify.WriteWriteRace]
}

// Execute decides about s, a schedule for the valid problem p with chunks.
func Execute(p *model.Problem, s *model.Schedule) *Findings {
	f := &Findings{Network: Codes{}, Ends: map[Slot]Codes{}}
	if !wellFormed(p, s) {
		f.Malformed = true
		return f
	}
	x := &executor{p: p, s: s, f: f}
	for _, t := range s.Transfers {
		x.ways = append(x.ways, x.way(t))
	}
	x.times()
	if x.routes() { // what leads nowhere keeps nothing busy
		x.capacity()
	}
	x.makespan()
	x.data()
	return f
}

// wellFormed is section 2.
func wellFormed(p *model.Problem, s *model.Schedule) bool {
	switch s.Form {
	case model.Timed:
		if p.Cost != model.Blocking && p.Cost != model.Pipelined {
			return false
		}
	case model.InRounds:
		if p.Cost != model.Rounds && p.Cost != model.LinkRounds {
			return false
		}
	case model.Ordered:
		if len(s.After) != len(s.Transfers) {
			return false
		}
	default:
		return false
	}
	for _, route := range s.Routes {
		if len(route) == 0 {
			return false
		}
		for _, l := range route {
			if l < 0 || l >= len(p.Topology.Links) {
				return false
			}
		}
	}
	for _, t := range s.Transfers {
		rank := func(r int32) bool { return r >= 0 && int(r) < p.Topology.Ranks }
		if t.Chunk < 0 || int(t.Chunk) >= len(p.Chunks) || !rank(t.Src) || !rank(t.Dst) || t.Src == t.Dst ||
			t.Route < 0 || int(t.Route) >= len(s.Routes) || t.Op != model.Copy && t.Op != model.Reduction || t.Start < 0 {
			return false
		}
		switch {
		case s.Form == model.Timed && t.Start >= t.End,
			s.Form == model.InRounds && t.End != t.Start+1,
			s.Form == model.Ordered && (t.Start != 0 || t.End != 0):
			return false
		}
	}
	if s.Form != model.Ordered {
		return s.After == nil
	}
	for _, list := range s.After {
		for _, j := range list {
			if j < 0 || int(j) >= len(s.Transfers) {
				return false
			}
		}
	}
	before := closure(s)
	for i := range before {
		if before[i][i] {
			return false
		}
	}
	return true
}

// closure returns, for each pair of transfers of an Ordered schedule, whether a chain of
// waits leads from the second to the first: whether the first must have ended before the
// second starts.
func closure(s *model.Schedule) [][]bool {
	n := len(s.Transfers)
	before := make([][]bool, n)
	for i := range before {
		before[i] = make([]bool, n)
	}
	for i, list := range s.After {
		for _, j := range list {
			before[j][i] = true
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				if before[i][k] && before[k][j] {
					before[i][j] = true
				}
			}
		}
	}
	return before
}

// executor decides about one schedule.
type executor struct {
	p    *model.Problem
	s    *model.Schedule
	f    *Findings
	ways []way
}

// way is the route of one transfer, and what sections 3.2 and 4 make of it.
type way struct {
	links    []int
	nodes    []int // that it visits, the source first
	spans    []model.Interval
	duration model.Time
}

func (x *executor) way(t model.Transfer) way {
	return passes(x.p, int(t.Src), x.s.Routes[t.Route], x.p.Chunks[t.Chunk].Size)
}

// passes follows a route of links that each begin where the one before ends. Spans are
// counted from the start of the transfer.
func passes(p *model.Problem, src int, links []int, bytes int64) way {
	w := way{links: links, nodes: []int{src}}
	for _, l := range links {
		w.nodes = append(w.nodes, p.Topology.Links[l].Dst)
	}
	var hopStart model.Time
	for i := 0; i < len(links); {
		last := i // of the hop
		for last+1 < len(links) && p.Topology.Links[links[last]].Dst >= p.Topology.Ranks {
			last++
		}
		var beta, alphas model.Time
		for _, l := range links[i : last+1] {
			beta = max(beta, linkTime(bytes, p.Topology.Links[l].Bandwidth))
		}
		for _, l := range links[i : last+1] {
			busy := beta
			if p.Cost != model.Pipelined {
				busy += p.Topology.Links[l].Alpha
			}
			w.spans = append(w.spans, model.Interval{From: hopStart + alphas, To: hopStart + alphas + busy})
			alphas += p.Topology.Links[l].Alpha
		}
		hopStart += alphas + beta
		i = last + 1
	}
	w.duration = hopStart
	return w
}

// linkTime is β of section 1: ⌈bytes·10¹²/bandwidth⌉.
func linkTime(bytes, bandwidth int64) model.Time {
	n := new(big.Int).Mul(big.NewInt(bytes), big.NewInt(1e12))
	n.Add(n, big.NewInt(bandwidth-1))
	return model.Time(n.Div(n, big.NewInt(bandwidth)).Int64())
}

// Duration returns how long a chunk of that many bytes takes over a route that leaves a
// rank, by section 3.2.
func Duration(p *model.Problem, src int, links []int, bytes int64) model.Time {
	return passes(p, src, links, bytes).duration
}

// Spans returns from when to when it keeps each link of the route busy, counted from its
// start: section 4, for the cost models in which time is not counted in rounds.
func Spans(p *model.Problem, src int, links []int, bytes int64) []model.Interval {
	return passes(p, src, links, bytes).spans
}

// leads reports whether a route leads from a rank to another one: section 3.1.
func leads(p *model.Problem, src, dst int, links []int) bool {
	at, visited := src, map[int]bool{src: true}
	for i, l := range links {
		k := p.Topology.Links[l]
		if k.Src != at || visited[k.Dst] && p.Topology.Reduces(k.Dst) != model.SumsTurned || slices.Contains(links[:i], l) {
			return false
		}
		at = k.Dst
		visited[at] = true
		if p.Cost == model.LinkRounds && i+1 < len(links) && at < p.Topology.Ranks {
			return false
		}
	}
	return at == dst
}

func (x *executor) routes() bool {
	for i, t := range x.s.Transfers {
		if !leads(x.p, int(t.Src), int(t.Dst), x.ways[i].links) {
			x.f.Network[verify.NoSuchLink] = true
		}
	}
	return !x.f.Network[verify.NoSuchLink]
}

// ranksOn returns the ranks that a transfer passes, its ends among them.
func (x *executor) ranksOn(i int) (ranks []int) {
	for _, v := range x.ways[i].nodes {
		if v < x.p.Topology.Ranks {
			ranks = append(ranks, v)
		}
	}
	return ranks
}

func (x *executor) release(rank int) model.Time {
	if x.p.Release == nil {
		return 0
	}
	return x.p.Release[rank]
}

// times is sections 3.2 and 3.3.
func (x *executor) times() {
	if x.s.Form != model.Timed {
		return
	}
	for i, t := range x.s.Transfers {
		switch d := t.End - t.Start; {
		case d < x.ways[i].duration:
			x.f.Network[verify.TooFast] = true
		case d > x.ways[i].duration && !x.mayWait(i):
			x.f.Network[verify.TooSlow] = true
		}
		for _, r := range x.ranksOn(i) {
			if t.Start < x.release(r) {
				x.f.Network[verify.BeforeRelease] = true
			}
		}
	}
}

func (x *executor) makespan() {
	switch x.s.Form {
	case model.Timed:
		for _, t := range x.s.Transfers {
			x.f.Makespan = max(x.f.Makespan, t.End)
		}
	case model.InRounds:
		rounds := map[model.Time]bool{}
		for _, t := range x.s.Transfers {
			rounds[t.Start] = true
		}
		for _, round := range slices.Sorted(maps.Keys(rounds)) { // what is empty takes no time
			from, longest := x.f.Makespan, model.Time(0)
			for i, t := range x.s.Transfers {
				if t.Start == round {
					longest = max(longest, x.ways[i].duration)
					for _, r := range x.ranksOn(i) {
						from = max(from, x.release(r))
					}
				}
			}
			x.f.Makespan = from + longest
			x.f.Rounds = append(x.f.Rounds, model.Interval{From: from, To: x.f.Makespan})
		}
	}
}

// use is a span of time in which a transfer keeps a link busy.
type use struct {
	model.Interval
	transfer, place int // the place of the link on the transfer's route
}

// capacity is section 4.
func (x *executor) capacity() {
	if x.s.Form == model.Ordered {
		return
	}
	uses := make([][]use, len(x.p.Topology.Links))
	for i, t := range x.s.Transfers {
		for place, l := range x.ways[i].links {
			span := x.ways[i].spans[place]
			begin := t.Start
			if place == 1 && x.mayWait(i) {
				begin = t.End - x.ways[i].duration
			}
			span.From, span.To = span.From+begin, span.To+begin
			if x.s.Form == model.InRounds {
				span = model.Interval{From: t.Start, To: t.Start + 1}
			}
			uses[l] = append(uses[l], use{span, i, place})
		}
	}
	if slices.ContainsFunc(x.p.Topology.Switches, func(s model.Switch) bool { return s.Reduces != model.NoReducing }) {
		x.streams(uses)
		return
	}
	for _, list := range uses { // 4.1
		for n, a := range list {
			for _, b := range list[:n] {
				if a.From < b.To && b.From < a.To && !x.branches(a, b) {
					x.f.Network[verify.LinkOverlap] = true
				}
			}
		}
	}
	for _, port := range x.p.Topology.Ports { // 4.2
		x.port(uses, port.Links, port.Capacity)
	}
	if x.p.Cost == model.Rounds {
		for r := range x.p.Topology.Ranks {
			out, in := x.atRank(r)
			x.port(uses, out, 1)
			x.port(uses, in, 1)
		}
	}
}

// atRank returns the links that leave a rank, and those that enter it.
func (x *executor) atRank(r int) (out, in []int) {
	for l, k := range x.p.Topology.Links {
		if k.Src == r {
			out = append(out, l)
		}
		if k.Dst == r {
			in = append(in, l)
		}
	}
	return out, in
}

// branches reports whether two uses of a link are those of one multicast: 4.1.
func (x *executor) branches(a, b use) bool {
	s, t := x.s.Transfers[a.transfer], x.s.Transfers[b.transfer]
	if s.Chunk != t.Chunk || s.Src != t.Src || s.Start != t.Start || a.place != b.place {
		return false
	}
	r, q := x.ways[a.transfer].links, x.ways[b.transfer].links
	part := 0
	for part < len(r) && part < len(q) && r[part] == q[part] {
		part++
	}
	if part <= a.place || part == len(r) || part == len(q) {
		return false
	}
	at := x.p.Topology.Links[r[part]].Src
	return at >= x.p.Topology.Ranks && x.p.Topology.Switches[at-x.p.Topology.Ranks].Copies
}

// port counts, at each instant at which something begins, what uses the links of a port.
// Branches of a multicast on one link count once: of those in use at the instant only the
// first counts.
func (x *executor) port(uses [][]use, links []int, capacity int) {
	for _, l := range links {
		for _, at := range uses[l] {
			n := 0
			for _, m := range links {
				var now []use
				for _, u := range uses[m] {
					if u.From <= at.From && at.From < u.To && !slices.ContainsFunc(now, func(v use) bool { return x.branches(u, v) }) {
						now = append(now, u)
					}
				}
				n += len(now)
			}
			if n > capacity {
				x.f.Network[verify.PortOverload] = true
			}
		}
	}
}

// Counts tells how often each contribution is in a value.
type Counts map[int]int

// limit is above every count that a condition can have, and far from overflow.
const limit = 1 << 40

func plus(a, b Counts) Counts {
	sum := maps.Clone(a)
	for j, n := range b {
		sum[j] = min(sum[j]+n, limit)
	}
	return sum
}

// Slot is a rank's copy of a chunk.
type Slot struct{ Rank, Chunk int }

// Conditions returns what is in each slot at the start, and what must be there at the end;
// slots that are not named are undefined, or do not matter. It spells out what
// the comment of model.Collective has of each kind.
func Conditions(p *model.Problem) (start, goal map[Slot]Counts) {
	start, goal = map[Slot]Counts{}, map[Slot]Counts{}
	c := p.Collective
	counts := func(v model.Value) Counts {
		m := Counts{}
		for j, n := range v.Terms() {
			m[j] += n
		}
		return m
	}
	if c.Kind == model.Custom {
		for k, chunk := range p.Chunks {
			shard := k
			if c.Ends != nil {
				for shard = 0; chunk.Offset >= c.Ends[shard]; shard++ {
				}
			}
			for _, d := range c.Pre {
				if d.Chunk == shard {
					start[Slot{d.Rank, k}] = counts(d.Value)
				}
			}
			for _, d := range c.Post {
				if d.Chunk == shard {
					goal[Slot{d.Rank, k}] = counts(d.Value)
				}
			}
		}
		return start, goal
	}
	members := c.Group
	if members == nil {
		for r := range p.Topology.Ranks {
			members = append(members, r)
		}
	}
	all := Counts{}
	for _, r := range members {
		all[r] = 1
	}
	n := len(members)
	shards := map[model.Kind]int{model.Broadcast: 1, model.Reduce: 1, model.AllReduce: 1, model.AllToAll: n * n}[c.Kind]
	if shards == 0 {
		shards = n
	}
	space := p.Size
	if c.Kind == model.AllToAll {
		space *= int64(n)
	}
	for k, chunk := range p.Chunks {
		shard := 0
		for shard+1 < shards && chunk.Offset >= space*int64(shard+1)/int64(shards) {
			shard++
		}
		switch c.Kind {
		case model.Broadcast:
			start[Slot{c.Root, k}] = Counts{c.Root: 1}
			for _, r := range members {
				goal[Slot{r, k}] = Counts{c.Root: 1}
			}
		case model.Scatter:
			start[Slot{c.Root, k}] = Counts{c.Root: 1}
			goal[Slot{members[shard], k}] = Counts{c.Root: 1}
		case model.Gather:
			start[Slot{members[shard], k}] = Counts{members[shard]: 1}
			goal[Slot{c.Root, k}] = Counts{members[shard]: 1}
		case model.AllGather:
			start[Slot{members[shard], k}] = Counts{members[shard]: 1}
			for _, r := range members {
				goal[Slot{r, k}] = Counts{members[shard]: 1}
			}
		case model.AllToAll:
			from, to := members[shard/n], members[shard%n]
			start[Slot{from, k}] = Counts{from: 1}
			goal[Slot{to, k}] = Counts{from: 1}
		case model.Reduce, model.ReduceScatter, model.AllReduce:
			for _, r := range members {
				start[Slot{r, k}] = Counts{r: 1}
				if c.Kind == model.AllReduce || c.Kind == model.Reduce && r == c.Root || c.Kind == model.ReduceScatter && r == members[shard] {
					goal[Slot{r, k}] = all
				}
			}
		}
	}
	return start, goal
}

// data is sections 5 and 6. A transfer that reads what is undefined writes nothing; the
// schedule is refuted by then.
func (x *executor) data() {
	state, goal := Conditions(x.p)
	x.f.Data = make([]Codes, len(x.p.Chunks))
	for k := range x.f.Data {
		x.f.Data[k] = Codes{}
	}
	if x.s.Form == model.Ordered {
		x.ordered(state)
	} else {
		x.timed(state)
	}
	for slot, want := range goal { // 6.3
		codes, got := Codes{}, state[slot]
		op := x.p.Collective.Op
		for j := range x.p.Topology.Ranks {
			w, g := want[j], got[j]
			if op == model.Min || op == model.Max {
				w, g = min(w, 1), min(g, 1)
			}
			switch {
			case g < w:
				codes[verify.MissingContribution] = true
			case g > w && w > 0:
				codes[verify.DoubleContribution] = true
			case g > w:
				codes[verify.WrongValue] = true
			}
		}
		if len(codes) > 0 {
			x.f.Ends[slot] = codes
			maps.Copy(x.f.Data[slot.Chunk], codes)
		}
	}
}

func (x *executor) read(state map[Slot]Counts, i int) Counts {
	t := x.s.Transfers[i]
	value, defined := state[Slot{int(t.Src), int(t.Chunk)}]
	if !defined {
		x.f.Data[t.Chunk][verify.SendUndefined] = true
	}
	return value
}

func (x *executor) write(state map[Slot]Counts, i int, value Counts) {
	t := x.s.Transfers[i]
	to := Slot{int(t.Dst), int(t.Chunk)}
	old, defined := state[to]
	switch {
	case value == nil:
	case t.Op == model.Copy:
		state[to] = value
	case !defined:
		x.f.Data[t.Chunk][verify.ReduceUndefined] = true
	default:
		state[to] = plus(old, value)
	}
}

// timed is 5.1 and 5.2: at each instant all writes that end there, then all reads.
func (x *executor) timed(state map[Slot]Counts) {
	instants := map[model.Time]bool{}
	for _, t := range x.s.Transfers {
		instants[t.Start], instants[t.End] = true, true
	}
	read := map[int]Counts{}
	for _, now := range slices.Sorted(maps.Keys(instants)) {
		for i, t := range x.s.Transfers {
			if t.End != now {
				continue
			}
			for j, u := range x.s.Transfers[:i] {
				if u.End == now && u.Dst == t.Dst && u.Chunk == t.Chunk && (x.s.Transfers[j].Op == model.Copy || t.Op == model.Copy) {
					x.f.Data[t.Chunk][verify.WriteWriteRace] = true
				}
			}
			x.write(state, i, read[i])
		}
		for i, t := range x.s.Transfers {
			if t.Start == now {
				read[i] = x.read(state, i)
			}
		}
	}
}

// ordered is 5.3: every pair of accesses, then one execution.
func (x *executor) ordered(state map[Slot]Counts) {
	before := closure(x.s)
	for i, a := range x.s.Transfers {
		for j, b := range x.s.Transfers {
			if i == j || a.Chunk != b.Chunk || before[i][j] || before[j][i] {
				continue
			}
			if a.Src == b.Dst {
				x.f.Data[a.Chunk][verify.ReadWriteRace] = true
			}
			if a.Dst == b.Dst && (a.Op == model.Copy || b.Op == model.Copy) {
				x.f.Data[a.Chunk][verify.WriteWriteRace] = true
			}
		}
	}
	// One execution: first what waits for nothing, then in the order in which it becomes free.
	var order []int
	waits := make([]int, len(x.s.Transfers))
	for i, list := range x.s.After {
		if waits[i] = len(list); waits[i] == 0 {
			order = append(order, i)
		}
	}
	for n := 0; n < len(order); n++ {
		x.write(state, order[n], x.read(state, order[n]))
		for i, list := range x.s.After {
			for _, j := range list {
				if int(j) != order[n] {
					continue
				}
				if waits[i]--; waits[i] == 0 {
					order = append(order, i)
				}
			}
		}
	}
}
