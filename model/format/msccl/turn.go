package msccl

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// event is the end of a transfer, or the time when it has left its source: twice the number
// of the transfer, plus one for the latter.
type event int32

func endOf(transfer int32) event { return event(2 * transfer) }

func leaving(transfer int32) event { return event(2*transfer + 1) }

// turns follows what threadblocks do, in order: a step begins when the one before is done and
// what it depends on is; one that receives is done when what it receives is there, and one that sends when
// that has left.
type turns struct {
	done           map[int][][]event // by process and step: that all of them have happened
	received, sent []int32           // of the step that is executed now: transfers
}

// begin forgets the step before.
func (t *turns) begin() { t.received, t.sent = t.received[:0], t.sent[:0] }

// turn notes what the step that was executed last, of the process i, waits for.
func (x *importer) turn(i int, in *model.Instruction) {
	t := &x.turns
	if t.done == nil {
		t.done = map[int][][]event{}
	}
	q := &x.p.Processes[i]
	var now []event
	if before := t.done[i]; len(before) > 0 {
		now = before[len(before)-1]
	}
	now = now[:len(now):len(now)]
	for _, w := range in.Waits {
		if on, step, ok := x.awaited(q, w); ok && on != i {
			now = append(now, t.done[on][step]...)
		}
	}
	if len(in.Waits) > 0 {
		slices.Sort(now)
		now = slices.Compact(now)
	}
	for _, r := range t.received {
		now = append(now, endOf(r))
	}
	if len(t.sent) > 0 {
		for _, s := range t.sent {
			var ended, left []int32
			for _, e := range now {
				switch j := int32(e / 2); {
				case e == endOf(s): // it is only passed on
				case e%2 == 0:
					ended = append(ended, j)
				default:
					left = append(left, j)
				}
			}
			x.slots.Wait(s, ended, left)
		}
		now = nil
		for _, s := range t.sent {
			now = append(now, leaving(s))
		}
	}
	t.done[i] = append(t.done[i], now)
}
