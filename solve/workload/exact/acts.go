package exact

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// maxActs is how many acts there are at most.
const maxActs = 1 << 17

// act is something that begins at one tick, or, of a transfer, at none.
type act struct {
	run      int
	chunk    int // of a transfer; -1: of none
	ranks    []int
	from, to map[int]model.Time // by rank: when it begins and ends there, from its start on
	uses     []network.Use
	transfer model.Transfer
	route    []int
	computes bool
	needed   bool
	down     bool // a transfer of the whole

	first, last int   // the ticks at which it may begin
	cols        []int // of the mixed-integer program, by tick from first
}

// run is an iteration of an operation.
type run struct {
	op, iteration int
	members       []int
	problem       *model.Problem // of a collective
	acts          []int

	head, tail int // ticks before its start, and after its end
}

// plan is what there is to begin, on a grid of ticks.
type plan struct {
	w       *wl.Workload
	board   *timing.Board
	runs    []*run
	of      [][]int // of each operation, by iteration
	acts    []*act
	tick    model.Time
	horizon int  // ticks within which all ends
	relaxed bool // times are rounded so that what is possible in picoseconds is possible in ticks, and not the other way round
}

// newPlan lists what there is to begin in a workload.
func newPlan(w *wl.Workload) (*plan, error) {
	x := &plan{w: w, board: timing.NewBoard(&model.Problem{Topology: w.Topology, Cost: w.Cost})}
	return x, x.begin()
}

// begin lists what there is to begin.
func (x *plan) begin() error {
	for _, e := range x.w.Edges {
		for _, i := range []int{e.From, e.To} {
			if e.Scope == wl.ByChunk && (x.w.Ops[i].Given != nil || x.w.Ops[i].Into.Buffer != "") {
				return solve.NotServed("%s has a schedule of its own or several buffers, and edges between chunks", x.w.Ops[i].ID)
			}
		}
	}
	hops := hop.All(x.w.Topology)
	for i := range x.w.Ops {
		op := &x.w.Ops[i]
		var list []int
		for k := range x.w.Iterations(i) {
			r := &run{op: i, iteration: k, members: x.w.Members(op.Group)}
			list = append(list, len(x.runs))
			x.runs = append(x.runs, r)
			_, collective := op.Kind.Collective()
			if collective {
				r.problem = x.w.Problem(i)
			}
			switch {
			case op.Kind == wl.Compute:
				for m, v := range r.members {
					d := x.w.DurationOn(i, m)
					x.add(&act{chunk: -1, ranks: []int{v}, from: map[int]model.Time{v: 0}, to: map[int]model.Time{v: d}, computes: true, needed: true})
				}
			case !collective || len(r.members) == 1:
				a := &act{chunk: -1, ranks: r.members, from: map[int]model.Time{}, to: map[int]model.Time{}, needed: true}
				for _, v := range r.members {
					a.from[v], a.to[v] = 0, 0
				}
				x.add(a)
			case op.Given != nil:
				if err := x.given(op); err != nil {
					return err
				}
			default:
				if err := x.transfers(op, r, hops); err != nil {
					return err
				}
			}
		}
		x.of = append(x.of, list)
	}
	return nil
}

// add adds something to the last run.
func (x *plan) add(a *act) {
	a.run = len(x.runs) - 1
	x.runs[a.run].acts = append(x.runs[a.run].acts, len(x.acts))
	x.acts = append(x.acts, a)
}

// given adds a program that is moved as a whole.
func (x *plan) given(op *wl.Op) error {
	a := &act{chunk: -1, from: map[int]model.Time{}, to: map[int]model.Time{}, needed: true}
	p := x.runs[len(x.runs)-1].problem
	for i := range op.Given.Transfers {
		t := &op.Given.Transfers[i]
		route := op.Given.Routes[t.Route]
		ranks := []int{int(t.Src)}
		for _, l := range route {
			if v := x.w.Topology.Links[l].Dst; x.w.Topology.IsRank(v) {
				ranks = append(ranks, v)
			}
		}
		for _, v := range ranks {
			if _, there := a.to[v]; !there {
				a.ranks, a.from[v] = append(a.ranks, v), t.Start
			}
			a.from[v], a.to[v] = min(a.from[v], t.Start), max(a.to[v], t.End)
		}
		first := len(a.uses)
		a.uses = x.board.Uses(route, p.Chunks[t.Chunk].Size, a.uses)
		for k := first; k < len(a.uses); k++ {
			a.uses[k].From += t.Start
		}
	}
	for _, v := range x.runs[len(x.runs)-1].members {
		if _, there := a.to[v]; !there {
			return solve.NotServed("rank %d has nothing to do in %s", v, op.ID)
		}
	}
	x.add(a)
	return nil
}

// transfers adds those that a collective may have.
func (x *plan) transfers(op *wl.Op, r *run, hops []hop.Hop) error {
	p := r.problem
	if o, _ := x.w.OperatorOf(op.Operator); !o.Free() {
		return solve.NotServed("%s combines by %s, in an order of its own", op.ID, o.Name)
	}
	if p.Collective.Reduces() && p.Collective.Kind == model.Custom {
		return solve.NotServed("custom collectives that reduce")
	}
	if op.Chunks == nil {
		return solve.NotServed("%s has no chunks", op.ID)
	}
	if n := len(x.acts) + len(p.Chunks)*len(hops); n > maxActs {
		return fmt.Errorf("%d transfers that could be, want at most %d: %w", n, maxActs, ErrTooLarge)
	}
	touched := map[int]bool{}
	for k, c := range p.Chunks {
		for i := range hops {
			h := &hops[i]
			if !slices.Contains(r.members, h.Src) || !slices.Contains(r.members, h.Dst) {
				continue
			}
			for _, route := range h.Routes {
				d := x.board.Duration(route, c.Size)
				one := func(down bool, what model.Op) {
					x.add(&act{chunk: k, ranks: []int{h.Src, h.Dst}, from: map[int]model.Time{h.Src: 0, h.Dst: 0}, to: map[int]model.Time{h.Src: d, h.Dst: d},
						uses: x.board.Uses(route, c.Size, nil), transfer: model.Transfer{Src: int32(h.Src), Dst: int32(h.Dst), Chunk: int32(k), Op: what}, route: route, down: down})
				}
				if p.Collective.Reduces() {
					one(false, model.Reduction)
				}
				if !p.Collective.Reduces() || p.Collective.Kind == model.AllReduce {
					one(true, model.Copy)
				}
				touched[h.Src], touched[h.Dst] = true, true
			}
		}
	}
	for _, v := range r.members {
		if !touched[v] {
			return solve.NotServed("rank %d has no link to another member of %s", v, op.ID)
		}
	}
	return nil
}

// grid sets the tick, of which there are at most most before end, and the horizon, and reports whether all times
// are multiples of it. Where the greatest common divisor of all times would make more ticks there are few.
func (x *plan) grid(end model.Time, most, few int64) (exact bool) {
	g := model.Time(0)
	note := func(t model.Time) {
		for t != 0 {
			g, t = t, g%t
		}
	}
	for _, a := range x.acts {
		for _, v := range a.ranks {
			note(a.from[v])
			note(a.to[v])
			note(x.w.ReleaseOf(x.runs[a.run].op, v))
		}
		for _, u := range a.uses {
			note(u.From)
			note(u.Extra)
		}
	}
	for i := range x.w.Edges {
		note(x.w.Edges[i].Offset)
	}
	x.tick, exact = max(1, g), true
	if int64(end/x.tick) > most {
		x.tick, exact = (end+model.Time(few)-1)/model.Time(few), false
	}
	x.horizon = int((end - 1) / x.tick)
	return exact
}

// up and down return a time in ticks, rounded, of a relaxed plan the other way round.
func (x *plan) up(t model.Time) int   { return x.round(t, !x.relaxed) }
func (x *plan) down(t model.Time) int { return x.round(t, x.relaxed) }

func (x *plan) round(t model.Time, up bool) int {
	if up {
		t += x.tick - 1
	}
	return int(t / x.tick)
}

// lasts returns when all of a is over, from its start on.
func (x *plan) lasts(a *act) int {
	most := 0
	for _, t := range a.to {
		most = max(most, x.up(t))
	}
	return most
}

// before returns the run that one waits for by an edge; ok is false if there is none.
func (x *plan) before(e *wl.Edge, r *run) (id int, ok bool) {
	if r.op != e.To || r.iteration < e.Height {
		return 0, false
	}
	return x.of[e.From][r.iteration-e.Height], true
}

// starter returns the computation of a run on a rank.
func (x *plan) starter(id, rank int) *act {
	return x.acts[x.runs[id].acts[slices.Index(x.runs[id].members, rank)]]
}

// eachWait calls wait for each rank, and chunk (-1: all), on which a run waits by an edge for another one: for a
// chunk of that one (-1: all) on a rank.
func (x *plan) eachWait(e *wl.Edge, from, to int, wait func(rank, chunk, other, part int)) {
	a, b := x.runs[from], x.runs[to]
	for _, v := range b.members {
		switch {
		case e.Scope == wl.ByAll:
			for _, u := range a.members {
				wait(v, -1, u, -1)
			}
		case !slices.Contains(a.members, v):
		case e.Scope == wl.ByRank:
			wait(v, -1, v, -1)
		default:
			_, atA := x.w.BufferOf(a.op, v)
			_, atB := x.w.BufferOf(b.op, v)
			for i, c := range a.problem.Chunks {
				for k, d := range b.problem.Chunks {
					if atA+c.Offset < atB+d.Offset+d.Size && atB+d.Offset < atA+c.Offset+c.Size {
						wait(v, k, v, i)
					}
				}
			}
		}
	}
}

// ordered returns the runs that ranks must begin in one order.
func (x *plan) ordered() (list []int) {
	for id, r := range x.runs {
		if r.problem != nil && len(r.members) > 1 {
			list = append(list, id)
		}
	}
	return list
}

// sharedInOrder returns the ranks on which the order of two runs of a list matters.
func (x *plan) sharedInOrder(list []int, a, b int) (shared []int) {
	for _, v := range x.runs[a].members {
		if slices.Contains(x.runs[b].members, v) {
			shared = append(shared, v)
		}
	}
	if len(list) == 2 && len(shared) == 1 {
		return nil
	}
	return shared
}

// heads sets how long runs cannot have begun, and how long others take after them.
func (x *plan) heads() {
	least := make([]int, len(x.runs))
	for i, r := range x.runs {
		least[i] = x.horizon + 1
		for _, a := range r.acts {
			for _, v := range x.acts[a].ranks {
				least[i] = min(least[i], x.up(x.acts[a].to[v]))
			}
		}
	}
	for changed, rounds := true, 0; changed && rounds <= len(x.runs); rounds++ {
		changed = false
		for i, r := range x.runs {
			for k := range x.w.Edges {
				e := &x.w.Edges[k]
				j, ok := x.before(e, r)
				if !ok {
					continue
				}
				from := x.runs[j]
				head, tail := from.head+least[j], 0
				switch {
				case e.FromStart:
					head = from.head + x.up(e.Offset)
				case e.Scope == wl.ByChunk:
					head = from.head
				case e.Scope == wl.ByAll || !slices.ContainsFunc(from.members, func(v int) bool { return !slices.Contains(r.members, v) }):
					tail = least[i] + r.tail
				}
				if head > r.head || tail > from.tail {
					r.head, from.tail, changed = max(r.head, head), max(from.tail, tail), true
				}
			}
		}
	}
}

// windows sets the ticks at which each may begin so that all ends within the horizon.
func (x *plan) windows() {
	x.heads()
	for _, a := range x.acts {
		r := x.runs[a.run]
		a.first = r.head
		for _, v := range a.ranks {
			a.first = max(a.first, x.up(x.w.ReleaseOf(r.op, v)-a.from[v]))
		}
		a.last = x.horizon - x.lasts(a) - r.tail
	}
}

// schedule returns the schedule in picoseconds in which each act begins at a tick, or at none.
func (x *plan) schedule(begins func(*act) (tick int, ok bool)) *wl.Schedule {
	s := &wl.Schedule{Workload: x.w}
	for _, r := range x.runs {
		p := wl.Placement{Op: r.op, Iteration: r.iteration, Program: -1}
		made := &model.Schedule{Form: model.Timed}
		for _, i := range r.acts {
			a := x.acts[i]
			tick, ok := begins(a)
			if !ok {
				continue
			}
			at := x.tick.Mul(int64(tick))
			switch {
			case a.computes:
				p.Starts = append(p.Starts, at)
			case a.chunk < 0:
				p.At = at
			default:
				t := a.transfer
				t.Route, t.Start, t.End = int32(len(made.Routes)), at, at+a.to[a.ranks[0]]
				made.Routes, made.Transfers = append(made.Routes, a.route), append(made.Transfers, t)
			}
		}
		if r.problem != nil {
			if given := x.w.Ops[r.op].Given; given != nil {
				made = given
			}
			p.Program = len(s.Programs)
			s.Programs = append(s.Programs, made)
		}
		s.Placed = append(s.Placed, p)
	}
	return s
}
