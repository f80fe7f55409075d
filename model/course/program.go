package course

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Program carries out one execution of a program, with as much room for messages as it needs, until it
// ends or gets stuck. The Plan of the course has its processes as threadblocks, and of their
// instructions what a picture names: names, lines, what they exchange with whom. It takes time in
// proportion to the steps and to the processes that wait for each.
func Program(ctx context.Context, p *model.Program) (*Course, error) {
	r := &programme{Course: &Course{Plan: skeleton(p)}, p: p, of: map[[2]int]int{}, sent: map[[3]int][]int32{}, senders: map[[3]int][]int{}, blocked: map[int][]int{}, awaited: map[[3]int][]int{}}
	r.pc, r.done = make([]int, len(p.Processes)), make([][]int32, len(p.Processes))
	var queue []int
	for i := range p.Processes {
		q := &p.Processes[i]
		r.of[[2]int{q.Rank, q.ID}] = i
		if q.SendTo >= 0 {
			to := [3]int{q.Rank, q.SendTo, q.Channel}
			r.senders[to] = append(r.senders[to], i)
		}
		queue = append(queue, i)
	}
	for len(queue) > 0 {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		i := queue[0]
		queue = append(queue[1:], r.advance(i)...)
	}
	r.stuck()
	return r.Course, nil
}

// skeleton has what a picture names of a program.
func skeleton(p *model.Program) *model.Plan {
	plan := &model.Plan{Ranks: p.Ranks}
	counter := map[[3]int]int{}
	of := func(from, to, channel int) int {
		key := [3]int{from, to, channel}
		if _, ok := counter[key]; !ok {
			counter[key] = len(plan.Counters)
			plan.Counters = append(plan.Counters, model.PlanCounter{Name: fmt.Sprintf("channel %d of gpu %d to gpu %d", channel, from, to), From: from, To: to})
		}
		return counter[key]
	}
	for i := range p.Processes {
		q := &p.Processes[i]
		b := model.PlanBlock{Rank: q.Rank, ID: q.ID, Line: q.Line}
		for _, s := range q.Steps {
			o := model.PlanOp{Verb: model.PlanCompute, Name: s.Name, Label: s.Label, Line: s.Line}
			switch {
			case s.Verb == 0:
				o.Verb = model.PlanJoin
			case s.Verb&model.Receives != 0 && q.RecvFrom >= 0:
				o.Verb, o.IDs = model.PlanWait, []int{of(q.RecvFrom, q.Rank, q.Channel)}
			case s.Verb&model.Sends != 0 && q.SendTo >= 0:
				o.Verb, o.IDs = model.PlanSignal, []int{of(q.Rank, q.SendTo, q.Channel)}
			}
			b.Ops = append(b.Ops, o)
		}
		plan.Blocks = append(plan.Blocks, b)
	}
	return plan
}

// programme is a program while it is carried out.
type programme struct {
	*Course
	p       *model.Program
	of      map[[2]int]int // a process by rank and ID
	pc      []int
	done    [][]int32          // the events of a process's steps
	sent    map[[3]int][]int32 // messages on their way, by source, destination and channel: events
	senders map[[3]int][]int
	blocked map[int][]int    // processes that wait for a step of another
	awaited map[[3]int][]int // and for a message
}

// advance carries out what a process can do, and returns those that can go on because of it.
func (r *programme) advance(i int) (woken []int) {
	q := &r.p.Processes[i]
	for r.pc[i] < len(q.Steps) {
		s := &q.Steps[r.pc[i]]
		var before []int32
		for _, w := range s.Waits {
			on, step := r.signal(q.Rank, w)
			if step < 0 || step >= r.pc[on] {
				if on >= 0 {
					r.blocked[on] = append(r.blocked[on], i)
				}
				return woken
			}
			before = append(before, r.done[on][step])
		}
		if s.Verb&model.Receives != 0 {
			from := [3]int{q.RecvFrom, q.Rank, q.Channel}
			if len(r.sent[from]) == 0 {
				r.awaited[from] = append(r.awaited[from], i)
				return woken
			}
			before = append(before, r.sent[from][0])
			r.sent[from] = r.sent[from][1:]
		}
		if r.pc[i] > 0 {
			before = append(before, r.done[i][r.pc[i]-1])
		}
		r.Events = append(r.Events, Event{Place: Place{i, r.pc[i]}, Before: before, Prior: -1})
		e := int32(len(r.Events) - 1)
		r.done[i] = append(r.done[i], e)
		r.pc[i]++
		if s.Verb&model.Sends != 0 {
			to := [3]int{q.Rank, q.SendTo, q.Channel}
			r.sent[to] = append(r.sent[to], e)
			woken, r.awaited[to] = append(woken, r.awaited[to]...), nil
		}
		if s.Signals {
			woken, r.blocked[i] = append(woken, r.blocked[i]...), nil
		}
	}
	return woken
}

// signal returns the process and step that a wait of a rank is for: the one that it names or the first
// after it that signals. A process or a step that does not exist is -1.
func (r *programme) signal(rank int, w model.Wait) (on, step int) {
	on, ok := r.of[[2]int{rank, w.Process}]
	if !ok {
		return -1, -1
	}
	steps := r.p.Processes[on].Steps
	for step = max(0, w.Step); step < len(steps); step++ {
		if steps[step].Signals {
			return on, step
		}
	}
	return on, -1
}

// stuck notes what each process that did not end waits for.
func (r *programme) stuck() {
	for i := range r.p.Processes {
		q := &r.p.Processes[i]
		if r.pc[i] == len(q.Steps) {
			continue
		}
		s := &q.Steps[r.pc[i]]
		at := slices.IndexFunc(s.Waits, func(w model.Wait) bool { on, step := r.signal(q.Rank, w); return step < 0 || step >= r.pc[on] })
		x := Waiting{Place: Place{i, r.pc[i]}}
		if at >= 0 {
			on, step := r.signal(q.Rank, s.Waits[at])
			x.What = fmt.Sprintf("a signal of tb %d", s.Waits[at].Process)
			if step >= 0 {
				x.For = []Place{{on, step}}
			}
		} else {
			x.What = fmt.Sprintf("a message from gpu %d on channel %d", q.RecvFrom, q.Channel)
			for _, on := range r.senders[[3]int{q.RecvFrom, q.Rank, q.Channel}] {
				steps := r.p.Processes[on].Steps
				if k := slices.IndexFunc(steps[r.pc[on]:], func(s model.Instruction) bool { return s.Verb&model.Sends != 0 }); k >= 0 {
					x.For = append(x.For, Place{on, r.pc[on] + k})
				}
			}
		}
		r.Stuck = append(r.Stuck, x)
	}
}
