package quotient

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// calendar has the times at which a machine is busy, in order.
type calendar []model.Interval

// after returns the place of the first interval that ends after a time, in O(log intervals). Most of the time of a
// search is spent here: a call of a comparison would double it.
func (c calendar) after(at model.Time) int {
	low, high := 0, len(c)
	for low < high {
		if middle := int(uint(low+high) / 2); c[middle].To <= at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// from returns the place of the first interval that begins at a time or later, in O(log intervals).
func (c calendar) from(at model.Time) int {
	low, high := 0, len(c)
	for low < high {
		if middle := int(uint(low+high) / 2); c[middle].From < at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// free returns the first time from at on at which the machine is free for so long.
func (c calendar) free(at, long model.Time) model.Time {
	if len(c) == 0 || c[len(c)-1].To <= at {
		return at
	}
	for i := c.after(at); i < len(c) && c[i].From < at+long; i++ {
		at = c[i].To
	}
	return at
}

// freeBefore returns the last time at which the machine can begin to be busy for so long and
// end by then.
func (c calendar) freeBefore(by, long model.Time) model.Time {
	for i := c.from(by) - 1; i >= 0 && c[i].To > by-long; i-- {
		by = c[i].From
	}
	return by - long
}

// book is a machine with a calendar for each of its lanes.
type book []calendar

// books returns a book for each machine, with nothing in it.
func (s *shop) books() []book {
	list := make([]book, len(s.lanes))
	for m, n := range s.lanes {
		list[m] = make(book, n)
	}
	return list
}

// free returns at if n lanes are free for so long from then on, else a later time before
// which they are not.
func (b book) free(n int32, at, long model.Time) model.Time {
	if len(b) == 1 {
		return b[0].free(at, long)
	}
	times := make([]model.Time, len(b))
	for i := range b {
		times[i] = b[i].free(at, long)
	}
	slices.Sort(times)
	return times[n-1]
}

// freeBefore returns by-long if n lanes are free for so long up to by, else an earlier time
// after which they are not.
func (b book) freeBefore(n int32, by, long model.Time) model.Time {
	if len(b) == 1 {
		return b[0].freeBefore(by, long)
	}
	times := make([]model.Time, len(b))
	for i := range b {
		times[i] = b[i].freeBefore(by, long)
	}
	slices.Sort(times)
	return times[len(times)-int(n)]
}

// take enters x into n lanes that are free then, and reports whether there were as many. In a machine of one lane what follows at once is one
// interval: it has few of them, as it is busy most of the time.
func (b book) take(n int32, x model.Interval) bool {
	if len(b) == 1 {
		if b[0].free(x.From, x.To-x.From) != x.From {
			return false
		}
		b[0].join(x)
		return true
	}
	for i := range b {
		if n > 0 && b[i].free(x.From, x.To-x.From) == x.From {
			b[i].take(x)
			n--
		}
	}
	return n == 0
}

// cancel takes x out of n lanes into which it was entered.
func (b book) cancel(n int32, x model.Interval) {
	if len(b) == 1 {
		if i := b[0].after(x.From); i < len(b[0]) && b[0][i].From <= x.From && x.To <= b[0][i].To {
			b[0].split(x)
		}
		return
	}
	for i := range b {
		if k := b[i].from(x.From); n > 0 && k < len(b[i]) && b[i][k] == x {
			b[i] = slices.Delete(b[i], k, k+1)
			n--
		}
	}
}

// opens returns the first time from at on at which a way is free for a hop with some timing, or a time after by if it is not by then.
func (s *shop) opens(busy []book, w int32, tm *timing, at, by model.Time) model.Time {
	visits := s.ways[w].visits
	for moved := true; moved && at <= by; {
		moved = false
		for i, v := range visits {
			span := tm.spans[i]
			if t := busy[v.machine].free(v.lanes, at+span.From, span.To-span.From) - span.From; t > at {
				if at, moved = t, true; at > by {
					break
				}
			}
		}
	}
	return at
}

// closes returns the last time up to at at which a way is free for a hop with some timing, or a time before by if it is not from by on.
func (s *shop) closes(busy []book, w int32, tm *timing, at, by model.Time) model.Time {
	visits := s.ways[w].visits
	for moved := true; moved && at >= by; {
		moved = false
		for i, v := range visits {
			span := tm.spans[i]
			if t := busy[v.machine].freeBefore(v.lanes, at+span.To, span.To-span.From) - span.From; t < at {
				if at, moved = t, true; at < by {
					break
				}
			}
		}
	}
	return at
}

func (c *calendar) take(x model.Interval) {
	*c = slices.Insert(*c, c.from(x.From), x)
}

// join enters an interval that is free, as one with those that it follows at once, or that follow it.
func (c *calendar) join(x model.Interval) {
	i := c.from(x.From)
	before, after := i > 0 && (*c)[i-1].To == x.From, i < len(*c) && (*c)[i].From == x.To
	switch {
	case before && after:
		(*c)[i-1].To = (*c)[i].To
		*c = slices.Delete(*c, i, i+1)
	case before:
		(*c)[i-1].To = x.To
	case after:
		(*c)[i].From = x.From
	default:
		*c = slices.Insert(*c, i, x)
	}
}

// split takes an interval out of the one that it is part of.
func (c *calendar) split(x model.Interval) {
	i := c.after(x.From)
	y := (*c)[i]
	switch {
	case y == x:
		*c = slices.Delete(*c, i, i+1)
	case y.From == x.From:
		(*c)[i].From = x.To
	case y.To == x.To:
		(*c)[i].To = x.From
	default:
		(*c)[i].To = x.From
		*c = slices.Insert(*c, i+1, model.Interval{From: x.To, To: y.To})
	}
}

// waits returns, for each job of a plan, those that must have ended before it starts: that
// bring what it sends. The order of the jobs does not matter. A rank that exchanges sums with the root does not wait for its own: see mutual.
func (x *plan) waits() [][]int32 {
	n := x.s.t.Ranks
	at := func(j *job, rank int32) int { return int(j.part)*n + int(rank) }
	into := make([][]int32, len(x.parts)*n)          // reductions, by part and rank
	by := slices.Repeat([]int32{-1}, len(x.parts)*n) // copies
	for i := range x.jobs {
		if j := &x.jobs[i]; j.op == model.Reduction {
			into[at(j, j.dst)] = append(into[at(j, j.dst)], int32(i))
		} else {
			by[at(j, j.dst)] = int32(i)
		}
	}
	mutual := x.mutual()
	list := make([][]int32, len(x.jobs))
	for i := range x.jobs {
		j := &x.jobs[i]
		switch k := at(j, j.src); {
		case j.op == model.Copy && by[k] >= 0 && mutual[by[k]] >= 0:
			list[i] = append(by[k:k+1:k+1], into[k]...)
		case j.op == model.Copy && by[k] >= 0:
			list[i] = by[k : k+1]
		case j.op == model.Copy && mutual[i] >= 0:
			own := slices.Index(into[k], mutual[i])
			list[i] = slices.Concat(into[k][:own], into[k][own+1:])
		default:
			list[i] = into[k]
		}
	}
	return list
}

// justify moves jobs to the end and back to the start, each by the most that is possible, in the order
// that they have. That rarely makes a schedule worse (Li and Willis, European Journal of
// Operational Research 56, 1992); then it is left as it was. It returns whether it is better.
func (x *plan) justify(release []model.Time) bool {
	waits := x.waits()
	y := *x
	y.jobs = slices.Clone(x.jobs)
	y.late(waits)
	y.early(waits, release)
	if y.end < x.end {
		*x = y
		return true
	}
	return false
}

// justifyAll moves jobs to the end and back to the start as long as that helps, as justify does, or ctx is done.
func (x *plan) justifyAll(ctx context.Context) {
	waits := x.waits()
	for y := *x; ctx.Err() == nil; y = *x {
		y.jobs = slices.Clone(x.jobs)
		if y.late(waits); ctx.Err() != nil {
			return
		}
		if y.early(waits, nil); y.end >= x.end {
			return
		}
		*x = y
	}
}

// early starts each job as early as it can, in order of starts.
func (x *plan) early(waits [][]int32, release []model.Time) {
	order := x.order(func(j *job) model.Time { return j.start })
	busy := x.s.books()
	x.end = 0
	for _, i := range order {
		j := &x.jobs[i]
		st := x.s.step(j)
		tm := x.s.at(st.way, &x.parts[j.part])
		at := st.wait
		if release != nil {
			at = max(at, release[j.part])
		}
		for _, k := range waits[i] {
			at = max(at, x.jobs[k].end)
		}
		j.start = x.s.opens(busy, st.way, tm, at, never)
		j.end = j.start + tm.lasts
		x.take(busy, j)
		x.end = max(x.end, j.end)
	}
}

// late ends each job as late as it can, the last one at the end, in order of ends.
func (x *plan) late(waits [][]int32) {
	next := make([][]int32, len(x.jobs))
	for i, list := range waits {
		for _, k := range list {
			next[k] = append(next[k], int32(i))
		}
	}
	order := x.order(func(j *job) model.Time { return -j.end })
	busy := x.s.books()
	for _, i := range order {
		j := &x.jobs[i]
		st := x.s.step(j)
		tm := x.s.at(st.way, &x.parts[j.part])
		by := x.end
		for _, k := range next[i] {
			by = min(by, x.jobs[k].start)
		}
		j.start = x.s.closes(busy, st.way, tm, by-tm.lasts, -never)
		j.end = j.start + tm.lasts
		x.take(busy, j)
	}
}

// order returns the numbers of jobs by some key, the least first, and of those with the same key as they are.
func (x *plan) order(key func(*job) model.Time) []int32 {
	type keyed struct {
		key model.Time
		i   int32
	}
	list := make([]keyed, len(x.jobs))
	for i := range list {
		list[i] = keyed{key(&x.jobs[i]), int32(i)}
	}
	slices.SortFunc(list, func(a, b keyed) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return int(a.i - b.i)
	})
	order := make([]int32, len(list))
	for k := range list {
		order[k] = list[k].i
	}
	return order
}
