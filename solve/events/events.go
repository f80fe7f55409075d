// Package events keeps what is to happen, for simulations that go from event to event.
package events

import "github.com/oraccl/oraccl/model"

// Calendar holds the transfers that are under way, by number. What lasts equally long arrives in
// the order in which it starts, so that it is one queue for each duration, of which
// there are few, and a heap of the queues.
type Calendar struct {
	lines  []line
	number map[model.Time]int32 // of the line of a duration
	heap   []int32              // the lines that are not empty, that with the earliest arrival on top
}

type line struct {
	queue []arrival
	head  int
}

type arrival struct {
	at     model.Time
	number int32
}

func (c *Calendar) before(a, b int32) bool {
	x, y := &c.lines[a], &c.lines[b]
	s, t := x.queue[x.head].at, y.queue[y.head].at
	return s < t || s == t && a < b
}

// LineOf returns the line of a duration, for Add.
func (c *Calendar) LineOf(lasts model.Time) int32 {
	if c.number == nil {
		c.number = map[model.Time]int32{}
	}
	i, ok := c.number[lasts]
	if !ok {
		i = int32(len(c.lines))
		c.number[lasts] = i
		c.lines = append(c.lines, line{})
	}
	return i
}

// Add enters a transfer that starts now, the latest start so far, and arrives at a time.
func (c *Calendar) Add(line int32, at model.Time, number int32) {
	l := &c.lines[line]
	l.queue = append(l.queue, arrival{at, number})
	if len(l.queue)-l.head == 1 {
		c.heap = append(c.heap, line)
		for i := len(c.heap) - 1; i > 0; {
			up := (i - 1) / 2
			if !c.before(c.heap[i], c.heap[up]) {
				break
			}
			c.heap[i], c.heap[up] = c.heap[up], c.heap[i]
			i = up
		}
	}
}

// Next returns the time of the next arrival, or MaxTime.
func (c *Calendar) Next() model.Time {
	if len(c.heap) == 0 {
		return model.MaxTime
	}
	l := &c.lines[c.heap[0]]
	return l.queue[l.head].at
}

// Take appends the transfers that arrive at the time of the next arrival.
func (c *Calendar) Take(taken []int32) []int32 {
	now := c.Next()
	for len(c.heap) > 0 && c.Next() == now {
		l := &c.lines[c.heap[0]]
		for l.head < len(l.queue) && l.queue[l.head].at == now {
			taken = append(taken, l.queue[l.head].number)
			l.head++
		}
		switch {
		case l.head == len(l.queue):
			l.queue, l.head = l.queue[:0], 0
			last := len(c.heap) - 1
			c.heap[0] = c.heap[last]
			c.heap = c.heap[:last]
		case l.head > 1<<12 && 2*l.head > len(l.queue):
			l.queue, l.head = l.queue[:copy(l.queue, l.queue[l.head:])], 0
		}
		c.sink()
	}
	return taken
}

// sink restores the order of the heap when the top has changed.
func (c *Calendar) sink() {
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(c.heap) && c.before(c.heap[down], c.heap[least]) {
				least = down
			}
		}
		if least == i {
			return
		}
		c.heap[i], c.heap[least] = c.heap[least], c.heap[i]
		i = least
	}
}

// Queue is a heap of events, the first on top.
type Queue []Event

// Event is that something, by its number, is due at a time.
type Event struct {
	At  model.Time
	Tie uint32 // which of several at one time comes first, if they are not to come by number
	ID  int32
}

func (a Event) before(b Event) bool {
	return a.At < b.At || a.At == b.At && (a.Tie < b.Tie || a.Tie == b.Tie && a.ID < b.ID)
}

// Add enters an event.
func (h *Queue) Add(x Event) {
	*h = append(*h, x)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if !a[i].before(a[up]) {
			break
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

// Take takes out the first event. There must be one.
func (h *Queue) Take() Event {
	a := *h
	top, last := a[0], len(a)-1
	a[0] = a[last]
	a = a[:last]
	*h = a
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(a) && a[down].before(a[least]) {
				least = down
			}
		}
		if least == i {
			return top
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
}

// Next returns the time of the first event, or MaxTime.
func (h Queue) Next() model.Time {
	if len(h) == 0 {
		return model.MaxTime
	}
	return h[0].At
}
