package timing

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// Board books transfers over any routes of a topology, those that pass ranks among them, under
// every cost model.
type Board struct {
	*Bookings
	p    *model.Problem
	uses [][]network.Use // by link: of itself and of the ports that it belongs to
	busy []model.Interval
}

// NewBoard returns a board on which nothing is booked.
func NewBoard(p *model.Problem) *Board {
	t := p.Topology
	b := &Board{p: p, uses: make([][]network.Use, len(t.Links))}
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
