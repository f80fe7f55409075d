package replay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// use is a span in which a transfer keeps a link busy.
type use struct {
	model.Interval
	transfer int32
	hop      int32 // position of the link in the transfer's route
}

// capacity checks that no link carries two chunks at one time and no port more
// transfers than it may (SPEC 4). An Ordered schedule has no times to check.
func (c *check) capacity() {
	if c.s.Form == model.Ordered {
		return
	}
	ports := c.ports()
	kept, keeps := make([][]use, len(c.t.Links)), make([]bool, len(c.t.Links)) // the uses of the links of ports
	for _, p := range ports {
		for _, l := range p.links {
			keeps[l] = true
		}
	}
	users, from := c.byLink()
	if c.undecided != "" {
		return
	}
	busy, hops, streams := c.newBusy(), c.newHops(), c.newStreams()
	var uses []use
	for l := range c.t.Links {
		if !c.goes(1 + int(from[l+1]-from[l])) {
			return
		}
		hops.to(l)
		uses = c.usesOf(users[from[l]:from[l+1]], hops, busy, uses[:0])
		if streams != nil {
			streams.link(l, uses)
			continue
		}
		merged := c.link(l, uses)
		if keeps[l] {
			kept[l] = slices.Clone(merged)
		}
	}
	if streams != nil {
		streams.all()
		return
	}
	for _, p := range ports {
		c.port(p, kept)
	}
}

// port is a capacity over some links: one of the topology's, or, under model.Rounds, the
// one send or the one receive of a rank.
type port struct {
	name     func() string
	links    []int
	capacity int
	rank     int
}

// ports returns the ports that can be overloaded: with as many links as it has capacity,
// or fewer, each of which carries one at a time, a port never is.
func (c *check) ports() (all []port) {
	add := func(name func() string, links []int, capacity, rank int) {
		if len(links) > capacity {
			all = append(all, port{name, links, capacity, rank})
		}
	}
	for i, p := range c.t.Ports {
		add(func() string {
			if p.Name == "" {
				return fmt.Sprintf("port %d", i)
			}
			return "port " + p.Name
		}, p.Links, p.Capacity, -1)
	}
	if c.p.Cost == model.Rounds && c.s.Form == model.InRounds {
		out, in := c.t.Out(), c.t.In()
		for r := range c.t.Ranks {
			add(func() string { return fmt.Sprintf("the send port of rank %d", r) }, out[r], 1, r)
			add(func() string { return fmt.Sprintf("the receive port of rank %d", r) }, in[r], 1, r)
		}
	}
	return all
}

// byLink groups the transfers by the links of their routes: those that use link l
// are users[from[l]:from[l+1]], in the order of the schedule.
func (c *check) byLink() (users []int32, from []int64) {
	from = make([]int64, len(c.t.Links)+1)
	all := 0
	for i := range c.s.Transfers {
		route := c.s.Routes[c.s.Transfers[i].Route]
		if all += len(route); all > maxUses {
			c.undecided = fmt.Sprintf("the routes of the transfers have more than %d links in all: whether links are busy was not looked at", maxUses)
			return nil, nil
		}
		c.work.Go(len(route))
		for _, l := range route {
			from[l+1]++
		}
	}
	for l := range c.t.Links {
		from[l+1] += from[l]
	}
	users = make([]int32, from[len(c.t.Links)])
	next := slices.Clone(from)
	for i := range c.s.Transfers {
		route := c.s.Routes[c.s.Transfers[i].Route]
		c.work.Go(len(route))
		for _, l := range route {
			users[next[l]] = int32(i)
			next[l]++
		}
	}
	return users, from
}

// hops knows where in its route a link is: one link at a time, for all routes.
type hops struct {
	from   []int32 // by link: where its passes begin
	passes []pass
	hop    []int32 // by route: where the link is that was asked for, if it is in the route
}

// pass says that a link is in a route, and where.
type pass struct{ route, hop int32 }

func (c *check) newHops() *hops {
	h := &hops{from: make([]int32, len(c.t.Links)+1), hop: make([]int32, len(c.s.Routes))}
	for _, route := range c.s.Routes {
		for _, l := range route {
			h.from[l+1]++
		}
	}
	for l := range c.t.Links {
		h.from[l+1] += h.from[l]
	}
	h.passes = make([]pass, h.from[len(c.t.Links)])
	next := slices.Clone(h.from)
	for r, route := range c.s.Routes {
		for i, l := range route {
			h.passes[next[l]] = pass{int32(r), int32(i)}
			next[l]++
		}
	}
	return h
}

// to asks for a link.
func (h *hops) to(l int) {
	for _, p := range h.passes[h.from[l]:h.from[l+1]] {
		h.hop[p.route] = p.hop
	}
}

// busy knows when a transfer keeps the links of its route busy, from its start, as
// model.Topology.Busy has it.
type busy struct {
	*check
	class  []int32          // by chunk: the index of its size among the different ones
	first  []int            // by route: how many links the routes before it have
	passes int              // how many all have
	known  []model.Interval // by class, route and hop; not yet known where To is 0
	last   []model.Interval // of the route and the size that were asked for last, where known is nil
	route  int32
	size   int64
}

func (c *check) newBusy() *busy {
	b := &busy{check: c, class: make([]int32, len(c.p.Chunks)), first: make([]int, len(c.s.Routes)), route: -1}
	number := map[int64]int32{}
	for k := range c.p.Chunks {
		i, seen := number[c.p.Chunks[k].Size]
		if !seen {
			i = int32(len(number))
			number[c.p.Chunks[k].Size] = i
		}
		b.class[k] = i
	}
	for r, route := range c.s.Routes {
		b.first[r] = b.passes
		b.passes += len(route)
	}
	if int64(b.passes)*int64(len(number)) <= maxSpans {
		b.known = make([]model.Interval, b.passes*len(number))
	}
	return b
}

// of returns when a transfer of a chunk keeps a hop of a route busy.
func (b *busy) of(route, hop, chunk int32) model.Interval {
	links, size := b.s.Routes[route], b.p.Chunks[chunk].Size
	if b.known == nil {
		if b.route != route || b.size != size {
			b.work.Go(len(links))
			b.last, b.route, b.size = b.t.Busy(b.p.Cost, links, size, b.last[:0]), route, size
		}
		return b.last[hop]
	}
	from := int(b.class[chunk])*b.passes + b.first[route]
	if b.known[from].To == 0 {
		b.work.Go(len(links))
		b.t.Busy(b.p.Cost, links, size, b.known[from:from])
	}
	return b.known[from+int(hop)]
}

// usesOf appends the spans in which the link that hops was asked for is busy, by ascending
// start.
func (c *check) usesOf(users []int32, hops *hops, busy *busy, uses []use) []use {
	for _, i := range users {
		t := &c.s.Transfers[i]
		hop := hops.hop[t.Route]
		span := model.Interval{From: t.Start, To: t.End}
		if c.s.Form == model.Timed {
			after := busy.of(t.Route, hop, t.Chunk)
			span = model.Interval{From: t.Start.Add(after.From), To: t.Start.Add(after.To)}
			if route := c.s.Routes[t.Route]; hop == 1 && c.waits(route) {
				span.To = t.End
				if c.p.Cost == model.Pipelined {
					span.To -= c.t.Links[route[1]].Alpha
				}
				span.From = span.To - (after.To - after.From)
			}
		}
		uses = append(uses, use{span, i, hop})
	}
	c.sortUses(uses)
	return uses
}

// sortUses sorts uses by start, and then by transfer, if they are not yet sorted.
func (c *check) sortUses(uses []use) {
	byStart := func(a, b use) int {
		if !c.work.Go(1) {
			return 0
		}
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.transfer, b.transfer))
	}
	if !slices.IsSortedFunc(uses, byStart) {
		slices.SortFunc(uses, byStart)
	}
}

// link checks the uses of one link, sorted by start. The branches of a multicast
// count as one use, which lasts as long as the longest. It returns the uses that
// remain after that.
func (c *check) link(l int, uses []use) []use {
	merged := uses[:0]
	var group []use // the branches that make up the last one of merged
	for _, u := range uses {
		if n := len(merged); n > 0 && u.From < merged[n-1].To {
			if c.branches(group, u) {
				group = append(group, u)
				merged[n-1].To = max(merged[n-1].To, u.To)
				continue
			}
			if !c.goes(1) {
				return nil
			}
			t := &c.s.Transfers[u.transfer]
			link := c.t.Links[l]
			c.report(verify.LinkOverlap, int(u.transfer), link.Src, int(t.Chunk), c.about(int(u.transfer)),
				"link %d, %s to %s, is still busy with %s", l, c.t.NodeName(link.Src), c.t.NodeName(link.Dst), c.about(int(merged[n-1].transfer)))
		}
		merged = append(merged, u)
		group = append(group[:0], u)
	}
	return merged
}

// branches reports whether u is one more branch of the multicast of group on a link:
// all carry the same chunk from the same rank at the same start over the same
// links up to this one, and part later, two by two, at a switch that copies.
func (c *check) branches(group []use, u use) bool {
	t := &c.s.Transfers[u.transfer]
	for _, g := range group {
		h := &c.s.Transfers[g.transfer]
		if h.Chunk != t.Chunk || h.Src != t.Src || h.Start != t.Start || g.hop != u.hop {
			return false
		}
		a, b := c.s.Routes[h.Route], c.s.Routes[t.Route]
		n := 0
		c.work.Go(min(len(a), len(b)))
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		if n <= int(u.hop) || n == len(a) || n == len(b) || !c.t.Copies(c.t.Links[a[n]].Src) {
			return false
		}
	}
	return true
}

// port checks that at no time more transfers use a port than it has capacity. Of those
// that have begun by an instant as many are over as ends lie at or before it.
func (c *check) port(p port, kept [][]use) {
	var uses []use
	for _, l := range p.links {
		if !c.goes(1 + len(kept[l])) {
			return
		}
		uses = append(uses, kept[l]...)
	}
	c.sortUses(uses)
	ends := make([]model.Time, len(uses))
	for i, u := range uses {
		ends[i] = u.To
	}
	slices.Sort(ends)
	over := 0
	for i, u := range uses {
		for ends[over] <= u.From {
			over++
		}
		if n := i + 1 - over; n > p.capacity {
			other := slices.IndexFunc(uses, func(v use) bool { return v.To > u.From })
			c.report(verify.PortOverload, int(u.transfer), p.rank, int(c.s.Transfers[u.transfer].Chunk), c.about(int(u.transfer)),
				"%s is in use by %d at that time, such as %s, want at most %d", p.name(), n, c.about(int(uses[other].transfer)), p.capacity)
			if !c.goes(1) {
				return
			}
		}
	}
}
