// Package workload makes workloads, of hierarchical, sparse and 2.5-D collectives, of Adasum and
// of late ranks, and puts the operations of any workload in time: the schedules of single
// collectives, computations and barriers, by list scheduling over links, ports and GPUs
// together. Nothing here is trusted: verify/workload decides.
package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// Rule names which of the operations that nothing is in the way of is placed next.
type Rule uint8

// The rules. Ties are broken by the order of the workload.
const (
	Soonest      Rule = iota // that which can begin first
	FirstCome                // that which has been ready longest
	Shortest                 // of those that can begin as soon as any: the shortest
	CriticalPath             // of those that can begin as soon as any: that with the longest way to the end
)

// Place returns a schedule of a workload that ends: each iteration of each operation, in the order
// of a rule, with transfers as early as data, edges, links and ports allow, by the
// order that programs have (list scheduling: Graham 1969). programs has a schedule of each
// collective by itself, by operation; of those with a schedule of their own that is taken. A
// program in which two ranks exchange a chunk keeps its times, and is moved as a whole.
//
// Collectives begin on every rank in the order in which they were placed, so that no library
// that enters one after the other deadlocks. It takes O(transfers·log(transfers)) time where gaps
// are few. Once ctx is done it returns its error.
func Place(ctx context.Context, w *wl.Workload, programs []*model.Schedule, rule Rule) (*wl.Schedule, error) {
	if w.Periodic {
		return nil, fmt.Errorf("%v has no end, want a workload that ends", w)
	}
	into := make([][]wl.Edge, len(w.Ops))
	for _, e := range w.Edges {
		into[e.To] = append(into[e.To], e)
	}
	t := &table{w: w, ctx: ctx, rule: rule, into: into, board: timing.NewBoard(&model.Problem{Topology: w.Topology, Cost: w.Cost}), out: &wl.Schedule{Workload: w},
		programs: programs, gpu: make([]model.Time, w.Topology.Ranks), entered: make([]model.Time, w.Topology.Ranks)}
	for i := range w.Ops {
		t.problems = append(t.problems, nil)
		if _, collective := w.Ops[i].Kind.Collective(); !collective {
			continue
		}
		t.problems[i] = w.Problem(i)
		if w.Ops[i].Given != nil {
			t.programs[i] = w.Ops[i].Given
		}
		if t.programs[i] == nil || w.Ops[i].Chunks == nil {
			return nil, fmt.Errorf("%s has no program, or no chunks", w.Ops[i].ID)
		}
	}
	if err := t.run(); err != nil {
		return nil, err
	}
	return t.out, nil
}

// instance is an iteration of an operation.
type instance struct{ op, iteration int }

// table is where things stand while operations are placed.
type table struct {
	w        *wl.Workload
	ctx      context.Context
	rule     Rule
	worth    []model.Time // of each operation: what Shortest and CriticalPath go by, the least first
	board    *timing.Board
	out      *wl.Schedule
	programs []*model.Schedule
	problems []*model.Problem
	into     [][]wl.Edge  // of each operation: what it waits for
	gpu      []model.Time // when each rank has computed what is placed
	entered  []model.Time // when each rank began the last collective that is placed
	placed   map[instance]*span
	uses     []network.Use
}

// span is from when to when an instance keeps each rank, and chunks of it.
type span struct {
	first, last map[int]model.Time
	chunk       map[[2]int]model.Time // rank and chunk: the end
}

func (t *table) run() error {
	t.placed = map[instance]*span{}
	left := map[instance]int{}
	next := make([][]wl.Edge, len(t.w.Ops))
	var ready []instance
	for _, e := range t.w.Edges {
		next[e.From] = append(next[e.From], e)
	}
	for i := range t.w.Ops {
		for k := range t.w.Iterations(i) {
			for _, e := range t.into[i] {
				if k >= e.Height {
					left[instance{i, k}]++
				}
			}
			if left[instance{i, k}] == 0 {
				ready = append(ready, instance{i, k})
			}
		}
	}
	t.value(next)
	for len(ready) > 0 {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		best, least := 0, model.MaxTime
		for i, x := range ready {
			at := t.soonest(x)
			if at < least || at == least && cmp.Or(cmp.Compare(t.worth[x.op], t.worth[ready[best].op]), cmp.Compare(x.iteration, ready[best].iteration), cmp.Compare(x.op, ready[best].op)) < 0 {
				best, least = i, at
			}
		}
		x := ready[best]
		ready = slices.Delete(ready, best, best+1)
		if err := t.place(x); err != nil {
			return err
		}
		for _, e := range next[x.op] {
			to := instance{e.To, x.iteration + e.Height}
			if to.iteration >= t.w.Iterations(e.To) {
				continue
			}
			if left[to]--; left[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	for i := range t.w.Ops {
		for k := range t.w.Iterations(i) {
			if t.placed[instance{i, k}] == nil {
				return fmt.Errorf("%s waits for ever", t.w.Ops[i].ID)
			}
		}
	}
	return nil
}

// value sets what rules go by beside times.
func (t *table) value(next [][]wl.Edge) {
	t.worth = make([]model.Time, len(t.w.Ops))
	if t.rule != Shortest && t.rule != CriticalPath {
		return
	}
	lasts := make([]model.Time, len(t.w.Ops))
	for i := range t.w.Ops {
		for _, d := range t.w.Ops[i].Duration {
			lasts[i] = max(lasts[i], d)
		}
		if t.programs[i] != nil {
			for k := range t.programs[i].Transfers {
				lasts[i] = max(lasts[i], t.programs[i].Transfers[k].End)
			}
		}
	}
	if t.rule == Shortest {
		t.worth = lasts
		return
	}
	order := t.w.Order()
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		tail := model.Time(0)
		for _, e := range next[i] {
			if e.Height == 0 {
				tail = min(tail, t.worth[e.To])
			}
		}
		t.worth[i] = tail - lasts[i]
	}
}

// soonest returns when an instance can begin on the first of its ranks; by FirstCome, since when
// nothing is in its way.
func (t *table) soonest(x instance) model.Time {
	at := model.MaxTime
	for _, v := range t.w.Members(t.w.Ops[x.op].Group) {
		if t.rule == FirstCome {
			at = min(at, t.free(x, v, -1))
		} else {
			at = min(at, t.earliest(x, v, -1))
		}
	}
	return at
}

// earliest returns when an instance may begin on a rank, or, for a chunk of it (-1: none), when
// that may; edges of scope chunk are looked at for a chunk alone.
func (t *table) earliest(x instance, v, chunk int) model.Time {
	at := t.free(x, v, chunk)
	if t.problems[x.op] != nil {
		at = max(at, t.entered[v])
	} else if t.w.Ops[x.op].Kind == wl.Compute {
		at = max(at, t.gpu[v])
	}
	return at
}

// free returns from when on nothing is in the way of an instance on a rank but what else the rank does.
func (t *table) free(x instance, v, chunk int) model.Time {
	at := t.w.ReleaseOf(x.op, v)
	for _, e := range t.into[x.op] {
		from := t.placed[instance{e.From, x.iteration - e.Height}]
		if x.iteration < e.Height || from == nil {
			continue
		}
		switch e.Scope {
		case wl.ByRank:
			if end, ok := from.last[v]; ok {
				if e.FromStart {
					end = from.first[v] + e.Offset
				}
				at = max(at, end)
			}
		case wl.ByAll:
			for u, end := range from.last {
				if e.FromStart {
					end = from.first[u] + e.Offset
				}
				at = max(at, end)
			}
		case wl.ByChunk:
			if chunk >= 0 {
				at = max(at, t.chunkReady(e, from, v, chunk))
			}
		}
	}
	return at
}

// chunkReady returns when the chunks of an edge's origin on a rank have ended that overlap a
// chunk of its end.
func (t *table) chunkReady(e wl.Edge, from *span, v, chunk int) model.Time {
	a, b := t.problems[e.From], t.problems[e.To]
	_, offA := t.w.BufferOf(e.From, v)
	_, offB := t.w.BufferOf(e.To, v)
	lo, hi := offB+b.Chunks[chunk].Offset, offB+b.Chunks[chunk].Offset+b.Chunks[chunk].Size
	at := model.Time(0)
	k, _ := slices.BinarySearchFunc(a.Chunks, lo-offA, func(x model.Chunk, at int64) int { return cmp.Compare(x.Offset+x.Size, at+1) })
	for ; k < len(a.Chunks) && offA+a.Chunks[k].Offset < hi; k++ {
		at = max(at, from.chunk[[2]int{v, k}])
	}
	return at
}

// place puts an instance in time.
func (t *table) place(x instance) error {
	s := &span{first: map[int]model.Time{}, last: map[int]model.Time{}, chunk: map[[2]int]model.Time{}}
	t.placed[x] = s
	members := t.w.Members(t.w.Ops[x.op].Group)
	p := wl.Placement{Op: x.op, Iteration: x.iteration, Program: -1}
	switch {
	case t.w.Ops[x.op].Kind == wl.Compute:
		for m, v := range members {
			at := t.earliest(x, v, -1)
			s.first[v], s.last[v] = at, at+t.w.DurationOn(x.op, m)
			t.gpu[v] = s.last[v]
			p.Starts = append(p.Starts, at)
		}
	case t.problems[x.op] == nil: // a barrier
		for _, v := range members {
			p.At = max(p.At, t.earliest(x, v, -1))
		}
		for _, v := range members {
			s.first[v], s.last[v] = p.At, p.At
		}
	default:
		program := t.programs[x.op]
		var times []model.Time
		if exchanges(program) {
			times = t.rigid(x, program)
		} else {
			times = t.apart(x, program)
		}
		again := &model.Schedule{Form: model.Timed, Routes: program.Routes, Transfers: slices.Clone(program.Transfers)}
		p.Program = len(t.out.Programs)
		for i := range again.Transfers {
			y := &again.Transfers[i]
			y.Start, y.End = times[i], times[i]+y.End-y.Start
			for _, v := range t.ranksOf(again, i) {
				if at, ok := s.first[v]; !ok || y.Start < at {
					s.first[v] = y.Start
				}
				s.last[v] = max(s.last[v], y.End)
			}
			for _, v := range []int{int(y.Src), int(y.Dst)} {
				slot := [2]int{v, int(y.Chunk)}
				s.chunk[slot] = max(s.chunk[slot], y.End)
			}
		}
		for _, v := range members { // who has nothing to do passes when the last of what it waits for is over
			if _, ok := s.first[v]; !ok {
				p.At = max(p.At, t.earliest(x, v, -1))
			}
		}
		for i := range again.Transfers {
			if again.Transfers[i].Start < p.At {
				p.At = 0 // then it passes at once
			}
		}
		for i := range again.Transfers {
			again.Transfers[i].Start, again.Transfers[i].End = again.Transfers[i].Start-p.At, again.Transfers[i].End-p.At
		}
		for _, v := range members {
			if _, ok := s.first[v]; !ok {
				s.first[v], s.last[v] = p.At, p.At
			}
			t.entered[v] = max(t.entered[v], s.first[v])
		}
		t.out.Programs = append(t.out.Programs, again)
	}
	t.out.Placed = append(t.out.Placed, p)
	return nil
}

// ranksOf returns the ranks that a transfer visits.
func (t *table) ranksOf(s *model.Schedule, i int) []int {
	ranks := []int{int(s.Transfers[i].Src)}
	for _, l := range s.Routes[s.Transfers[i].Route] {
		if v := t.w.Topology.Links[l].Dst; t.w.Topology.IsRank(v) {
			ranks = append(ranks, v)
		}
	}
	return ranks
}

// exchanges reports whether a transfer writes a slot while another one, which began before the
// write, is still on its way from there: then the two belong together.
func exchanges(s *model.Schedule) bool {
	type slot struct{ rank, chunk int32 }
	reads := map[slot][]int{}
	for i := range s.Transfers {
		at := slot{s.Transfers[i].Src, s.Transfers[i].Chunk}
		reads[at] = append(reads[at], i)
	}
	for i := range s.Transfers {
		a := &s.Transfers[i]
		for _, j := range reads[slot{a.Dst, a.Chunk}] {
			if b := &s.Transfers[j]; b.Start < a.End && a.Start < b.End {
				return true
			}
		}
	}
	return false
}

// begin returns when a transfer may begin on all ranks that it visits.
func (t *table) begin(x instance, s *model.Schedule, i int) model.Time {
	at := model.Time(0)
	for k, v := range t.ranksOf(s, i) {
		chunk := -1
		if k == 0 || v == int(s.Transfers[i].Dst) {
			chunk = int(s.Transfers[i].Chunk)
		}
		at = max(at, t.earliest(x, v, chunk))
	}
	return at
}

// rigid moves a program as a whole to the first time at which all its transfers can be, and
// returns their starts.
func (t *table) rigid(x instance, s *model.Schedule) []model.Time {
	bytes := func(i int) int64 { return t.problems[x.op].Chunks[s.Transfers[i].Chunk].Size }
	at := model.Time(0)
	for i := range s.Transfers {
		at = max(at, t.begin(x, s, i)-s.Transfers[i].Start)
	}
	for moved := true; moved; {
		moved = false
		for i := range s.Transfers {
			y := &s.Transfers[i]
			t.uses = t.board.Uses(s.Routes[y.Route], bytes(i), t.uses[:0])
			if first := t.board.First(t.uses, 0, at+y.Start); first > at+y.Start {
				at, moved = first-y.Start, true
			}
		}
	}
	times := make([]model.Time, len(s.Transfers))
	for i := range s.Transfers {
		y := &s.Transfers[i]
		times[i] = at + y.Start
		t.uses = t.board.Uses(s.Routes[y.Route], bytes(i), t.uses[:0])
		t.board.Take(t.uses, 0, times[i], int32(len(t.out.Placed)), nil)
	}
	return times
}

// apart puts each transfer of a program at its own first time, in the order of the program, and
// returns their starts.
func (t *table) apart(x instance, s *model.Schedule) []model.Time {
	type slot struct{ rank, chunk int32 }
	written, read := map[slot]model.Time{}, map[slot]model.Time{} // the last end of a write, and of a read
	order := make([]int, len(s.Transfers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.Transfers[a].Start, s.Transfers[b].Start), cmp.Compare(s.Transfers[a].End, s.Transfers[b].End))
	})
	times := make([]model.Time, len(s.Transfers))
	floor := map[int]model.Time{} // of a rank, or of a rank and chunk where chunks wait
	byChunk := slices.ContainsFunc(t.into[x.op], func(e wl.Edge) bool { return e.Scope == wl.ByChunk })
	for _, i := range order {
		y := &s.Transfers[i]
		at := model.Time(0)
		if byChunk {
			at = t.begin(x, s, i)
		} else {
			for _, v := range t.ranksOf(s, i) {
				if _, ok := floor[v]; !ok {
					floor[v] = t.earliest(x, v, -1)
				}
				at = max(at, floor[v])
			}
		}
		from, to := slot{y.Src, y.Chunk}, slot{y.Dst, y.Chunk}
		at = max(at, written[from], written[to], read[to])
		t.uses = t.board.Uses(s.Routes[y.Route], t.problems[x.op].Chunks[y.Chunk].Size, t.uses[:0])
		at = t.board.First(t.uses, 0, at)
		t.board.Take(t.uses, 0, at, int32(len(t.out.Placed)), nil)
		times[i] = at
		end := at + y.End - y.Start
		written[to], read[from] = max(written[to], end), max(read[from], end)
	}
	return times
}
