package assign

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// kind is what a step does beside receiving and sending.
type kind uint8

const (
	moves   kind = iota // receives into a slot or a relay's place, sends, or both
	stages              // receives into scratch, for a step of kind settles
	settles             // puts what was staged into its slot
	readies             // copies from the input what settles is to add to
	fills               // copies from the input to the output what nobody sends
)

// step is an instruction. Its position is its index in the list of all.
type step struct {
	kind       kind
	member     int32
	recv, send int32 // messages, or -1
	chunk      int32

	tb, at int32   // its threadblock, of its member, and its index there
	waits  []int32 // steps
}

// steps puts the flow into an order. Not eager, a receive that a send of the same
// follows at once is one step with it, and everything takes place at its level. Eager,
// every receive is a step of its own, right behind its send where nothing forbids that;
// and where something does, a message of more than a unit is received into scratch.
func (f *flow) steps() []step {
	type item struct {
		level      int32
		phase      int8
		seq        int32
		recv, send int32
	}
	items := make([]item, 0, 2*len(f.messages))
	joined := make([]bool, len(f.messages))
	for i := range f.messages {
		if x := &f.messages[i]; x.then >= 0 && !f.way.eager {
			joined[x.then] = true
			then := &f.messages[x.then]
			items = append(items, item{then.sendAt, 1, then.sent, int32(i), x.then})
		} else {
			items = append(items, item{x.recvAt, 0, x.received, int32(i), -1})
		}
	}
	for i := range f.messages {
		if x := &f.messages[i]; !joined[i] {
			items = append(items, item{x.sendAt, 1, x.sent, -1, int32(i)})
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.phase, b.phase), cmp.Compare(a.seq, b.seq))
	})
	list := f.fills()
	over := make([]bool, 2*len(f.messages))
	received := make([]bool, len(f.messages))
	for _, it := range items {
		if it.recv >= 0 {
			x := &f.messages[it.recv]
			switch {
			case !received[it.recv]:
				list = append(list, step{member: x.dst, recv: it.recv, send: it.send, chunk: x.chunk})
			case !over[2*it.recv+1]:
				if x.op == model.Reduction && x.fresh && !f.stays(x.dst, x.chunk) {
					list = append(list, step{kind: readies, member: x.dst, recv: it.recv, send: -1, chunk: x.chunk})
				}
				list = append(list, step{kind: settles, member: x.dst, recv: it.recv, send: -1, chunk: x.chunk})
			}
			received[it.recv], over[2*it.recv+1] = true, true
		} else {
			list = append(list, step{member: f.messages[it.send].src, recv: -1, send: it.send, chunk: f.messages[it.send].chunk})
		}
		if it.send < 0 {
			continue
		}
		over[2*it.send] = true
		if !f.way.eager {
			continue
		}
		ready := !slices.ContainsFunc(f.before[2*it.send+1], func(n int32) bool { return !over[n] })
		x := &f.messages[it.send]
		switch {
		case ready:
			list = append(list, step{member: x.dst, recv: it.send, send: -1, chunk: x.chunk})
			received[it.send], over[2*it.send+1] = true, true
		case f.most > 1:
			list = append(list, step{kind: stages, member: x.dst, recv: it.send, send: -1, chunk: x.chunk})
			received[it.send] = true
		}
	}
	return list
}

// fills returns the copies of what is in its place from the beginning, except for the
// buffer.
func (f *flow) fills() []step {
	var list []step
	for k, wanted := range f.wanted {
		if wanted && f.begins[k] && !f.written[k] && !f.inPlace {
			list = append(list, step{kind: fills, member: int32(k / len(f.start)), recv: -1, send: -1, chunk: int32(k % len(f.start))})
		}
	}
	return list
}
