// Package joint schedules all operations of a workload together, transfer by transfer: a greedy in the
// manner of TACOS (Won et al., "TACOS: Topology-aware collective algorithm synthesizer for distributed
// machine learning", MICRO 2024), which gives every link something to carry when it is free, over the
// operations of all jobs at once, and every GPU something to compute. Collectives have no schedules of
// their own: each chunk goes over whichever link that leads towards where it is wanted is free first.
//
// A reduction is carried forward in time, which TACOS reverses: a rank sends its part when nobody is left
// that could send to it alone, to one that has not sent yet; so each sends once.
//
// Operations begin on each rank in the order in which they could first begin anywhere, so that no library
// that enters collectives one after the other deadlocks, and nothing here does: of those that have begun to
// be able to, the first waits for nothing that comes after it. Nothing here is trusted: verify/workload decides.
package joint

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/events"
	"github.com/oraccl/oraccl/solve/timing"
)

// Limits.
const (
	maxRanks = 1 << 12
	maxSlots = 1 << 27 // chunks on ranks in all iterations of all collectives
)

// Options steer Schedule.
type Options struct {
	Pieces int // chunks a member, of collectives without a cut
	// Nearest has chunks take the hops that lead nearest to where they are wanted, alone: around one switch a sum
	// is then sent to its root directly. Else more hops are among those of which the first that is free is taken.
	Nearest bool
}

// Schedule returns a schedule of a workload that ends. It takes time of O(transfers·ways·log(transfers)) about. An error that wraps solve.ErrNotServed names
// what it does not serve; once ctx is done it returns its error.
func Schedule(ctx context.Context, w *wl.Workload, o Options) (*wl.Schedule, error) {
	if w.Periodic {
		return nil, solve.NotServed("serves what ends")
	}
	if w.Topology.Ranks > maxRanks {
		return nil, solve.NotServed("%d ranks, serves at most %d", w.Topology.Ranks, maxRanks)
	}
	for i := range w.Topology.Switches {
		if s := &w.Topology.Switches[i]; s.Copies || s.Reduces != model.NoReducing {
			return nil, solve.NotServed("serves no switches that add or copy")
		}
	}
	g := &greedy{ctx: ctx, w: w, ranks: w.Topology.Ranks, board: timing.NewBoard(&model.Problem{Topology: w.Topology, Cost: w.Cost}), classes: map[class]int32{}}
	g.hops()
	if err := g.begin(o); err != nil {
		return nil, err
	}
	if err := g.carry(); err != nil {
		return nil, err
	}
	return g.schedule()
}

// what happens
type happening struct {
	what what
	a, b int32
}

type what uint8

const (
	arrival  what = iota // run a, transfer b
	computed             // run a, member b
	offset               // run a, edge and member in b
	released             // run a, rank b
	freed                // class a
)

// greedy is the state of the simulation.
type greedy struct {
	ctx    context.Context
	w      *wl.Workload
	ranks  int
	board  *timing.Board
	routes [][]int
	lanes  []lane
	pairs  []pair
	pairOf []int32   // src·ranks + dst; -1: none
	out    [][]int32 // pairs, by rank
	into   [][]int32

	free    []model.Time // by choice: until when it is in use
	classes map[class]int32
	rows    []row
	queue   events.Queue
	list    []happening
	spare   []int32
	now     model.Time
	marked  []int32
	woken   []int32
	ticks   int64

	runs    []*run
	of      [][]int32 // of each operation, by iteration
	next    [][]int   // edges from each operation
	prior   [][]int   // edges to it
	active  int64
	orders  [][]int32 // of each rank: collectives in the order in which they begin
	heads   []int
	waiting [][]int32 // of each rank: computations that could begin
	busy    []bool
}

func (g *greedy) at(t model.Time, h happening) {
	var id int32
	if n := len(g.spare); n > 0 {
		id, g.spare = g.spare[n-1], g.spare[:n-1]
		g.list[id] = h
	} else {
		id = int32(len(g.list))
		g.list = append(g.list, h)
	}
	g.queue.Add(events.Event{At: t, ID: id})
}

// carry takes time forward until nothing happens any more.
func (g *greedy) carry() error {
	for steps := 0; ; steps++ {
		if steps%256 == 0 {
			if err := g.ctx.Err(); err != nil {
				return err
			}
		}
		for len(g.marked) > 0 || len(g.woken) > 0 {
			for _, p := range g.marked {
				g.pairs[p].marked = false
			}
			marked := g.marked
			g.marked = nil
			for _, p := range marked {
				if !g.pairs[p].waits {
					g.offer(p)
				}
			}
			woken := g.woken
			g.woken = nil
			for _, c := range woken {
				g.wake(c)
			}
		}
		if len(g.queue) == 0 {
			break
		}
		g.now = g.queue.Next()
		for len(g.queue) > 0 && g.queue.Next() == g.now {
			e := g.queue.Take()
			h := g.list[e.ID]
			g.spare = append(g.spare, e.ID)
			g.happens(h)
		}
	}
	for _, r := range g.runs {
		if r.ended < len(r.members) {
			return fmt.Errorf("%s waits for ever", g.w.Ops[r.op].ID)
		}
	}
	return nil
}

func (g *greedy) happens(h happening) {
	switch h.what {
	case arrival:
		g.arrives(h.a, int(h.b))
	case computed:
		r := g.runs[h.a]
		v := r.members[h.b]
		g.busy[v] = false
		g.ends(h.a, v)
		g.compute(v)
	case offset:
		r := g.runs[h.a]
		e := g.next[r.op][int(h.b)/len(r.members)]
		g.fire(e, h.a, r.members[int(h.b)%len(r.members)])
	case released:
		g.satisfied(h.a, int(h.b))
	case freed:
		if g.rows[h.a].due == g.now {
			g.rows[h.a].due = model.MaxTime
			g.woken = append(g.woken, h.a)
		}
	}
}

// push offers what a rank can send of a chunk to all that may get it.
func (g *greedy) push(id int32, k, v int) {
	r := g.runs[id]
	slot := k*g.ranks + v
	if !g.may(r, k, v) {
		return
	}
	c := &r.plan.chunks[k]
	if c.up != nil && r.unsent[slot] && r.flying[slot] == 0 && r.alone[slot] == 0 {
		for _, u := range c.up.next[v] {
			if r.unsent[k*g.ranks+int(u)] || u == c.root {
				g.send(id, k, v, int(u), false)
			}
		}
	}
	if c.down != nil && r.have[slot] {
		for _, u := range c.down.from[v] {
			if !r.claimed[k*g.ranks+int(u)] {
				g.send(id, k, v, int(u), true)
			}
		}
	}
}

func (g *greedy) send(id int32, k, v, u int, down bool) {
	g.ticks++
	g.enqueue(g.pairOf[v*g.ranks+u], item{order: g.runs[id].order<<36 | g.ticks, run: id, chunk: int32(k), down: down})
}

// start has a chunk be sent.
func (g *greedy) start(x item, v, u int, with int32) {
	r := g.runs[x.run]
	k := int(x.chunk)
	from, to := k*g.ranks+v, k*g.ranks+u
	l := &g.lanes[with]
	size := r.plan.problem.Chunks[k].Size
	uses, known := l.uses[size]
	if !known {
		uses = g.board.Uses(g.routes[l.route], size, nil)
		l.uses[size] = uses
	}
	for j := range uses {
		use := &uses[j]
		best := use.Choice
		for c := use.Choice + 1; c < use.ChoiceEnd; c++ {
			if g.free[c] < g.free[best] {
				best = c
			}
		}
		g.free[best] = g.now.Add(use.From).Add(use.Extra)
	}
	t := model.Transfer{Chunk: int32(k), Src: int32(v), Dst: int32(u), Route: l.route, Start: g.now, End: g.now.Add(g.board.Duration(g.routes[l.route], size))}
	if !x.down && (r.plan.member[u] || r.fed[to]) {
		t.Op = model.Reduction
	}
	g.at(t.End, happening{arrival, x.run, int32(len(r.sent))})
	r.sent, r.arrivals = append(r.sent, t), append(r.arrivals, x.down)
	c := &r.plan.chunks[k]
	if x.down {
		r.claimed[to] = true
		for _, other := range c.down.next[u] { // which need not send any more
			if int(other) != v {
				g.finished(x.run, k, int(other))
			}
		}
	} else {
		r.flying[to]++
		r.unsent[from] = false
		if only := r.only[from]; only >= 0 {
			r.alone[k*g.ranks+int(only)]--
			g.push(x.run, k, int(only))
		}
		for _, w := range c.up.from[v] {
			at := k*g.ranks + int(w)
			if !r.unsent[at] {
				continue
			}
			if r.options[at]--; r.options[at] == 1 {
				for _, o := range c.up.next[w] {
					if r.unsent[k*g.ranks+int(o)] || o == c.root {
						r.only[at] = o
						r.alone[k*g.ranks+int(o)]++
					}
				}
			}
		}
	}
	for _, rank := range []int{v, u} {
		if !r.begun[rank] {
			r.begun[rank] = true
			if r.plan.member[rank] {
				g.advance(rank)
			}
		}
	}
}

// arrives ends a transfer.
func (g *greedy) arrives(id int32, i int) {
	r := g.runs[id]
	t := &r.sent[i]
	k, v, u := int(t.Chunk), int(t.Src), int(t.Dst)
	to := k*g.ranks + u
	c := &r.plan.chunks[k]
	switch {
	case r.arrivals[i]:
		r.have[to] = true
		g.push(id, k, u)
		g.finished(id, k, u)
	default:
		r.flying[to]--
		if !r.plan.member[u] { // a relay has a part now, and others may add to it
			r.fed[to] = true
			for _, w := range c.up.from[u] {
				g.push(id, k, int(w))
			}
		}
		if r.missing[k]--; r.missing[k] == 0 {
			r.have[k*g.ranks+int(c.root)] = true
			g.push(id, k, int(c.root))
			g.finished(id, k, int(c.root))
		} else {
			g.push(id, k, u)
		}
	}
	g.finished(id, k, v)
}

// schedule returns what happened.
func (g *greedy) schedule() (*wl.Schedule, error) {
	again := *g.w
	again.Ops = slices.Clone(g.w.Ops)
	s := &wl.Schedule{Workload: &again}
	for _, r := range g.runs {
		p := wl.Placement{Op: r.op, Iteration: r.iteration, Program: -1}
		switch {
		case r.plan != nil:
			again.Ops[r.op].Chunks = r.plan.problem.Chunks
			p.Program = len(s.Programs)
			p.At = r.at
			program := &model.Schedule{Form: model.Timed, Transfers: r.sent}
			used := map[int32]int32{}
			for i := range r.sent {
				t := &r.sent[i]
				n, known := used[t.Route]
				if !known {
					n = int32(len(program.Routes))
					used[t.Route] = n
					program.Routes = append(program.Routes, g.routes[t.Route])
				}
				t.Route = n
			}
			s.Programs = append(s.Programs, program)
		case g.w.Ops[r.op].Kind == wl.Compute:
			for _, v := range r.members {
				p.Starts = append(p.Starts, r.starts[v])
			}
		default:
			p.At = r.at
		}
		s.Placed = append(s.Placed, p)
	}
	return s, nil
}
