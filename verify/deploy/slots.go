package deploy

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/order"
)

// Protocol is how a runtime moves data over a connection within a machine.
type Protocol struct {
	Slots    int   // how many transfers the sender may be ahead
	Transfer int64 // bytes of a transfer, with the default buffers
}

// Protocols are those that deployable schedules name.
var Protocols = map[string]Protocol{
	"Simple": {2, 2 << 20},
	"LL":     {8, 32 << 10},
	"LL128":  {8, 576000},
}

// mostChunks is how many chunks a transfer carries at most.
const mostChunks = 71

// Any is the size of Slots.Safe where any size is safe.
const Any = -1

// Slots is what the connections of a call need, and what their protocol has.
type Slots struct {
	Least      int   // buffer slots per connection, if a step is one transfer; 0: none is enough, or the call is not proved
	LeastLarge int   // if a chunk is one
	Have       int   // of the protocol; 0 if it is unknown
	Safe       int64 // the largest buffer without a deadlock: Any, or 0 for none
}

// slotsOf finds the least number of slots, and the sizes that the protocol's number is
// enough for: a transfer carries as many chunks as fit, so that large buffers need more
// of them. shares is how many of what the runtimes count the larger buffer has.
func slotsOf(r *order.Report, d *model.Deployable, shares int64) Slots {
	p := Protocols[d.Protocol]
	s := Slots{Least: r.Slots(0), LeastLarge: r.Slots(1), Have: p.Slots, Safe: Any}
	if s.Have == 0 || s.Least == 0 {
		return s
	}
	most := min(r.MaxCount(), mostChunks)
	for n := most; n >= 1; n-- {
		if r.Completes(s.Have, n) {
			continue
		}
		if s.Safe = 0; n < most {
			s.Safe = p.Transfer / int64(n+1) * int64(d.Chunks) * shares
		}
		break
	}
	return s
}

// describe writes the slots in words.
func (s *Slots) describe(protocol string) string {
	text := fmt.Sprintf("needs %s per connection", count(s.Least, "buffer slot"))
	if s.LeastLarge != s.Least {
		text += fmt.Sprintf(", %d for large buffers", s.LeastLarge)
	}
	text += fmt.Sprintf("; %s has %d, ", protocol, s.Have)
	switch {
	case s.Safe == Any:
		return text + "which is enough for every size"
	case s.Safe == 0:
		return text + "so it may deadlock at every size"
	}
	return text + "so it may deadlock above " + model.FormatBytes(s.Safe)
}

// Sentence writes what the connections of a call need in words, or returns "" where that is
// not decided.
func (r *Report) Sentence(c *Call) string {
	if c.Slots.Least == 0 || c.Slots.Have == 0 {
		return ""
	}
	return c.Slots.describe(r.Schedule.Protocol)
}

// tooFew refutes the size that was asked about, if some step waits for ever there.
func (r *Report) tooFew() []verify.Violation {
	p, known := Protocols[r.Schedule.Protocol]
	if r.Size == 0 || !known {
		return nil
	}
	chunk := max(1, r.Size/r.shares()/int64(max(1, r.Schedule.Chunks)))
	n := int(min(max(p.Transfer/chunk, 1), mostChunks))
	var all []verify.Violation
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Slots.Least > 0 && !c.Order.Completes(p.Slots, n) {
			message := fmt.Sprintf("%s is %s ahead at most and a transfer has room for %d of these chunks: threadblocks wait for ever", r.Schedule.Protocol, count(p.Slots, "transfer"), n)
			all = append(all, verify.Wrong(verify.TooFewSlots, fmt.Sprintf("buffer of %d bytes, %v", r.Size, c), message).AtLine(r.Schedule.Line))
		}
	}
	return all
}
