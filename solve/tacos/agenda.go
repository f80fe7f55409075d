package tacos

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// agenda says when a resource is busy, and with what: disjoint spans, ascending.
type agenda []span

type span struct {
	model.Interval
	move int32
}

// after returns the index of the first span that ends after a time.
func (a agenda) after(at model.Time) int {
	lo, hi := 0, len(a)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if a[mid].To <= at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// next returns the first time from at on from which a resource is free for so long.
func (a agenda) next(at, long model.Time) model.Time {
	for i := a.after(at); i < len(a) && a[i].From < at+long; i++ {
		at = a[i].To
	}
	return at
}

// last returns the last time up to at from which a resource is free for so long.
func (a agenda) last(at, long model.Time) model.Time {
	for i := a.after(at+long-1) - 1; ; i-- {
		if i+1 < len(a) && a[i+1].From < at+long {
			at = a[i+1].From - long
		}
		if i < 0 || a[i].To <= at {
			return at
		}
		at = a[i].From - long
	}
}

// enter notes what a resource, free then, is busy with.
func (a *agenda) enter(s span) { *a = slices.Insert(*a, a.after(s.From), s) }

// strike takes out the span of a move that begins at a time.
func (a *agenda) strike(from model.Time, move int32) {
	i := a.after(from)
	if i == len(*a) || (*a)[i].From != from || (*a)[i].move != move {
		panic("tacos: a move does not have what it booked")
	}
	*a = slices.Delete(*a, i, i+1)
}
