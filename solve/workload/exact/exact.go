// Package exact schedules small workloads by a mixed-integer program on time, which HiGHS solves: for
// each computation, transfer and program a binary variable for each tick at which it could begin, so that links, ports,
// GPUs, and what waits for what, are linear in them. All transfers of all collectives are found together.
//
// Of a collective, chunks go from member to member: copies along a tree from where the chunk is, contributions
// along a tree to one rank, which of an allreduce is any, and copies back from there; of an allreduce of two, each may
// instead send the other one its own. A collective with a schedule of its own is moved as a whole. Cuts are those of an
// incumbent, and only what ends before it is looked for.
//
// What the solver returns is rounded, checked in exact numbers and timed again in picoseconds; package verify/workload
// decides about it. That there is nothing shorter of this form is the solver's claim alone.
package exact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// Limits on the program.
const (
	MaxColumns = 10000
	MaxEntries = 1000000 // of the rows
	// MostTicks is how many ticks there are at most. Where the greatest common divisor of all times would make more,
	// there are fewTicks, and times are rounded up to them.
	MostTicks = 120
	fewTicks  = 40
)

// Options steer a run.
type Options struct {
	TimeLimit time.Duration
	Seed      uint64
	Least     model.Time // nothing ends before; 0: not known
}

// Result is what came of a program.
type Result struct {
	Schedule *wl.Schedule // ends before the incumbent; nil: none was found
	Closed   bool         // the solver claims that of this form nothing is shorter than the best of both
	Tick     model.Time   // of which all times are multiples; 0: some were rounded up
}

// ErrTooLarge is wrapped by the error for a workload whose program would be too large.
var ErrTooLarge = errors.New("too large for exact")

// Schedule looks for a schedule of the workload of an incumbent that ends before it.
func Schedule(ctx context.Context, incumbent *wl.Schedule, o Options) (*Result, error) {
	if err := highs.Available(); err != nil {
		return nil, err
	}
	if incumbent.Workload.Periodic {
		return nil, solve.NotServed("serves what ends")
	}
	x := &program{w: incumbent.Workload, m: &lp.Model{Name: "workload"}, board: timing.NewBoard(&model.Problem{Topology: incumbent.Workload.Topology, Cost: incumbent.Workload.Cost}),
		busy: map[[3]int][]lp.Term{}, gates: map[[3]int]func(int) []lp.Term{}, begun: map[[2]int]func(int) []lp.Term{}}
	if err := x.begin(); err != nil {
		return nil, err
	}
	end := incumbent.Makespan()
	exact := x.grid(end)
	r := &Result{}
	least := int64(0)
	if exact {
		r.Tick, least = x.tick, int64((o.Least+x.tick-1)/x.tick)
	}
	if least > int64(x.horizon) {
		r.Closed = true
		return r, nil
	}
	feasible, err := x.state(ctx, least)
	if err != nil {
		return nil, err
	}
	if !feasible {
		r.Closed = exact
		return r, nil
	}
	s, err := highs.Solve(ctx, x.m, highs.Options{TimeLimit: o.TimeLimit, Seed: o.Seed, Threads: 1})
	if err != nil {
		return nil, err
	}
	r.Closed = exact && (s.Status == highs.Optimal || s.Status == highs.Infeasible)
	if !s.HasSolution {
		return r, nil
	}
	values, err := x.m.Round(s.Values)
	if err != nil {
		return r, nil
	}
	if wrong, err := x.m.Check(values); err != nil || len(wrong) > 0 {
		return r, nil
	}
	if found := x.schedule(s.Values); found.Makespan() < end {
		r.Schedule = found
	}
	return r, nil
}

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

	first int
	cols  []int // by tick from first
}

// run is an iteration of an operation.
type run struct {
	op, iteration int
	members       []int
	problem       *model.Problem // of a collective
	acts          []int

	head, tail int // ticks before its start, and after its end
}

type program struct {
	w       *wl.Workload
	m       *lp.Model
	board   *timing.Board
	runs    []*run
	of      [][]int // of each operation, by iteration
	acts    []*act
	tick    model.Time
	horizon int // ticks
	entries int
	busy    map[[3]int][]lp.Term // by resource, from and to, and tick
	gates   map[[3]int]func(int) []lp.Term
	begun   map[[2]int]func(int) []lp.Term
	barred  bool // something that must begin cannot
}

// begin lists what there is to begin.
func (x *program) begin() error {
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
func (x *program) add(a *act) {
	a.run = len(x.runs) - 1
	x.runs[a.run].acts = append(x.runs[a.run].acts, len(x.acts))
	x.acts = append(x.acts, a)
}

// given adds a program that is moved as a whole.
func (x *program) given(op *wl.Op) error {
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
func (x *program) transfers(op *wl.Op, r *run, hops []hop.Hop) error {
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

// grid sets the tick and the horizon, and reports whether all times are multiples of it.
func (x *program) grid(end model.Time) (exact bool) {
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
	if int64(end/x.tick) > MostTicks {
		x.tick, exact = (end+fewTicks-1)/fewTicks, false
	}
	x.horizon = int((end - 1) / x.tick)
	return exact
}

// up and down return a time in ticks, rounded.
func (x *program) up(t model.Time) int   { return int((t + x.tick - 1) / x.tick) }
func (x *program) down(t model.Time) int { return int(t / x.tick) }

// lasts returns when all of a is over, from its start on.
func (x *program) lasts(a *act) int {
	most := 0
	for _, t := range a.to {
		most = max(most, x.up(t))
	}
	return most
}

// started returns the terms that sum to 1 once a has begun at a tick or before.
func (a *act) started(tick int, sign int64) (terms []lp.Term) {
	for i := 0; i < len(a.cols) && a.first+i <= tick; i++ {
		terms = append(terms, lp.T(a.cols[i], sign))
	}
	return terms
}

// later returns the terms that sum to 1 if a begins after a tick.
func (a *act) later(tick int, sign int64) (terms []lp.Term) {
	for i := max(0, tick+1-a.first); i < len(a.cols); i++ {
		terms = append(terms, lp.T(a.cols[i], sign))
	}
	return terms
}

// before returns the run that one waits for by an edge; ok is false if there is none.
func (x *program) before(e *wl.Edge, r *run) (id int, ok bool) {
	if r.op != e.To || r.iteration < e.Height {
		return 0, false
	}
	return x.of[e.From][r.iteration-e.Height], true
}

// heads sets how long runs cannot have begun, and how long others take after them.
func (x *program) heads() {
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

func minus(terms []lp.Term) (all []lp.Term) {
	for _, t := range terms {
		all = append(all, lp.Term{Col: t.Col, Coef: t.Coef.Neg()})
	}
	return all
}

// row adds a row of sum <= rhs.
func (x *program) row(rhs int64, lists ...[]lp.Term) {
	var all []lp.Term
	for _, l := range lists {
		all = append(all, l...)
	}
	x.entries += len(all)
	x.m.AddLE("", lp.Int(rhs), all...)
}

// equal adds a row of sum = rhs.
func (x *program) equal(rhs int64, lists ...[]lp.Term) {
	var all []lp.Term
	for _, l := range lists {
		all = append(all, l...)
	}
	if len(all) == 0 && rhs != 0 {
		x.barred = true
		return
	}
	x.entries += len(all)
	x.m.AddEQ("", lp.Int(rhs), all...)
}

// state writes the program. feasible is false if nothing can end in time.
func (x *program) state(ctx context.Context, least int64) (feasible bool, err error) {
	end := x.m.AddColumn(lp.Column{Name: "end", Cost: lp.Int(1), Lower: lp.AtInt(least), Upper: lp.AtInt(int64(x.horizon)), Integer: true})
	x.heads()
	computing := map[[2]int][]lp.Term{}
	for _, a := range x.acts {
		r := x.runs[a.run]
		a.first = r.head
		for _, v := range a.ranks {
			a.first = max(a.first, x.up(x.w.ReleaseOf(r.op, v)-a.from[v]))
		}
		lasts := x.lasts(a)
		var ends []lp.Term
		for t := a.first; t+lasts+r.tail <= x.horizon; t++ {
			c := x.m.AddBinary("", lp.Int(0))
			a.cols = append(a.cols, c)
			ends = append(ends, lp.T(c, int64(t+lasts)))
			for _, u := range a.uses {
				for at := t + x.down(u.From); at < t+x.up(u.From+u.Extra); at++ {
					key := [3]int{int(u.Choice), int(u.ChoiceEnd), at}
					x.busy[key] = append(x.busy[key], lp.T(c, 1))
				}
			}
			for at := t; a.computes && at < t+lasts; at++ {
				computing[[2]int{a.ranks[0], at}] = append(computing[[2]int{a.ranks[0], at}], lp.T(c, 1))
			}
		}
		if x.m.NumColumns() > MaxColumns {
			return false, fmt.Errorf("more than %d starts at %d ticks of %v, want at most %d: %w", x.m.NumColumns(), x.horizon, x.tick, MaxColumns, ErrTooLarge)
		}
		if a.needed {
			x.equal(1, a.started(x.horizon, 1))
		}
		x.row(0, ends, []lp.Term{lp.T(end, -1)})
	}
	x.board = nil
	for key, terms := range x.busy {
		if c := key[1] - key[0]; len(terms) > c {
			x.row(int64(c), terms)
		}
	}
	for _, terms := range computing {
		if len(terms) > 1 {
			x.row(1, terms)
		}
	}
	for _, r := range x.runs {
		if r.problem != nil && len(r.members) > 1 && x.w.Ops[r.op].Given == nil {
			if err := x.collective(r); err != nil {
				return false, err
			}
		}
	}
	for id, r := range x.runs {
		for k := range x.w.Edges {
			if from, ok := x.before(&x.w.Edges[k], r); ok {
				x.edge(&x.w.Edges[k], from, id)
			}
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if x.entries > MaxEntries {
			return false, fmt.Errorf("more than %d entries of rows at %d ticks of %v: %w", MaxEntries, x.horizon, x.tick, ErrTooLarge)
		}
	}
	x.orders()
	if x.m.NumColumns() > 2*MaxColumns || x.entries > MaxEntries {
		return false, fmt.Errorf("%d columns, %d entries of rows at %d ticks of %v: %w", x.m.NumColumns(), x.entries, x.horizon, x.tick, ErrTooLarge)
	}
	return !x.barred, nil
}

// collective states what the transfers of a collective have to do.
func (x *program) collective(r *run) error {
	p := r.problem
	var spread *network.Pattern
	if !p.Collective.Reduces() {
		var err error
		if spread, err = network.Spreading(p); err != nil {
			return err
		}
	}
	trees := network.Trees(p, 0)
	for k := range p.Chunks {
		into, out := map[int][]*act{}, map[int][]*act{}   // copies
		added, sent := map[int][]*act{}, map[int][]*act{} // contributions
		for _, i := range r.acts {
			a := x.acts[i]
			if a.chunk != k {
				continue
			}
			u, v := a.ranks[0], a.ranks[1]
			if a.down {
				into[v], out[u] = append(into[v], a), append(out[u], a)
			} else {
				added[v], sent[u] = append(added[v], a), append(sent[u], a)
			}
		}
		begun := func(list []*act, tick int, sign int64) (terms []lp.Term) {
			for _, a := range list {
				terms = append(terms, a.started(tick, sign)...)
			}
			return terms
		}
		arrived := func(list []*act, tick int, sign int64) (terms []lp.Term) {
			for _, a := range list {
				terms = append(terms, a.started(tick-x.lasts(a), sign)...)
			}
			return terms
		}
		if spread != nil {
			var holds, wants []int
			for _, v := range spread.From[k] {
				holds = append(holds, int(v))
			}
			for _, v := range spread.Goals(k, x.w.Topology.Ranks) {
				wants = append(wants, int(v))
			}
			for _, v := range r.members {
				switch {
				case slices.Contains(holds, v):
					x.equal(0, begun(into[v], x.horizon, 1))
					continue
				case slices.Contains(wants, v):
					x.equal(1, begun(into[v], x.horizon, 1))
				default:
					x.row(1, begun(into[v], x.horizon, 1))
				}
				x.passes(out[v], func(t int) []lp.Term { return arrived(into[v], t, -1) })
			}
			continue
		}
		root := map[int][]lp.Term{} // 1 where the sum is
		both := []lp.Term(nil)      // 1 if two send each other their own
		if p.Collective.Kind == model.AllReduce {
			var one []lp.Term
			for _, v := range r.members {
				root[v] = []lp.Term{lp.T(x.m.AddBinary("", lp.Int(0)), 1)}
				one = append(one, root[v]...)
			}
			if len(r.members) == 2 {
				both = []lp.Term{lp.T(x.m.AddBinary("", lp.Int(0)), 1)}
			}
			x.equal(1, one, both)
		}
		for _, v := range r.members {
			fixed := int64(1) // contributions that it sends
			if p.Collective.Kind != model.AllReduce && int(trees.From[k][0]) == v {
				fixed = 0
			}
			x.equal(fixed, begun(sent[v], x.horizon, 1), root[v])
			for _, a := range added[v] {
				for t := 0; t <= x.horizon; t++ { // it has come before v sends its own, but where both do
					if late := a.later(t-x.lasts(a), 1); len(late) > 0 && len(begun(sent[v], t, 1)) > 0 {
						x.row(1, late, begun(sent[v], t, 1), minus(both))
					}
					if both != nil { // then v sends before it has come
						x.row(2, a.started(t-x.lasts(a), 1), x.from(sent[v], t), both)
					}
				}
			}
			if p.Collective.Kind != model.AllReduce {
				continue
			}
			x.equal(1, begun(into[v], x.horizon, 1), root[v], both)
			x.passes(out[v], func(t int) []lp.Term { return append(arrived(into[v], t, -1), minus(root[v])...) })
			for _, c := range out[v] { // the root has all contributions when it sends the sum
				for t := c.first; t < c.first+len(c.cols); t++ {
					for _, a := range added[v] {
						if late := a.later(t-x.lasts(a), 1); len(late) > 0 {
							x.row(1, late, []lp.Term{lp.T(c.cols[t-c.first], 1)})
						}
					}
				}
			}
		}
	}
	return nil
}

// from returns the terms of those that begin at a tick or later.
func (x *program) from(list []*act, tick int) (terms []lp.Term) {
	for _, a := range list {
		terms = append(terms, a.later(tick-1, 1)...)
	}
	return terms
}

// passes has each of some transfers begin when what it sends is there: has is minus one then.
func (x *program) passes(list []*act, has func(tick int) []lp.Term) {
	for _, a := range list {
		for t := a.first; t < a.first+len(a.cols); t++ {
			x.row(0, a.started(t, 1), has(t))
		}
	}
}

// gate returns, by tick, terms that sum to 1 only if a run, or a chunk of it, has ended on a rank.
func (x *program) gate(id, rank, chunk int) func(tick int) []lp.Term {
	key := [3]int{id, rank, chunk}
	if g := x.gates[key]; g != nil {
		return g
	}
	var list []*act
	for _, i := range x.runs[id].acts {
		if a := x.acts[i]; slices.Contains(a.ranks, rank) && (chunk < 0 || a.chunk < 0 || a.chunk == chunk) {
			list = append(list, a)
		}
	}
	if len(list) == 1 && list[0].needed {
		a := list[0]
		x.gates[key] = func(tick int) []lp.Term { return a.started(tick-x.up(a.to[rank]), 1) }
		return x.gates[key]
	}
	var cols []int
	for t := 0; t <= x.horizon; t++ {
		c := x.m.AddBinary("", lp.Int(0))
		for _, a := range list {
			if late := a.later(t-x.up(a.to[rank]), 1); len(late) > 0 {
				x.row(1, late, []lp.Term{lp.T(c, 1)})
			}
		}
		cols = append(cols, c)
	}
	x.gates[key] = func(tick int) []lp.Term {
		if tick < 0 {
			return nil
		}
		return []lp.Term{lp.T(cols[min(tick, x.horizon)], 1)}
	}
	return x.gates[key]
}

// waits has what a run does on a rank, with a chunk of it (-1: all), begin after a gate.
func (x *program) waits(id, rank, chunk int, gate func(tick int) []lp.Term) {
	for _, i := range x.runs[id].acts {
		a := x.acts[i]
		if !slices.Contains(a.ranks, rank) || chunk >= 0 && a.chunk >= 0 && a.chunk != chunk {
			continue
		}
		for t := a.first; t < a.first+len(a.cols); t++ {
			x.row(0, a.started(t, 1), minus(gate(t+x.down(a.from[rank]))))
		}
	}
}

// edge states that a run waits for another one.
func (x *program) edge(e *wl.Edge, from, to int) {
	a, b := x.runs[from], x.runs[to]
	gate := func(rank int) func(int) []lp.Term {
		if !e.FromStart {
			return x.gate(from, rank, -1)
		}
		start := x.acts[a.acts[slices.Index(a.members, rank)]]
		return func(tick int) []lp.Term { return start.started(tick-x.up(e.Offset), 1) }
	}
	for _, v := range b.members {
		switch e.Scope {
		case wl.ByRank:
			if slices.Contains(a.members, v) {
				x.waits(to, v, -1, gate(v))
			}
		case wl.ByAll:
			for _, u := range a.members {
				x.waits(to, v, -1, gate(u))
			}
		case wl.ByChunk:
			if !slices.Contains(a.members, v) {
				continue
			}
			_, atA := x.w.BufferOf(a.op, v)
			_, atB := x.w.BufferOf(b.op, v)
			for i, c := range a.problem.Chunks {
				for k, d := range b.problem.Chunks {
					if atA+c.Offset < atB+d.Offset+d.Size && atB+d.Offset < atA+c.Offset+c.Size {
						x.waits(to, v, k, x.gate(from, v, i))
					}
				}
			}
		}
	}
}

// entered returns, by tick, terms that sum to 1 if a collective has begun on a rank, and else to 0.
func (x *program) entered(id, rank int) func(tick int) []lp.Term {
	key := [2]int{id, rank}
	if g := x.begun[key]; g != nil {
		return g
	}
	var list []*act
	for _, i := range x.runs[id].acts {
		if a := x.acts[i]; slices.Contains(a.ranks, rank) {
			list = append(list, a)
		}
	}
	if len(list) == 1 && list[0].needed {
		a := list[0]
		x.begun[key] = func(tick int) []lp.Term { return a.started(tick-x.down(a.from[rank]), 1) }
		return x.begun[key]
	}
	var cols []int
	for t := 0; t <= x.horizon; t++ {
		c := x.m.AddBinary("", lp.Int(0))
		var some []lp.Term
		for _, a := range list {
			if began := a.started(t, 1); len(began) > 0 {
				x.row(0, began, []lp.Term{lp.T(c, -1)})
				some = append(some, a.started(t, -1)...)
			}
		}
		x.row(0, []lp.Term{lp.T(c, 1)}, some)
		cols = append(cols, c)
	}
	x.begun[key] = func(tick int) []lp.Term {
		if tick < 0 {
			return nil
		}
		return []lp.Term{lp.T(cols[min(tick, x.horizon)], 1)}
	}
	return x.begun[key]
}

// orders has all ranks begin collectives in one order: each has a place in it.
func (x *program) orders() {
	var list []int
	for id, r := range x.runs {
		if r.problem != nil && len(r.members) > 1 {
			list = append(list, id)
		}
	}
	n := int64(len(list))
	places := map[int]int{}
	for i, b := range list {
		for _, a := range list[:i] {
			var shared []int
			for _, v := range x.runs[a].members {
				if slices.Contains(x.runs[b].members, v) {
					shared = append(shared, v)
				}
			}
			if len(shared) == 0 || len(list) == 2 && len(shared) == 1 {
				continue
			}
			for _, id := range []int{a, b} {
				if _, there := places[id]; !there {
					places[id] = x.m.AddColumn(lp.Column{Upper: lp.AtInt(n - 1)})
				}
			}
			first := x.m.AddBinary("", lp.Int(0)) // a comes first
			x.row(n-1, []lp.Term{lp.T(places[a], 1), lp.T(places[b], -1), lp.T(first, n)})
			x.row(-1, []lp.Term{lp.T(places[b], 1), lp.T(places[a], -1), lp.T(first, -n)})
			for _, v := range shared {
				ea, eb := x.entered(a, v), x.entered(b, v)
				for t := 0; t <= x.horizon; t++ {
					x.row(1, eb(t), minus(ea(t)), []lp.Term{lp.T(first, 1)})
					x.row(0, ea(t), minus(eb(t)), []lp.Term{lp.T(first, -1)})
				}
			}
		}
	}
}

// schedule returns the schedule that values stand for, in picoseconds.
func (x *program) schedule(values []float64) *wl.Schedule {
	s := &wl.Schedule{Workload: x.w}
	for _, r := range x.runs {
		p := wl.Placement{Op: r.op, Iteration: r.iteration, Program: -1}
		made := &model.Schedule{Form: model.Timed}
		for _, i := range r.acts {
			a := x.acts[i]
			k := slices.IndexFunc(a.cols, func(c int) bool { return values[c] > 0.5 })
			if k < 0 {
				continue
			}
			at := x.tick.Mul(int64(a.first + k))
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
