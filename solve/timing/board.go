package timing

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// Board books transfers over any routes of a topology, those that pass ranks among them, under
// every cost model.
type Board struct {
	*Bookings
	p    *model.Problem
	uses [][]network.Use     // by link: of itself and of the ports that it belongs to
	sums map[int]network.Use // by switch: of its room for sums, where that is limited
	busy []model.Interval
}

// NewBoard returns a board on which nothing is booked.
func NewBoard(p *model.Problem) *Board {
	t := p.Topology
	b := &Board{p: p, uses: make([][]network.Use, len(t.Links)), sums: map[int]network.Use{}}
	var choices []int32
	resources := int32(0)
	add := func(links []int, capacity int) {
		u := network.Use{Choice: resources, ChoiceEnd: resources + int32(capacity)}
		for ; resources < u.ChoiceEnd; resources++ {
			choices = append(choices, resources)
		}
		for _, l := range links {
			b.uses[l] = append(b.uses[l], u)
		}
	}
	for l := range t.Links {
		add([]int{l}, 1)
	}
	for _, port := range t.Ports {
		add(port.Links, min(port.Capacity, len(port.Links)))
	}
	if p.Cost == model.Rounds { // a rank sends once and receives once a round
		out, in := t.Out(), t.In()
		for r := range t.Ranks {
			if len(out[r]) > 0 {
				add(out[r], 1)
			}
			if len(in[r]) > 0 {
				add(in[r], 1)
			}
		}
	}
	for i, w := range t.Switches {
		if w.Sums > 0 {
			u := network.Use{Choice: resources, ChoiceEnd: resources + int32(w.Sums)}
			for ; resources < u.ChoiceEnd; resources++ {
				choices = append(choices, resources)
			}
			b.sums[t.Ranks+i] = u
		}
	}
	b.Bookings = NewBookings(choices, int(resources))
	return b
}

// Duration returns how long a transfer of bytes over a route lasts; in rounds 1.
func (b *Board) Duration(route []int, bytes int64) model.Time {
	if b.p.Cost.Synchronous() {
		return 1
	}
	return b.p.Topology.Duration(route, bytes)
}

// Uses appends to dst what a transfer of bytes over a route uses: the methods of Bookings take
// it with the length 0. It takes O(len(route)) time, and as much for each port.
func (b *Board) Uses(route []int, bytes int64, dst []network.Use) []network.Use {
	b.busy = b.busy[:0]
	if b.p.Cost.Synchronous() {
		for range route {
			b.busy = append(b.busy, model.Interval{From: 0, To: 1})
		}
	} else {
		b.busy = b.p.Topology.Busy(b.p.Cost, route, bytes, b.busy)
	}
	for i, l := range route {
		for _, u := range b.uses[l] {
			u.From, u.Extra = b.busy[i].From, b.busy[i].To-b.busy[i].From
			dst = append(dst, u)
		}
	}
	return dst
}

// Join returns what a multicast or a sum of one chunk uses, whose transfers over routes begin after
// some times from its start on: each link once, for the longest of what they use of it (section
// 4.3 of the specification), beside that the link that the contribution of the rank which reads or
// writes takes at a switch at which sums are read, and the room for a sum. It takes O(links of the
// routes) time, and as much for each port.
func (b *Board) Join(routes [][]int, after []model.Time, bytes int64) []network.Use {
	t := b.p.Topology
	var order []int
	spans := map[int]model.Interval{}
	busy := func(l int, s model.Interval) {
		if was, known := spans[l]; known {
			spans[l] = model.Interval{From: min(was.From, s.From), To: max(was.To, s.To)}
			return
		}
		spans[l] = s
		order = append(order, l)
	}
	before := map[int]map[int]bool{} // by link: those before it
	for i, route := range routes {
		spans := slices.Repeat([]model.Interval{{From: 0, To: 1}}, len(route))
		if !b.p.Cost.Synchronous() {
			spans = t.Busy(b.p.Cost, route, bytes, nil)
		}
		for n, l := range route {
			busy(l, model.Interval{From: after[i] + spans[n].From, To: after[i] + spans[n].To})
			if before[l] == nil {
				before[l] = map[int]bool{}
			}
			if n > 0 {
				before[l][route[n-1]] = true
			}
		}
	}
	var room []network.Use
	for _, l := range order {
		if u, limited := b.sums[t.Links[l].Src]; limited && len(before[l]) > 1 {
			u.From, u.Extra = spans[l].From, spans[l].To-spans[l].From
			room = append(room, u)
		}
	}
	first, last := routes[0][0], routes[0][len(routes[0])-1]
	for back, k := range t.Links {
		switch own, s := t.Links[last], spans[last]; {
		case t.Reduces(own.Src) == model.SumsRead && len(before[last]) > 1 && k.Src == own.Dst && k.Dst == own.Src:
			if !b.p.Cost.Synchronous() {
				s.From, s.To = s.From-k.Alpha, s.To-k.Alpha
				if b.p.Cost != model.Pipelined {
					s.To += k.Alpha - own.Alpha
				}
			}
			busy(back, s)
		}
		switch own, s := t.Links[first], spans[first]; {
		case t.Reduces(own.Dst) == model.SumsRead && !b.same(routes, 1) && k.Src == own.Dst && k.Dst == own.Src:
			if !b.p.Cost.Synchronous() {
				s.From, s.To = s.From+own.Alpha, s.To+own.Alpha
				if b.p.Cost != model.Pipelined {
					s.To += k.Alpha - own.Alpha
				}
			}
			busy(back, s)
		}
	}
	var all []network.Use
	for _, l := range order {
		for _, u := range b.uses[l] {
			u.From, u.Extra = spans[l].From, spans[l].To-spans[l].From
			all = append(all, u)
		}
	}
	return append(all, room...)
}

// same reports whether routes begin with one link and have the same link at a place.
func (b *Board) same(routes [][]int, at int) bool {
	for _, r := range routes[1:] {
		if r[0] != routes[0][0] {
			return true // a sum: nothing parts
		}
		if len(r) <= at || len(routes[0]) <= at || r[at] != routes[0][at] {
			return false
		}
	}
	return true
}

// Release returns the time before which no transfer over a route can start, for ranks on it
// have not arrived; in rounds 0.
func (b *Board) Release(route []int) model.Time {
	if b.p.Cost.Synchronous() {
		return 0
	}
	t := b.p.Topology
	at := b.p.ReleaseOf(t.Links[route[0]].Src)
	for _, l := range route {
		if v := t.Links[l].Dst; t.IsRank(v) {
			at = max(at, b.p.ReleaseOf(v))
		}
	}
	return at
}

// Idle returns the first time, at the earliest at, at which a link carries nothing.
func (b *Board) Idle(link int, at model.Time) model.Time {
	return b.lines[link].Next(at, 1)
}

// Clone returns a copy of b, on which other transfers may be booked.
func (b *Board) Clone() *Board {
	c := *b
	c.Bookings, c.busy = b.Bookings.Clone(), nil
	return &c
}
