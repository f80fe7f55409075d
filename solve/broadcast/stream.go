package broadcast

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/heap"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/improve"
	demand "github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// poured is a forest of a broadcast whose chunks flow down the trees as they come, and whose last chunks take other ways
// where that ends sooner: see stream. That takes a microsecond a transfer, so that chunks can be finer than those of
// other flows.
//
// Framed ones have a timetable: see frame.
type poured struct {
	*Forest
	framed bool
	frames map[model.Time]*frame // those that were found
}

// manyPieces is from how many on the best of several flows remains the best.
const manyPieces = 32

// maxPoured limits the transfers of what is poured.
const maxPoured = 1 << 19

// finest returns the best schedule of flows that are poured, over several numbers of chunks: there are twice as many each
// time, or more where fewer will not be enough, until that gains less than a thousandth twice, the makespan is enough, or
// there would be many more transfers to no avail. It begins with a number of pieces. There may be no schedule:
// the first one is looked for until first is done, others until ctx is.
func finest(ctx, first context.Context, p *model.Problem, o solve.Options, flows []poured, pieces int64) solve.Result {
	until := first
	best := solve.Result{Problem: solve.Cut(p, 1), Stop: solve.Done}
	g, winner := solve.NewGrowth(o, pieces), poured{}
	for most := int64(1); g.Pieces > 0; g.Next(best, most) {
		for _, f := range flows {
			q := *p
			if q.Chunks = f.cut(p, g.Pieces); f.framed {
				_, period := units(f.Trees)
				q.Chunks = framed(p, q.Chunks, period)
			}
			hops := int64(len(q.Chunks)) * int64(len(p.Members())-1)
			if most = max(1, g.Pieces*maxPoured/max(1, hops)); hops > maxPoured && (best.Schedule != nil || f.framed) {
				continue
			}
			s := f.stream(until, &q, o.Bound)
			if s != nil {
				until = ctx
			}
			if s != nil && (best.Schedule == nil || q.Makespan(s) < best.Makespan()) {
				best.Problem, best.Schedule, best.Note, winner = &q, s, f.String(), f
			}
		}
		if best.Schedule != nil && (g.Pieces >= manyPieces || winner.framed) {
			flows = []poured{winner}
		}
		if stop := solve.StopOf(until); stop != 0 {
			if best.Schedule == nil {
				return solve.Stopped(until, p)
			}
			best.Stop = stop
			return best
		}
	}
	if best.Schedule == nil || len(best.Schedule.Transfers) > improve.MaxRerouted {
		return best
	}
	return improve.Result(ctx, best, o)
}

// stream returns a schedule of p, a broadcast in chunks that are equal except for the last one; no schedule of p ends
// before bound. It returns nil when ctx is done before there is one, or where there is no frame.
func (f poured) stream(ctx context.Context, p *model.Problem, bound model.Time) *model.Schedule {
	s := newStream(p, f.Trees)
	if f.framed {
		t := s.newFrame(ctx, f.Trees, f.frames)
		if t == nil {
			return nil
		}
		s.pourFramed(t)
	} else if !s.pour(ctx, dealt(f.Trees, len(p.Chunks))) {
		return nil
	}
	return s.drained(ctx, bound).schedule()
}

// dealt gives each of a number of chunks a tree, so that each tree has its share at any time.
func dealt(trees []arborescence.Tree, chunks int) []int {
	of, given, total := make([]int, chunks), make([]float64, len(trees)), 0.0
	for _, t := range trees {
		total += float64(t.Weight)
	}
	for k := range of {
		most := -1.0
		for i, t := range trees {
			if lacks := float64(k+1)*float64(t.Weight)/total - given[i]; lacks > most {
				most, of[k] = lacks, i
			}
		}
		given[of[k]]++
	}
	return of
}

// stream is a schedule of a broadcast in the making: when each chunk is at each rank, and by which hop. It knows all
// hops between members, not only those of the trees.
type stream struct {
	p     *model.Problem
	ranks int
	hops  []way
	into  [][]int32   // by rank: the hops that lead there
	kids  [][][]int32 // by tree and rank: the hops that leave it
	board *timing.Board
	uses  [2][][]demand.Use // of a chunk, and of the last one, by hop
	lasts [2][]model.Time
	at    []model.Time // by chunk and rank: when it is there; MaxTime: not yet
	by    []int32      // by chunk and rank: the hop that it came by; -1: none
}

func newStream(p *model.Problem, trees []arborescence.Tree) *stream {
	t := p.Topology
	s := &stream{p: p, ranks: t.Ranks, into: make([][]int32, t.Ranks), board: timing.NewBoard(p)}
	members := make([]bool, t.Ranks)
	for _, v := range p.Members() {
		members[v] = true
	}
	for _, h := range hop.All(t) {
		if members[h.Src] && members[h.Dst] {
			for _, route := range h.Routes {
				s.add(way{from: h.Src, to: h.Dst, route: route})
			}
		}
	}
	for _, x := range trees {
		kids := make([][]int32, t.Ranks)
		for _, a := range x.Arcs {
			kids[a.From] = append(kids[a.From], s.hop(a))
		}
		s.kids = append(s.kids, kids)
	}
	for i, c := range []model.Chunk{p.Chunks[0], p.Chunks[len(p.Chunks)-1]} {
		for _, h := range s.hops {
			uses := slices.DeleteFunc(s.board.Uses(h.route, c.Size, nil), func(u demand.Use) bool {
				return int(u.Choice) >= len(t.Links) // a port: they have room for all their links
			})
			s.uses[i] = append(s.uses[i], uses)
			s.lasts[i] = append(s.lasts[i], s.board.Duration(h.route, c.Size))
		}
	}
	s.at = slices.Repeat([]model.Time{model.MaxTime}, s.ranks*len(p.Chunks))
	s.by = slices.Repeat([]int32{-1}, s.ranks*len(p.Chunks))
	for k := range p.Chunks {
		s.at[s.slot(k, p.Collective.Root)] = 0
	}
	return s
}

func (s *stream) add(h way) int32 {
	i := int32(len(s.hops))
	s.hops, s.into[h.to] = append(s.hops, h), append(s.into[h.to], i)
	return i
}

// hop returns the hop that an arc of a tree is: detours over switches are new ones.
func (s *stream) hop(a arborescence.Arc) int32 {
	for _, i := range s.into[a.To] {
		if s.hops[i].from == a.From && slices.Equal(s.hops[i].route, a.Route) {
			return i
		}
	}
	return s.add(way{from: a.From, to: a.To, route: a.Route})
}

// slot is the index of a chunk at a rank.
func (s *stream) slot(chunk, rank int) int { return chunk*s.ranks + rank }

// size returns which of the two sizes of chunks one has.
func (s *stream) size(chunk int) int {
	if chunk == len(s.p.Chunks)-1 {
		return 1
	}
	return 0
}

// pending is a hop of a tree that a chunk can take from a time on.
type pending struct {
	at               model.Time
	chunk, tree, hop int32
}

// Before orders a heap: the first that can begin is the first.
func (x pending) Before(y pending) bool {
	if x.at != y.at {
		return x.at < y.at
	}
	return x.chunk < y.chunk || x.chunk == y.chunk && x.hop < y.hop
}

// pour sends each chunk down its tree, in the order in which hops can begin, and reports whether ctx let it.
func (s *stream) pour(ctx context.Context, of []int) bool {
	var q heap.Heap[pending]
	for k, t := range of {
		for _, h := range s.kids[t][s.p.Collective.Root] {
			q.Push(pending{0, int32(k), int32(t), h})
		}
	}
	for n := 0; len(q) > 0; n++ {
		if n%every == 0 && ctx.Err() != nil {
			return false
		}
		x := q.Pop()
		k := int(x.chunk)
		s.book(k, x.hop, s.board.First(s.uses[s.size(k)][x.hop], 0, x.at))
		to := s.hops[x.hop].to
		for _, h := range s.kids[x.tree][to] {
			q.Push(pending{s.at[s.slot(k, to)], x.chunk, x.tree, h})
		}
	}
	return true
}

// every is after how many steps a loop looks whether the context is done.
const every = 1 << 10

// book enters that a chunk takes a hop from a time on.
func (s *stream) book(chunk int, h int32, start model.Time) {
	z, i := s.size(chunk), s.slot(chunk, s.hops[h].to)
	s.board.Take(s.uses[z][h], 0, start, 0, nil)
	s.at[i], s.by[i] = start.Add(s.lasts[z][h]), h
}

// cancel takes out the hop by which a chunk comes to a rank.
func (s *stream) cancel(chunk, rank int) {
	z, i := s.size(chunk), s.slot(chunk, rank)
	h := s.by[i]
	s.board.Cancel(s.uses[z][h], 0, s.at[i]-s.lasts[z][h], 0, nil)
	s.at[i], s.by[i] = model.MaxTime, -1
}

// clone returns a copy that is changed apart.
func (s *stream) clone() *stream {
	c := *s
	c.at, c.by, c.board = slices.Clone(s.at), slices.Clone(s.by), s.board.Clone()
	return &c
}

// end returns when the last chunk is at the last rank.
func (s *stream) end() (last model.Time) {
	for i, h := range s.by {
		if h >= 0 {
			last = max(last, s.at[i])
		}
	}
	return last
}

// schedule returns what is booked.
func (s *stream) schedule() *model.Schedule {
	list := &model.Schedule{Form: model.FormFor(s.p.Cost)}
	for _, h := range s.hops {
		list.Routes = append(list.Routes, h.route)
	}
	for i, h := range s.by {
		if h < 0 {
			continue
		}
		k := i / s.ranks
		list.Transfers = append(list.Transfers, model.Transfer{
			Chunk: int32(k), Src: int32(s.hops[h].from), Dst: int32(s.hops[h].to), Route: h, Op: model.Copy,
			Start: s.at[i] - s.lasts[s.size(k)][h], End: s.at[i],
		})
	}
	slices.SortStableFunc(list.Transfers, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	return list
}
