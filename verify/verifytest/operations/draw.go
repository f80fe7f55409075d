// Package operations draws small workloads with schedules, right and wrong ones, and executes them in
// the plainest way: picosecond by picosecond, byte by byte, on numbers. It shares nothing with the
// engines that it is set against but the model.
package operations

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
)

// drawn is a workload that grows, with what its buffers hold.
type drawn struct {
	r    *rand.Rand
	w    *wl.Workload
	s    *wl.Schedule
	now  model.Time
	held map[place]wl.Value
	size int64
	cut  bool // collectives have chunks
}

type place struct {
	rank   int
	buffer string
}

var buffers = []string{"a", "b", "c"}

// Draw returns a schedule of a few operations on two to four ranks, each linked to each, in one or two
// iterations. Most are right before Mutate.
func Draw(r *rand.Rand) *wl.Schedule {
	n := 2 + r.IntN(3)
	t := &model.Topology{Name: "drawn", Ranks: n}
	for u := range n {
		for v := range n {
			if u != v {
				t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(r.IntN(3)), Bandwidth: 1e12 / int64(1+r.IntN(2))})
			}
		}
	}
	if r.IntN(4) == 0 {
		t.Ports = []model.Port{{Links: []int{0, n - 2}[:min(2, n-1)], Capacity: 1}} // out of rank 0
	}
	cost := model.Pipelined
	if r.IntN(3) == 0 {
		cost = model.Blocking
	}
	d := &drawn{r: r, held: map[place]wl.Value{}, size: int64(1 + r.IntN(4)), cut: r.IntN(2) == 0}
	d.w = &wl.Workload{Topology: t, Cost: cost, Jobs: []wl.Job{{Name: "J", Iterations: 1 + r.IntN(2)}},
		Operators: []wl.Operator{{Name: "product", Associative: true, Elementwise: true}, {Name: "float", Commutative: true, Elementwise: true, Tree: wl.Chain}}}
	d.s = &wl.Schedule{Workload: d.w}
	for i := range 1 + r.IntN(4) {
		d.operation(i)
	}
	for k := range d.w.Jobs[0].Iterations {
		for i := range d.w.Ops {
			d.place(i, k)
		}
	}
	for y := range d.w.Ops {
		for x := range y + 1 {
			if x < y && r.IntN(40) > 0 {
				d.edge(x, y, 0)
			}
			if r.IntN(40) > 0 {
				d.edge(y, x, 1)
			}
		}
	}
	for v := range n {
		for _, b := range buffers {
			if value, ok := d.held[place{v, b}]; ok && r.IntN(2) == 0 && weight(&value) < 1000 {
				d.w.Groups = append(d.w.Groups, wl.Group{Name: fmt.Sprint("goal ", v, b), Ranks: []int{v}})
				d.w.Goal = append(d.w.Goal, wl.Goal{Region: wl.Region{Buffer: b, Size: d.size}, Group: fmt.Sprint("goal ", v, b), Value: value})
			}
		}
	}
	return d.s
}

// edge has an operation wait for another one: on each rank, if they share all, else for all.
func (d *drawn) edge(from, to, height int) {
	a, b := d.w.Members(d.w.Ops[from].Group), d.w.Members(d.w.Ops[to].Group)
	scope := wl.ByAll
	if slices.Equal(a, b) || slices.ContainsFunc(a, func(v int) bool { return slices.Contains(b, v) }) && d.r.IntN(2) == 0 {
		scope = wl.ByRank
	}
	d.w.Edges = append(d.w.Edges, wl.Edge{From: from, To: to, Scope: scope, Height: height})
}

// weight is how many values of bytes it takes to evaluate a value for one.
func weight(v *wl.Value) int {
	n := 1
	for i := range v.Of {
		of := weight(&v.Of[i])
		if v.Function != "" {
			of *= int(v.Bytes[i])
		}
		n = min(n+of, 1<<20)
	}
	return n
}

func (d *drawn) at(rank int, buffer string) wl.Value {
	if v, ok := d.held[place{rank, buffer}]; ok {
		return v
	}
	return wl.Value{Rank: rank, Input: &wl.Region{Buffer: buffer}}
}

// operation adds an operation, and for a collective its program.
func (d *drawn) operation(i int) {
	r := d.r
	members := r.Perm(d.w.Topology.Ranks)[:1+r.IntN(d.w.Topology.Ranks)]
	group := fmt.Sprint("g", i)
	d.w.Groups = append(d.w.Groups, wl.Group{Name: group, Ranks: members})
	op := wl.Op{ID: fmt.Sprint("op", i), Group: group, Job: "J"}
	operator := []string{"", "", "product", "float"}[r.IntN(4)]
	if r.IntN(2) == 0 {
		op.Kind, op.Duration = wl.Compute, []model.Time{model.Time(1 + r.IntN(5))}
		region := func() wl.Access {
			return wl.Access{Region: wl.Region{Buffer: buffers[r.IntN(len(buffers))], Size: d.size}}
		}
		op.Reads, op.Writes = []wl.Access{region()}, []wl.Access{region()}
		if r.IntN(2) == 0 {
			op.Function = []string{"f", "g"}[r.IntN(2)]
			if r.IntN(2) == 0 {
				op.Reads = append(op.Reads, region())
			}
		}
		if r.IntN(2) == 0 {
			op.Operator = operator
			if operator == "" {
				op.Operator = "sum"
			}
		}
		d.w.Ops = append(d.w.Ops, op)
		return
	}
	kinds := []model.Kind{model.AllReduce, model.Reduce, model.Broadcast}
	kind := kinds[r.IntN(len(kinds))]
	op.Kind, op.Size, op.Buffer = wl.Kind(kind.String()), d.size, wl.Region{Buffer: buffers[r.IntN(len(buffers))]}
	if kind.Rooted() {
		op.Root = members[r.IntN(len(members))]
	}
	if kind != model.Broadcast {
		op.Operator = operator
	}
	op.Chunks = []model.Chunk{{Size: d.size}}
	if d.size > 1 && d.cut {
		op.Chunks = []model.Chunk{{Size: 1}, {Offset: 1, Size: d.size - 1}}
	}
	d.w.Ops = append(d.w.Ops, op)
}

// link returns the link from one rank to another one.
func (d *drawn) link(u, v int) int {
	return slices.IndexFunc(d.w.Topology.Links, func(l model.Link) bool { return l.Src == u && l.Dst == v })
}

// program returns the transfers of a collective one after the other: contributions go along the group,
// and what is wanted goes to those who want it.
func (d *drawn) program(op *wl.Op) (*model.Schedule, model.Time) {
	members := d.w.Members(op.Group)
	s := &model.Schedule{Form: model.Timed}
	at := model.Time(0)
	move := func(u, v, k int, what model.Op) {
		l := d.link(u, v)
		end := at + d.w.Topology.Links[l].Alpha + model.TransferTime(op.Chunks[k].Size, d.w.Topology.Links[l].Bandwidth)
		s.Routes = append(s.Routes, []int{l})
		s.Transfers = append(s.Transfers, model.Transfer{Src: int32(u), Dst: int32(v), Chunk: int32(k), Op: what, Route: int32(len(s.Routes) - 1), Start: at, End: end})
		at = end
	}
	for k := range op.Chunks {
		has := op.Root
		if op.Kind != wl.Kind(model.Broadcast.String()) {
			for i := 1; i < len(members); i++ {
				move(members[i-1], members[i], k, model.Reduction)
			}
			has = members[len(members)-1]
		}
		for _, v := range members {
			if v != has && (v == op.Root || op.Kind != wl.Kind(model.Reduce.String())) {
				move(has, v, k, model.Copy)
			}
		}
	}
	return s, at
}

// place puts an iteration of an operation after all that is there, and notes what it leaves.
func (d *drawn) place(i, iteration int) {
	op := &d.w.Ops[i]
	members := d.w.Members(op.Group)
	p := wl.Placement{Op: i, Iteration: iteration, At: d.now, Program: -1}
	d.now += model.Time(d.r.IntN(3))
	p.At = d.now
	if op.Kind == wl.Compute {
		for range members {
			p.Starts = append(p.Starts, d.now)
		}
		p.At = 0
		d.now += op.Duration[0]
		d.computed(op, members)
	} else {
		s, end := d.program(op)
		p.Program = len(d.s.Programs)
		d.s.Programs = append(d.s.Programs, s)
		d.now += end
		d.collected(op, members)
	}
	d.s.Placed = append(d.s.Placed, p)
}

// joined is what an operator makes of values.
func joined(operator string, of ...wl.Value) wl.Value {
	if len(of) == 1 {
		return of[0]
	}
	if operator == "" {
		operator = "sum"
	}
	return wl.Value{Rank: -1, Operator: operator, Of: of}
}

func (d *drawn) computed(op *wl.Op, members []int) {
	for _, v := range members {
		own, x := d.at(v, op.Writes[0].Buffer), d.at(v, op.Reads[0].Buffer)
		if op.Function != "" {
			f := wl.Value{Rank: -1, Function: op.Function}
			for _, a := range op.Reads {
				f.Of, f.Bytes = append(f.Of, d.at(v, a.Buffer)), append(f.Bytes, a.Size)
			}
			x = f
		}
		if op.Operator != "" {
			x = joined(op.Operator, own, x)
		}
		d.held[place{v, op.Writes[0].Buffer}] = x
	}
}

func (d *drawn) collected(op *wl.Op, members []int) {
	var of []wl.Value
	for _, v := range members {
		of = append(of, d.at(v, op.Buffer.Buffer))
	}
	all := joined(op.Operator, of...)
	if op.Kind == wl.Kind(model.Broadcast.String()) {
		all = d.at(op.Root, op.Buffer.Buffer)
	}
	for i, v := range members {
		switch {
		case v == op.Root || op.Kind != wl.Kind(model.Reduce.String()):
			d.held[place{v, op.Buffer.Buffer}] = all
		case i > 0: // it has added, which nobody promised
			d.held[place{v, op.Buffer.Buffer}] = wl.Value{Rank: 0, Input: &wl.Region{Buffer: "unknown"}}
		}
	}
}

// Repeat makes a schedule that ends one of a period, in which operations of several periods are under way at once.
func Repeat(r *rand.Rand, s *wl.Schedule) {
	s.Workload.Periodic, s.Workload.Goal = true, nil
	end := s.Makespan()
	s.Period = max(1, end/2+model.Time(r.IntN(int(end)+2)))
}

// Unroll returns the first periods of a schedule as one that ends.
func Unroll(s *wl.Schedule, periods int) *wl.Schedule {
	w := *s.Workload
	w.Periodic = false
	w.Jobs = slices.Clone(w.Jobs)
	for i := range w.Jobs {
		w.Jobs[i].Iterations *= periods
	}
	out := &wl.Schedule{Workload: &w, Programs: s.Programs}
	for k := range periods {
		by := s.Period.Mul(int64(k))
		for _, p := range s.Placed {
			p.Iteration += k * s.Workload.Iterations(p.Op)
			p.Starts = slices.Clone(p.Starts)
			for m := range p.Starts {
				p.Starts[m] += by
			}
			if s.Workload.Ops[p.Op].Kind != wl.Compute {
				p.At += by
			}
			out.Placed = append(out.Placed, p)
		}
	}
	return out
}

// Mutate changes something of a schedule; what comes out may be right, wrong, or invalid.
func Mutate(r *rand.Rand, s *wl.Schedule) {
	w := s.Workload
	p := &s.Placed[r.IntN(len(s.Placed))]
	switch r.IntN(12) {
	case 0:
		if len(w.Edges) > 0 {
			i := r.IntN(len(w.Edges))
			w.Edges = slices.Delete(w.Edges, i, i+1)
		}
	case 1:
		if len(w.Edges) > 0 {
			w.Edges[r.IntN(len(w.Edges))].Scope = wl.Scope(r.IntN(3))
		}
	case 2, 3:
		by := model.Time(r.IntN(9) - 4)
		p.At = max(0, p.At+by)
		for m := range p.Starts {
			if r.IntN(2) == 0 {
				p.Starts[m] = max(0, p.Starts[m]+by)
			}
		}
	case 4:
		q := &s.Placed[r.IntN(len(s.Placed))]
		if p.Op == q.Op {
			p.Iteration, q.Iteration = q.Iteration, p.Iteration
		}
	case 5:
		if len(w.Goal) > 1 {
			i, j := r.IntN(len(w.Goal)), r.IntN(len(w.Goal))
			w.Goal[i].Value, w.Goal[j].Value = w.Goal[j].Value, w.Goal[i].Value
		}
	case 6:
		op := &w.Ops[r.IntN(len(w.Ops))]
		if len(op.Reads) > 0 {
			op.Reads[r.IntN(len(op.Reads))].Buffer = buffers[r.IntN(len(buffers))]
		}
	case 7:
		op := &w.Ops[r.IntN(len(w.Ops))]
		op.Operator = []string{"", "sum", "product", "float"}[r.IntN(4)]
	case 8:
		w.Release = make([]model.Time, w.Topology.Ranks)
		w.Release[r.IntN(w.Topology.Ranks)] = model.Time(r.IntN(12))
	default:
		if p.Program < 0 || len(s.Programs[p.Program].Transfers) == 0 {
			return
		}
		x := s.Programs[p.Program]
		j := r.IntN(len(x.Transfers))
		t := &x.Transfers[j]
		switch r.IntN(5) {
		case 0:
			x.Transfers = slices.Delete(x.Transfers, j, j+1)
		case 1:
			t.Op = model.Copy + model.Reduction - t.Op
		case 2:
			by := model.Time(r.IntN(7) - 3)
			t.Start, t.End = max(0, t.Start+by), max(1, t.End+by)
		case 3:
			t.End++
		case 4:
			t.Chunk = int32(r.IntN(len(w.Ops[p.Op].Chunks)))
		}
	}
}
