package view

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// clock is the axis of time of one picture or of several: from 0 to its end, without what is idle.
type clock struct {
	end  model.Time
	idle []model.Interval // in which nothing is under way, ascending; drawn short
}

// The least idle time that is drawn short, and how long it is drawn, as shares of the whole.
const (
	leastIdle = 1.0 / 20
	idleShare = 1.0 / 40
)

// clockOf returns the clock of some moments: idle is what is idle in all of them.
func clockOf(all ...*moments) *clock {
	c := &clock{}
	for _, m := range all {
		c.end = max(c.end, m.last)
	}
	var busy []model.Interval
	for _, m := range all {
		for _, i := range m.order {
			if n := len(busy); n > 0 && busy[n-1].From <= m.from[i] && m.from[i] <= busy[n-1].To {
				busy[n-1].To = max(busy[n-1].To, m.to[i])
				continue
			}
			busy = append(busy, model.Interval{From: m.from[i], To: m.to[i]})
		}
	}
	slices.SortFunc(busy, func(a, b model.Interval) int { return int(min(1, max(-1, a.From-b.From))) })
	at := model.Time(0)
	for _, b := range busy {
		if float64(b.From-at) >= leastIdle*float64(c.end) && b.From > at {
			c.idle = append(c.idle, model.Interval{From: at, To: b.From})
		}
		at = max(at, b.To)
	}
	return c
}

// short is how long an idle interval is drawn.
func (c *clock) short(i model.Interval) float64 {
	return min(float64(i.To-i.From), idleShare*float64(c.end))
}

// at returns where a time is drawn, as a length from the start.
func (c *clock) at(t model.Time) float64 {
	x := float64(t)
	for _, i := range c.idle {
		if t <= i.From {
			break
		}
		long := float64(i.To - i.From)
		x -= min(1, float64(t-i.From)/long) * (long - c.short(i))
	}
	return x
}

// length is that of the whole as it is drawn, at least 1.
func (c *clock) length() float64 { return max(1, c.at(c.end)) }
