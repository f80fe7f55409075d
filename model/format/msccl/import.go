package msccl

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Tool is who reads such files.
const Tool = "MSCCL"

// ErrNoSchedule is wrapped by errors that explain why a file is no schedule in our terms.
var ErrNoSchedule = errors.New("has no schedule of transfers between slots")

// unitBytes is how large a chunk is where nothing says it.
const unitBytes = 64 << 10

// maxCounts is how many counts of contributions, and how many slots, there may be at the beginning.
const maxCounts = 1 << 26

// Import puts what a file does into our terms: a chunk for each cell, a transfer for
// each chunk that a message carries, and for each the transfers that it must come
// after, as the memory of the ranks has it. Size is the buffer in bytes, 0 for 64 KiB a
// chunk.
//
// A rank has one slot a chunk, and the file any number of places. What is received into a
// place of its own while the slot holds something else is added to the slot, or replaces it,
// when a later instruction does that; or it is a transfer's way through the rank, if it is
// only sent on. The file must be right as Program has it: then the one execution that is taken
// here orders conflicting accesses as any other one does. An error that wraps
// ErrNoSchedule states what does not fit: a file that keeps several values of a chunk
// on a rank and sends more than one of them, for instance.
//
// Ranks that exchange values in place, each reading before the other writes, cannot wait
// for each other's transfers to end. A file that has them becomes a schedule in rounds, at
// the cost model link-rounds, in which they do that in one round.
//
// What else transfers wait for, because a threadblock does one thing after the other and
// dependencies hold whatever is in the memory, is in the Order of the result.
//
// Where the topology has no link, or way over switches, from a rank to another one
// that it sends to, the result has objections.
func (a *Algo) Import(m model.Meaning, topology *model.Topology, size int64) (*model.Imported, error) {
	program, err := a.Program(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.File, err)
	}
	kind := program.Kind
	if kind == model.Custom {
		return nil, fmt.Errorf("%s: collective %q: %w, want one of the eight standard collectives", a.File, a.Coll, ErrNoSchedule)
	}
	if topology.Ranks != program.Ranks {
		return nil, fmt.Errorf("%s: %d ranks, and %s has %d", a.File, program.Ranks, topology.Name, topology.Ranks)
	}
	x := &importer{a: a, p: program, chunks: program.Inputs}
	if kind == model.AllGather || kind == model.Gather || kind == model.AllToAll {
		x.chunks *= program.Ranks
		x.own = true
	}
	if n := program.Ranks; int64(n)*int64(n)*int64(program.Inputs) > maxCounts || int64(n)*int64(x.chunks) > maxCounts {
		return nil, fmt.Errorf("%s: %d chunks on %d ranks: %w for a schedule", a.File, x.chunks, n, model.ErrTooLarge)
	}
	p := &model.Problem{Topology: topology, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
	if kind.Rooted() {
		p.Collective.Root = m.Root
	}
	if size == 0 {
		if p.Size = int64(x.chunks) * unitBytes; kind == model.AllToAll {
			p.Size /= int64(program.Ranks)
		}
	}
	p.Chunks = p.Cut(x.chunks)
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", a.File, err)
	}
	x.begin()
	if err := x.run(); err != nil {
		return nil, fmt.Errorf("%s: %w", a.File, err)
	}
	imported := &model.Imported{Tool: Tool, Problem: p, Schedule: &model.Schedule{Form: model.Ordered}}
	if err := x.schedule(imported); err != nil {
		return nil, fmt.Errorf("%s: %w", a.File, err)
	}
	return imported, nil
}

// value is what a place holds of a chunk: which ranks' contributions, how often. It
// is never changed.
type value struct {
	chunk int32
	count []int32 // by rank
	aside []int32 // transfers that it is the sum of, if they are not part of the slot
}

// moved is a transfer that was begun.
type moved struct {
	chunk int32
	ranks []int32 // that it passes, from its source on
	op    model.Op
	over  bool    // it is in a slot
	line  int     // where it was received last
	after []int32 // those that must have ended when it begins
	with  []int32 // those that must have begun when it ends: they read what it replaces, or add to the same
	turn  []event // what its threadblocks do before
}

// place is a slot.
type place struct {
	holds *value
	write int32 // the transfer that wrote it last, or -1
	reads []int32
}

// importer executes a program.
type importer struct {
	a      *Algo
	p      *model.Program
	chunks int
	own    bool // a rank's input is of chunks of its own
	memory [][]*value
	slots  [][]place
	moves  []moved
	fifo   map[[3]int][][]sent
	pc     []int
	byID   map[[2]int]int
	turns  turns
}

// sent is a chunk in a message.
type sent struct {
	holds    *value
	transfer int32
}

func (x *importer) begin() {
	p := x.p
	x.fifo, x.byID = map[[3]int][][]sent{}, map[[2]int]int{}
	for i := range p.Processes {
		x.byID[[2]int{p.Processes[i].Rank, p.Processes[i].ID}] = i
	}
	x.pc = make([]int, len(p.Processes))
	for r := range p.Ranks {
		slots := make([]place, x.chunks)
		for c := range slots {
			slots[c].write = -1
		}
		memory := make([]*value, p.Memory[r])
		for i, c := range p.Pre[r] {
			if c < 0 {
				continue
			}
			v := &value{chunk: c % int32(p.Inputs), count: make([]int32, p.Ranks)}
			if x.own {
				v.chunk = c
			}
			v.count[int(c)/p.Inputs] = 1
			memory[i] = v
			slots[v.chunk].holds = v
		}
		x.memory, x.slots = append(x.memory, memory), append(x.slots, slots)
	}
}

// run executes the program: what receives nothing goes first, so that values are read
// before others take their place.
func (x *importer) run() error {
	next := func(receives bool) (moved bool, err error) { // all that receives nothing, or one that does
		for i := range x.p.Processes {
			q := &x.p.Processes[i]
			for x.pc[i] < len(q.Steps) && x.ready(q, &q.Steps[x.pc[i]]) {
				in := &q.Steps[x.pc[i]]
				if in.Verb&model.Receives != 0 != receives {
					break
				}
				x.turns.begin()
				if err := x.execute(q, in); err != nil {
					return false, fmt.Errorf("line %d: gpu %d tb %d step %d (%s): %w", in.Line, q.Rank, q.ID, in.Label, in.Name, err)
				}
				x.turn(i, in)
				x.pc[i]++
				if moved = true; receives {
					return true, nil
				}
			}
		}
		return moved, nil
	}
	for {
		moved, err := next(false)
		if err == nil && !moved {
			moved, err = next(true)
		}
		if err != nil {
			return err
		}
		if !moved {
			break
		}
	}
	for i := range x.p.Processes {
		if q := &x.p.Processes[i]; x.pc[i] < len(q.Steps) {
			return fmt.Errorf("line %d: gpu %d tb %d waits for ever: %w", q.Steps[x.pc[i]].Line, q.Rank, q.ID, ErrNoSchedule)
		}
	}
	return nil
}

// awaited returns the process and the step that a dependency waits for; false: there is none.
func (x *importer) awaited(q *model.Process, w model.Wait) (on, step int, ok bool) {
	on, ok = x.byID[[2]int{q.Rank, w.Process}]
	if !ok {
		return 0, 0, false
	}
	steps := x.p.Processes[on].Steps
	step = max(w.Step, 0)
	for step < len(steps) && !steps[step].Signals {
		step++
	}
	return on, step, step < len(steps)
}

// ready reports whether an instruction can go on.
func (x *importer) ready(q *model.Process, in *model.Instruction) bool {
	for _, w := range in.Waits {
		on, step, ok := x.awaited(q, w)
		if !ok || x.pc[on] <= step {
			return false
		}
	}
	return in.Verb&model.Receives == 0 || len(x.fifo[[3]int{q.RecvFrom, q.Rank, q.Channel}]) > 0
}

// cells returns the cells of count chunks from an offset of a buffer.
func (x *importer) cells(rank int, ref model.Ref, offset, count int) (from, to int, err error) {
	b := &x.p.Buffers[rank][ref.Buffer]
	from, to = offset*x.p.Grain, (offset+count)*x.p.Grain
	if from < 0 || to > b.Cells {
		return 0, 0, fmt.Errorf("%s[%d..%d] is out of bounds: %w", b.Name, offset, offset+count-1, ErrNoSchedule)
	}
	return b.Base + from, b.Base + to, nil
}

// execute carries out an instruction, cell by cell.
func (x *importer) execute(q *model.Process, in *model.Instruction) error {
	var message []sent
	if in.Verb&model.Receives != 0 {
		name := [3]int{q.RecvFrom, q.Rank, q.Channel}
		message, x.fifo[name] = x.fifo[name][0], x.fifo[name][1:]
		for _, s := range message {
			x.turns.received = append(x.turns.received, s.transfer)
		}
		if len(message) != in.Count*x.p.Grain {
			return fmt.Errorf("receives %d cells, want %d: %w", len(message), in.Count*x.p.Grain, ErrNoSchedule)
		}
	}
	var sources [][2]int
	take := func(ref model.Ref, offset int) error {
		from, to, err := x.cells(q.Rank, ref, offset, in.Count)
		sources = append(sources, [2]int{from, to})
		return err
	}
	var errs []error
	if in.Verb&model.ReadsDst != 0 {
		errs = append(errs, take(in.Dst, in.Dst.Offset))
	}
	if in.Verb&model.Reads != 0 {
		errs = append(errs, take(in.Src, in.Src.Offset))
		for _, offset := range in.More {
			errs = append(errs, take(in.Src, int(offset)))
		}
	}
	into := -1
	if in.Verb&model.Writes != 0 {
		var err error
		into, _, err = x.cells(q.Rank, in.Dst, in.Dst.Offset, in.Count)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var out []sent
	for j := range in.Count * x.p.Grain {
		var parts []*value
		for _, s := range sources {
			v := x.memory[q.Rank][s[0]+j]
			if v == nil {
				return fmt.Errorf("reads what nothing has written: %w", ErrNoSchedule)
			}
			parts = append(parts, v)
		}
		goal := into >= 0 && x.p.Post[q.Rank][into+j] >= 0
		var v *value
		var err error
		switch {
		case message != nil && len(parts) == 0:
			v, err = x.receive(q.Rank, message[j], goal, in.Line)
		default:
			if message != nil {
				got := *message[j].holds
				got.aside = []int32{message[j].transfer}
				x.moves[message[j].transfer].line = in.Line
				parts = append(parts, &got)
			}
			v, err = x.combine(q.Rank, parts, goal)
		}
		if err != nil {
			return err
		}
		if into >= 0 {
			x.memory[q.Rank][into+j] = v
		}
		if in.Verb&model.Sends != 0 {
			s, err := x.send(q.Rank, q.SendTo, v)
			if err != nil {
				return err
			}
			out = append(out, s)
			x.turns.sent = append(x.turns.sent, s.transfer)
		}
	}
	if in.Verb&model.Sends != 0 {
		name := [3]int{q.Rank, q.SendTo, q.Channel}
		x.fifo[name] = append(x.fifo[name], out)
	}
	return nil
}

// receive puts a chunk into its slot, or aside if the slot holds something else and the
// place is not where the chunk must be at the end.
func (x *importer) receive(rank int, s sent, goal bool, line int) (*value, error) {
	x.moves[s.transfer].line = line
	slot := &x.slots[rank][s.holds.chunk]
	v := &value{chunk: s.holds.chunk, count: s.holds.count}
	if slot.holds != nil && !goal && !slices.Equal(slot.holds.count, v.count) {
		v.aside = []int32{s.transfer}
		return v, nil
	}
	return v, x.commit(rank, s.transfer, model.Copy, v)
}

// combine adds values. A slot and what was aside become the slot; what was aside alone
// replaces the slot if it comes to where the chunk must be at the end.
func (x *importer) combine(rank int, parts []*value, goal bool) (*value, error) {
	v := parts[0]
	if len(parts) > 1 {
		v = &value{chunk: parts[0].chunk, count: slices.Clone(parts[0].count)}
		for _, p := range parts[1:] {
			if p.chunk != v.chunk {
				return nil, fmt.Errorf("adds chunk %d to chunk %d: %w", p.chunk, v.chunk, ErrNoSchedule)
			}
			for r, n := range p.count {
				v.count[r] += n
			}
		}
	}
	var aside []int32
	slots := 0
	for _, p := range parts {
		if aside = append(aside, p.aside...); p.aside == nil {
			slots++
		}
	}
	switch slot := &x.slots[rank][v.chunk]; {
	case len(parts) == 1 && (aside == nil || !goal):
		return v, nil
	case len(parts) == 1 && len(aside) == 1:
		v = &value{chunk: v.chunk, count: v.count}
		return v, x.commit(rank, aside[0], model.Copy, v)
	case slots == 0:
		v.aside = aside
		return v, nil
	case slots == 1:
		for _, p := range parts {
			if p.aside == nil && (slot.holds == nil || !slices.Equal(slot.holds.count, p.count)) {
				return nil, fmt.Errorf("adds to chunk %d, of which gpu %d holds something else by now: %w", v.chunk, rank, ErrNoSchedule)
			}
		}
		for _, t := range aside {
			if err := x.commit(rank, t, model.Reduction, v); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
	return nil, fmt.Errorf("adds %d values of chunk %d that gpu %d keeps apart: %w", slots, v.chunk, rank, ErrNoSchedule)
}

// send begins a transfer from a slot, or lets one that was put aside go on.
func (x *importer) send(rank, to int, v *value) (sent, error) {
	slot := &x.slots[rank][v.chunk]
	switch {
	case len(v.aside) == 1 && !x.moves[v.aside[0]].over && int(x.moves[v.aside[0]].ranks[len(x.moves[v.aside[0]].ranks)-1]) == rank:
		t := v.aside[0]
		x.moves[t].ranks = append(x.moves[t].ranks, int32(to))
		return sent{v, t}, nil
	case v.aside != nil || slot.holds == nil || !slices.Equal(slot.holds.count, v.count):
		return sent{}, fmt.Errorf("sends a value of chunk %d that is not the one gpu %d has in its slot: %w", v.chunk, rank, ErrNoSchedule)
	}
	t := int32(len(x.moves))
	m := moved{chunk: v.chunk, ranks: []int32{int32(rank), int32(to)}}
	if slot.write >= 0 {
		m.after = append(m.after, slot.write)
	}
	slot.reads = append(slot.reads, t)
	x.moves = append(x.moves, m)
	return sent{v, t}, nil
}

// commit ends a transfer: its slot holds v.
func (x *importer) commit(rank int, t int32, op model.Op, v *value) error {
	m := &x.moves[t]
	if m.over || int(m.ranks[len(m.ranks)-1]) != rank {
		return fmt.Errorf("uses what it received in line %d of chunk %d again: %w", m.line, m.chunk, ErrNoSchedule)
	}
	slot := &x.slots[rank][m.chunk]
	m.op, m.over = op, true
	m.with = append(m.with, slot.reads...)
	switch {
	case slot.write < 0:
	case op == model.Reduction && x.moves[slot.write].op == model.Reduction && len(slot.reads) == 0:
		m.with = append(m.with, slot.write)
	default:
		m.after = append(m.after, slot.write)
	}
	*slot = place{holds: v, write: t}
	return nil
}
