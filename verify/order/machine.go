package order

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// machine is a program with its names resolved, and what its execution leaves.
type machine struct {
	p    *model.Program
	r    *Report
	work *verify.Work

	proc     map[[2]int]int32   // a process by rank and ID
	ofRank   [][]int32          // the processes of a rank
	first    []int32            // the index of a process's first instruction among all
	waits    [][]target         // of an instruction with waits, by index among those
	waitOf   []int32            // of an instruction: its entry in waits, or -1
	out, in  []int32            // the connection of a process, or -1
	channels []channel          // connections
	most     int                // a count that is out of any bounds, in chunks
	byName   map[[3]int32]int32 // a connection by source, destination and channel

	// what the execution leaves
	events []event // in the order of execution
	at     []int32 // of an instruction: its event, or -1
	pc     []int32 // how far each process came
	memory [][]int32
	writer [][]int32 // the event that wrote a cell last, or -1
	values values
}

// target is what a wait is for: an instruction of a process, or never.
type target struct {
	proc, step int32 // step is -1 if it never comes
}

// channel is a FIFO from one rank to another.
type channel struct {
	src, dst, number int32
	sender, receiver int32   // processes, or -1
	sends            []int32 // events, in order; those before head are received
	head             int
	messages         [][]int32
	waiting          []int32 // processes that wait for a message
}

// event is an instruction that was executed.
type event struct {
	proc, step int32
	message    int32 // the event that sent what this one receives, or -1
}

func newMachine(ctx context.Context, p *model.Program, r *Report) *machine {
	m := &machine{p: p, r: r, work: verify.Begin(ctx, 0), proc: make(map[[2]int]int32, len(p.Processes)), ofRank: make([][]int32, p.Ranks), byName: map[[3]int32]int32{}}
	total := 0
	for i := range p.Processes {
		q := &p.Processes[i]
		m.proc[[2]int{q.Rank, q.ID}] = int32(i)
		m.ofRank[q.Rank] = append(m.ofRank[q.Rank], int32(i))
		m.first = append(m.first, int32(total))
		total += len(q.Steps)
	}
	m.at, m.waitOf = make([]int32, total), make([]int32, total)
	m.pc = make([]int32, len(p.Processes))
	m.events = make([]event, 0, total)
	for i := range m.at {
		m.at[i], m.waitOf[i] = -1, -1
	}
	m.most = slices.Max(p.Memory)/p.Grain + 2
	signals := make([][]int32, len(p.Processes)) // of a process, made when needed
	for i := range p.Processes {
		q := &p.Processes[i]
		for j := range q.Steps {
			if len(q.Steps[j].Waits) > 0 {
				m.resolve(int32(i), int32(j), signals)
			}
		}
		m.out, m.in = append(m.out, m.connect(int32(i), true)), append(m.in, m.connect(int32(i), false))
	}
	return m
}

// resolve finds what the waits of an instruction are for: the first instruction at
// or after the one named that signals.
func (m *machine) resolve(proc, step int32, signals [][]int32) {
	q := &m.p.Processes[proc]
	s := &q.Steps[step]
	var ts []target
	for _, w := range s.Waits {
		on, ok := m.proc[[2]int{q.Rank, w.Process}]
		if !ok {
			m.r.violate(m.violation(verify.NeverSignalled, proc, step, fmt.Sprintf("waits for tb %d, which its gpu does not have", w.Process)))
			ts = append(ts, target{-1, -1})
			continue
		}
		if signals[on] == nil {
			signals[on] = m.signalling(on)
		}
		of := signals[on]
		from := max(w.Step, 0)
		if from >= len(of) || of[from] < 0 {
			m.r.violate(m.violation(verify.NeverSignalled, proc, step, fmt.Sprintf("waits for %s, and neither this one nor a later one signals", m.stepOrEnd(on, w.Step))))
			ts = append(ts, target{on, -1})
			continue
		}
		if int(of[from]) != w.Step && w.Step >= 0 {
			m.r.condition(m.violation(verify.LateSignal, proc, step, fmt.Sprintf("waits for %s, which does not signal: it waits until %s does", m.step(on, int32(from)), m.step(on, of[from]))))
		}
		ts = append(ts, target{on, of[from]})
	}
	m.waitOf[m.first[proc]+step] = int32(len(m.waits))
	m.waits = append(m.waits, ts)
}

// stepOrEnd names an instruction that may be past the end of its process.
func (m *machine) stepOrEnd(proc int32, step int) string {
	q := &m.p.Processes[proc]
	if step < len(q.Steps) {
		return m.step(proc, int32(max(step, 0)))
	}
	return fmt.Sprintf("a step of gpu %d tb %d (line %d) beyond its last", q.Rank, q.ID, q.Line)
}

// signalling has for each instruction of a process the first from there on that
// signals, or -1.
func (m *machine) signalling(proc int32) []int32 {
	steps := m.p.Processes[proc].Steps
	next := make([]int32, len(steps))
	last := int32(-1)
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Signals {
			last = int32(i)
		}
		next[i] = last
	}
	return next
}

// connect returns the connection of a process, if an instruction uses it, and
// notes a second owner of one.
func (m *machine) connect(proc int32, sends bool) int32 {
	q := &m.p.Processes[proc]
	part, src, dst := model.Receives, int32(q.RecvFrom), int32(q.Rank)
	if sends {
		part, src, dst = model.Sends, int32(q.Rank), int32(q.SendTo)
	}
	used := false
	for j := range q.Steps {
		used = used || q.Steps[j].Verb&part != 0
	}
	if !used {
		return -1
	}
	name := [3]int32{src, dst, int32(q.Channel)}
	c, ok := m.byName[name]
	if !ok {
		c = int32(len(m.channels))
		m.byName[name] = c
		m.channels = append(m.channels, channel{src: src, dst: dst, number: int32(q.Channel), sender: -1, receiver: -1})
	}
	owner, end := &m.channels[c].receiver, "receive"
	if sends {
		owner, end = &m.channels[c].sender, "send"
	}
	if *owner >= 0 {
		first := &m.p.Processes[*owner]
		m.r.violate(attached(verify.SharedConnection, q,
			fmt.Sprintf("its connection to %s on channel %d, gpu %d to gpu %d, is tb %d's as well (line %d), want one owner", end, q.Channel, src, dst, first.ID, first.Line)))
	} else {
		*owner = proc
	}
	return c
}

// owners notes processes that attach to a connection that another one uses.
func (m *machine) owners() {
	for i := range m.p.Processes {
		q := &m.p.Processes[i]
		for _, end := range []struct {
			used     int32
			src, dst int
			what     string
		}{{m.out[i], q.Rank, q.SendTo, "send"}, {m.in[i], q.RecvFrom, q.Rank, "receive"}} {
			if end.used >= 0 || end.src < 0 || end.dst < 0 {
				continue
			}
			c, ok := m.byName[[3]int32{int32(end.src), int32(end.dst), int32(q.Channel)}]
			if !ok {
				continue
			}
			owner := m.channels[c].sender
			if end.what == "receive" {
				owner = m.channels[c].receiver
			}
			if owner < 0 {
				continue
			}
			m.r.condition(attached(verify.IdleOwner, q,
				fmt.Sprintf("names the connection to %s on channel %d, gpu %d to gpu %d, that tb %d uses, and does not use it", end.what, q.Channel, end.src, end.dst, m.p.Processes[owner].ID)))
		}
	}
}

// attached is a violation by a connection of a process.
func attached(code verify.Code, q *model.Process, message string) verify.Violation {
	return verify.Wrong(code, fmt.Sprintf("gpu %d tb %d (line %d)", q.Rank, q.ID, q.Line), message).AtRank(q.Rank).AtLine(q.Line)
}

// violation is one at an instruction.
func (m *machine) violation(code verify.Code, proc, step int32, message string) verify.Violation {
	return verify.Wrong(code, m.step(proc, step), message).AtRank(m.p.Processes[proc].Rank).AtLine(m.line(proc, step))
}

// line is where an instruction is in its file, or 0.
func (m *machine) line(proc, step int32) int { return m.p.Processes[proc].Steps[step].Line }
