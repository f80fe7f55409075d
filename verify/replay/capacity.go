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
	portsOf := make([][]int32, len(c.t.Links))
	spans := make([][]use, len(ports))
	for i, p := range ports {
		if len(p.links) <= p.capacity {
			continue // each of its links carries one at a time, so they are never too many
		}
		for _, l := range p.links {
			portsOf[l] = append(portsOf[l], int32(i))
		}
	}
	users, from := c.byLink()
	var uses []use
	for l := range c.t.Links {
		if !c.work.Go(1 + int(from[l+1]-from[l])) {
			return
		}
		uses = c.usesOf(l, users[from[l]:from[l+1]], uses[:0])
		merged := c.link(l, uses)
		for _, p := range portsOf[l] {
			spans[p] = append(spans[p], merged...)
		}
	}
	for i, p := range ports {
		c.port(p, spans[i])
	}
}

// port is a capacity over some links: one of the topology's, or, under model.Rounds, the
// one send or the one receive of a rank.
type port struct {
	name     string
	links    []int
	capacity int
	rank     int
}

func (c *check) ports() []port {
	var all []port
	for i, p := range c.t.Ports {
		name := "port " + p.Name
		if p.Name == "" {
			name = fmt.Sprintf("port %d", i)
		}
		all = append(all, port{name, p.Links, p.Capacity, -1})
	}
	if c.p.Cost == model.Rounds && c.s.Form == model.InRounds {
		out, in := c.t.Out(), c.t.In()
		for r := range c.t.Ranks {
			all = append(all, port{fmt.Sprintf("the send port of rank %d", r), out[r], 1, r},
				port{fmt.Sprintf("the receive port of rank %d", r), in[r], 1, r})
		}
	}
	return all
}

// byLink groups the transfers by the links of their routes: those that use link l
// are users[from[l]:from[l+1]], in the order of the schedule.
func (c *check) byLink() (users []int32, from []int64) {
	from = make([]int64, len(c.t.Links)+1)
	for i := range c.s.Transfers {
		for _, l := range c.s.Routes[c.s.Transfers[i].Route] {
			from[l+1]++
		}
	}
	for l := range c.t.Links {
		from[l+1] += from[l]
	}
	users = make([]int32, from[len(c.t.Links)])
	next := slices.Clone(from)
	for i := range c.s.Transfers {
		for _, l := range c.s.Routes[c.s.Transfers[i].Route] {
			users[next[l]] = int32(i)
			next[l]++
		}
	}
	return users, from
}

// usesOf appends the spans in which link l is busy, by ascending start.
func (c *check) usesOf(l int, users []int32, uses []use) []use {
	var busy []model.Interval
	for _, i := range users {
		t := &c.s.Transfers[i]
		route := c.s.Routes[t.Route]
		hop := slices.Index(route, l)
		span := model.Interval{From: t.Start, To: t.End}
		if c.s.Form == model.Timed {
			busy = c.t.Busy(c.p.Cost, route, c.p.Chunks[t.Chunk].Size, busy[:0])
			span = model.Interval{From: t.Start.Add(busy[hop].From), To: t.Start.Add(busy[hop].To)}
		}
		uses = append(uses, use{span, i, int32(hop)})
	}
	byStart := func(a, b use) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.transfer, b.transfer)) }
	if !slices.IsSortedFunc(uses, byStart) {
		slices.SortFunc(uses, byStart)
	}
	return uses
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

// branches says whether u is one more branch of the multicast of group on a link:
// all carry the same chunk from the same rank at the same start over the same
// links as far as this one, and part later, two by two, at a switch that copies.
func (c *check) branches(group []use, u use) bool {
	t := &c.s.Transfers[u.transfer]
	for _, g := range group {
		h := &c.s.Transfers[g.transfer]
		if h.Chunk != t.Chunk || h.Src != t.Src || h.Start != t.Start || g.hop != u.hop {
			return false
		}
		a, b := c.s.Routes[h.Route], c.s.Routes[t.Route]
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		if n <= int(u.hop) || n == len(a) || n == len(b) || !c.t.Copies(c.t.Links[a[n]].Src) {
			return false
		}
	}
	return true
}

// port checks that at no time more transfers use a port than it has capacity.
func (c *check) port(p port, spans []use) {
	if len(spans) <= p.capacity {
		return
	}
	slices.SortFunc(spans, func(a, b use) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.transfer, b.transfer)) })
	var active []use // never more than capacity
	for _, u := range spans {
		active = slices.DeleteFunc(active, func(a use) bool { return a.To <= u.From })
		if len(active) < p.capacity {
			active = append(active, u)
			continue
		}
		c.report(verify.PortOverload, int(u.transfer), p.rank, int(c.s.Transfers[u.transfer].Chunk), c.about(int(u.transfer)),
			"%s is in use by %d at that time, such as %s, want at most %d", p.name, len(active)+1, c.about(int(active[0].transfer)), p.capacity)
	}
}
