package pace

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// board has what is in use, and when.
type board struct {
	p       *model.Problem
	of      [][]resource       // by link: what a transfer over it uses
	lines   [][]model.Interval // by lane: disjoint, ascending
	busy    []model.Interval   // scratch: of the links of the route last asked about
	scratch []use
}

// resource is a link, a port or a rank's part in a round: several equal lanes, of which a
// transfer takes one.
type resource struct{ first, end int32 }

// use is a lane that a transfer needs, from when to when after its start.
type use struct {
	resource
	model.Interval
}

func newBoard(p *model.Problem) *board {
	t := p.Topology
	b := &board{p: p, of: make([][]resource, len(t.Links))}
	lanes := int32(0)
	add := func(links []int, capacity int) {
		r := resource{lanes, lanes + int32(capacity)}
		lanes = r.end
		for _, l := range links {
			b.of[l] = append(b.of[l], r)
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
			add(out[r], 1)
			add(in[r], 1)
		}
	}
	b.lines = make([][]model.Interval, lanes)
	return b
}

// clear takes everything off the board.
func (b *board) clear() {
	for i := range b.lines {
		b.lines[i] = b.lines[i][:0]
	}
}

// duration returns how long a transfer of bytes over a route lasts; in rounds 1.
func (b *board) duration(route []int, bytes int64) model.Time {
	if b.p.Cost.Synchronous() {
		return 1
	}
	return b.p.Topology.Duration(route, bytes)
}

// release returns the time before which a transfer over a route cannot start, since ranks on
// it have not arrived; in rounds 0.
func (b *board) release(route []int) model.Time {
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

// uses returns what a transfer of bytes over a route uses, until the next call.
func (b *board) uses(route []int, bytes int64) []use {
	b.busy = b.busy[:0]
	if b.p.Cost.Synchronous() {
		b.busy = slices.Grow(b.busy, len(route))
		for range route {
			b.busy = append(b.busy, model.Interval{From: 0, To: 1})
		}
	} else {
		b.busy = b.p.Topology.Busy(b.p.Cost, route, bytes, b.busy)
	}
	b.scratch = b.scratch[:0]
	for i, l := range route {
		for _, r := range b.of[l] {
			b.scratch = append(b.scratch, use{r, b.busy[i]})
		}
	}
	return b.scratch
}

// free returns the first time from at on at which nothing is on a link.
func (b *board) free(link int, at model.Time) model.Time {
	return next(b.lines[b.of[link][0].first], at, 1)
}

// first returns the first time from at on at which a transfer can start.
func (b *board) first(uses []use, at model.Time) model.Time {
	for moved := true; moved; {
		moved = false
		for _, u := range uses {
			first := model.MaxTime
			for lane := u.resource.first; lane < u.end && first > at; lane++ {
				first = min(first, next(b.lines[lane], at.Add(u.From), u.To-u.From)-u.From)
			}
			if first > at {
				at, moved = first, true
			}
		}
	}
	return at
}

// take books what a transfer uses that starts at a time at which it can, and appends what it
// booked to list.
func (b *board) take(uses []use, start model.Time, list []booked) []booked {
	for _, u := range uses {
		span := model.Interval{From: start.Add(u.From), To: start.Add(u.To)}
		for lane := u.resource.first; lane < u.end; lane++ {
			if next(b.lines[lane], span.From, span.To-span.From) == span.From {
				b.lines[lane] = insert(b.lines[lane], span)
				list = append(list, booked{lane, span})
				break
			}
		}
	}
	return list
}

// cancel gives back what was booked.
func (b *board) cancel(list []booked) {
	for _, x := range list {
		b.lines[x.lane] = remove(b.lines[x.lane], x.span)
	}
}

// booked is a lane in use.
type booked struct {
	lane int32
	span model.Interval
}

// after returns the index of the first interval of a line that ends after a time.
func after(line []model.Interval, at model.Time) int {
	i, _ := slices.BinarySearchFunc(line, at, func(x model.Interval, at model.Time) int {
		if x.To <= at {
			return -1
		}
		return 1
	})
	return i
}

// next returns the first time from at on from which a line is free for length.
func next(line []model.Interval, at, length model.Time) model.Time {
	for _, x := range line[after(line, at):] {
		if x.From >= at.Add(length) {
			break
		}
		at = x.To
	}
	return at
}

// insert adds an interval to a line that is free in it.
func insert(line []model.Interval, x model.Interval) []model.Interval {
	return slices.Insert(line, after(line, x.From), x)
}

// remove takes an interval away that was added.
func remove(line []model.Interval, x model.Interval) []model.Interval {
	i := after(line, x.From)
	return slices.Delete(line, i, i+1)
}
