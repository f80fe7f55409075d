// Package course carries out one execution of an execution plan (model.Plan), until it ends or gets stuck: for
// pictures, and for those who put a plan into other terms. It decides nothing: verify/plan, with which it
// shares no code, decides about all executions.
package course

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Place is an operation of a plan: the indices of its threadblock and in that.
type Place struct{ Block, Op int }

// Event is what the threads of a threadblock do at one time, or one of them, or a proxy for it.
type Event struct {
	Place
	Part   int             // the move or identifier of the operation
	Proxy  bool            // done later than the threadblock asked for it
	Move   *model.PlanMove // nil: it moves nothing
	Before []int32         // events that must be over before it begins
	Prior  int32           // the move that the same threads make before, without a join between; -1: none
}

// Waiting is an operation that does not end.
type Waiting struct {
	Place
	Part int
	What string  // "signal 2 of memory channel 0 of gpu 1 to gpu 0"
	For  []Place // what did not happen and would raise, write or reach that; none: nothing does
}

// Course is an execution.
type Course struct {
	Plan   *model.Plan
	Events []Event   // in the order in which they happened
	Stuck  []Waiting // one at most for each threadblock; none: the execution ended
}

// Run carries out a plan. What adds or reads packets is done when nothing else can be, so that values
// are sent before others take their place. For each event that moves something, do is called,
// if it is not nil; its error ends the execution. Run takes O(n·log n) time for n events and what they wait for.
func Run(ctx context.Context, p *model.Plan, do func(c *Course, e int32) error) (*Course, error) {
	r := &runner{Course: &Course{Plan: p}, do: do, written: map[int][]piece{}, barriers: map[[3]int][]int32{}, channels: map[[2]int]int32{}, waiting: map[int][]int{}}
	r.raised = make([][]int32, len(p.Counters)+len(p.Semaphores))
	r.taken = make([]int, len(r.raised))
	for i, n := range p.Semaphores {
		for range n {
			r.raised[len(p.Counters)+i] = append(r.raised[len(p.Counters)+i], -1)
		}
	}
	r.byRank = make([][]int, p.Ranks)
	for b := range p.Blocks {
		r.blocks = append(r.blocks, block{last: -1, prior: -1, threads: map[int]int32{}, tickets: map[[2]int]int{}, came: map[int]int{}})
		r.byRank[p.Blocks[b].Rank] = append(r.byRank[p.Blocks[b].Rank], b)
	}
	r.queued = make([]bool, len(p.Blocks))
	for b := range p.Blocks {
		r.wake(b)
	}
	var late []int // threadblocks whose next operation adds or reads packets
	for len(r.queue) > 0 || len(late) > 0 {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(r.queue) == 0 {
			b := late[0]
			late = late[1:]
			if _, err := r.advance(b, true); err != nil {
				return nil, err
			}
			r.wake(b)
			continue
		}
		b := r.queue[0]
		r.queue = r.queue[1:]
		r.queued[b] = false
		more, err := r.advance(b, false)
		if err != nil {
			return nil, err
		}
		if more && !slices.Contains(late, b) {
			late = append(late, b)
		}
	}
	r.stuck()
	return r.Course, nil
}

// block is how far a threadblock is.
type block struct {
	from    int      // operations before it are done
	did     [][]bool // of the operations from there: identifiers
	tickets map[[2]int]int
	came    map[int]int // how often to each barrier
	last    int32       // the last join, or -1
	open    []int32     // what the next one waits for
	threads map[int]int32
	prior   int32
	at      bool // the barrier that is next has counted it
}

// piece is a part of memory that holds packets, and the event that wrote them.
type piece struct {
	start, end int64
	event      int32
}

type runner struct {
	*Course
	do       func(c *Course, e int32) error
	blocks   []block
	byRank   [][]int
	queue    []int
	queued   []bool
	raised   [][]int32 // of each counter, then semaphore: events; -1: it was there
	taken    []int
	waiting  map[int][]int // threadblocks that have tickets of a counter
	written  map[int][]piece
	barriers map[[3]int][]int32
	channels map[[2]int]int32 // of each rank and channel: the last event of its proxy
}

func (r *runner) wake(b int) {
	if !r.queued[b] {
		r.queued[b] = true
		r.queue = append(r.queue, b)
	}
}

func (r *runner) add(e Event) int32 {
	r.Events = append(r.Events, e)
	return int32(len(r.Events) - 1)
}

// adds reports whether an operation adds something, or reads packets.
func adds(o *model.PlanOp) bool {
	return o.Verb == model.PlanCompute && slices.ContainsFunc(o.Moves, func(m model.PlanMove) bool {
		return len(m.Srcs) > 1 || slices.ContainsFunc(m.Srcs, func(s model.PlanSpan) bool { return s.Packet })
	})
}

// advance carries out what a threadblock can do, up to an operation of which adds is true, or with
// late one of those and no more. It reports whether such an operation is next and can be done.
func (r *runner) advance(b int, late bool) (more bool, err error) {
	x, q := &r.Plan.Blocks[b], &r.blocks[b]
	blocked := map[int]bool{}
	for i := q.from; i < len(x.Ops); i++ {
		o := &x.Ops[i]
		if i-q.from == len(q.did) {
			q.did = append(q.did, make([]bool, max(len(o.IDs), len(o.Moves), len(o.Ports))))
		}
		did := q.did[i-q.from]
		switch o.Verb {
		case model.PlanJoin, model.PlanBarrier:
			if len(blocked) > 0 || o.Verb == model.PlanBarrier && !r.meet(b, i) {
				return false, nil
			}
			if o.Verb == model.PlanJoin {
				r.join(b, i, nil)
			}
			q.from, q.did = i+1, nil
			continue
		case model.PlanCompute:
			now := false
			for k := range o.Moves {
				if did[k] {
					continue
				}
				before, there := r.arrived(&o.Moves[k])
				if len(blocked) > 0 || !there {
					return false, nil
				}
				if adds(o) && !late {
					return true, nil
				}
				did[k], now = true, true
				e := Event{Place: Place{b, i}, Part: k, Move: &o.Moves[k], Before: before, Prior: q.prior}
				if q.last >= 0 {
					e.Before = append(e.Before, q.last)
				}
				q.prior = r.add(e)
				q.open = append(q.open, q.prior)
				if err := r.move(q.prior); err != nil {
					return false, err
				}
			}
			if now && adds(o) {
				late = false
			}
			continue
		}
		for k := range did {
			if did[k] || blocked[k] {
				continue
			}
			done, err := r.act(b, i, k)
			if err != nil {
				return false, err
			}
			if did[k] = done; !done {
				blocked[k] = true
			}
		}
	}
	if len(blocked) == 0 {
		q.from, q.did = len(x.Ops), nil
	}
	return false, nil
}

// join adds the event that all of the segment is before.
func (r *runner) join(b, i int, others []int32) int32 {
	q := &r.blocks[b]
	before := append(slices.Clone(q.open), others...)
	if q.last >= 0 {
		before = append(before, q.last)
	}
	q.last = r.add(Event{Place: Place{b, i}, Before: before, Prior: -1})
	q.open, q.prior = nil, -1
	clear(q.threads)
	return q.last
}

// meet reports whether all that meet at a barrier have come; each adds an event when it comes and one when it goes.
func (r *runner) meet(b, i int) bool {
	x, q := &r.Plan.Blocks[b], &r.blocks[b]
	o := &x.Ops[i]
	k := [3]int{x.Rank, o.Barrier, q.came[o.Barrier]}
	if !q.at {
		q.at = true
		r.barriers[k] = append(r.barriers[k], r.join(b, i, nil))
		if len(r.barriers[k]) >= o.Blocks {
			for _, c := range r.byRank[x.Rank] {
				r.wake(c)
			}
		}
	}
	if len(r.barriers[k]) < o.Blocks {
		return false
	}
	r.join(b, i, r.barriers[k])
	q.came[o.Barrier]++
	q.at = false
	return true
}

// act carries out what thread k does in an operation, if it can.
func (r *runner) act(b, i, k int) (bool, error) {
	x, q := &r.Plan.Blocks[b], &r.blocks[b]
	o := &x.Ops[i]
	e := Event{Place: Place{b, i}, Part: k, Prior: -1}
	if q.last >= 0 {
		e.Before = append(e.Before, q.last)
	}
	if t, ok := q.threads[k]; ok {
		e.Before = append(e.Before, t)
	}
	semaphores := len(r.Plan.Counters)
	step := func() int32 {
		n := r.add(e)
		q.threads[k] = n
		q.open = append(q.open, n)
		return n
	}
	raise := func(id int, by int32) {
		r.raised[id] = append(r.raised[id], by)
		for _, c := range r.waiting[id] {
			r.wake(c)
		}
		r.waiting[id] = nil
	}
	// afar adds what the proxy of a channel does after it was asked to by n.
	afar := func(n int32, port int, m *model.PlanMove) int32 {
		p := Event{Place: Place{b, i}, Part: k, Proxy: true, Move: m, Before: []int32{n}, Prior: -1}
		c := [2]int{x.Rank, port}
		if before, ok := r.channels[c]; ok && port >= 0 {
			p.Before = append(p.Before, before)
		}
		n = r.add(p)
		if port >= 0 {
			r.channels[c] = n
		}
		return n
	}
	switch o.Verb {
	case model.PlanSignal:
		n := step()
		if k < len(o.Ports) {
			n = afar(n, o.Ports[k], nil)
		}
		raise(o.IDs[k], n)
	case model.PlanRelease:
		raise(semaphores+o.IDs[k], step())
	case model.PlanWait, model.PlanAcquire:
		id := o.IDs[k]
		if o.Verb == model.PlanAcquire {
			id += semaphores
		}
		at := [2]int{i, k}
		if q.tickets[at] == 0 {
			r.taken[id]++
			q.tickets[at] = r.taken[id]
		}
		if len(r.raised[id]) < q.tickets[at] {
			r.waiting[id] = append(r.waiting[id], b)
			return false, nil
		}
		if by := r.raised[id][q.tickets[at]-1]; by >= 0 {
			e.Before = append(e.Before, by)
		}
		step()
	case model.PlanRequest:
		n := step()
		if k < len(o.Moves) {
			before, _ := r.arrived(&o.Moves[k])
			n = afar(n, o.Ports[k], &o.Moves[k])
			r.Events[n].Before = append(r.Events[n].Before, before...)
			if err := r.move(n); err != nil {
				return false, err
			}
		}
		if k < len(o.IDs) {
			raise(o.IDs[k], n)
		}
		if o.Flush {
			e.Before = append(e.Before, n)
			step()
		}
	case model.PlanFlush:
		if n, ok := r.channels[[2]int{x.Rank, o.Ports[k]}]; ok {
			e.Before = append(e.Before, n)
		}
		step()
	}
	return true, nil
}

// move writes the packets of an event, and calls do.
func (r *runner) move(e int32) error {
	m := r.Events[e].Move
	for _, d := range m.Dsts {
		if d.Packet && d.Size > 0 {
			x := &r.Plan.Buffers[d.Buffer]
			r.written[x.Space] = write(r.written[x.Space], piece{d.Start, d.Start + d.Size, e})
			for _, b := range r.byRank[x.Rank] {
				r.wake(b)
			}
		}
	}
	if r.do == nil {
		return nil
	}
	return r.do(r.Course, e)
}

// write adds packets where there were none; the first to write them is who is waited for.
func write(list []piece, w piece) []piece {
	i, _ := slices.BinarySearchFunc(list, w.start, func(p piece, x int64) int {
		if p.end <= x {
			return -1
		}
		return 1
	})
	var gaps []piece
	j, at := i, w.start
	for ; j < len(list) && list[j].start < w.end; j++ {
		if list[j].start > at {
			gaps = append(gaps, piece{at, list[j].start, w.event})
		}
		gaps = append(gaps, list[j])
		at = list[j].end
	}
	if at < w.end {
		gaps = append(gaps, piece{at, w.end, w.event})
	}
	return slices.Replace(list, i, j, gaps...)
}

// arrived reports whether the packets that a move reads are there, and who wrote them.
func (r *runner) arrived(m *model.PlanMove) (by []int32, ok bool) {
	for _, s := range m.Srcs {
		if !s.Packet || s.Size <= 0 {
			continue
		}
		list := r.written[r.Plan.Buffers[s.Buffer].Space]
		i, _ := slices.BinarySearchFunc(list, s.Start, func(p piece, x int64) int {
			if p.end <= x {
				return -1
			}
			return 1
		})
		at := s.Start
		for ; i < len(list) && list[i].start <= at && at < s.Start+s.Size; i++ {
			if !slices.Contains(by, list[i].event) {
				by = append(by, list[i].event)
			}
			at = list[i].end
		}
		if at < s.Start+s.Size {
			return nil, false
		}
	}
	return by, true
}

// stuck notes what each threadblock that is not done waits for.
func (r *runner) stuck() {
	p := r.Plan
	for b := range p.Blocks {
		x, q := &p.Blocks[b], &r.blocks[b]
		for i := q.from; i < len(x.Ops) && i-q.from < len(q.did); i++ {
			o := &x.Ops[i]
			k := slices.Index(q.did[i-q.from], false)
			w := Waiting{Place: Place{b, i}, Part: k}
			switch {
			case o.Verb == model.PlanBarrier:
				w.What = fmt.Sprintf("the %d threadblocks of barrier %d", o.Blocks, o.Barrier)
				w.For = r.undone(func(y *model.PlanBlock, other *model.PlanOp) bool {
					return y.Rank == x.Rank && other.Verb == model.PlanBarrier && other.Barrier == o.Barrier && y != x
				})
			case k < 0:
				continue
			case o.Verb == model.PlanWait:
				w.What = fmt.Sprintf("signal %d of %s", q.tickets[[2]int{i, k}], p.Counters[o.IDs[k]].Name)
				w.For = r.undone(func(_ *model.PlanBlock, other *model.PlanOp) bool {
					return (other.Verb == model.PlanSignal || other.Verb == model.PlanRequest) && slices.Contains(other.IDs, o.IDs[k])
				})
			case o.Verb == model.PlanAcquire:
				w.What = fmt.Sprintf("a release of semaphore %d", o.IDs[k])
				w.For = r.undone(func(_ *model.PlanBlock, other *model.PlanOp) bool {
					return other.Verb == model.PlanRelease && slices.Contains(other.IDs, o.IDs[k])
				})
			case o.Verb == model.PlanCompute:
				if _, there := r.arrived(&o.Moves[k]); there {
					continue
				}
				w.What = fmt.Sprintf("packets in scratch of gpu %d", x.Rank)
				w.For = r.undone(func(_ *model.PlanBlock, other *model.PlanOp) bool { return r.writes(other, &o.Moves[k]) })
			default:
				continue
			}
			r.Stuck = append(r.Stuck, w)
			break
		}
	}
}

// writes reports whether an operation writes packets that a move reads.
func (r *runner) writes(o *model.PlanOp, read *model.PlanMove) bool {
	for _, m := range o.Moves {
		for _, d := range m.Dsts {
			for _, s := range read.Srcs {
				if s.Packet && d.Packet && r.Plan.Buffers[s.Buffer].Space == r.Plan.Buffers[d.Buffer].Space && s.Start < d.Start+d.Size && d.Start < s.Start+s.Size {
					return true
				}
			}
		}
	}
	return false
}

// undone returns the operations that are not done and of which is is true, of each threadblock the first.
func (r *runner) undone(is func(*model.PlanBlock, *model.PlanOp) bool) []Place {
	var all []Place
	for b := range r.Plan.Blocks {
		x, q := &r.Plan.Blocks[b], &r.blocks[b]
		for i := q.from; i < len(x.Ops); i++ {
			if j := i - q.from; j < len(q.did) && len(q.did[j]) > 0 && !slices.Contains(q.did[j], false) {
				continue // done, though an operation before it is not
			}
			if i == q.from && q.at {
				continue // a barrier to which it has come
			}
			if is(x, &x.Ops[i]) {
				all = append(all, Place{b, i})
				break
			}
		}
	}
	return all
}

// Cycle returns operations of which each waits for something that its threadblock's successor in
// the list does only after what it waits for itself, the last for the first; nil if there is no such
// cycle: then something is waited for that nothing does.
func (c *Course) Cycle() []Waiting {
	stuck := map[int]int{} // of a threadblock
	for i, w := range c.Stuck {
		stuck[w.Block] = i
	}
	state := make([]int, len(c.Stuck)) // 1: on the path, 2: leads to no cycle
	var path []int
	var visit func(i int) []Waiting
	visit = func(i int) []Waiting {
		state[i] = 1
		path = append(path, i)
		for _, f := range c.Stuck[i].For {
			j, ok := stuck[f.Block]
			switch {
			case !ok || state[j] == 2:
			case state[j] == 1:
				var cycle []Waiting
				for _, k := range path[slices.Index(path, j):] {
					cycle = append(cycle, c.Stuck[k])
				}
				return cycle
			default:
				if cycle := visit(j); cycle != nil {
					return cycle
				}
			}
		}
		path = path[:len(path)-1]
		state[i] = 2
		return nil
	}
	for i := range c.Stuck {
		if state[i] == 0 {
			if cycle := visit(i); cycle != nil {
				return cycle
			}
		}
	}
	return nil
}
