// Package pace gives transfers that have only an order the times at which they can run: the
// first ones at which their data is there and links and ports are free. It is list scheduling
// with insertion into gaps (Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal
// on Applied Mathematics 17, 1969): what can start first is placed first, and never moved again.
//
// Nothing here decides whether a schedule is right: what comes out is for a verifier.
package pace

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/components"
)

// maxPasses is how often all transfers are placed again where some that must each begin
// before the other ends do not.
const maxPasses = 256

// Times returns a copy of s, a schedule for p with routes but not necessarily with times, in
// which every transfer has times that keep the order and the capacities of p. Of parallel links
// with the same figures, those are taken that are free first. It fails if transfers wait for
// each other for ever, or when ctx ends. It takes O(n·log n + n·l·log n) time for n transfers over
// routes of l links, for each pass; there is more than one pass only where ranks exchange values in place.
func Times(ctx context.Context, p *model.Problem, s *model.Schedule, order *model.Precedence) (*model.Schedule, error) {
	return InPasses(ctx, p, s, order, maxPasses)
}

// InPasses is Times with fewer passes at most, for those who compare several orders: it fails sooner where ranks exchange values.
func InPasses(ctx context.Context, p *model.Problem, s *model.Schedule, order *model.Precedence, most int) (*model.Schedule, error) {
	w := &work{p: p, s: s, order: order, board: newBoard(p)}
	w.prepare()
	for range min(most, maxPasses) {
		if err := w.place(ctx); err != nil {
			return nil, err
		}
		if !w.postpone() {
			return &model.Schedule{Form: model.FormFor(p.Cost), Routes: w.routes.list, Transfers: w.placed}, nil
		}
	}
	return nil, errors.New("no times were found at which transfers that must overlap do")
}

// work is the placing of the transfers of a schedule.
type work struct {
	p     *model.Problem
	s     *model.Schedule
	order *model.Precedence
	board *board

	lasts  []model.Time      // of each transfer
	floor  []model.Time      // before which it is not to start
	group  []int32           // strongly connected component
	next   [][]edge          // what waits for a transfer
	waits  []int32           // for how many others
	units  map[int32][]int32 // components whose transfers wait for each other's begin alone, and are placed together
	taken  []booked          // scratch
	routes *routes
	placed []model.Transfer
	left   []model.Time
}

// edge is a transfer that waits for another one, for its end, for the time when it has left, or
// for its start; with the last two kinds, the waiting one must not end before.
type edge struct {
	to   int32
	what kind
}

type kind uint8

const (
	ended kind = iota
	left
	begun
	landed
)

// each calls yield for every pair of transfers of which one waits for the other.
func (w *work) each(yield func(from, to int32, what kind)) {
	for what, lists := range [][][]int32{w.order.Ended, w.order.Left, w.order.Begun, w.order.Landed} {
		for i, list := range lists {
			for _, j := range list {
				yield(j, int32(i), kind(what))
			}
		}
	}
}

// prepare counts what waits for what. Transfers that must begin before others end wait for these
// only where that is no circle.
func (w *work) prepare() {
	n := len(w.s.Transfers)
	w.lasts, w.floor = make([]model.Time, n), make([]model.Time, n)
	w.next, w.waits = make([][]edge, n), make([]int32, n)
	w.placed, w.left = make([]model.Transfer, n), make([]model.Time, n)
	for i := range w.s.Transfers {
		t := &w.s.Transfers[i]
		w.lasts[i] = w.board.duration(w.s.Routes[t.Route], w.p.Chunks[t.Chunk].Size)
	}
	before := make([][]int32, n)
	w.each(func(from, to int32, _ kind) { before[to] = append(before[to], from) })
	w.group, _ = components.Of(len(before), func(i int32) []int32 { return before[i] })
	members := map[int32][]int32{}
	for i, g := range w.group {
		members[g] = append(members[g], int32(i))
	}
	w.each(func(from, to int32, what kind) {
		if what != begun && w.group[from] == w.group[to] {
			delete(members, w.group[from])
		}
	})
	for _, unit := range members { // in the order that they had, of several the longest first
		slices.SortStableFunc(unit, func(i, j int32) int {
			return cmp.Or(cmp.Compare(w.s.Transfers[i].Start, w.s.Transfers[j].Start), cmp.Compare(w.lasts[j], w.lasts[i]))
		})
	}
	w.units = members
	w.each(func(from, to int32, what kind) {
		if what == begun && w.group[from] == w.group[to] {
			return // looked at when all are placed
		}
		w.next[from] = append(w.next[from], edge{to, what})
		w.waits[to]++
	})
}

// place gives every transfer its times.
func (w *work) place(ctx context.Context) error {
	w.board.clear()
	w.routes = newRoutes(w.p.Topology)
	waits, ready := slices.Clone(w.waits), slices.Clone(w.floor)
	queue := &queue{}
	left := map[int32]int{} // of a unit: how many of its transfers wait for others
	admit := func(i int32) {
		unit := w.units[w.group[i]]
		if len(unit) > 1 {
			if left[w.group[i]] == 0 {
				left[w.group[i]] = len(unit)
			}
			if left[w.group[i]]--; left[w.group[i]] > 0 {
				return
			}
			i = unit[0] // stands for all of them
		}
		heap.Push(queue, waiting{ready[i], i})
	}
	for i := range waits {
		if waits[i] == 0 {
			admit(int32(i))
		}
	}
	done := 0
	for len(queue.list) > 0 {
		if done%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		i := heap.Pop(queue).(waiting).transfer
		unit := []int32{i}
		if all := w.units[w.group[i]]; len(all) > 1 {
			unit = all
		}
		if err := w.together(unit, ready); err != nil {
			return err
		}
		done += len(unit)
		for _, i := range unit {
			for _, e := range w.next[i] {
				ready[e.to] = max(ready[e.to], w.earliest(i, e))
				if waits[e.to]--; waits[e.to] == 0 {
					admit(e.to)
				}
			}
		}
	}
	if done < len(waits) {
		i := slices.IndexFunc(waits, func(n int32) bool { return n > 0 })
		return fmt.Errorf("transfer %d and others wait for each other", i)
	}
	return nil
}

// earliest returns when a transfer can start that waits for another one, which is placed.
func (w *work) earliest(i int32, e edge) model.Time {
	switch e.what {
	case left:
		return w.left[i]
	case begun:
		return w.placed[i].Start + 1 - w.lasts[e.to]
	case landed:
		return w.placed[i].End + 1 - w.lasts[e.to]
	}
	return w.placed[i].End
}

// together places transfers of which each must begin before others of them end: all of them, and
// again where one ends too early, with that one later.
func (w *work) together(unit []int32, ready []model.Time) error {
	for range maxPasses {
		w.taken = w.taken[:0]
		for _, i := range unit {
			w.begin(i, ready[i])
		}
		if len(unit) == 1 {
			return nil
		}
		late := false
		for _, i := range unit {
			for _, j := range w.order.Begun[i] {
				if w.group[i] == w.group[j] && w.placed[i].End <= w.placed[j].Start {
					ready[i], late = max(ready[i], w.placed[j].Start+1-w.lasts[i]), true
				}
			}
		}
		if !late {
			return nil
		}
		w.board.cancel(w.taken)
	}
	return errors.New("no times were found at which transfers that must overlap do")
}

// begin places a transfer at the first time from at on.
func (w *work) begin(i int32, at model.Time) {
	t := w.s.Transfers[i]
	size := w.p.Chunks[t.Chunk].Size
	route := w.s.Routes[t.Route]
	at = max(at, w.board.release(route))
	route = w.routes.freest(route, func(link int) model.Time { return w.board.free(link, at) })
	uses := w.board.uses(route, size)
	t.Start = w.board.first(uses, at)
	t.End = t.Start.Add(w.lasts[i])
	w.left[i] = t.Start.Add(w.board.busy[0].To)
	w.taken = w.board.take(uses, t.Start, w.taken)
	t.Route = w.routes.id(route)
	w.placed[i] = t
}

// postpone looks for transfers that end before others begin that must begin before, and has them
// start later. It reports whether there are any.
func (w *work) postpone() bool {
	any := false
	for i, list := range w.order.Begun {
		for _, j := range list {
			if at := w.placed[j].Start + 1 - w.lasts[i]; w.placed[i].End <= w.placed[j].Start {
				w.floor[i], any = max(w.floor[i], at), true
			}
		}
	}
	return any
}

// waiting is a transfer that waits for its links alone, and since when.
type waiting struct {
	at       model.Time
	transfer int32
}

// queue has the transfer first that can start first, of several that of the least number.
type queue struct{ list []waiting }

func (q *queue) Len() int { return len(q.list) }

func (q *queue) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.transfer, b.transfer)) < 0
}

func (q *queue) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }

func (q *queue) Push(x any) { q.list = append(q.list, x.(waiting)) }

func (q *queue) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}

// routes are the routes in use.
type routes struct {
	t     *model.Topology
	twins map[model.Link][]int // links with the same ends and figures, where there are several
	known map[string]int32
	list  [][]int
}

func newRoutes(t *model.Topology) *routes {
	r := &routes{t: t, known: map[string]int32{}, twins: map[model.Link][]int{}}
	for i, l := range t.Links {
		r.twins[l] = append(r.twins[l], i)
	}
	for _, port := range t.Ports { // not the same: what shares a port with others
		for _, l := range port.Links {
			delete(r.twins, t.Links[l])
		}
	}
	return r
}

// freest returns the route with each link replaced by the one of its twins that is free first.
func (r *routes) freest(route []int, free func(link int) model.Time) []int {
	var other []int
	for i, l := range route {
		twins := r.twins[r.t.Links[l]]
		if len(twins) < 2 {
			continue
		}
		best, at := l, free(l)
		for _, x := range twins {
			if f := free(x); f < at {
				best, at = x, f
			}
		}
		if best != l {
			if other == nil {
				other = slices.Clone(route)
			}
			other[i] = best
		}
	}
	if other != nil {
		return other
	}
	return route
}

// id returns the number of a route.
func (r *routes) id(route []int) int32 {
	key := make([]byte, 0, 4*len(route))
	for _, l := range route {
		key = append(key, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
	}
	id, ok := r.known[string(key)]
	if !ok {
		id = int32(len(r.list))
		r.known[string(key)] = id
		r.list = append(r.list, route)
	}
	return id
}
