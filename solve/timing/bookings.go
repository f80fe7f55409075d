package timing

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// Bookings are the times at which links and ports are in use, while transfers are put at
// times one after the other, in any order, and into gaps (the serial schedule generation
// scheme of project scheduling: Kolisch, "Serial and parallel resource-constrained project
// scheduling methods revisited", European Journal of Operational Research 90, 1996).
//
// A transfer is described by its uses: see network.Use. It takes a resource of each for
// time length, and what is extra.
type Bookings struct {
	choices []int32 // of resources: those of the uses
	lines   []Timeline
}

// NewBookings returns bookings of resources of which none is in use. The uses of transfers refer
// to choices.
func NewBookings(choices []int32, resources int) *Bookings {
	return &Bookings{choices: choices, lines: make([]Timeline, resources)}
}

// Of returns the bookings of a resource. The caller must not change them.
func (b *Bookings) Of(resource int32) Timeline { return b.lines[resource] }

// First returns the first time, at the earliest at, at which a transfer can start.
func (b *Bookings) First(uses []network.Use, length, at model.Time) model.Time {
	for moved := true; moved; {
		moved = false
		for j := range uses {
			u := &uses[j]
			first := model.MaxTime
			for c := u.Choice; c < u.ChoiceEnd && first > at; c++ {
				first = min(first, b.lines[b.choices[c]].Next(at.Add(u.From), length+u.Extra)-u.From)
			}
			if first > at {
				at, moved = first, len(uses) > 1
			}
		}
	}
	return at
}

// Last returns the last time, at the latest at, at which a transfer can start. It may be
// negative.
func (b *Bookings) Last(uses []network.Use, length, at model.Time) model.Time {
	for moved := true; moved; {
		moved = false
		for j := range uses {
			u := &uses[j]
			last := -model.MaxTime
			for c := u.Choice; c < u.ChoiceEnd && last < at; c++ {
				last = max(last, b.lines[b.choices[c]].Last(at+u.From, length+u.Extra)-u.From)
			}
			if last < at {
				at, moved = last, len(uses) > 1
			}
		}
	}
	return at
}

// Take books what a transfer needs that starts at a time at which it can. Of several resources
// it takes the first that is free, or that in places. It returns the places, one for each use,
// or nil where there was no choice; the caller may pass them to the next call of Take, and must
// pass them to Cancel.
func (b *Bookings) Take(uses []network.Use, length, start model.Time, owner int32, places []int32) []int32 {
	again := places != nil
	for j := range uses {
		u := &uses[j]
		s := span(u, length, start, owner)
		place := b.choices[u.Choice]
		switch {
		case u.ChoiceEnd-u.Choice == 1:
		case again:
			place = places[j]
		default:
			for c := u.Choice; c < u.ChoiceEnd; c++ {
				if place = b.choices[c]; b.lines[place].Next(s.From, s.To-s.From) == s.From {
					break
				}
			}
			if places == nil {
				places = make([]int32, len(uses))
			}
			places[j] = place
		}
		b.lines[place].Take(s)
	}
	return places
}

// Cancel gives back what a transfer took.
func (b *Bookings) Cancel(uses []network.Use, length, start model.Time, owner int32, places []int32) {
	for j := range uses {
		u := &uses[j]
		place := b.choices[u.Choice]
		if u.ChoiceEnd-u.Choice > 1 {
			place = places[j]
		}
		b.lines[place].Release(span(u, length, start, owner))
	}
}

// span returns when a use of a transfer that starts at a time keeps its resource busy.
func span(u *network.Use, length, start model.Time, owner int32) Span {
	from := start.Add(u.From)
	return Span{model.Interval{From: from, To: from.Add(length + u.Extra)}, owner}
}

// Fill marks as used what lies between two spans of what a use takes, if that is shorter than the use.
func (b *Bookings) Fill(u network.Use, length model.Time) {
	for c := u.Choice; c < u.ChoiceEnd; c++ {
		b.lines[b.choices[c]].fill(length + u.Extra)
	}
}

// Clone returns a copy of b, which is changed apart.
func (b *Bookings) Clone() *Bookings {
	c := &Bookings{choices: b.choices, lines: make([]Timeline, len(b.lines))}
	for i, l := range b.lines {
		c.lines[i] = slices.Clone(l)
	}
	return c
}
