package msccl

import (
	"errors"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/slots"
)

// Tool is who reads such files.
const Tool = "MSCCL"

// ErrNoSchedule is wrapped by errors that explain why a file is no schedule in our terms.
var ErrNoSchedule = slots.ErrNoSchedule

// unitBytes is how large a chunk is where nothing says it.
const unitBytes = 64 << 10

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
	if x.slots, err = slots.New(program.Ranks, x.chunks, program.Inputs); err != nil {
		return nil, fmt.Errorf("%s: %w", a.File, err)
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
	if err := x.slots.Schedule(imported); err != nil {
		return nil, fmt.Errorf("%s: %w", a.File, err)
	}
	return imported, nil
}

// importer executes a program.
type importer struct {
	a      *Algo
	p      *model.Program
	chunks int
	own    bool // a rank's input is of chunks of its own
	memory [][]*slots.Value
	slots  *slots.Maker
	fifo   map[[3]int]*fifo
	pc     []int
	gates  []gate // by process
	byID   map[[2]int]int
	turns  turns
}

// fifo is what was sent on a connection and not received yet.
type fifo struct{ messages [][]slots.Sent }

// gate is what the instruction that comes next in a process still waits for.
type gate struct {
	step  int      // which that is
	waits [][2]int // steps of processes that are not over, as was found last
	never bool     // what it waits for does not exist
	in    *fifo
}

// connection returns what was sent on a connection.
func (x *importer) connection(src, dst, channel int) *fifo {
	name := [3]int{src, dst, channel}
	if x.fifo[name] == nil {
		x.fifo[name] = &fifo{}
	}
	return x.fifo[name]
}

func (x *importer) begin() {
	p := x.p
	x.fifo, x.byID = map[[3]int]*fifo{}, map[[2]int]int{}
	x.gates = make([]gate, len(p.Processes))
	for i := range x.gates {
		x.gates[i].step = -1
	}
	for i := range p.Processes {
		x.byID[[2]int{p.Processes[i].Rank, p.Processes[i].ID}] = i
	}
	x.pc = make([]int, len(p.Processes))
	for r := range p.Ranks {
		memory := make([]*slots.Value, p.Memory[r])
		for i, c := range p.Pre[r] {
			if c < 0 {
				continue
			}
			chunk := c % int32(p.Inputs)
			if x.own {
				chunk = c
			}
			memory[i] = x.slots.Hold(int(c)/p.Inputs, r, chunk)
		}
		x.memory = append(x.memory, memory)
	}
}

// run executes the program: what receives nothing goes first, so that values are read
// before others take their place.
func (x *importer) run() error {
	next := func(receives bool) (moved bool, err error) { // all that receives nothing, or one that does
		for i := range x.p.Processes {
			q := &x.p.Processes[i]
			for x.pc[i] < len(q.Steps) && x.ready(i) {
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

// ready reports whether the instruction that comes next in a process can go on.
func (x *importer) ready(i int) bool {
	q, g := &x.p.Processes[i], &x.gates[i]
	in := &q.Steps[x.pc[i]]
	if g.step != x.pc[i] {
		g.step, g.waits = x.pc[i], g.waits[:0]
		for _, w := range in.Waits {
			on, step, ok := x.awaited(q, w)
			g.waits, g.never = append(g.waits, [2]int{on, step}), g.never || !ok
		}
		if g.in == nil && in.Verb&model.Receives != 0 {
			g.in = x.connection(q.RecvFrom, q.Rank, q.Channel)
		}
	}
	for len(g.waits) > 0 {
		if w := g.waits[len(g.waits)-1]; x.pc[w[0]] <= w[1] {
			return false
		}
		g.waits = g.waits[:len(g.waits)-1]
	}
	return !g.never && (in.Verb&model.Receives == 0 || len(g.in.messages) > 0)
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
	var message []slots.Sent
	if in.Verb&model.Receives != 0 {
		from := x.connection(q.RecvFrom, q.Rank, q.Channel)
		message, from.messages = from.messages[0], from.messages[1:]
		for _, s := range message {
			x.turns.received = append(x.turns.received, s.Transfer)
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
	var out []slots.Sent
	for j := range in.Count * x.p.Grain {
		var parts []*slots.Value
		for _, s := range sources {
			v := x.memory[q.Rank][s[0]+j]
			if v == nil {
				return fmt.Errorf("reads what nothing has written: %w", ErrNoSchedule)
			}
			parts = append(parts, v)
		}
		goal := into >= 0 && x.p.Post[q.Rank][into+j] >= 0
		var v *slots.Value
		var err error
		switch {
		case message != nil && len(parts) == 0:
			v, err = x.slots.Receive(q.Rank, message[j], goal, in.Line)
		default:
			if message != nil {
				parts = append(parts, x.slots.Aside(message[j], in.Line))
			}
			v, err = x.slots.Combine(q.Rank, parts, goal)
		}
		if err != nil {
			return err
		}
		if into >= 0 {
			x.memory[q.Rank][into+j] = v
		}
		if in.Verb&model.Sends != 0 {
			s, err := x.slots.Send(q.Rank, q.SendTo, q.Channel, v)
			if err != nil {
				return err
			}
			out = append(out, s)
			x.turns.sent = append(x.turns.sent, s.Transfer)
		}
	}
	if in.Verb&model.Sends != 0 {
		to := x.connection(q.Rank, q.SendTo, q.Channel)
		to.messages = append(to.messages, out)
	}
	return nil
}
