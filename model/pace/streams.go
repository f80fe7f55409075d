package pace

import (
	"container/heap"
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Stream is a transfer, or what a switch at which ranks read sums takes for one: terms that one rank reads
// the sum of, or what one rank writes to several (model.SumsRead, SPEC 4.3).
type Stream struct {
	Chunk int32
	Op    model.Op
	// Routes has a route for each transfer. Of several each has two links, over the switch: the last one is the
	// same, and it is a sum that the rank there reads, or the first one is, and the rank there writes.
	Routes [][]int
	Ended  []int32 // streams that must have ended when any of its transfers starts
	Landed []int32 // streams that must have ended before it ends; of a stream with one route
}

// Streams returns the schedule for p of streams with the first times at which their data is there and links and
// ports are free, which keep the order: what can start first is placed first, into gaps, and never moved again.
// Terms and branches wait at the switch where links are not free at one time. Transfers are those of the streams in
// their order. It fails if streams wait for each other for ever, or when ctx ends, and is for timed cost models. It takes
// O(n·l·log n) time for n streams of l links in all, where gaps are few.
func Streams(ctx context.Context, p *model.Problem, all []Stream) (*model.Schedule, error) {
	if p.Cost.Synchronous() {
		return nil, fmt.Errorf("sums that are read have no times under %v, want pipelined or blocking", p.Cost)
	}
	w := &flow{p: p, board: newBoard(p), routes: newRoutes(p.Topology), own: map[[2]int]int{}}
	for l, k := range p.Topology.Links {
		w.own[[2]int{k.Src, k.Dst}] = l
	}
	waits, next := make([]int, len(all)), make([][]int32, len(all))
	for i := range all {
		for _, j := range append(slices.Clone(all[i].Ended), all[i].Landed...) {
			waits[i]++
			next[j] = append(next[j], int32(i))
		}
	}
	placed, ends := make([][]model.Transfer, len(all)), make([]model.Time, len(all))
	queue := &queue{}
	admit := func(i int32) {
		at, x := model.Time(0), &all[i]
		for _, j := range x.Ended {
			at = max(at, ends[j])
		}
		for _, j := range x.Landed {
			at = max(at, ends[j]+1-w.board.duration(x.Routes[0], p.Chunks[x.Chunk].Size))
		}
		heap.Push(queue, waiting{at, i})
	}
	for i := range all {
		if waits[i] == 0 {
			admit(int32(i))
		}
	}
	done := 0
	for ; len(queue.list) > 0; done++ {
		if done%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		x := heap.Pop(queue).(waiting)
		i := x.transfer
		var err error
		if placed[i], err = w.place(&all[i], x.at); err != nil {
			return nil, err
		}
		for _, t := range placed[i] {
			ends[i] = max(ends[i], t.End)
		}
		for _, j := range next[i] {
			if waits[j]--; waits[j] == 0 {
				admit(j)
			}
		}
	}
	if done < len(all) {
		return nil, fmt.Errorf("stream %d and others wait for each other", slices.IndexFunc(waits, func(n int) bool { return n > 0 }))
	}
	s := &model.Schedule{Form: model.Timed}
	for _, list := range placed {
		s.Transfers = append(s.Transfers, list...)
	}
	s.Routes = w.routes.list
	return s, nil
}

// flow is the placing of streams.
type flow struct {
	p      *model.Problem
	board  *board
	routes *routes
	own    map[[2]int]int // the link from a node to another one
}

// place returns the transfers of a stream that starts from a time on.
func (w *flow) place(x *Stream, at model.Time) ([]model.Transfer, error) {
	size := w.p.Chunks[x.Chunk].Size
	first, last := x.Routes[0], x.Routes[len(x.Routes)-1]
	for _, r := range x.Routes {
		at = max(at, w.board.release(r))
	}
	transfer := func(route []int, start, end model.Time) model.Transfer {
		t := w.p.Topology
		return model.Transfer{Chunk: x.Chunk, Src: int32(t.Links[route[0]].Src), Dst: int32(t.Links[route[len(route)-1]].Dst), Route: w.routes.id(route), Op: x.Op, Start: start, End: end}
	}
	if len(x.Routes) == 1 {
		uses := w.board.uses(first, size)
		start := w.board.first(uses, at)
		w.board.take(uses, start, nil)
		return []model.Transfer{transfer(first, start, start.Add(w.board.duration(first, size)))}, nil
	}
	links, reads := w.p.Topology.Links, first[len(first)-1] == last[len(last)-1]
	own := []int{first[0], w.own[[2]int{links[first[0]].Dst, links[first[0]].Src}]} // of the one rank, to the switch and back
	if reads {
		own = []int{w.own[[2]int{links[last[1]].Dst, links[last[1]].Src}], last[1]}
	}
	pass := w.board.uses(own, size)
	pass, busy := slices.Clone(pass), slices.Clone(w.board.busy)
	lasts := w.board.duration(own, size)
	shared := 0
	if reads {
		shared = 1
	}
	for _, r := range x.Routes {
		if w.board.uses(r, size); len(r) != 2 || r[shared] != own[shared] || links[r[0]].Dst != links[own[0]].Dst || !slices.Equal(w.board.busy, busy) || w.board.duration(r, size) != lasts {
			return nil, fmt.Errorf("want routes over a switch that share a link, with links of one bandwidth and latency: not %v beside %v", r, own)
		}
	}
	alone := func(link, hop int, from model.Time) model.Time { // takes one link of the two of a route
		var uses []use
		for _, r := range w.board.of[link] {
			uses = append(uses, use{r, model.Interval{From: 0, To: busy[hop].To - busy[hop].From}})
		}
		start := w.board.first(uses, from)
		w.board.take(uses, start, nil)
		return start
	}
	var made []model.Transfer
	if reads {
		met := at
		for _, r := range x.Routes {
			start := alone(r[0], 0, at)
			made = append(made, transfer(r, start, 0))
			met = max(met, start)
		}
		start := w.board.first(pass, met)
		w.board.take(pass, start, nil)
		for i := range made {
			made[i].End = start.Add(lasts)
		}
		return made, nil
	}
	start := w.board.first(pass, at)
	w.board.take(pass, start, nil)
	for _, r := range x.Routes {
		from := alone(r[1], 1, start.Add(busy[1].From))
		made = append(made, transfer(r, start, from.Add(lasts-busy[1].From)))
	}
	return made, nil
}
