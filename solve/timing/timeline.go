// Package timing gives transfers times at which their data is there and their links and ports
// are free, under every cost model: list scheduling, in its two forms.
//
// Bookings put one transfer after the other, in the order in which they come, at the first time
// that is free, gaps included, or at the last one. A Board does so for any routes of a topology.
//
// Parallel goes from event to event and starts whatever can start, in the order of priorities.
// That is quicker, and leaves no link idle for which something waits.
//
// Both go back to Graham, "Bounds on multiprocessing timing anomalies" (SIAM Journal on Applied
// Mathematics 17, 1969); see Kolisch, "Serial and parallel resource-constrained project
// scheduling methods revisited" (European Journal of Operational Research 90, 1996) on what
// either can do. Times are whole picoseconds, or rounds.
package timing

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Timeline is when one thing is in use: disjoint spans, ascending. Spans of one owner that
// touch are one.
type Timeline []Span

// Span is a time of use by an owner.
type Span struct {
	model.Interval
	Owner int32
}

// after returns the index of the first span that ends after a time.
func (l Timeline) after(at model.Time) int {
	lo, hi := 0, len(l)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if l[mid].To <= at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Next returns the first time, at the earliest at, from which on length is free. It takes
// O(log spans) time and the spans that it passes over.
func (l Timeline) Next(at, length model.Time) model.Time {
	for i := l.after(at); i < len(l) && l[i].From < at.Add(length); i++ {
		at = l[i].To
	}
	return at
}

// Last returns the last time, at the latest at, from which on length is free. It may be
// negative.
func (l Timeline) Last(at, length model.Time) model.Time {
	for i := l.after(at+length-1) - 1; ; i-- {
		if i+1 < len(l) && l[i+1].From < at+length {
			at = l[i+1].From - length
		}
		if i < 0 || l[i].To <= at {
			return at
		}
		at = l[i].From - length
	}
}

// Take enters a span, which must be free.
func (l *Timeline) Take(s Span) {
	i := l.after(s.From)
	t := *l
	left := i > 0 && t[i-1].To == s.From && t[i-1].Owner == s.Owner
	right := i < len(t) && t[i].From == s.To && t[i].Owner == s.Owner
	switch {
	case left && right:
		t[i-1].To = t[i].To
		*l = slices.Delete(t, i, i+1)
	case left:
		t[i-1].To = s.To
	case right:
		t[i].From = s.From
	default:
		*l = slices.Insert(t, i, s)
	}
}

// Release takes out a span that was taken. It panics if it was not.
func (l *Timeline) Release(s Span) {
	i := l.after(s.From)
	t := *l
	if i == len(t) || t[i].From > s.From || t[i].To < s.To || t[i].Owner != s.Owner {
		panic("timing: a span is released that was not taken")
	}
	switch left, right := t[i].From < s.From, s.To < t[i].To; {
	case left && right:
		rest := Span{model.Interval{From: s.To, To: t[i].To}, s.Owner}
		t[i].To = s.From
		*l = slices.Insert(t, i+1, rest)
	case left:
		t[i].To = s.From
	case right:
		t[i].From = s.To
	default:
		*l = slices.Delete(t, i, i+1)
	}
}

// fill makes one of spans of one owner between which there is less than a length.
func (l *Timeline) fill(length model.Time) {
	var t Timeline
	for _, s := range *l {
		if last := len(t) - 1; last >= 0 && t[last].Owner == s.Owner && s.From-t[last].To < length {
			t[last].To = s.To
		} else {
			t = append(t, s)
		}
	}
	*l = t
}
