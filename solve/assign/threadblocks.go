package assign

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// threadblocks gives every step one: that of the connections it uses, or, of what only
// copies, that of the message it belongs to, or one of its own.
func (c *connected) threadblocks() {
	c.tbs = make([][]threadblock, c.n)
	known := map[[4]int32]int32{}
	of := func(member, sendTo, recvFrom, channel int32) int32 {
		name := [4]int32{member, sendTo, recvFrom, channel}
		tb, ok := known[name]
		if !ok {
			tb = int32(len(c.tbs[member]))
			known[name] = tb
			c.tbs[member] = append(c.tbs[member], threadblock{sendTo: sendTo, recvFrom: recvFrom, channel: channel})
		}
		return tb
	}
	for i := range c.steps {
		s := &c.steps[i]
		switch {
		case s.kind == fills:
			s.tb = of(s.member, -1, -1, 0)
		case s.recv >= 0:
			from, channel := c.messages[s.recv].src, c.channel[s.recv]
			to, ok := c.sendsTo[end{s.member, from, channel}]
			if !ok {
				to = -1
			}
			s.tb = of(s.member, to, from, channel)
		default:
			to, channel := c.messages[s.send].dst, c.channel[s.send]
			from, ok := c.gets[end{s.member, to, channel}]
			if !ok {
				from = -1
			}
			s.tb = of(s.member, to, from, channel)
		}
		tb := &c.tbs[s.member][s.tb]
		tb.steps = append(tb.steps, int32(i))
	}
	for r := range c.tbs {
		slices.SortFunc(c.tbs[r], func(a, b threadblock) int {
			return cmp.Or(cmp.Compare(a.channel, b.channel), cmp.Compare(a.sendTo, b.sendTo), cmp.Compare(a.recvFrom, b.recvFrom))
		})
	}
}

// merge joins threadblocks that only send with such that only receive, on the same
// channel, where a rank has too many. Their steps keep their positions.
func (c *connected) merge() error {
	for r := range c.tbs {
		tbs := c.tbs[r]
		extra := len(tbs) - c.limits.Threadblocks
		join := func(i, j int) { // what j receives goes to i
			tbs[i].recvFrom, tbs[j].recvFrom = tbs[j].recvFrom, -1
			tbs[i].steps = append(tbs[i].steps, tbs[j].steps...)
			slices.Sort(tbs[i].steps)
			tbs[j].steps = nil
			extra--
		}
		for _, same := range []bool{true, false} { // the same peer first
			for i := range tbs {
				for j := 0; j < len(tbs) && extra > 0; j++ {
					a, b := &tbs[i], &tbs[j]
					if a.sendTo < 0 || a.recvFrom >= 0 || b.recvFrom < 0 || b.sendTo >= 0 || a.channel != b.channel || len(b.steps) == 0 ||
						same && a.sendTo != b.recvFrom || len(a.steps)+len(b.steps) > c.limits.Steps {
						continue
					}
					join(i, j)
				}
			}
		}
		c.tbs[r] = slices.DeleteFunc(tbs, func(t threadblock) bool { return len(t.steps) == 0 })
		if extra > 0 {
			return tooSmall("rank %d needs %d threadblocks, at most %d", r, len(c.tbs[r]), c.limits.Threadblocks)
		}
		for tb := range c.tbs[r] {
			for at, i := range c.tbs[r][tb].steps {
				c.steps[i].tb, c.steps[i].at = int32(tb), int32(at)
			}
		}
	}
	return nil
}

// program writes it all down.
func (c *connected) program() *model.Program {
	list := c.instructions(c.steps)
	p := c.state()
	for i := range c.steps {
		for _, w := range c.steps[i].waits {
			list[i].Waits = append(list[i].Waits, model.Wait{Process: int(c.steps[w].tb), Step: int(c.steps[w].at)})
			list[w].Signals = true
		}
	}
	for r := range c.tbs {
		for tb, t := range c.tbs[r] {
			q := model.Process{Rank: r, ID: tb, SendTo: int(t.sendTo), RecvFrom: int(t.recvFrom), Channel: int(t.channel)}
			label := 0
			for _, i := range t.steps {
				label += max(0, len(list[i].Waits)-1)
				list[i].Label = label
				q.Steps = append(q.Steps, list[i])
				label++
			}
			p.Processes = append(p.Processes, q)
		}
	}
	return p
}
