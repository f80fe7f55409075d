package assign

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// message is a chunk on its way from one member to the next.
type message struct {
	chunk    int32
	src, dst int32 // members
	link     int32 // the first of its way
	prev     int32 // the message that it relays, or -1: it is read from a slot
	last     bool  // it is received into a slot, else to be relayed
	op       model.Op
	first    bool // of a send: the slot has not been written before, as of a receive
	fresh    bool // of a receive: likewise

	sent, received int32 // in the order of the schedule's events
	sendAt, recvAt int32 // levels
	then           int32 // the message that the step which receives this one may send on, or -1
	passes         bool  // and then nobody else needs the sum that it is sent as
}

// flow is a schedule as messages. Node 2·m is the send of message m, node 2·m+1 its
// receive.
type flow struct {
	*layout
	way      way
	messages []message
	before   [][]int32 // of a node: those on the same rank that it conflicts with, except for what follows from them
	begins   []bool    // by slot: member·chunks + chunk
	wanted   []bool
	written  []bool
	work     []model.Ref // where a slot lies once it is written; Buffer -1: nowhere yet
}

func (f *flow) slot(member, chunk int32) int { return int(member)*len(f.start) + int(chunk) }

// event is a read or a write of a slot, or of a place of a relay.
type event struct {
	at    model.Time
	phase int8  // writes come before reads of the same instant
	hop   int32 // 2·hop of a send, 2·hop+1 of a receive to be relayed
	node  int32
	level int32 // of timed ways: the number of the instant
}

// setLevels numbers the instants of events that are sorted.
func setLevels(events []event) {
	level := int32(0)
	for i := range events {
		if i > 0 && events[i].at != events[i-1].at {
			level++
		}
		events[i].level = level
	}
}

func newFlow(p *model.Problem, s *model.Schedule, shared *layout, way way) (*flow, error) {
	l := *shared
	l.used = make([]int, l.n)
	slots := l.n * len(p.Chunks)
	f := &flow{layout: &l, way: way, begins: make([]bool, slots), wanted: make([]bool, slots), written: make([]bool, slots), work: make([]model.Ref, slots)}
	for c := range p.Chunks {
		for rank := range p.Start(c) {
			f.begins[f.slot(int32(l.member[rank]), int32(c))] = true
		}
		for rank := range p.Goal(c) {
			f.wanted[f.slot(int32(l.member[rank]), int32(c))] = true
		}
	}
	for i := range f.work {
		f.work[i].Buffer = -1
		if f.wanted[i] {
			f.work[i] = model.Ref{Buffer: output, Offset: l.outputOf(i % len(p.Chunks))}
		}
	}
	events, err := f.hops(s)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.phase, b.phase), cmp.Compare(a.hop, b.hop), cmp.Compare(a.node, b.node))
	})
	if way.timed {
		setLevels(events)
	}
	f.conflicts(events)
	return f, nil
}

// hops makes the messages and their events.
func (f *flow) hops(s *model.Schedule) ([]event, error) {
	t := f.p.Topology
	at, err := instants(s)
	if err != nil {
		return nil, err
	}
	var events []event
	for i := range s.Transfers {
		x := &s.Transfers[i]
		route := s.Routes[x.Route]
		u, now := int(x.Src), at[i].From
		prev := int32(-1)
		hop, first := int32(0), -1
		for j, link := range route {
			v := t.Links[link].Dst
			if first < 0 {
				first = link
			}
			if !t.IsRank(v) {
				continue
			}
			if f.member[u] < 0 || f.member[v] < 0 {
				return nil, refuse("transfer %d passes from rank %d to rank %d, and not both of them are members of the group", i, u, v)
			}
			m := int32(len(f.messages))
			last := j == len(route)-1
			f.messages = append(f.messages, message{chunk: x.Chunk, src: int32(f.member[u]), dst: int32(f.member[v]), link: int32(first), prev: prev, last: last, op: x.Op, then: -1})
			events = append(events, event{at: now, phase: 1, hop: 2 * hop, node: 2 * m})
			if last {
				events = append(events, event{at: at[i].To, node: 2*m + 1})
			} else {
				if s.Form == model.Timed {
					now = min(x.Start.Add(t.Duration(route[:j+1], f.p.Chunks[x.Chunk].Size)), x.End-1)
				}
				events = append(events, event{at: now, phase: 1, hop: 2*hop + 1, node: 2*m + 1})
			}
			u, prev, hop, first = v, m, hop+1, -1
		}
	}
	return events, nil
}

// instants returns when transfers read and write: at their times or rounds, or at
// the levels of their order.
func instants(s *model.Schedule) ([]model.Interval, error) {
	at := make([]model.Interval, len(s.Transfers))
	if s.Form != model.Ordered {
		for i := range s.Transfers {
			at[i] = model.Interval{From: s.Transfers[i].Start, To: s.Transfers[i].End}
		}
		return at, nil
	}
	order, err := s.TopologicalOrder()
	if err != nil {
		return nil, err
	}
	for _, i := range order {
		for _, j := range s.After[i] {
			at[i].From = max(at[i].From, at[j].To)
		}
		at[i].To = at[i].From + 1
	}
	return at, nil
}

// latest are the accesses to a slot that later ones must come after.
type latest struct {
	write int32 // a node, or -1
	reads []int32
}

// conflicts goes over the events in the order of the schedule: it states what conflicts
// with what, gives every event a level, and finds out which receives are followed at
// once by a send of the same. Levels are times in which every message takes 1, and each
// rank sends one message at a time over a link: a send reads what was written up to
// its level, and a write comes after the level of what is to read the value before.
func (f *flow) conflicts(events []event) {
	f.before = make([][]int32, 2*len(f.messages))
	slots := make([]latest, len(f.work))
	for i := range slots {
		slots[i].write = -1
	}
	type lane struct{ src, dst, link int32 }
	next := map[lane]int32{}
	for seq, e := range events {
		m := e.node / 2
		x := &f.messages[m]
		if e.node%2 == 0 {
			x.sent = int32(seq)
			level := next[lane{x.src, x.dst, x.link}]
			if x.prev >= 0 {
				level = max(level, f.messages[x.prev].recvAt)
				f.before[e.node] = []int32{2*x.prev + 1}
				f.messages[x.prev].then = m
			} else {
				k := f.slot(x.src, x.chunk)
				at := &slots[k]
				x.first = !f.written[k]
				if at.write >= 0 {
					w := &f.messages[at.write/2]
					level = max(level, w.recvAt)
					f.before[e.node] = []int32{at.write}
					if w.passes = len(at.reads) == 0 && w.op == model.Reduction; len(at.reads) == 0 {
						w.then = m
					}
				}
				at.reads = append(at.reads, e.node)
			}
			if f.way.timed {
				level = e.level
			}
			x.sendAt = level
			next[lane{x.src, x.dst, x.link}] = level + 1
			continue
		}
		x.received = int32(seq)
		x.recvAt = x.sendAt + 1
		if f.way.timed {
			x.recvAt = e.level
		}
		if !x.last {
			continue
		}
		k := f.slot(x.dst, x.chunk)
		at := &slots[k]
		x.fresh = !f.written[k]
		if at.write >= 0 {
			w := &f.messages[at.write/2]
			x.recvAt = max(x.recvAt, w.recvAt)
			w.passes = w.passes && x.op == model.Copy
			if len(at.reads) == 0 {
				f.before[e.node] = append(f.before[e.node], at.write)
			}
		}
		for _, r := range at.reads {
			x.recvAt = max(x.recvAt, f.messages[r/2].sendAt+1)
			f.before[e.node] = append(f.before[e.node], r)
		}
		f.written[k] = true
		*at = latest{write: e.node}
	}
	for k := range slots {
		if w := slots[k].write; w >= 0 && f.wanted[k] {
			f.messages[w/2].passes = false
		}
	}
	for i := range f.messages {
		if x := &f.messages[i]; x.then >= 0 && f.messages[x.then].sendAt != x.recvAt {
			x.then, x.passes = -1, false
		}
	}
}

// parallel reports whether a member sends to another one over several links.
func (f *flow) parallel() bool {
	first := map[[2]int32]int32{}
	for i := range f.messages {
		x := &f.messages[i]
		if link, known := first[[2]int32{x.src, x.dst}]; known && link != x.link {
			return true
		}
		first[[2]int32{x.src, x.dst}] = x.link
	}
	return false
}

// fits refuses what no assignment can fit into.
func (f *flow) fits(l Limits) error {
	sends, receives := make([]int, f.n), make([]int, f.n)
	for i := range f.messages {
		sends[f.messages[i].src]++
		receives[f.messages[i].dst]++
	}
	for r := range f.n {
		if least := max(sends[r], receives[r]); least >= l.Elements || least > l.Threadblocks*l.Steps {
			return tooSmall("rank %d takes part in %d transfers, more than %d threadblocks of %d steps with %d elements in all have room for", r, least, l.Threadblocks, l.Steps, l.Elements)
		}
	}
	return nil
}
