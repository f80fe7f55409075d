package broadcast

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// opens returns the first time from at on, less than a period later, at which a route is free.
func opens(lines []line, route []int, busy []model.Interval, at, period, grid model.Time) (model.Time, bool) {
	last := at + period
	for again := true; again; {
		again = false
		for i, b := range busy {
			wait := lines[route[i]].wait((at+b.From)%period, b.To-b.From, period)
			if wait > 0 {
				at, again = align(at+wait, grid, period), true
			}
			if at >= last {
				return 0, false
			}
		}
	}
	return at, true
}

// align returns the first time from at on that is a multiple of grid after the begin of a period in which there is room.
func align(at, grid, period model.Time) model.Time {
	in := at % period
	if up := (in + grid - 1) / grid * grid; up+grid <= period {
		return at - in + up
	}
	return at - in + period
}

// line is when a link is busy in each period: intervals in order, which do not touch.
type line []model.Interval

// wait returns how long after at a link is free for a time; a period or more if it never is.
func (x line) wait(at, lasts, period model.Time) (sum model.Time) {
	if lasts > period {
		return period
	}
	if lasts == 0 {
		return 0
	}
	for sum < period {
		from := (at + sum) % period
		b, hit := x.over(from, min(period, from+lasts))
		if !hit && from+lasts > period {
			if b, hit = x.over(0, from+lasts-period); hit {
				b.To += period
			}
		}
		if !hit {
			return sum
		}
		sum += b.To - from
	}
	return period
}

// over returns the first interval that overlaps another one.
func (x line) over(from, to model.Time) (model.Interval, bool) {
	i, _ := slices.BinarySearchFunc(x, from, func(b model.Interval, at model.Time) int {
		if b.To <= at {
			return -1
		}
		return 1
	})
	if i < len(x) && x[i].From < to {
		return x[i], true
	}
	return model.Interval{}, false
}

// take makes a link busy.
func (x *line) take(at, lasts, period model.Time) {
	if at+lasts > period {
		x.insert(0, at+lasts-period)
		lasts = period - at
	}
	if lasts > 0 {
		x.insert(at, at+lasts)
	}
}

func (x *line) insert(from, to model.Time) {
	i, _ := slices.BinarySearchFunc(*x, from, func(b model.Interval, at model.Time) int { return cmp.Compare(b.From, at) })
	left, right := i > 0 && (*x)[i-1].To == from, i < len(*x) && (*x)[i].From == to
	switch {
	case left && right:
		(*x)[i-1].To = (*x)[i].To
		*x = slices.Delete(*x, i, i+1)
	case left:
		(*x)[i-1].To = to
	case right:
		(*x)[i].From = from
	default:
		*x = slices.Insert(*x, i, model.Interval{From: from, To: to})
	}
}
