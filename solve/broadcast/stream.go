package broadcast

import (
	"cmp"
	"context"
	"slices"
	"time"

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
	pieces int                   // chunks of a train; 0: one
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
		if best.Schedule != nil && g.Pieces >= manyPieces {
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
	s := newStream(p, f.Trees, max(1, f.pieces))
	if f.framed {
		t := s.newFrame(ctx, f.Trees, f.frames)
		if t == nil {
			return nil
		}
		s.pourFramed(t)
	} else if !s.pour(ctx, dealt(f.Trees, s.trains)) {
		return nil
	}
	return s.drainedInTime(ctx, bound).schedule(ctx)
}

// drainedInTime is drained in half of the time that is left: the rest is for what is to be written.
func (s *stream) drainedInTime(ctx context.Context, bound model.Time) *stream {
	if end, limited := ctx.Deadline(); limited {
		share, cancel := context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
		ctx = share
	}
	return s.drained(ctx, bound)
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

// stream is a schedule of a broadcast in the making: when each train is at each rank, and by which hop. It knows all
// hops between members, not only those of the trees.
//
// A train is some chunks that follow one another over the same hops without a pause, as packets of a message do. The first
// is sent on when it has come: so a train is no longer under way than one chunk of it, though it is booked as one.
type stream struct {
	p      *model.Problem
	ranks  int
	pieces int // chunks of a train
	trains int
	grain  model.Time // of which all starts are multiples
	hops   []way
	into   [][]int32   // by rank: the hops that lead there
	kids   [][][]int32 // by tree and rank: the hops that leave it
	board  *timing.Board
	uses   [2][][]demand.Use // of a train, and of the last one, by hop
	lasts  [2][]model.Time
	lead   [2]model.Time // how long before a train has come it can be sent on
	pace   []model.Time  // by hop: the time from one chunk of a train to the next
	at     []model.Time  // by train and rank: when it is there; MaxTime: not yet
	by     []int32       // by train and rank: the hop that it came by; -1: none
}

// newStream returns the stream of p's chunks, in trains of a number of them, down some trees: nothing is booked.
func newStream(p *model.Problem, trees []arborescence.Tree, pieces int) *stream {
	t := p.Topology
	s := &stream{p: p, ranks: t.Ranks, pieces: pieces, grain: 1, trains: (len(p.Chunks) + pieces - 1) / pieces, into: make([][]int32, t.Ranks), board: timing.NewBoard(p)}
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
	s.measure()
	s.at = slices.Repeat([]model.Time{model.MaxTime}, s.ranks*s.trains)
	s.by = slices.Repeat([]int32{-1}, s.ranks*s.trains)
	for k := range s.trains {
		s.at[s.slot(k, p.Collective.Root)] = 0
	}
	return s
}

// measure sets what trains need of hops. Those of several chunks count as if all had the same size.
func (s *stream) measure() {
	sizes := [2]int64{s.p.Chunks[0].Size, s.p.Chunks[len(s.p.Chunks)-1].Size}
	counts := [2]int{s.pieces, len(s.p.Chunks) - (s.trains-1)*s.pieces}
	if s.pieces > 1 {
		sizes[1] = sizes[0]
	}
	for i, size := range sizes {
		behind, least := model.Time(counts[i]-1), model.MaxTime
		for _, h := range s.hops {
			uses := slices.DeleteFunc(s.board.Uses(h.route, size, nil), func(u demand.Use) bool {
				return int(u.Choice) >= len(s.p.Topology.Links) // a port: they have room for all their links
			})
			pace := model.Time(0)
			for _, u := range uses {
				pace = max(pace, u.Extra)
			}
			for j := range uses {
				uses[j].Extra += behind * pace
			}
			s.uses[i] = append(s.uses[i], uses)
			s.lasts[i] = append(s.lasts[i], s.board.Duration(h.route, size)+behind*pace)
			if least = min(least, pace); i == 0 {
				s.pace = append(s.pace, pace)
			}
		}
		s.lead[i] = behind * least
	}
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

// slot is the index of a train at a rank.
func (s *stream) slot(train, rank int) int { return train*s.ranks + rank }

// size returns which of the two sizes of trains one has.
func (s *stream) size(train int) int {
	if train == s.trains-1 {
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
			q.Push(pending{s.at[s.slot(k, to)] - s.lead[s.size(k)], x.chunk, x.tree, h})
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

// schedule returns what is booked, in order of time; nil if ctx is done before all of it is written, where that is much.
func (s *stream) schedule(ctx context.Context) *model.Schedule {
	list := &model.Schedule{Form: model.FormFor(s.p.Cost)}
	for _, h := range s.hops {
		list.Routes = append(list.Routes, h.route)
	}
	var begin []running
	for i, h := range s.by {
		if h >= 0 {
			k := i / s.ranks
			begin = append(begin, running{s.at[i] - s.lasts[s.size(k)][h], h, int32(k * s.pieces)})
		}
	}
	slices.SortStableFunc(begin, func(a, b running) int { return cmp.Compare(a.at, b.at) })
	queues := []*queue{{list: begin}} // in order, each: those that begin, and those under way at one pace each
	of := map[model.Time]*queue{}
	list.Transfers = make([]model.Transfer, 0, len(begin)*s.pieces)
	for n := 1; ; n++ {
		x, ok := next(queues)
		if !ok {
			return list
		}
		if n%muchWritten == 0 && ctx.Err() != nil {
			return nil
		}
		h, pace := s.hops[x.hop], s.pace[x.hop]
		list.Transfers = append(list.Transfers, model.Transfer{
			Chunk: x.chunk, Src: int32(h.from), Dst: int32(h.to), Route: x.hop, Op: model.Copy,
			Start: x.at, End: x.at + s.lasts[0][x.hop] - model.Time(s.pieces-1)*pace,
		})
		if x.chunk++; int(x.chunk) == len(s.p.Chunks) {
			t := &list.Transfers[len(list.Transfers)-1]
			t.End = t.Start + s.board.Duration(h.route, s.p.Chunks[x.chunk-1].Size)
		} else if int(x.chunk)%s.pieces > 0 {
			if of[pace] == nil {
				of[pace] = &queue{}
				queues = append(queues, of[pace])
			}
			x.at += pace
			of[pace].list = append(of[pace].list, x)
		}
	}
}

// running is a train on a hop: its next chunk starts at a time.
type running struct {
	at         model.Time
	hop, chunk int32
}

// queue is trains in the order in which their next chunks start.
type queue struct {
	list []running
	head int
}

// next takes the first train of some queues.
func next(queues []*queue) (x running, ok bool) {
	var first *queue
	for _, q := range queues {
		if q.head < len(q.list) && (first == nil || q.list[q.head].at < first.list[first.head].at) {
			first = q
		}
	}
	if first == nil {
		return running{}, false
	}
	x = first.list[first.head]
	if first.head++; first.head >= compact && 2*first.head >= len(first.list) {
		first.list, first.head = first.list[:copy(first.list, first.list[first.head:])], 0
	}
	return x, true
}

// muchWritten is how many transfers are written in a tenth of a second.
const muchWritten = 1 << 19

// compact is from how many trains on that have left a queue it is made shorter.
const compact = 1 << 12
