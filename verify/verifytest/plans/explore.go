// Package plans has what tests of verify/plan need: Explore, which carries out small plans in
// every order of their threads, and shares no code with what it is compared to; plans that are
// right, and mutations of plans.
package plans

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Threads is how many threads a threadblock has here. Moves should have as many elements at
// least, and operations at most as many identifiers.
const Threads = 2

// Found is what is wrong in some order.
type Found struct {
	Deadlock, Race, Entry, Exit bool
	Result                      string // what is wrong in the end, in an order without races
	States                      int
	Enough                      bool // all orders were looked at
	First                       string
}

// step is what a thread, or a proxy, does at once.
type step struct {
	kind    byte // 'j' join, 'b' barrier, 's' raise, 't' draw a number, 'w' take, 'm' element, 'p' hand over, 'f' wait for the proxy, 'l' the end of a launch
	launch  int
	id      int // counter, or number of the join
	to      *request
	reads   []int64 // cells
	packets []int64 // cells that must have been written as packets
	writes  []int64
	sums    [][]int64 // of each write the cells that it is the sum of
	group   []int     // threads that meet
	place   string
}

// request is what a proxy does: a transfer, then a signal; either may be missing.
type request struct {
	channel  int
	transfer []step // element by element
	signal   int
	number   int
}

// machine is a plan as threads and cells of 8 bytes. A cell is a space's number and a position;
// cells of packets are marked by a bit.
type machine struct {
	p        *model.Plan
	threads  [][]step
	rank     []int
	credit   []int
	owner    map[int64]int // of the caller's cells
	requests []*request
	channels int
	slot     map[int64]int // cells of packets
}

const packetBit = int64(1) << 62

func cells(p *model.Plan, s model.PlanSpan, from, size int64) []int64 {
	x := p.Buffers[s.Buffer]
	var all []int64
	for c := int64(0); c < size; c += 8 {
		at := s.Start + from + c
		cell := int64(x.Space)<<40 | (x.Base + at)
		if s.Packet {
			cell = int64(x.Space)<<40 | at | packetBit
		}
		all = append(all, cell)
	}
	return all
}

func compile(p *model.Plan, launches int) *machine {
	m := &machine{p: p, owner: map[int64]int{}, slot: map[int64]int{}}
	for _, b := range p.Buffers {
		for c := int64(0); b.User && c < b.Size; c += 8 {
			m.owner[int64(b.Space)<<40|(b.Base+c)] = b.Rank
		}
	}
	m.credit = append(make([]int, len(p.Counters)), p.Semaphores...)
	channels := map[[2]int]int{}
	for range Threads * len(p.Blocks) {
		m.threads = append(m.threads, nil)
	}
	for b := range p.Blocks {
		for range Threads {
			m.rank = append(m.rank, p.Blocks[b].Rank)
		}
	}
	for b := range launches * len(p.Blocks) {
		launch := b / len(p.Blocks)
		b %= len(p.Blocks)
		x := &p.Blocks[b]
		base := Threads * b
		do := func(t int, s step) {
			s.launch = launch
			m.threads[base+t] = append(m.threads[base+t], s)
		}
		for i := range x.Ops {
			o := &x.Ops[i]
			place := x.Place(i)
			join := func() {
				for t := range Threads {
					do(t, step{kind: 'j', group: []int{base, base + 1}, place: place})
				}
			}
			hand := func(k, port int, transfer []step, signal int) *request {
				c := [2]int{x.Rank, port}
				if _, ok := channels[c]; !ok {
					channels[c] = len(channels)
				}
				r := &request{channel: channels[c], transfer: transfer, signal: signal, number: len(m.requests)}
				m.requests = append(m.requests, r)
				do(k, step{kind: 'p', to: r, place: place})
				return r
			}
			element := func(v *model.PlanMove, from, size int64, wait bool) step {
				s := step{kind: 'm', launch: launch, place: place}
				for _, list := range [][]model.PlanSpan{v.Srcs, v.Dsts} {
					for _, x := range list {
						for _, c := range cells(p, x, from, size) {
							if _, ok := m.slot[c]; !ok && x.Packet {
								m.slot[c] = len(m.slot)
							}
						}
					}
				}
				var all [][]int64
				for _, r := range v.Srcs {
					list := cells(p, r, from, size)
					all = append(all, list)
					if r.Packet && wait {
						s.packets = append(s.packets, list...)
					} else {
						s.reads = append(s.reads, list...)
					}
				}
				for _, w := range v.Dsts {
					for c, cell := range cells(p, w, from, size) {
						s.writes = append(s.writes, cell)
						var sum []int64
						for _, list := range all {
							sum = append(sum, list[c])
						}
						s.sums = append(s.sums, sum)
					}
				}
				return s
			}
			switch o.Verb {
			case model.PlanJoin:
				join()
			case model.PlanBarrier:
				join()
				do(0, step{kind: 'b', id: o.Barrier<<8 | o.Blocks, place: place})
				join()
			case model.PlanSignal, model.PlanRelease:
				for k, c := range o.IDs {
					if o.Verb == model.PlanRelease {
						c += len(p.Counters)
					}
					if o.Ports != nil {
						hand(k, o.Ports[k], nil, c)
					} else {
						do(k, step{kind: 's', id: c, place: place})
					}
				}
			case model.PlanWait, model.PlanAcquire:
				for k, c := range o.IDs {
					if o.Verb == model.PlanAcquire {
						c += len(p.Counters)
					}
					do(k, step{kind: 't', id: c, place: place})
					do(k, step{kind: 'w', id: c, place: place})
				}
			case model.PlanCompute:
				for j := range o.Moves {
					v := &o.Moves[j]
					for e := int64(0); e*v.Grain < v.Bytes(); e++ {
						do(int(e%Threads), element(v, e*v.Grain, v.Grain, true))
					}
				}
			case model.PlanRequest:
				for k := range o.Moves {
					var t []step
					v := &o.Moves[k]
					for e := int64(0); e*v.Grain < v.Bytes(); e++ {
						t = append(t, element(v, e*v.Grain, v.Grain, false))
					}
					signal := -1
					if o.IDs != nil {
						signal = o.IDs[k]
					}
					r := hand(k, o.Ports[k], t, signal)
					if o.Flush {
						do(k, step{kind: 'f', to: r, place: place})
					}
				}
			}
		}
		for t := range Threads {
			do(t, step{kind: 'l'})
		}
	}
	m.channels = len(channels)
	return m
}

// state is how far all are.
type state struct {
	pc      []uint8
	joined  []uint8 // of each thread: whether it waits in a join
	phase   []uint8 // of each rank how often it has started and ended: odd while it runs
	queue   []uint8 // of requests, in the order of their coming; a proxy takes the first of each channel
	moved   []uint8 // elements of each request
	count   []uint8
	taken   []uint8
	ticket  []uint8
	met     []uint8 // of each thread: barriers that it came to
	packets []uint8 // by machine.slot: the launch that wrote last, from 1 on
}

func (s *state) clone() *state {
	c := *s
	c.pc, c.joined, c.phase = slices.Clone(s.pc), slices.Clone(s.joined), slices.Clone(s.phase)
	c.queue, c.moved, c.count = slices.Clone(s.queue), slices.Clone(s.moved), slices.Clone(s.count)
	c.taken, c.ticket, c.met = slices.Clone(s.taken), slices.Clone(s.ticket), slices.Clone(s.met)
	c.packets = slices.Clone(s.packets)
	return &c
}

func (s *state) key() string {
	return string(slices.Concat(s.pc, s.joined, s.queue, []uint8{255}, s.ticket, s.taken, s.met, s.moved, s.phase, s.packets))
}

// action is something that can happen next.
type action struct {
	step  *step
	owner int // rank
	by    int // thread, or minus one minus the channel of a proxy
	do    func(*state)
}

// Explore carries a plan out in every order, some launches one after the other, as long as there are at
// most limit states. Counters, semaphores and scratch persist from launch to launch; the result is
// that of one.
func Explore(p *model.Plan, launches, limit int) *Found {
	m := compile(p, launches)
	n := len(m.threads)
	first := &state{pc: make([]uint8, n), joined: make([]uint8, n), phase: make([]uint8, p.Ranks), moved: make([]uint8, len(m.requests)),
		count: make([]uint8, len(m.credit)), taken: make([]uint8, len(m.credit)), ticket: make([]uint8, n), met: make([]uint8, n), packets: make([]uint8, len(m.slot))}
	for i, c := range m.credit {
		first.count[i] = uint8(c)
	}
	f := &Found{Enough: true}
	for _, steps := range m.threads {
		if len(steps) >= 1<<8 || len(m.requests) >= 1<<8-1 {
			return &Found{}
		}
	}
	seen := map[string]bool{first.key(): true}
	stack := []*state{first}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if f.States++; f.States > limit {
			f.Enough = false
			break
		}
		list := m.next(s)
		m.look(s, list, f)
		if len(list) == 0 {
			for r := range p.Ranks {
				if int(s.phase[r]) < 2*launches {
					f.Deadlock = true
				}
			}
		}
		for _, a := range list {
			c := s.clone()
			a.do(c)
			if k := c.key(); !seen[k] {
				seen[k] = true
				stack = append(stack, c)
			}
		}
	}
	if f.Enough && !f.Deadlock && !f.Race && launches == 1 {
		f.Result = m.result(first)
	}
	return f
}

// next lists what can happen.
func (m *machine) next(s *state) []action {
	var all []action
	for r, phase := range s.phase {
		if phase%2 == 0 {
			more := phase == 0
			for t := range m.threads {
				more = more || m.rank[t] == r && int(s.pc[t]) < len(m.threads[t])
			}
			if more {
				all = append(all, action{owner: r, do: func(c *state) { c.phase[r]++ }})
			}
			continue
		}
		over := true
		for t := range m.threads {
			over = over && (m.rank[t] != r || m.threads[t][s.pc[t]].kind == 'l')
		}
		if over {
			all = append(all, action{owner: r, do: func(c *state) {
				c.phase[r]++
				for t := range m.threads {
					if m.rank[t] == r {
						c.pc[t]++
					}
				}
			}})
		}
	}
	for t := range m.threads {
		if s.phase[m.rank[t]]%2 == 0 || m.threads[t][s.pc[t]].kind == 'l' {
			continue
		}
		x := &m.threads[t][s.pc[t]]
		a := action{step: x, owner: m.rank[t], by: t, do: func(c *state) { c.pc[t]++ }}
		switch x.kind {
		case 'j':
			if s.joined[t] == 0 {
				a.do = func(c *state) {
					c.joined[t] = 1
					for _, o := range x.group {
						if c.joined[o] == 0 {
							return
						}
					}
					for _, o := range x.group {
						c.joined[o] = 0
						c.pc[o]++
					}
				}
				break
			}
			continue
		case 'b':
			if s.met[t]&1 == 0 {
				a.do = func(c *state) { c.met[t]++ } // odd: it waits
				break
			}
			round, here := s.met[t]/2, 0
			for o := range m.threads {
				if m.rank[o] == m.rank[t] && m.meets(o, x.id>>8) && (s.met[o]+1)/2 > round {
					here++
				}
			}
			if here < x.id&255 {
				continue
			}
			a.do = func(c *state) { c.met[t]++; c.pc[t]++ }
		case 's':
			a.do = func(c *state) { c.count[x.id]++; c.pc[t]++ }
		case 't':
			a.do = func(c *state) { c.taken[x.id]++; c.ticket[t] = c.taken[x.id]; c.pc[t]++ }
		case 'w':
			if s.count[x.id] < s.ticket[t] {
				continue
			}
			a.do = func(c *state) { c.ticket[t] = 0; c.pc[t]++ }
		case 'p':
			a.do = func(c *state) { c.queue = append(c.queue, uint8(x.to.number)); c.pc[t]++ }
		case 'f':
			if int(s.moved[x.to.number]) < len(x.to.transfer) {
				continue
			}
		case 'm':
			ready := true
			for _, c := range x.packets {
				ready = ready && int(s.packets[m.slot[c]]) == x.launch+1
			}
			if !ready {
				continue
			}
			a.do = func(c *state) {
				c.pc[t]++
				for _, w := range x.writes {
					if w&packetBit != 0 {
						c.packets[m.slot[w]] = uint8(x.launch + 1)
					}
				}
			}
		}
		all = append(all, a)
	}
	busy := map[int]bool{}
	for i, number := range s.queue {
		r := m.requests[number]
		if busy[r.channel] {
			continue
		}
		busy[r.channel] = true
		a := action{by: -1 - r.channel}
		over := func(c *state) { c.queue = slices.Delete(c.queue, i, i+1) }
		if k := int(s.moved[number]); k < len(r.transfer) {
			a.step = &r.transfer[k]
			a.do = func(c *state) {
				c.moved[number]++
				for _, w := range r.transfer[k].writes {
					if w&packetBit != 0 {
						c.packets[m.slot[w]] = uint8(r.transfer[k].launch + 1)
					}
				}
				if k == len(r.transfer)-1 && r.signal < 0 {
					over(c)
				}
			}
		} else {
			a.do = func(c *state) {
				c.count[r.signal]++
				over(c)
			}
		}
		all = append(all, a)
	}
	return all
}

// meets reports whether a thread comes to a barrier.
func (m *machine) meets(t, barrier int) bool {
	return slices.ContainsFunc(m.threads[t], func(s step) bool { return s.kind == 'b' && s.id>>8 == barrier })
}

// look looks for two that use a cell at once, or in either order through one channel, one writing, and
// for uses of memory of a rank that has not started or has ended.
func (m *machine) look(s *state, list []action, f *Found) {
	for i, a := range list {
		if a.step != nil && a.step.kind == 'p' {
			for _, b := range list[:i] {
				if b.step != nil && b.step.kind == 'p' && m.conflict(a.step.to, b.step.to) {
					f.say(&f.Race, a.step.place+" and "+b.step.place)
				}
			}
		}
		if a.step == nil || a.step.kind != 'm' {
			continue
		}
		for _, c := range slices.Concat(a.step.reads, a.step.writes) {
			r, user := m.owner[c]
			if !user || r == a.owner && a.by >= 0 {
				continue
			}
			if now := int(s.phase[r]); now < 2*a.step.launch+1 {
				f.say(&f.Entry, a.step.place)
			} else if now > 2*a.step.launch+1 {
				f.say(&f.Exit, a.step.place)
			}
		}
		for _, b := range list[:i] {
			if b.step == nil || b.step.kind != 'm' {
				continue
			}
			between := a.step.launch != b.step.launch // then the caller's memory is not looked at
			for _, w := range a.step.writes {
				if _, user := m.owner[w]; user && between {
					continue
				}
				if slices.Contains(b.step.reads, w) || slices.Contains(b.step.writes, w) {
					f.say(&f.Race, a.step.place+" and "+b.step.place)
				}
			}
			for _, r := range a.step.reads {
				if _, user := m.owner[r]; user && between {
					continue
				}
				if slices.Contains(b.step.writes, r) {
					f.say(&f.Race, a.step.place+" and "+b.step.place)
				}
			}
		}
	}
}

// conflict reports whether what two requests of one channel leave depends on which is handed over first.
func (m *machine) conflict(a, b *request) bool {
	if a.channel != b.channel {
		return false
	}
	for i := range a.transfer {
		for j := range b.transfer {
			x, y := &a.transfer[i], &b.transfer[j]
			uses := func(s *step, cell int64) bool {
				if _, user := m.owner[cell]; user && x.launch != y.launch {
					return false
				}
				return slices.Contains(s.reads, cell) || slices.Contains(s.writes, cell)
			}
			if slices.ContainsFunc(x.writes, func(c int64) bool { return uses(y, c) }) || slices.ContainsFunc(y.writes, func(c int64) bool { return uses(x, c) }) {
				return true
			}
		}
	}
	return false
}

func (f *Found) say(what *bool, place string) {
	if !*what {
		f.First += place + "; "
	}
	*what = true
}

// result carries the plan out in one order, and compares what memory holds in the end.
func (m *machine) result(s *state) string {
	memory := map[int64]map[int64]int{} // of each cell how often it has the contribution of an input's cell
	for r, b := range m.p.Inputs {
		x := m.p.Buffers[b]
		for c := int64(0); c < x.Size; c += 8 {
			memory[int64(x.Space)<<40|(x.Base+c)] = map[int64]int{int64(r)<<40 | c: 1}
		}
	}
	for {
		list := m.next(s)
		if len(list) == 0 {
			break
		}
		a := list[0]
		if a.step != nil && a.step.kind == 'm' {
			fresh := make([]map[int64]int, len(a.step.writes))
			for i, sum := range a.step.sums {
				fresh[i] = map[int64]int{}
				for _, c := range sum {
					if memory[c] == nil {
						return "reads what nobody wrote at " + a.step.place
					}
					for k, n := range memory[c] {
						fresh[i][k] += n
					}
				}
			}
			for i, w := range a.step.writes {
				memory[w] = fresh[i]
			}
		}
		s = s.clone()
		a.do(s)
	}
	for _, w := range m.p.Wants {
		x := m.p.Buffers[w.Buffer]
		for c := int64(0); c < w.Size && !w.Kept; c += 8 {
			have := memory[int64(x.Space)<<40|(x.Base+w.Start+c)]
			right := len(have) == len(w.Ranks)
			for _, r := range w.Ranks {
				right = right && have[int64(r)<<40|(w.From+c)] == 1
			}
			if !right {
				return fmt.Sprintf("%s of gpu %d holds something else at %d", x.Name, x.Rank, w.Start+c)
			}
		}
	}
	return ""
}
