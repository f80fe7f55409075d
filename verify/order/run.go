package order

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// run executes the program: processes take turns in their order, each until it cannot
// go on; then it sleeps until what it waits for has happened, and takes its turn after
// those that are awake. Channels hold any number of messages. What is executed, which
// message an instruction receives and what is left waiting does not depend on the turns.
func (m *machine) run() {
	p := m.p
	m.values = newValues(p)
	m.memory, m.writer = make([][]int32, p.Ranks), make([][]int32, p.Ranks)
	for r := range p.Ranks {
		m.memory[r] = append([]int32(nil), p.Pre[r]...)
		m.writer[r] = make([]int32, p.Memory[r])
		for i := range m.writer[r] {
			m.writer[r][i] = -1
		}
	}
	sleepers := map[int32][]int32{} // by the instruction that wakes them
	ready := make([]int32, 0, len(p.Processes))
	for i := range p.Processes {
		ready = append(ready, int32(i))
	}
	for len(ready) > 0 {
		proc := ready[0]
		ready = ready[1:]
		for steps := p.Processes[proc].Steps; int(m.pc[proc]) < len(steps); {
			step := m.pc[proc]
			if t, blocked := m.blockedBy(proc, step); blocked {
				if t.step >= 0 {
					on := m.first[t.proc] + t.step
					sleepers[on] = append(sleepers[on], proc)
				}
				break
			}
			if c := m.starved(proc, step); c >= 0 {
				m.channels[c].waiting = append(m.channels[c].waiting, proc)
				break
			}
			if !m.work.Go(1) {
				return
			}
			m.execute(proc, step)
			me := m.first[proc] + step
			if woken, ok := sleepers[me]; ok {
				ready = append(ready, woken...)
				delete(sleepers, me)
			}
			if steps[step].Verb&model.Sends != 0 {
				c := &m.channels[m.out[proc]]
				ready, c.waiting = append(ready, c.waiting...), c.waiting[:0]
			}
		}
	}
	for i := range m.channels {
		if c := &m.channels[i]; c.head < len(c.sends) {
			e := m.events[c.sends[c.head]]
			m.r.violate(m.violation(verify.UnmatchedSend, e.proc, e.step, fmt.Sprintf("gpu %d never receives this: %d sent on channel %d, %d received", c.dst, len(c.sends), c.number, c.head)))
		}
	}
}

// blockedBy returns the first wait of an instruction that is not over.
func (m *machine) blockedBy(proc, step int32) (target, bool) {
	w := m.waitOf[m.first[proc]+step]
	if w < 0 {
		return target{}, false
	}
	for _, t := range m.waits[w] {
		if t.step < 0 || m.pc[t.proc] <= t.step {
			return t, true
		}
	}
	return target{}, false
}

// starved returns the channel from which an instruction must receive and that is
// empty, or -1.
func (m *machine) starved(proc, step int32) int32 {
	if m.p.Processes[proc].Steps[step].Verb&model.Receives == 0 {
		return -1
	}
	if c := &m.channels[m.in[proc]]; c.head < len(c.sends) {
		return -1
	}
	return m.in[proc]
}

// span is a run of cells.
type span struct {
	from, to int32
	name     string // of its buffer, for messages
	base     int32  // of its buffer
}

// spanOf resolves count chunks at a reference, cut off at the ends of the buffer;
// past says that something was cut off.
func (m *machine) spanOf(rank int, ref model.Ref, offset, count int) (s span, past bool) {
	b := &m.p.Buffers[rank][ref.Buffer]
	from, to := int64(offset)*int64(m.p.Grain), (int64(offset)+int64(count))*int64(m.p.Grain)
	past = count > 0 && (from < 0 || to > int64(b.Cells))
	from, to = min(max(from, 0), int64(b.Cells)), min(max(to, 0), int64(b.Cells))
	return span{int32(b.Base) + int32(from), int32(b.Base) + int32(max(from, to)), b.Name, int32(b.Base)}, past
}

// execute carries out an instruction.
func (m *machine) execute(proc, step int32) {
	q := &m.p.Processes[proc]
	s := &q.Steps[step]
	me := int32(len(m.events))
	m.events = append(m.events, event{proc, step, -1})
	m.at[m.first[proc]+step] = me
	m.pc[proc]++
	cells := min(max(s.Count, 0), m.most) * m.p.Grain
	m.work.Go(cells)
	value := make([]int32, cells)
	held := false // value has something
	if s.Verb&model.Receives != 0 {
		c := &m.channels[m.in[proc]]
		from := c.sends[c.head]
		message := c.messages[c.head]
		c.messages[c.head] = nil
		c.head++
		m.events[me].message = from
		if len(message) != cells {
			e := m.events[from]
			m.r.violate(m.violation(verify.CountMismatch, proc, step, fmt.Sprintf("receives %d chunks, and %s sends %d", s.Count, m.step(e.proc, e.step), m.p.Processes[e.proc].Steps[e.step].Count)))
		}
		for i := range value {
			value[i] = undefined
		}
		copy(value, message)
		held = true
	}
	if s.Verb&model.ReadsDst != 0 {
		m.take(proc, step, s.Dst, s.Dst.Offset, value, &held)
	}
	if s.Verb&model.Reads != 0 {
		m.take(proc, step, s.Src, s.Src.Offset, value, &held)
		for _, off := range s.More {
			m.take(proc, step, s.Src, int(off), value, &held)
		}
	}
	if s.Verb&model.Writes != 0 {
		m.put(proc, step, me, s, value)
	}
	if s.Verb&model.Sends != 0 {
		c := &m.channels[m.out[proc]]
		c.sends = append(c.sends, me)
		c.messages = append(c.messages, value)
	}
}

// take adds what is in memory to value, or sets it.
func (m *machine) take(proc, step int32, ref model.Ref, offset int, value []int32, held *bool) {
	rank := m.p.Processes[proc].Rank
	at, past := m.spanOf(rank, ref, offset, len(value)/m.p.Grain)
	if past {
		m.beyond(proc, step, "reads", rank, ref, offset, len(value)/m.p.Grain)
	}
	skip := max(0, -offset*m.p.Grain) // cells before the buffer
	noted := -1                       // the chunk that was noted last
	for i := range value {
		v := undefined
		if j := i - skip; j >= 0 && j < int(at.to-at.from) {
			if v = m.memory[rank][int(at.from)+j]; v == undefined && i/m.p.Grain != noted {
				noted = i / m.p.Grain
				m.unwritten(proc, step, at, at.from+int32(j))
			}
		}
		if *held {
			v = m.values.add(value[i], v)
		}
		value[i] = v
	}
	*held = true
}

// unwritten notes a read of something undefined, once a chunk.
func (m *machine) unwritten(proc, step int32, at span, cell int32) {
	v := m.violation(verify.UninitialisedRead, proc, step, fmt.Sprintf("reads %s%s, which nothing has written", at.name, m.chunk(int(cell-at.base))))
	m.r.violate(v.AtChunk(int(cell)))
}

func (m *machine) beyond(proc, step int32, does string, rank int, ref model.Ref, offset, count int) {
	b := &m.p.Buffers[rank][ref.Buffer]
	size := fmt.Sprintf("%d chunks", b.Cells/m.p.Grain)
	if b.Cells%m.p.Grain != 0 {
		size = fmt.Sprintf("%d/%d chunks", b.Cells, m.p.Grain)
	}
	where := fmt.Sprintf("%s[%d]", b.Name, offset)
	if count > 1 {
		where = fmt.Sprintf("%s[%d..%d]", b.Name, offset, offset+count-1)
	}
	m.r.violate(m.violation(verify.OutOfBounds, proc, step, fmt.Sprintf("%s %s, and %s has %s", does, where, b.Name, size)))
}

// put writes value to memory.
func (m *machine) put(proc, step, me int32, s *model.Instruction, value []int32) {
	rank := m.p.Processes[proc].Rank
	at, past := m.spanOf(rank, s.Dst, s.Dst.Offset, len(value)/m.p.Grain)
	if past {
		m.beyond(proc, step, "writes", rank, s.Dst, s.Dst.Offset, len(value)/m.p.Grain)
	}
	skip := max(0, -s.Dst.Offset*m.p.Grain)
	kept := m.p.Kept != nil && m.p.Kept[rank] != nil
	for c := at.from; c < at.to; c++ {
		m.memory[rank][c] = value[int(c-at.from)+skip]
		m.writer[rank][c] = me
		if kept && m.p.Kept[rank][c] {
			m.r.condition(m.violation(verify.ClobberedInput, proc, step, fmt.Sprintf("writes %s%s, the caller's input", at.name, m.chunk(int(c-at.base)))))
			kept = false // once an instruction
		}
	}
	for _, off := range append([]int32{int32(s.Src.Offset)}, s.More...) { // sources that overlap, except for a shift
		if s.Verb&model.Reads == 0 {
			break
		}
		if from, _ := m.spanOf(rank, s.Src, int(off), s.Count); from.from != at.from && from.from < at.to && at.from < from.to {
			m.r.violate(m.violation(verify.ReadWriteRace, proc, step, fmt.Sprintf("reads %s[%d..%d] and writes %s[%d..%d] at once, and they overlap",
				from.name, off, int(off)+s.Count-1, at.name, s.Dst.Offset, s.Dst.Offset+s.Count-1)))
		}
	}
}
