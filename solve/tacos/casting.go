package tacos

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/events"
	"github.com/oraccl/oraccl/solve/network"
)

// casting is the greedy where switches copy: time goes from event to event, and a link that leaves
// a rank and is free is given a chunk that other ranks lack. All of those that it can reach by way
// of switches that copy, and whose links are free, get it by the same transfer, a multicast. What is under way
// to a rank may be overtaken by what is there sooner, and is then left out. Run on a topology that is
// turned round, it makes sums at switches that add, read from their end (verify/SPEC.md, 4.3).
//
// Its times only decide what goes where, and in which order: a link is busy from the start of a
// transfer on. Package place gives the transfers their times, and keeps all rules.
type casting struct {
	fans    *fans
	p       *model.Problem
	patient bool // a multicast waits until it reaches all ranks that it could reach, and leaves those out that others reach sooner

	now      model.Time
	free     []model.Time // by link
	have     [][]int32    // by rank: the chunks that others lack, in the order in which they came
	state    []delivery   // by chunk and rank
	lack     []int32      // by chunk: ranks that it must still come to
	copies   []int32      // by chunk: ranks that have it, or will
	left     int          // arrivals that are still to come
	order    []int32      // the ranks, those first that have sent the least
	sent     []int        // by rank: how many transfers
	waited   bool         // patience made a difference
	events   events.Queue // of index into arrivals; -1: links are free
	arrivals []arrival
	casts    []cast
	chosen   [3][]int32 // scratch: lists of branches
}

// delivery is what is known of a chunk at a rank that wants it.
type delivery struct {
	wanted bool       // and not there yet
	at     model.Time // when it is there
	by     int32      // index into arrivals
}

type arrival struct{ chunk, to, cast int32 }

// cast is a transfer of a chunk from a rank over one of its links to one or more others.
type cast struct {
	chunk, from int32
	to          []*branch
}

// newCasting returns the greedy for a pattern.
func newCasting(f *fans, p *model.Problem, pt *network.Pattern, patient bool) *casting {
	ranks := p.Topology.Ranks
	c := &casting{
		fans: f, p: p, patient: patient, free: make([]model.Time, len(f.t.Links)), have: make([][]int32, ranks),
		state: make([]delivery, len(p.Chunks)*ranks), lack: make([]int32, len(p.Chunks)), copies: make([]int32, len(p.Chunks)), sent: make([]int, ranks),
	}
	for u := range ranks {
		c.order = append(c.order, int32(u))
	}
	for k := range p.Chunks {
		row := c.state[k*ranks:][:ranks]
		for v := range row {
			row[v] = delivery{false, model.MaxTime, -1}
		}
		for _, v := range pt.Goals(k, ranks) {
			row[v] = delivery{true, model.MaxTime, -1}
		}
		for _, v := range pt.From[k] {
			row[v] = delivery{false, 0, -1}
			c.have[v] = append(c.have[v], int32(k))
			c.copies[k]++
		}
		for _, d := range row {
			if d.wanted {
				c.lack[k]++
				c.left++
			}
		}
	}
	return c
}

// run goes on until all is where it must be, and reports whether it came to that.
func (c *casting) run(stop func() bool) bool {
	for c.left > 0 {
		slices.SortFunc(c.order, func(u, v int32) int { return cmp.Or(cmp.Compare(c.sent[u], c.sent[v]), cmp.Compare(u, v)) })
		for _, u := range c.order {
			if stop() {
				return false
			}
			c.serve(u)
		}
		next := c.events.Next()
		if next == model.MaxTime {
			return false
		}
		for c.now = next; c.events.Next() == next; {
			if i := c.events.Take().ID; i >= 0 {
				c.arrive(i)
			}
		}
	}
	return true
}

func (c *casting) delivery(k, v int32) *delivery {
	return &c.state[int(k)*c.p.Topology.Ranks+int(v)]
}

// arrive notes that a chunk is at its rank, except where it was overtaken.
func (c *casting) arrive(i int32) {
	a := c.arrivals[i]
	if d := c.delivery(a.chunk, a.to); d.by == i {
		d.wanted = false
		c.lack[a.chunk]--
		c.left--
		c.have[a.to] = append(c.have[a.to], a.chunk)
	}
}

// looked is of how many chunks that it can carry a link takes the best.
const looked = 32

// serve gives the links of a rank that are free something to carry: what goes to the most ranks, of
// equals the rarest, and then what came first.
func (c *casting) serve(u int32) {
	c.have[u] = slices.DeleteFunc(c.have[u], func(k int32) bool { return c.lack[k] == 0 })
	for i := range c.fans.of[u] {
		f := &c.fans.of[u][i]
		if c.free[f.link] > c.now {
			continue
		}
		best := int32(-1)
		chosen := c.chosen[2][:0]
		left := looked
		for _, k := range c.have[u] {
			c.chosen[0] = c.reach(f, k, true, c.chosen[0][:0])
			n := len(c.chosen[0])
			if n == 0 {
				continue
			}
			if left--; left < 0 {
				break
			}
			if best >= 0 && cmp.Or(cmp.Compare(n, len(chosen)), cmp.Compare(c.copies[best], c.copies[k])) <= 0 {
				continue
			}
			if c.patient {
				if c.chosen[1] = c.reach(f, k, false, c.chosen[1][:0]); len(c.chosen[1]) > n {
					c.waited = true
					continue
				}
			}
			best, chosen = k, append(chosen[:0], c.chosen[0]...)
		}
		c.chosen[2] = chosen
		if best >= 0 {
			c.start(u, f, best, chosen)
		}
	}
}

// reach appends the branches of a fan on which a chunk can go now, together: to ranks that would have
// it later without, over links that are free or, if that is not asked for, over any.
func (c *casting) reach(f *fan, k int32, free bool, list []int32) []int32 {
	c.fans.clear()
	size := c.p.Chunks[k].Size
	for i := range f.branches {
		b := &f.branches[i]
		d := c.delivery(k, b.to)
		if !d.wanted || d.at <= c.now+b.lasts(c.p, size) {
			continue
		}
		if c.patient && c.nearer(k, b) {
			c.waited = true
			continue
		}
		if free && slices.ContainsFunc(b.links, func(l int) bool { return c.free[l] > c.now }) {
			continue
		}
		if c.fans.joins(b, len(list) == 0) {
			list = append(list, int32(i))
		}
	}
	return list
}

// nearer reports whether a chunk is or will be at a rank from which a much quicker way leads to the
// end of a branch.
func (c *casting) nearer(k int32, b *branch) bool {
	to := c.fans.near[b.to]
	if b.usual/slow <= c.fans.least[b.to] {
		return false
	}
	for x, lasts := range to {
		if lasts < b.usual/slow && c.delivery(k, int32(x)).at < model.MaxTime {
			return true
		}
	}
	return false
}

// start lets a chunk start now on branches of a fan.
func (c *casting) start(u int32, f *fan, k int32, branches []int32) {
	x := cast{chunk: k, from: u}
	size := c.p.Chunks[k].Size
	busy := model.Time(0)
	for _, i := range branches {
		b := &f.branches[i]
		busy = max(busy, b.busy(c.p, size))
		d := c.delivery(k, b.to)
		if d.by >= 0 { // it comes sooner than what is under way
			late := &c.casts[c.arrivals[d.by].cast]
			late.to = slices.DeleteFunc(late.to, func(o *branch) bool { return o.to == b.to })
		} else {
			c.copies[k]++
		}
		d.at, d.by = c.now.Add(b.lasts(c.p, size)), int32(len(c.arrivals))
		c.arrivals = append(c.arrivals, arrival{k, b.to, int32(len(c.casts))})
		c.events.Add(events.Event{At: d.at, ID: d.by})
		x.to = append(x.to, b)
	}
	until := c.now.Add(busy)
	for _, b := range x.to {
		for _, l := range b.links {
			c.free[l] = until
		}
	}
	if f.own >= 0 && len(x.to) > 1 {
		c.free[f.own] = max(c.free[f.own], c.now).Add(busy)
	}
	c.events.Add(events.Event{At: until, ID: -1})
	c.casts = append(c.casts, x)
	c.sent[u]++
}

// fans are the ways that chunks can take from each rank to others, over switches alone.
type fans struct {
	t     *model.Topology // turned round, for sums
	of    [][]fan         // by rank
	parts []bool          // by node: a switch at which the ways of a multicast may part
	reads []bool          // by node: a switch where only ways of two links part
	near  [][]model.Time  // by rank, and rank from which chunks come: how long they are under way at least
	least []model.Time    // by rank: the least of these
	into  []int           // by node: 1 + the link by which a multicast reaches it
	met   []int           // the nodes that it reaches
}

// fan is the ways that begin with one link: to each rank that it leads to the shortest.
type fan struct {
	link     int
	own      int // the link on which a rank that writes to several writes to itself; -1: none
	branches []branch
}

type branch struct {
	to    int32
	links []int
	alpha model.Time
	usual model.Time // how long the largest chunk is under way
	most  model.Time // the largest latency of its links
	rate  int64
}

// lasts returns how long a chunk is under way on a branch.
func (b *branch) lasts(p *model.Problem, size int64) model.Time {
	if p.Cost.Synchronous() {
		return 1
	}
	return b.alpha.Add(model.TransferTime(size, b.rate))
}

// busy returns for how long at most it keeps a link busy.
func (b *branch) busy(p *model.Problem, size int64) model.Time {
	switch {
	case p.Cost.Synchronous():
		return 1
	case p.Cost == model.Blocking:
		return b.most.Add(model.TransferTime(size, b.rate))
	}
	return max(1, model.TransferTime(size, b.rate))
}

// maxFans limits the ranks squared times the links that leave one.
const maxFans = 1 << 18

// newFans returns the ways on p's topology or, if sums is set, on the same turned round, with the
// same numbers of links, and false if there may be too many.
func newFans(p *model.Problem, sums bool) (*fans, bool) {
	t := p.Topology
	if sums {
		t = t.Reversed()
	}
	out := t.Out()
	for u := range t.Ranks {
		if t.Ranks*t.Ranks*len(out[u]) > maxFans {
			return nil, false
		}
	}
	f := &fans{t: t, of: make([][]fan, t.Ranks), parts: make([]bool, t.Nodes()), reads: make([]bool, t.Nodes()), into: make([]int, t.Nodes()), near: make([][]model.Time, t.Ranks), least: slices.Repeat([]model.Time{model.MaxTime}, t.Ranks)}
	for v := range f.near {
		f.near[v] = slices.Repeat([]model.Time{model.MaxTime}, t.Ranks)
	}
	for v := t.Ranks; v < t.Nodes(); v++ {
		f.parts[v], f.reads[v] = p.Topology.Copies(v), p.Topology.Reduces(v) == model.SumsRead
		if sums {
			f.parts[v] = p.Topology.Adds(v, &p.Collective) != model.NoReducing
		}
	}
	for u := range t.Ranks {
		for _, l := range out[u] {
			f.of[u] = append(f.of[u], f.from(out, u, l))
		}
		f.quick(p, u)
	}
	return f, true
}

// from returns the fan of a link that leaves a rank, by a search in breadth; where several links lead
// on, each rank begins with another.
func (f *fans) from(out [][]int, u, link int) fan {
	x := fan{link: link, own: -1}
	t := f.t
	last := map[int]int{t.Links[link].Dst: link} // by node: the link to it
	for queue := []int{t.Links[link].Dst}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		if v < t.Ranks {
			b := branch{to: int32(v), rate: math.MaxInt64}
			for w := v; w != u; w = t.Links[last[w]].Src {
				l := t.Links[last[w]]
				b.links = append(b.links, last[w])
				b.alpha, b.most, b.rate = b.alpha.Add(l.Alpha), max(b.most, l.Alpha), min(b.rate, l.Bandwidth)
			}
			slices.Reverse(b.links)
			x.branches = append(x.branches, b)
			continue
		}
		for i := range out[v] {
			l := out[v][(i+u)%len(out[v])]
			w := t.Links[l].Dst
			if w == u {
				if f.reads[v] && t.Links[link].Dst == v {
					x.own = l
				}
				continue
			}
			if _, known := last[w]; !known {
				last[w] = l
				queue = append(queue, w)
			}
		}
	}
	return x
}

// slow is how many times as long as the quickest a way to a rank may take.
const slow = 2

// quick leaves out the slow ways from a rank, and puts quick ones first: as the largest chunk has it.
func (f *fans) quick(p *model.Problem, u int) {
	size := int64(1)
	for _, c := range p.Chunks {
		size = max(size, c.Size)
	}
	for _, x := range f.of[u] {
		for i := range x.branches {
			b := &x.branches[i]
			b.usual = b.lasts(p, size)
			f.near[b.to][u] = min(f.near[b.to][u], b.usual)
			f.least[b.to] = min(f.least[b.to], b.usual)
		}
	}
	for i := range f.of[u] {
		x := &f.of[u][i]
		x.branches = slices.DeleteFunc(x.branches, func(b branch) bool { return b.usual/slow > f.near[b.to][u] })
		slices.SortStableFunc(x.branches, func(a, b branch) int { return cmp.Compare(a.usual, b.usual) })
	}
}

// clear forgets the branches of a multicast.
func (f *fans) clear() {
	for _, v := range f.met {
		f.into[v] = 0
	}
	f.met = f.met[:0]
}

// joins adds a branch to those of a multicast, of which it may be the first, and reports whether it
// can be one of them: it parts from them at one switch that copies, and does not meet them again.
func (f *fans) joins(b *branch, first bool) bool {
	apart := 0 // the first link that is its own
	for apart < len(b.links) && f.into[f.t.Links[b.links[apart]].Dst] == 1+b.links[apart] {
		apart++
	}
	if !first {
		v := f.t.Links[b.links[min(apart, len(b.links)-1)]].Src
		if apart == 0 || apart == len(b.links) || !f.parts[v] || f.reads[v] && (len(b.links) != 2 || f.long()) {
			return false
		}
		for _, l := range b.links[apart:] {
			if f.into[f.t.Links[l].Dst] != 0 {
				return false
			}
		}
	}
	for _, l := range b.links[apart:] {
		v := f.t.Links[l].Dst
		f.into[v] = 1 + l
		f.met = append(f.met, v)
	}
	return true
}

// long reports whether a multicast has passed more than one switch.
func (f *fans) long() bool {
	switches := 0
	for _, v := range f.met {
		if v >= f.t.Ranks {
			switches++
		}
	}
	return switches > 1
}
