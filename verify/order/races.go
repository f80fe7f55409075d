package order

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// clockCells is how many entries of vector clocks are kept at a time.
const clockCells = 1 << 25

// races notes conflicting accesses of different processes that nothing orders.
// Conflicts are within a rank, so that an event's clock needs entries only for the
// processes of one rank at a time: the clock of an event has, for each of them, how
// many of its instructions happen before or with it.
func (m *machine) races() {
	ofRank := make([][]int32, m.p.Ranks)
	for e := range m.events {
		r := m.p.Processes[m.events[e].proc].Rank
		ofRank[r] = append(ofRank[r], int32(e))
	}
	var clocks, local []int32
	for r, events := range ofRank {
		procs := m.sharing(r, events)
		width := max(1, min(len(procs), clockCells/max(1, len(m.events))))
		for from := 0; from < len(procs); from += width {
			columns := procs[from:min(from+width, len(procs))]
			clocks = m.clocks(clocks, columns, nil)
			local = m.clocks(local, columns, events)
			if !m.work.Go(1) {
				return
			}
			m.scan(r, events, columns, clocks, local)
		}
	}
}

// sharing returns the processes of a rank that access a cell which another one
// accesses too and one of them writes.
func (m *machine) sharing(rank int, events []int32) []int32 {
	if len(m.ofRank[rank]) < 2 {
		return nil
	}
	type use struct {
		by               int32 // 1 + the first process
		several, written bool
	}
	cells := make([]use, m.p.Memory[rank])
	m.accesses(rank, events, func(e, c int32, writes bool) {
		u, by := &cells[c], m.events[e].proc+1
		u.written = u.written || writes
		u.several = u.several || u.by > 0 && u.by != by
		u.by = by
	})
	shares := map[int32]bool{}
	last := int32(-1)
	m.accesses(rank, events, func(e, c int32, _ bool) {
		if e != last && cells[c].several && cells[c].written {
			shares[m.events[e].proc] = true
			last = e
		}
	})
	var procs []int32
	for _, proc := range m.ofRank[rank] {
		if shares[proc] {
			procs = append(procs, proc)
		}
	}
	return procs
}

// accesses goes over the cells that events of a rank access, in order, the reads of
// an event before its writes.
func (m *machine) accesses(rank int, events []int32, visit func(e, cell int32, writes bool)) {
	for _, e := range events {
		ev := &m.events[e]
		in := &m.p.Processes[ev.proc].Steps[ev.step]
		over := func(ref model.Ref, offset int, writes bool) {
			at, _ := m.spanOf(rank, ref, offset, in.Count)
			for c := at.from; c < at.to && m.work.Go(1); c++ {
				visit(e, c, writes)
			}
		}
		if in.Verb&model.Reads != 0 {
			over(in.Src, in.Src.Offset, false)
			for _, off := range in.More {
				over(in.Src, int(off), false)
			}
		}
		if in.Verb&model.ReadsDst != 0 && in.Verb&model.Writes == 0 {
			over(in.Dst, in.Dst.Offset, false)
		}
		if in.Verb&model.Writes != 0 {
			over(in.Dst, in.Dst.Offset, true)
		}
	}
}

// clocks computes the clocks of all events, restricted to columns; or, given the
// events of one rank, of these alone, where messages order nothing.
func (m *machine) clocks(into []int32, columns, events []int32) []int32 {
	w := len(columns)
	if need := len(m.events) * w; cap(into) < need {
		into = make([]int32, need)
	} else {
		into = into[:need]
	}
	column := make([]int32, len(m.p.Processes)) // 1 + the index in columns
	for i, proc := range columns {
		column[proc] = int32(i) + 1
	}
	clock := func(e int32, remote bool) {
		ev := &m.events[e]
		m.work.Go(w)
		mine := into[int(e)*w : (int(e)+1)*w]
		at := m.first[ev.proc] + ev.step
		if ev.step > 0 {
			before := int(m.at[at-1])
			copy(mine, into[before*w:(before+1)*w])
		} else {
			clear(mine)
		}
		if remote && ev.message >= 0 {
			join(mine, into[int(ev.message)*w:])
		}
		if wait := m.waitOf[at]; wait >= 0 {
			for _, t := range m.waits[wait] {
				join(mine, into[int(m.at[m.first[t.proc]+t.step])*w:])
			}
		}
		if i := column[ev.proc]; i > 0 {
			mine[i-1] = ev.step + 1
		}
	}
	if events == nil {
		for e := range m.events {
			clock(int32(e), true)
		}
	}
	for _, e := range events {
		clock(e, false)
	}
	return into
}

func join(a, b []int32) {
	b = b[:len(a)]
	for i := range a {
		a[i] = max(a[i], b[i])
	}
}

// latest are the events that later accesses to a cell must come after: the last
// write and, of every process, the last read since.
type latest struct {
	write int32
	reads []int32
}

// scanner looks for races on one rank.
type scanner struct {
	m             *machine
	column        map[int32]int
	w             int
	clocks, local []int32
	cells         []latest
}

// scan goes over the events of a rank and compares each access with those before
// it by processes of columns.
func (m *machine) scan(rank int, events, columns, clocks, local []int32) {
	s := &scanner{m: m, column: make(map[int32]int, len(columns)), w: len(columns), clocks: clocks, local: local, cells: make([]latest, m.p.Memory[rank])}
	for i, proc := range columns {
		s.column[proc] = i
	}
	for i := range s.cells {
		s.cells[i].write = -1
	}
	m.accesses(rank, events, s.access)
}

// access compares an access with those before it, and remembers it.
func (s *scanner) access(e, c int32, writes bool) {
	cell := &s.cells[c]
	if cell.write >= 0 {
		s.compare(cell.write, e, c, true, writes)
	}
	if writes {
		for _, read := range cell.reads {
			s.compare(read, e, c, false, true)
		}
		cell.write, cell.reads = e, cell.reads[:0]
		return
	}
	for i, read := range cell.reads {
		if s.m.events[read].proc == s.m.events[e].proc {
			cell.reads[i] = e
			return
		}
	}
	cell.reads = append(cell.reads, e)
}

// compare notes that two accesses are not ordered, or only through other ranks.
func (s *scanner) compare(a, b, cell int32, aWrites, bWrites bool) {
	m := s.m
	ea, eb := &m.events[a], &m.events[b]
	i, mine := s.column[ea.proc]
	if ea.proc == eb.proc || !mine {
		return
	}
	if s.clocks[int(b)*s.w+i] <= ea.step {
		code := verify.ReadWriteRace
		if aWrites && bWrites {
			code = verify.WriteWriteRace
		}
		m.race(code, a, b, cell, aWrites, bWrites)
		return
	}
	if s.local[int(b)*s.w+i] <= ea.step {
		m.r.RemoteOnly++
		m.remote(a, b, cell, aWrites, bWrites)
	}
}

// remote notes two accesses that only messages through other ranks order.
func (m *machine) remote(a, b, cell int32, aWrites, bWrites bool) {
	ea, eb := m.events[a], m.events[b]
	v := m.violation(verify.RemoteOrder, eb.proc, eb.step, fmt.Sprintf("%s %s after %s %s it, which only messages through other ranks order", does(bWrites), m.cellAs(eb, cell, bWrites), m.step(ea.proc, ea.step), does(aWrites)))
	m.r.condition(v.AtChunk(int(cell)))
}

func does(writes bool) string {
	if writes {
		return "writes"
	}
	return "reads"
}

// race notes a race, with what b needs before it, to which a does not belong.
func (m *machine) race(code verify.Code, a, b, cell int32, aWrites, bWrites bool) {
	m.r.Counts[code]++
	if m.r.Counts[code] > perCode {
		return
	}
	ea, eb := m.events[a], m.events[b]
	rank := m.p.Processes[ea.proc].Rank
	past := m.past(b)
	message := fmt.Sprintf("%s %s and %s %s it, in no order; it may come first, after %s", does(bWrites), m.cellAs(eb, cell, bWrites), m.step(ea.proc, ea.step), does(aWrites), m.list(past))
	m.r.Verdict.Violations = append(m.r.Verdict.Violations, verify.Wrong(code, m.step(eb.proc, eb.step), message).AtSlot(rank, int(cell)).AtLine(m.line(eb.proc, eb.step)))
}

// cellAs names a cell as the instruction of an event does.
func (m *machine) cellAs(e event, cell int32, writes bool) string {
	q := &m.p.Processes[e.proc]
	ref := q.Steps[e.step].Src
	if writes {
		ref = q.Steps[e.step].Dst
	}
	b := &m.p.Buffers[q.Rank][ref.Buffer]
	return b.Name + m.chunk(int(cell)-b.Base)
}

// past returns the events that happen before one, in an order in which they may.
func (m *machine) past(e int32) []int32 {
	in := map[int32]bool{e: true}
	stack := []int32{e}
	visit := func(f int32) {
		if f >= 0 && !in[f] {
			in[f] = true
			stack = append(stack, f)
		}
	}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		ev := m.events[at]
		if ev.step > 0 {
			visit(m.at[m.first[ev.proc]+ev.step-1])
		}
		visit(ev.message)
		if w := m.waitOf[m.first[ev.proc]+ev.step]; w >= 0 {
			for _, t := range m.waits[w] {
				visit(m.at[m.first[t.proc]+t.step])
			}
		}
	}
	var past []int32
	for f := range m.events {
		if in[int32(f)] && int32(f) != e {
			past = append(past, int32(f))
		}
	}
	return past
}

// list writes the last few of some events.
func (m *machine) list(events []int32) string {
	const shown = 3
	if len(events) == 0 {
		return "nothing at all"
	}
	words := ""
	if len(events) > shown {
		words = fmt.Sprintf("%d steps, the last of them ", len(events))
		events = events[len(events)-shown:]
	}
	for i, e := range events {
		if i > 0 {
			words += ", "
		}
		words += m.step(m.events[e].proc, m.events[e].step)
	}
	return words
}
