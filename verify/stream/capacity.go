package stream

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// capacity says when links and ports are busy (SPEC 4). A link that every transfer keeps
// busy from the same moment after its start on is taken in the order of the starts, so
// that the end of the latest span says all. Of other links, and of ports, all spans are
// kept that are not over by the latest start: none that is still to come begins earlier.
type capacity struct {
	until   []model.Time // by link: the end of its latest span
	lists   [][]model.Interval
	list    []int32   // by link: its list, or -1
	ports   []port    // those that can be overloaded
	portsOf [][]int32 // by link; nil if there are none
}

// port is a capacity over some links: one of the topology's, or, under model.Rounds, the
// one send or the one receive of a rank.
type port struct {
	name     string
	capacity int
	rank     int32
	spans    []model.Interval
}

func newCapacity(p *model.Problem, form model.Form, routes [][]int, paths []path, times *times) capacity {
	t := p.Topology
	c := capacity{until: make([]model.Time, len(t.Links)), list: make([]int32, len(t.Links))}
	from := make([]model.Time, len(t.Links)) // 1 + the moment, 0: none yet
	for i := range c.list {
		c.list[i] = -1
	}
	for i, route := range routes {
		if len(route) == 1 && from[route[0]] == 1 || paths[i].wrong != "" {
			continue
		}
		for class := range times.sizes {
			f := times.figures(paths[i].kind, int32(class))
			for j, l := range route {
				at := 1 + f.busy[j].From
				if from[l] == 0 {
					from[l] = at
				}
				if from[l] != at && c.list[l] < 0 {
					c.list[l] = int32(len(c.lists))
					c.lists = append(c.lists, nil)
				}
			}
			if len(route) == 1 {
				break // from the start on, whatever the size
			}
		}
	}
	add := func(name string, links []int, capacity int, rank int32) {
		if len(links) <= capacity {
			return // each carries one at a time, so that they are never too many
		}
		if c.portsOf == nil {
			c.portsOf = make([][]int32, len(t.Links))
		}
		for _, l := range links {
			c.portsOf[l] = append(c.portsOf[l], int32(len(c.ports)))
		}
		c.ports = append(c.ports, port{name: name, capacity: capacity, rank: rank})
	}
	for i, q := range t.Ports {
		name := "port " + q.Name
		if q.Name == "" {
			name = fmt.Sprintf("port %d", i)
		}
		add(name, q.Links, q.Capacity, -1)
	}
	if p.Cost == model.Rounds && form == model.InRounds {
		out, in := t.Out(), t.In()
		for r := range t.Ranks {
			add(fmt.Sprintf("the send port of rank %d", r), out[r], 1, int32(r))
			add(fmt.Sprintf("the receive port of rank %d", r), in[r], 1, int32(r))
		}
	}
	return c
}

// occupy has a transfer keep the links of its route busy.
func (c *Checker) occupy(t *model.Transfer, route []int, busy []model.Interval) {
	for i, l := range route {
		span := model.Interval{From: t.Start + busy[i].From, To: t.Start + busy[i].To}
		free := false
		if n := c.list[l]; n >= 0 {
			free = c.fits(&c.lists[n], span, 1)
		} else if free = span.From >= c.until[l]; free {
			c.until[l] = span.To
		}
		if !free {
			k := c.t.Links[l]
			c.report(verify.LinkOverlap, t, int32(k.Src), "link %d, %s to %s, is busy with another at that time", l, c.t.NodeName(k.Src), c.t.NodeName(k.Dst))
		}
		if c.portsOf == nil {
			continue
		}
		for _, n := range c.portsOf[l] {
			if q := &c.ports[n]; !c.fits(&q.spans, span, q.capacity) {
				c.report(verify.PortOverload, t, q.rank, "%s is in use by more than %d at that time", q.name, q.capacity)
			}
		}
	}
}

// fits adds a span to others, of which those that are over by the latest start go, and
// returns true, unless more than this many would lie over one another. It takes
// O(spans · log spans) time.
func (c *Checker) fits(list *[]model.Interval, x model.Interval, capacity int) bool {
	c.work.Go(len(*list))         // where that is too much, the next transfer is not looked at
	spans, over := (*list)[:0], 1 // x, and spans that lie over a part of it
	for _, y := range *list {
		if y.To > c.now {
			spans = append(spans, y)
			if y.From < x.To && x.From < y.To {
				over++
			}
		}
	}
	*list = spans
	if over > capacity && most(spans, x) > capacity {
		return false
	}
	*list = append(spans, x)
	return true
}

// most returns how many of x and the spans lie over one another at some instant within x. The
// most do where one of them begins.
func most(spans []model.Interval, x model.Interval) int {
	var begins, ends []model.Time
	for _, y := range spans {
		if y.From < x.To && x.From < y.To {
			begins, ends = append(begins, max(y.From, x.From)), append(ends, y.To)
		}
	}
	slices.Sort(begins)
	slices.Sort(ends)
	found, over := 0, 0
	for i, at := range begins {
		for ends[over] <= at {
			over++
		}
		found = max(found, i+1-over)
	}
	return found + 1
}
