// Package place puts logical transfers onto the links of a topology: it routes
// them over shortest paths and gives each the earliest time at which its data is
// there and its links and ports are free. Contention is scheduled, not ignored.
//
// It is list scheduling (Graham, "Bounds on multiprocessing timing anomalies",
// 1969) with insertion into gaps: what could start first is placed first, and
// never moved again.
package place

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/heap"
)

// Move is a logical transfer: a chunk from one rank to another, which need not be
// neighbours.
type Move struct {
	Chunk, Src, Dst int
	Op              model.Op
	// Routes are the routes to choose from; nil: shortest paths.
	Routes [][]int
	// Stream, above 0, makes one multicast or one sum of the moves of a batch that have the
	// same: copies of a chunk from one rank over switches that copy, with one start, or
	// reductions of a chunk to one rank over switches that add, with one end. Each has one
	// route. Where ranks read sums, terms and branches wait at the switch until links are free.
	Stream int
}

// Program is a sequence of moves, in batches. Its meaning is that of executing
// batch after batch, where all moves of a batch read what is there before it. Only
// what this meaning forces is kept when the moves are placed: a move waits for the
// data that it reads, not for its batch.
type Program struct {
	ctx   context.Context
	p     *model.Problem
	flows []flow
	slots map[int64]*slot
	batch int32
	// barriers are numbers of moves, ascending: see Barrier.
	barriers []int32
}

// flow is a move with what it has to respect.
type flow struct {
	Move
	batch int32
	raw   []int32 // must have ended before it starts
	war   []int32 // must have started before it ends: they read what it overwrites
	waw   []int32 // must have ended before it ends
	own   []int32 // must have ended before the sum that it is a part of begins: its destination's slot is in that
}

// slot is what is known of a (rank, chunk) while a program is written.
type slot struct {
	writers []int32 // since the last copy, that included
	readers []int32 // since the last copy
}

// NewProgram returns an empty program for a problem with chunks.
func NewProgram(p *model.Problem) *Program {
	return &Program{ctx: context.Background(), p: p, slots: map[int64]*slot{}}
}

// Until makes g end with ctx, and returns g: when ctx is done, batches are left out, and
// Place and PlaceInOrder fail with the error of ctx.
func (g *Program) Until(ctx context.Context) *Program {
	g.ctx = ctx
	return g
}

// every is after how many steps a loop looks whether the context is done.
const every = 1 << 10

func (g *Program) slot(rank, chunk int) *slot {
	key := int64(rank)*int64(len(g.p.Chunks)) + int64(chunk)
	s := g.slots[key]
	if s == nil {
		s = &slot{}
		g.slots[key] = s
	}
	return s
}

// Batch appends moves that all read what is there before the batch. Several may
// reduce into one slot; a copy must be the only write to its slot in the batch.
func (g *Program) Batch(moves ...Move) {
	if g.ctx.Err() != nil {
		return
	}
	first := int32(len(g.flows))
	for _, m := range moves {
		f := flow{Move: m, batch: g.batch, raw: append([]int32(nil), g.slot(m.Src, m.Chunk).writers...)}
		if m.Stream > 0 && m.Op == model.Reduction {
			f.own = append([]int32(nil), g.slot(m.Dst, m.Chunk).writers...)
		}
		g.flows = append(g.flows, f)
	}
	g.batch++
	for i, m := range moves {
		s := g.slot(m.Src, m.Chunk)
		s.readers = append(s.readers, first+int32(i))
	}
	for n, m := range moves {
		i := first + int32(n)
		f, s := &g.flows[i], g.slot(m.Dst, m.Chunk)
		for _, r := range s.readers {
			if r != i {
				f.war = append(f.war, r)
			}
			if r < first && g.flows[r].Stream > 0 { // what a rank writes to several comes back to it
				f.waw = append(f.waw, r)
			}
		}
		if m.Op == model.Copy {
			for _, w := range s.writers {
				if w >= first {
					panic(fmt.Sprintf("place: two writes to rank %d, chunk %d in one batch, one of them a copy", m.Dst, m.Chunk))
				}
			}
			f.waw = append(f.waw, s.writers...)
			s.writers, s.readers = []int32{i}, nil
			continue
		}
		for _, w := range s.writers {
			if g.flows[w].Op == model.Copy || w < first && g.flows[w].Stream > 0 {
				f.waw = append(f.waw, w)
			}
		}
		s.writers = append(s.writers, i)
	}
	g.alone(first)
}

// Barrier has PlaceInOrder start nothing that comes later before all that came so far
// has ended. Place takes no notice of it.
func (g *Program) Barrier() { g.barriers = append(g.barriers, int32(len(g.flows))) }

// Send appends a batch of one move.
func (g *Program) Send(chunk, src, dst int, op model.Op) {
	g.Batch(Move{Chunk: chunk, Src: src, Dst: dst, Op: op})
}

// Append appends the transfers of a schedule, a batch for each time at which some
// start, on the routes that they have; parallel links may be exchanged. The
// schedule must not read a slot while a write to it is under way, nor have times
// that mean anything but an order, except for the multicasts and sums that it has: see Move.Stream.
func (g *Program) Append(s *model.Schedule) {
	order, at := make([]int, len(s.Transfers)), make([]model.Time, len(s.Transfers))
	streams := g.streams(s)
	last := map[int]model.Time{} // by stream: the last start
	for i, t := range s.Transfers {
		last[streams[i]] = max(last[streams[i]], t.Start)
	}
	for i, t := range s.Transfers {
		if order[i], at[i] = i, t.Start; streams[i] > 0 {
			at[i] = last[streams[i]]
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	twins := map[model.Link][][]int{} // links with the same figures between the same nodes
	for i, l := range g.p.Topology.Links {
		twins[l] = append(twins[l], []int{i})
	}
	var batch []Move
	for n, i := range order {
		t := &s.Transfers[i]
		routes := s.Routes[t.Route : t.Route+1]
		if len(routes[0]) == 1 {
			routes = twins[g.p.Topology.Links[routes[0][0]]]
		}
		batch = append(batch, Move{Chunk: int(t.Chunk), Src: int(t.Src), Dst: int(t.Dst), Op: t.Op, Routes: routes, Stream: streams[i]})
		if n+1 == len(order) || at[order[n+1]] != at[i] {
			for _, b := range apart(batch) {
				g.Batch(b...)
			}
			batch = batch[:0]
		}
	}
}

// apart splits a batch in two where a slot is written by a copy and by others: the
// copy comes first.
func apart(batch []Move) [][]Move {
	type slot struct{ rank, chunk int }
	writes := map[slot]int{}
	copied := false
	for _, m := range batch {
		writes[slot{m.Dst, m.Chunk}]++
	}
	var first, rest []Move
	for _, m := range batch {
		if m.Op == model.Copy && writes[slot{m.Dst, m.Chunk}] > 1 {
			first, copied = append(first, m), true
		} else {
			rest = append(rest, m)
		}
	}
	if !copied {
		return [][]Move{batch}
	}
	return [][]Move{first, rest}
}

// Len returns the number of moves.
func (g *Program) Len() int { return len(g.flows) }

// Place gives every move of the program a route and a time. It fails if a rank
// cannot be reached, or if an exchange that must be simultaneous cannot be. It
// takes O(m·l·log s) time for m moves over l links each and s busy spans a link.
func (g *Program) Place() (*model.Schedule, error) { return g.place(false) }

// PlaceInOrder is Place, but moves are placed in the order of the program instead
// of the order in which they could start. If the program comes from a feasible
// schedule, batch by batch in order of time, then no move ends later than there.
func (g *Program) PlaceInOrder() (*model.Schedule, error) { return g.place(true) }

func (g *Program) place(inOrder bool) (*model.Schedule, error) {
	e := newEngine(g.p)
	groups, groupOf := g.groups()
	if err := g.ctx.Err(); err != nil {
		return nil, err
	}
	waiting := make([]int32, len(groups)) // groups that must be placed before
	next := make([][]int32, len(groups))
	for i := range g.flows {
		if err := g.ctx.Err(); i%every == 0 && err != nil {
			return nil, err
		}
		f := &g.flows[i]
		for _, list := range [][]int32{f.raw, f.war, f.waw, f.own} {
			for _, j := range list {
				if a, b := groupOf[j], groupOf[i]; a != b {
					next[a] = append(next[a], b)
					waiting[b]++
				}
			}
		}
	}
	var ready heap.Heap[readyGroup]
	lower := func(group []int32, placed []model.Transfer) model.Time {
		if inOrder {
			return 0 // then the number of the group decides
		}
		return g.lower(group, placed)
	}
	for i := range groups {
		if waiting[i] == 0 {
			ready.Push(readyGroup{0, int32(i)})
		}
	}
	placed := make([]model.Transfer, len(g.flows))
	barriers, floor, last := g.barriers, model.Time(0), model.Time(0)
	for n := 0; len(ready) > 0; n++ {
		if err := g.ctx.Err(); n%(every/16) == 0 && err != nil {
			return nil, err
		}
		r := ready.Pop()
		for inOrder && len(barriers) > 0 && groups[r.group][0] >= barriers[0] {
			floor, barriers = last, barriers[1:]
		}
		if err := g.placeGroup(e, groups[r.group], floor, placed); err != nil {
			return nil, err
		}
		for _, i := range groups[r.group] {
			last = max(last, placed[i].End)
		}
		for _, n := range next[r.group] {
			if waiting[n]--; waiting[n] == 0 {
				ready.Push(readyGroup{lower(groups[n], placed), n})
			}
		}
	}
	return e.schedule(placed), nil
}

// groups puts moves of a batch that overwrite what others of the same batch read, and those
// of a multicast or a sum, into one group; every other move is a group of its own.
func (g *Program) groups() (groups [][]int32, of []int32) {
	joined := model.NewSets(len(g.flows))
	streams := map[[2]int]int32{} // by batch and number: the first of it
	for i := range g.flows {
		f := &g.flows[i]
		for _, r := range f.war {
			if g.flows[r].batch == f.batch {
				joined.Join(i, int(r))
			}
		}
		if key := [2]int{int(f.batch), f.Stream}; f.Stream > 0 {
			if first, known := streams[key]; known {
				joined.Join(i, int(first))
			} else {
				streams[key] = int32(i)
			}
		}
	}
	number, count := joined.Numbers()
	groups, of = make([][]int32, count), make([]int32, len(g.flows))
	for i, n := range number {
		if i%every == 0 && g.ctx.Err() != nil {
			return nil, nil
		}
		of[i] = int32(n)
		groups[n] = append(groups[n], int32(i))
	}
	return groups, of
}

// lower returns the time before which no move of a group can start.
func (g *Program) lower(group []int32, placed []model.Transfer) model.Time {
	at := model.MaxTime
	for _, i := range group {
		at = min(at, g.afterData(i, placed))
	}
	return at
}

func (g *Program) afterData(i int32, placed []model.Transfer) model.Time {
	at := model.Time(0)
	for _, list := range [][]int32{g.flows[i].raw, g.flows[i].own} {
		for _, j := range list {
			at = max(at, placed[j].End)
		}
	}
	return at
}

// maxTries is how often the moves of a group are placed again before giving up.
const maxTries = 1000

// placeGroup places the moves of a group, none before floor. Alone, a move has only lower bounds. In
// an exchange each move must also start before the others end, so the moves are
// placed, and where one ends too early for another to start before, it is put off
// and all are placed again.
func (g *Program) placeGroup(e *engine, group []int32, floor model.Time, placed []model.Transfer) error {
	earliest := make([]model.Time, len(group))
	endAfter := make([]model.Time, len(group))
	inGroup := map[int32]bool{}
	for n, i := range group {
		inGroup[i] = true
		earliest[n] = max(floor, g.afterData(i, placed))
	}
	for n, i := range group {
		f := &g.flows[i]
		for _, r := range f.war {
			if !inGroup[r] {
				endAfter[n] = max(endAfter[n], placed[r].Start+1)
			}
		}
		for _, w := range f.waw {
			endAfter[n] = max(endAfter[n], placed[w].End+1)
		}
	}
	for range maxTries {
		booked := make([]booking, 0, len(group))
		for n, i := range group {
			if stream := g.flows[i].Stream; stream > 0 {
				var members []int // of the group
				for m, j := range group {
					if g.flows[j].Stream == stream {
						members = append(members, m)
					}
				}
				if members[0] == n { // else it is placed
					booked = append(booked, g.placeStream(e, group, members, earliest, endAfter, placed)...)
				}
				continue
			}
			t, b, err := e.place(g.flows[i].Move, earliest[n], endAfter[n])
			if err != nil {
				return err
			}
			placed[i] = t
			booked = append(booked, b)
		}
		again := false
		for n, i := range group {
			for _, r := range g.flows[i].war {
				if inGroup[r] && placed[i].End <= placed[r].Start {
					endAfter[n] = max(endAfter[n], placed[r].Start+1)
					again = true
				}
			}
		}
		if !again {
			return nil
		}
		for _, b := range booked {
			e.undo(b)
		}
	}
	m := g.flows[group[0]].Move
	return fmt.Errorf("ranks %d and %d cannot exchange chunk %d at one time: their routes share a link or a port", m.Src, m.Dst, m.Chunk)
}

// placeStream places those members of a group that are one multicast or one sum, as one.
func (g *Program) placeStream(e *engine, group []int32, members []int, earliest, endAfter []model.Time, placed []model.Transfer) []booking {
	n := len(members)
	routes, lasts, begin, after := make([][]int, n), make([]model.Time, n), make([]model.Time, n), make([]model.Time, n)
	size, sum, written := e.p.Chunks[g.flows[group[members[0]]].Chunk].Size, g.flows[group[members[0]]].Op == model.Reduction, model.Time(0)
	for i, m := range members {
		f := &g.flows[group[m]]
		routes[i] = f.Routes[0]
		lasts[i] = e.board.Duration(routes[i], size)
		begin[i], after[i] = max(earliest[m], e.board.Release(routes[i])), endAfter[m]
		for _, w := range f.own {
			written = max(written, placed[w].End)
		}
	}
	for i := range begin {
		begin[i] = max(begin[i], written)
	}
	var starts, ends []model.Time
	var booked []booking
	switch waits := g.waits(routes); {
	case waits && sum:
		starts, ends, booked = g.placeTerms(e, routes, lasts, size, begin, slices.Max(after))
	case waits:
		starts, ends, booked = g.placeBranches(e, routes, lasts, size, slices.Max(begin), after)
	default:
		starts, ends, booked = g.placeAtOnce(e, routes, lasts, size, begin, after, sum)
	}
	for i, m := range members {
		v := &g.flows[group[m]].Move
		placed[group[m]] = model.Transfer{Chunk: int32(v.Chunk), Src: int32(v.Src), Dst: int32(v.Dst), Op: v.Op, Route: e.id(routes[i]), Start: starts[i], End: ends[i]}
	}
	return booked
}

// placeAtOnce places the members of a group that are one multicast or one sum in which nothing waits: a
// multicast has one start, and a sum one end. begin and after are what each of them starts and ends
// not before.
func (g *Program) placeAtOnce(e *engine, routes [][]int, lasts []model.Time, size int64, begin, after []model.Time, sum bool) (starts, ends []model.Time, booked []booking) {
	late, at := make([]model.Time, len(routes)), model.Time(0)
	for i := range routes {
		if sum {
			late[i] = slices.Max(lasts) - lasts[i]
		}
		at = max(at, begin[i]-late[i], after[i]-late[i]-lasts[i])
	}
	uses := e.board.Join(routes, late, size)
	at = e.board.First(uses, 0, at)
	for i := range routes {
		starts, ends = append(starts, at+late[i]), append(ends, at+late[i]+lasts[i])
	}
	return starts, ends, []booking{{uses: uses, start: at, places: e.board.Take(uses, 0, at, 0, nil)}}
}

type readyGroup struct {
	at    model.Time
	group int32
}

// Before orders a heap: the one that can start first comes first.
func (r readyGroup) Before(s readyGroup) bool {
	return r.at < s.at || r.at == s.at && r.group < s.group
}
