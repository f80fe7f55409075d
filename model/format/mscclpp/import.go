package mscclpp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/course"
	"github.com/oraccl/oraccl/model/format/slots"
)

// Tool is who reads such files.
const Tool = "MSCCL++"

// ErrNoSchedule is wrapped by errors that explain why a plan is no schedule in our terms.
var ErrNoSchedule = slots.ErrNoSchedule

// unitBytes is how large a chunk of the file is where nothing says it.
const unitBytes = 64 << 10

// maxCells is how many chunks a schedule has at most that is made of a plan.
const maxCells = 1 << 16

// maxMemory is how many parts of memory all ranks have at most.
const maxMemory = 1 << 24

// maxWaits is how many pairs of transfers wait for each other because of joins and signals, at most.
const maxWaits = 1 << 25

// Import puts what a plan does for a message of some bytes into our terms: chunks are the largest
// parts that it always moves whole, and every one that a rank writes into another one's memory, or
// reads from it, is a transfer. Size 0 is 64 KiB for each chunk of the file, or the next larger message
// that the runtime takes.
//
// The plan must be right as verify/plan has it: then the one execution that is taken here orders
// conflicting accesses as any other one does. An error that wraps ErrNoSchedule names the operation
// that has no place in such a schedule, and why.
//
// What else transfers wait for, because of joins, barriers, signals, packets and the order of a port
// channel, is in the Order of the result; signals take no time in it.
func (f *File) Import(ctx context.Context, topology *model.Topology, size int64) (*model.Imported, error) {
	kind, err := model.ParseKind(f.Collective)
	if err != nil || !slices.Contains(collectives, f.Collective) {
		return nil, fmt.Errorf("%s: collective %q: %w, want allreduce, allgather, reducescatter or alltoall", f.File, f.Collective, ErrNoSchedule)
	}
	n := len(f.GPUs)
	if topology.Ranks != n {
		return nil, fmt.Errorf("%s: %d ranks, and %s has %d", f.File, n, topology.Name, topology.Ranks)
	}
	if size == 0 {
		if size, err = f.message(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.File, err)
		}
	}
	p, err := f.at(size, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: messages of %d bytes: %w", f.File, size, err)
	}
	x := &importer{p: p, kind: kind, cell: cell(p)}
	x.inputs = int(p.Buffers[p.Inputs[0]].Size / x.cell)
	x.chunks = x.inputs
	if x.own = kind == model.AllGather || kind == model.AllToAll; x.own {
		x.chunks *= n
	}
	if x.chunks > maxCells {
		return nil, fmt.Errorf("%s: messages of %d bytes: parts of %d bytes are moved on their own, which makes %d chunks, want at most %d: %w", f.File, size, x.cell, x.chunks, maxCells, model.ErrTooLarge)
	}
	problem := &model.Problem{Topology: topology, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
	problem.Chunks = problem.Cut(x.chunks)
	if err := problem.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.File, err)
	}
	if x.slots, err = slots.New(n, x.chunks, x.inputs); err != nil {
		return nil, fmt.Errorf("%s: %w", f.File, err)
	}
	if err := x.begin(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.File, err)
	}
	c, err := course.Run(ctx, p, x.move)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.File, err)
	case len(c.Stuck) > 0:
		w := c.Stuck[0]
		b := &p.Blocks[w.Block]
		return nil, fmt.Errorf("%s: line %d: %s waits for ever for %s: %w", f.File, b.Ops[w.Op].Line, b.Place(w.Op), w.What, ErrNoSchedule)
	}
	if err := x.waits(c); err != nil {
		return nil, fmt.Errorf("%s: %w", f.File, err)
	}
	imported := &model.Imported{Tool: Tool, Problem: problem, Schedule: &model.Schedule{Form: model.Ordered}}
	if err := x.slots.Schedule(imported); err != nil {
		return nil, fmt.Errorf("%s: %w", f.File, err)
	}
	return imported, nil
}

// message is how large a message is where nothing says it.
func (f *File) message() (int64, error) {
	p := f.Plan()
	if p.Unit == 0 || len(p.Sizes) == 0 {
		return 0, fmt.Errorf("there is no size of a message for which the runtime takes it: %w", ErrNoSchedule)
	}
	size := (int64(p.Chunks)*unitBytes + p.Unit - 1) / p.Unit * p.Unit
	if size < p.Min {
		size = (p.Min + p.Unit - 1) / p.Unit * p.Unit
	}
	if size > p.Max {
		size = p.Max / p.Unit * p.Unit
	}
	size = max(size, p.Sizes[0].Each)
	_, err := f.at(size, 0)
	for i := 0; i < len(p.Sizes) && errors.Is(err, model.ErrNotDivided); i++ {
		size = p.Sizes[i].Each
		_, err = f.at(size, 0)
	}
	return size, err
}

// cell is how many bytes the largest parts are that are moved whole.
func cell(p *model.Plan) int64 {
	g := int64(0)
	with := func(all ...int64) {
		for _, x := range all {
			for x != 0 {
				g, x = x, g%x
			}
		}
	}
	for _, b := range p.Inputs {
		with(p.Buffers[b].Size, p.Buffers[b].Base)
	}
	for _, w := range p.Wants {
		with(w.Start, w.Size, w.From, p.Buffers[w.Buffer].Base)
	}
	for b := range p.Blocks {
		for i := range p.Blocks[b].Ops {
			for _, m := range p.Blocks[b].Ops[i].Moves {
				for _, s := range slices.Concat(m.Srcs, m.Dsts) {
					if s.Size != 0 {
						with(s.Start, s.Size)
					}
				}
			}
		}
	}
	return max(g, 1)
}

// moved is what an event moves: transfers that it begins, those that it carries on as they came among them, and
// those that brought the packets that it reads.
type moved struct{ begun, all, read []int32 }

// importer makes transfers of what a plan does.
type importer struct {
	p              *model.Plan
	kind           model.Kind
	cell           int64
	inputs, chunks int
	own            bool                   // a rank's input is of chunks of its own
	raw, packets   map[int][]*slots.Value // of each space, by cell
	brought        map[int][]int32        // the transfers that packets came by, or -1
	goals          map[int][]bool         // cells in which something is wanted
	slots          *slots.Maker
	events         []moved
}

// begin lays out the memory.
func (x *importer) begin() error {
	total := int64(0)
	for _, b := range x.p.Buffers {
		if total += (b.Base + b.Size) / x.cell; total > maxMemory {
			return fmt.Errorf("more than %d parts of %d bytes of memory: %w", maxMemory, x.cell, model.ErrTooLarge)
		}
	}
	x.raw, x.packets, x.brought, x.goals = map[int][]*slots.Value{}, map[int][]*slots.Value{}, map[int][]int32{}, map[int][]bool{}
	for _, b := range x.p.Buffers {
		if n := (b.Base + b.Size + x.cell - 1) / x.cell; int64(len(x.raw[b.Space])) < n {
			x.raw[b.Space] = append(x.raw[b.Space], make([]*slots.Value, n-int64(len(x.raw[b.Space])))...)
		}
		if n := (b.Packets + x.cell - 1) / x.cell; n > 0 {
			x.packets[b.Space], x.brought[b.Space] = make([]*slots.Value, n), slices.Repeat([]int32{-1}, int(n))
		}
	}
	for rank, b := range x.p.Inputs {
		buffer := &x.p.Buffers[b]
		for i := range x.inputs {
			chunk := int32(i)
			if x.own {
				chunk += int32(rank * x.inputs)
			}
			x.raw[buffer.Space][buffer.Base/x.cell+int64(i)] = x.slots.Hold(rank, rank, chunk)
		}
	}
	for _, w := range x.p.Wants {
		b := &x.p.Buffers[w.Buffer]
		if w.Kept {
			continue
		}
		if x.goals[b.Space] == nil {
			x.goals[b.Space] = make([]bool, len(x.raw[b.Space]))
		}
		for i := range w.Size / x.cell {
			x.goals[b.Space][(b.Base+w.Start)/x.cell+i] = true
		}
	}
	return nil
}

// inSwitch are the operations that a switch carries out.
var inSwitch = map[string]string{
	"glres":     "a switch adds what ranks hold and stores the sum on all of them, which no transfer from rank to rank does",
	"gstore":    "a switch stores it on all ranks at once, which no transfer from rank to rank does",
	"gstorepkt": "a switch stores packets on all ranks at once, which no transfer from rank to rank does",
}

// move carries out the move of an event.
func (x *importer) move(c *course.Course, e int32) error {
	ev := &c.Events[e]
	block := &x.p.Blocks[ev.Block]
	o := &block.Ops[ev.Op]
	fail := func(err error) error { return fmt.Errorf("line %d: %s: %w", o.Line, block.Place(ev.Op), err) }
	if why := inSwitch[o.Name]; why != "" {
		return fail(fmt.Errorf("%s: %w", why, ErrNoSchedule))
	}
	for len(x.events) <= int(e) {
		x.events = append(x.events, moved{})
	}
	m := ev.Move
	rank := block.Rank
	for _, s := range slices.Concat(m.Srcs, m.Dsts) {
		b := &x.p.Buffers[s.Buffer]
		most := b.Size
		if s.Packet {
			most = b.Packets
		}
		if s.Size != m.Bytes() || s.Start < 0 || s.Start > most-s.Size {
			return fail(fmt.Errorf("uses bytes %d to %d of %s of gpu %d, which has %d: %w", s.Start, s.Start+s.Size-1, b.Name, b.Rank, most, ErrNoSchedule))
		}
	}
	for i := range m.Bytes() / x.cell {
		if err := x.one(e, ev.Block, o, rank, m, i); err != nil {
			return fail(err)
		}
	}
	return nil
}

// one moves a cell.
func (x *importer) one(e int32, block int, o *model.PlanOp, rank int, m *model.PlanMove, i int64) error {
	var parts []*slots.Value
	for _, s := range m.Srcs {
		b := &x.p.Buffers[s.Buffer]
		at, memory := (b.Base+s.Start)/x.cell+i, x.raw[b.Space]
		if s.Packet {
			at, memory = s.Start/x.cell+i, x.packets[b.Space]
			if t := x.brought[b.Space][at]; t >= 0 {
				x.events[e].read = append(x.events[e].read, t)
			}
		}
		v := memory[at]
		if v == nil {
			return fmt.Errorf("reads what nothing has written: %w", ErrNoSchedule)
		}
		if b.Rank != rank {
			s, err := x.send(e, block, b.Rank, rank, v)
			if err != nil {
				return err
			}
			v = x.slots.Aside(s, o.Line)
		}
		parts = append(parts, v)
	}
	if len(m.Dsts) == 0 {
		return nil
	}
	goal := slices.ContainsFunc(m.Dsts, func(d model.PlanSpan) bool {
		return x.p.Buffers[d.Buffer].Rank == rank && x.goal(d, i)
	})
	v, err := x.slots.Combine(rank, parts, goal)
	if err != nil {
		return err
	}
	for _, d := range m.Dsts {
		b := &x.p.Buffers[d.Buffer]
		w, by := v, int32(-1)
		if b.Rank != rank {
			s, err := x.send(e, block, rank, b.Rank, v)
			if err != nil {
				return err
			}
			if w, err = x.slots.Receive(b.Rank, s, x.goal(d, i), o.Line); err != nil {
				return err
			}
			by = s.Transfer
		}
		if d.Packet {
			x.packets[b.Space][d.Start/x.cell+i], x.brought[b.Space][d.Start/x.cell+i] = w, by
			continue
		}
		x.raw[b.Space][(b.Base+d.Start)/x.cell+i] = w
	}
	return nil
}

// send begins a transfer of a threadblock, or carries one on.
func (x *importer) send(e int32, block, from, to int, v *slots.Value) (slots.Sent, error) {
	n := x.slots.Len()
	s, err := x.slots.Send(from, to, block, v)
	if err != nil {
		return s, err
	}
	ev := &x.events[e]
	if ev.all = append(ev.all, s.Transfer); int(s.Transfer) == n {
		ev.begun = append(ev.begun, s.Transfer)
	}
	return s, nil
}

// goal reports whether something is wanted in a cell of a span.
func (x *importer) goal(d model.PlanSpan, i int64) bool {
	b := &x.p.Buffers[d.Buffer]
	goals := x.goals[b.Space]
	return !d.Packet && goals != nil && goals[(b.Base+d.Start)/x.cell+i]
}

// waits notes what each transfer waits for because of what the threads do.
func (x *importer) waits(c *course.Course) error {
	over := make([][]int32, len(c.Events)) // of each event: transfers that have ended when it is over
	budget := maxWaits
	x.events = append(x.events, make([]moved, len(c.Events)-len(x.events))...)
	uses := make([]int32, len(c.Events))
	for i := range c.Events {
		for _, j := range c.Events[i].Before {
			uses[j]++
		}
	}
	for i := range c.Events {
		e, m := &c.Events[i], &x.events[i]
		before := slices.Clone(m.read)
		for _, j := range e.Before {
			before = append(before, over[j]...)
			if uses[j]--; uses[j] == 0 {
				over[j] = nil
			}
		}
		slices.Sort(before)
		before = slices.Compact(before)
		var left []int32
		if e.Prior >= 0 {
			left = x.events[e.Prior].all
		}
		if budget -= len(before) + 1 + len(m.begun)*(len(before)+len(left)); budget < 0 {
			return fmt.Errorf("more than %d pairs of transfers that wait for each other: %w", maxWaits, model.ErrTooLarge)
		}
		for _, t := range m.begun {
			x.slots.Wait(t, before, left)
		}
		switch {
		case len(m.all) == 0:
			over[i] = before
		case len(m.begun) == len(m.all): // which waited for all before
			over[i] = m.all
		default:
			over[i] = append(before, m.all...)
		}
	}
	return nil
}
