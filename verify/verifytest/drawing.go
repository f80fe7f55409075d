package verifytest

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// drawing makes a schedule: first which transfers there are, chunk by chunk, as an order of
// their reads and writes, then times that agree with it.
type drawing struct {
	*rand.Rand
	p      *model.Problem
	moves  []move
	events []event // in each chunk's order
	failed bool    // there is no way to where a chunk should go

	exchanges bool // two transfers read before either writes, which waits cannot express
	direct    bool // nothing is done that is of no use
	counts    []int
}

type move struct {
	chunk, src, dst int
	op              model.Op
	links           []int
}

type event struct {
	move  int
	write bool
}

// send adds a transfer that ends before what is added next begins. It reports whether there
// is a way.
func (d *drawing) send(chunk, src, dst int, op model.Op) bool {
	links := d.way(src, dst)
	if links == nil {
		return false
	}
	i := len(d.moves)
	d.moves = append(d.moves, move{chunk, src, dst, op, links})
	d.events = append(d.events, event{i, false}, event{i, true})
	return true
}

// must is send where there is no other way to go on.
func (d *drawing) must(chunk, src, dst int, op model.Op) {
	if !d.send(chunk, src, dst, op) {
		d.failed = true
	}
}

// exchange adds two transfers, each of which reads before the other writes.
func (d *drawing) exchange(chunk, u, v int) {
	d.exchanges = true
	i := len(d.moves)
	d.must(chunk, u, v, model.Reduction)
	d.must(chunk, v, u, model.Reduction)
	if !d.failed {
		d.events = append(d.events[:len(d.events)-4], event{i, false}, event{i + 1, false}, event{i, true}, event{i + 1, true})
	}
}

// way returns a random route that visits no node twice, over ranks too where the cost
// model allows it, or nil if it comes to none.
func (d *drawing) way(src, dst int) []int {
	t := d.p.Topology
	out := t.Out()
	visited := make([]bool, t.Nodes())
	var links []int
	var walk func(at int) bool
	walk = func(at int) bool {
		if at == dst {
			return true
		}
		visited[at] = true
		if at != src && at < t.Ranks && d.p.Cost == model.LinkRounds {
			return false
		}
		order := slices.Clone(out[at])
		d.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if d.direct || d.IntN(3) > 0 { // a short way, if there is one
			slices.SortStableFunc(order, func(a, b int) int {
				is := func(l int) int {
					if t.Links[l].Dst == dst {
						return 0
					}
					return 1
				}
				return is(a) - is(b)
			})
		}
		for _, l := range order {
			if v := t.Links[l].Dst; !visited[v] {
				links = append(links, l)
				if walk(v) {
					return true
				}
				links = links[:len(links)-1]
			}
		}
		return false
	}
	if walk(src) {
		return links
	}
	return nil
}

// rank returns a random rank, a member or not.
func (d *drawing) rank() int { return d.IntN(d.p.Topology.Ranks) }

// serve adds the transfers of one chunk of a standard collective.
func (d *drawing) serve(k int) {
	start, goal := Conditions(d.p)
	holders, wanted := map[int]bool{}, []int{}
	for r := range d.p.Topology.Ranks {
		if start[Slot{r, k}] != nil {
			holders[r] = true
		}
		if goal[Slot{r, k}] != nil {
			wanted = append(wanted, r)
		}
	}
	if d.p.Collective.Kind.Reduces() {
		if len(wanted) > 1 && (len(wanted) == 2 || len(wanted) == 4) && d.IntN(3) == 0 { // by exchanges
			d.Shuffle(len(wanted), func(i, j int) { wanted[i], wanted[j] = wanted[j], wanted[i] })
			for distance := 1; distance < len(wanted); distance *= 2 {
				for i, u := range wanted {
					if i&distance == 0 {
						d.exchange(k, u, wanted[i|distance])
					}
				}
			}
			return
		}
		root := wanted[d.IntN(len(wanted))]
		d.gather(k, root, holders)
		holders = map[int]bool{root: true}
	}
	d.spread(k, holders, wanted)
}

// gather adds reductions along a tree to a root, sometimes by way of an outsider.
func (d *drawing) gather(k, root int, holders map[int]bool) {
	held := map[int]bool{} // that hold anything of the chunk
	for r := range holders {
		held[r] = true
	}
	for tries := 0; len(holders) > 1; tries++ {
		var left []int
		for r := range d.p.Topology.Ranks {
			if holders[r] && r != root {
				left = append(left, r)
			}
		}
		u, v := left[d.IntN(len(left))], d.rank()
		switch {
		case tries > 200:
			d.failed = true
			return
		case v == u:
		case holders[v]:
			if d.send(k, u, v, model.Reduction) {
				delete(holders, u)
			}
		case !held[v] && d.IntN(4) == 0:
			if d.send(k, u, v, model.Copy) {
				delete(holders, u)
				holders[v], held[v] = true, true
			}
		}
	}
}

// spread adds copies until all ranks that want a chunk hold it.
func (d *drawing) spread(k int, holders map[int]bool, wanted []int) {
	for tries := 0; ; tries++ {
		var from, open []int
		for r := range d.p.Topology.Ranks {
			if holders[r] {
				from = append(from, r)
			} else if slices.Contains(wanted, r) {
				open = append(open, r)
			}
		}
		if len(open) == 0 {
			return
		}
		if tries > 200 {
			d.failed = true
			return
		}
		u, v := from[d.IntN(len(from))], open[d.IntN(len(open))]
		if !d.direct && d.IntN(5) == 0 || d.IntN(20) == 0 {
			v = d.rank()
		}
		if !holders[v] && d.send(k, u, v, model.Copy) {
			holders[v] = true
		}
	}
}

// custom replaces the collective by one whose conditions are what a random schedule does:
// random contributions, each any number of times, and whatever comes of random transfers.
func (d *drawing) custom() {
	p, n := d.p, d.p.Topology.Ranks
	members := p.Members()
	c := model.Collective{Kind: model.Custom, Op: p.Collective.Op, Group: p.Collective.Group, Chunks: 1 + d.IntN(3)}
	state := map[Slot]Counts{}
	for k := range c.Chunks {
		for len(c.Pre) == 0 || c.Pre[len(c.Pre)-1].Chunk < k {
			for _, r := range members {
				if d.IntN(2) == 0 {
					value := d.value(members)
					c.Pre = append(c.Pre, model.Condition{Rank: r, Chunk: k, Value: Multiset(value)})
					state[Slot{r, k}] = value
				}
			}
		}
		for range d.IntN(7) {
			u, v := d.rank(), d.rank()
			if u == v || state[Slot{u, k}] == nil {
				continue
			}
			op := model.Copy
			if state[Slot{v, k}] != nil && d.IntN(4) > 0 {
				op = model.Reduction
			}
			if !d.send(k, u, v, op) {
				continue
			}
			if op == model.Copy {
				state[Slot{v, k}] = state[Slot{u, k}]
			} else {
				state[Slot{v, k}] = plus(state[Slot{v, k}], state[Slot{u, k}])
			}
		}
	}
	for tries := 0; len(c.Post) == 0; tries++ {
		for k := range c.Chunks {
			for r := range n {
				if value := state[Slot{r, k}]; value != nil && slices.Contains(members, r) && d.IntN(3) > 0 {
					if c.Op.Idempotent() { // any positive number is as good
						again := Counts{}
						for j := range value {
							again[j] = 1 + d.IntN(3)
						}
						value = again
					}
					c.Post = append(c.Post, model.Condition{Rank: r, Chunk: k, Value: Multiset(value)})
				}
			}
		}
	}
	model.SortConditions(c.Pre)
	model.SortConditions(c.Post)
	p.Collective = c
	p.Size = 0
	p.Chunks = nil
	for range c.Chunks {
		size := 1 + d.Int64N(4)
		p.Chunks = append(p.Chunks, model.Chunk{Offset: p.Size, Size: size})
		p.Size += size
	}
}

// value returns some of the contributions of some ranks, each once or several times.
func (d *drawing) value(among []int) Counts {
	value := Counts{}
	for len(value) == 0 {
		for _, j := range among {
			if d.IntN(2) == 0 {
				value[j] = d.counts[d.IntN(len(d.counts))]
			}
		}
	}
	return value
}

// Multiset returns counts as a value of package model.
func Multiset(c Counts) model.Value {
	var terms []model.Term
	for j, n := range c {
		terms = append(terms, model.Term{Rank: j, Count: n})
	}
	return model.Multiset(terms...)
}

// mix merges the orders of the chunks at random, each of which stays as it is.
func (d *drawing) mix() {
	var queues [][]event
	for k := range d.p.Chunks {
		var own []event
		for _, e := range d.events {
			if d.moves[e.move].chunk == k {
				own = append(own, e)
			}
		}
		if len(own) > 0 {
			queues = append(queues, own)
		}
	}
	d.events = d.events[:0:0]
	for len(queues) > 0 {
		q := d.IntN(len(queues))
		d.events = append(d.events, queues[q][0])
		if queues[q] = queues[q][1:]; len(queues[q]) == 0 {
			queues = slices.Delete(queues, q, q+1)
		}
	}
}

// bare returns a schedule of the moves without times, in the order of their reads, and for
// each move its index in it.
func (d *drawing) bare(form model.Form) (s *model.Schedule, order []int) {
	s = &model.Schedule{Form: form}
	for _, e := range d.events {
		if e.write {
			continue
		}
		m := d.moves[e.move]
		route := slices.IndexFunc(s.Routes, func(r []int) bool { return slices.Equal(r, m.links) })
		if route < 0 {
			route = len(s.Routes)
			s.Routes = append(s.Routes, m.links)
		}
		s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(m.chunk), Src: int32(m.src), Dst: int32(m.dst), Route: int32(route), Op: m.op})
		order = append(order, e.move)
	}
	return s, order
}

// slot returns the slot that an event accesses.
func (d *drawing) slot(e event) Slot {
	m := d.moves[e.move]
	if e.write {
		return Slot{m.dst, m.chunk}
	}
	return Slot{m.src, m.chunk}
}

// conflicts calls with for each two events of different moves on one slot, in their order,
// one of them a write and not both reductions.
func (d *drawing) conflicts(with func(a, b event)) {
	for j, b := range d.events {
		for _, a := range d.events[:j] {
			if a.move == b.move || d.slot(a) != d.slot(b) || !a.write && !b.write {
				continue
			}
			if a.write && b.write && d.moves[a.move].op == model.Reduction && d.moves[b.move].op == model.Reduction {
				continue
			}
			with(a, b)
		}
	}
}

// order returns the moves as an Ordered schedule, with the waits that the conflicts need,
// most of those that follow from others left out, and a few that are not needed.
func (d *drawing) order() *model.Schedule {
	s, order := d.bare(model.Ordered)
	s.After = make([][]int32, len(order))
	at := make([]int32, len(order))
	for i, m := range order {
		at[m] = int32(i)
	}
	d.conflicts(func(a, b event) {
		if i, j := at[a.move], at[b.move]; i < j && !slices.Contains(s.After[j], i) {
			s.After[j] = append(s.After[j], i)
		}
	})
	for j := range s.After {
		for i := range j {
			if d.IntN(12) == 0 && !slices.Contains(s.After[j], int32(i)) {
				s.After[j] = append(s.After[j], int32(i))
			}
		}
	}
	before := closure(s)
	for j, list := range s.After {
		s.After[j] = slices.DeleteFunc(slices.Clone(list), func(i int32) bool {
			return d.IntN(4) > 0 && slices.ContainsFunc(list, func(k int32) bool { return before[i][k] })
		})
	}
	return s
}

// horizon is the latest start that place tries.
const horizon = 150

// place gives each move the earliest start, or one a little later, at which its order and
// the capacity of the network allow it.
func (d *drawing) place() (*model.Schedule, bool) {
	s, order := d.bare(model.FormFor(d.p.Cost))
	index := make([]int, len(order))
	for i, m := range order {
		index[m] = i
	}
	type constraint struct {
		a, b event
		i, j int // their transfers
	}
	by := make([][]constraint, len(order)) // by the later of the two transfers
	d.conflicts(func(a, b event) {
		i, j := index[a.move], index[b.move]
		by[max(i, j)] = append(by[max(i, j)], constraint{a, b, i, j})
	})
	x := &executor{p: d.p, s: &model.Schedule{Form: s.Form, Routes: s.Routes}}
	for n := range s.Transfers {
		t := &s.Transfers[n]
		w := passes(d.p, int(t.Src), s.Routes[t.Route], d.p.Chunks[t.Chunk].Size)
		x.ways = append(x.ways, w)
		lasts := w.duration
		if s.Form == model.InRounds {
			lasts = 1
		}
		x.s.Transfers = append(x.s.Transfers, *t)
		if s.Form == model.Timed {
			for _, r := range x.ranksOn(n) {
				t.Start = max(t.Start, x.release(r))
			}
		}
		if !d.direct && d.IntN(6) == 0 {
			t.Start += model.Time(d.IntN(5))
		}
		for ; ; t.Start++ {
			if t.Start > horizon {
				return nil, false
			}
			t.End = t.Start + lasts
			agrees := !slices.ContainsFunc(by[n], func(c constraint) bool {
				a, b := s.Transfers[c.i], s.Transfers[c.j]
				switch {
				case c.a.write && !c.b.write:
					return b.Start < a.End
				case !c.a.write:
					return b.End <= a.Start
				}
				return b.End <= a.End
			})
			if !agrees {
				continue
			}
			x.s.Transfers[n] = *t
			x.f = &Findings{Network: Codes{}}
			if x.capacity(); len(x.f.Network) == 0 {
				break
			}
		}
	}
	return s, true
}

// spread gives the ranks numbers among many more, which take no part, so that sets of them
// do not fit a word.
func spread(r *rand.Rand, p *model.Problem, s *model.Schedule) {
	old := p.Topology
	n := 60 + r.IntN(80)
	to := r.Perm(n)[:old.Ranks]
	node := func(v int) int {
		if v < old.Ranks {
			return to[v]
		}
		return v - old.Ranks + n
	}
	t := *old
	t.Ranks = n
	t.Links = slices.Clone(t.Links)
	for i, l := range t.Links {
		t.Links[i].Src, t.Links[i].Dst = node(l.Src), node(l.Dst)
	}
	p.Topology = &t
	c := &p.Collective
	members := c.Group
	if members == nil {
		for r := range old.Ranks {
			members = append(members, r)
		}
	}
	c.Group = nil
	for _, m := range members {
		c.Group = append(c.Group, to[m])
	}
	if c.Kind.Rooted() {
		c.Root = to[c.Root]
	}
	for _, list := range [][]model.Condition{c.Pre, c.Post} {
		for i, d := range list {
			counts := Counts{}
			for j, n := range d.Value.Terms() {
				counts[to[j]] = n
			}
			list[i].Rank, list[i].Value = to[d.Rank], Multiset(counts)
		}
		model.SortConditions(list)
	}
	if p.Release != nil {
		release := make([]model.Time, n)
		for i := range release {
			release[i] = model.Time(r.IntN(9))
		}
		for i, at := range p.Release {
			release[to[i]] = at
		}
		p.Release = release
	}
	for i := range s.Transfers {
		x := &s.Transfers[i]
		x.Src, x.Dst = int32(to[x.Src]), int32(to[x.Dst])
	}
}
