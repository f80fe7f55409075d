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
			m := &x.moves[s]
			for _, e := range now {
				if e != endOf(s) { // it is only passed on
					m.turn = append(m.turn, e)
				}
			}
		}
		now = nil
		for _, s := range t.sent {
			now = append(now, leaving(s))
		}
	}
	t.done[i] = append(t.done[i], now)
}

// order returns what the transfers wait for.
func (x *importer) order() *model.Precedence {
	n := len(x.moves)
	o := &model.Precedence{Ended: make([][]int32, n), Left: make([][]int32, n), Begun: make([][]int32, n)}
	for i := range x.moves {
		m := &x.moves[i]
		o.Ended[i], o.Begun[i] = slices.Clone(m.after), m.with
		for _, e := range m.turn {
			switch j := int32(e / 2); {
			case j == int32(i):
			case e%2 == 0:
				o.Ended[i] = append(o.Ended[i], j)
			default:
				o.Left[i] = append(o.Left[i], j)
			}
		}
		for _, list := range []*[]int32{&o.Ended[i], &o.Left[i]} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
	}
	return o
}
