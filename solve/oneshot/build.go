package oneshot

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// builder places the transfers of a division, one after the other, at the first time that is free.
type builder struct {
	*search
	p         *model.Problem
	whole     *model.Problem // with all images of each chunk
	copies    int            // images of each
	clash     bool           // images of a transfer meet
	board     *timing.Board
	transfers []model.Transfer
	places    [][]int32           // of ports that each transfer takes
	passages  map[int64][]passage // by size of a chunk and route
	ranks     [][]model.Time      // of hops by chunk, nil: those of their courses
}

func (s *search) builder(p *model.Problem) *builder {
	return &builder{search: s, p: p, whole: p, copies: 1, board: timing.NewBoard(p), passages: map[int64][]passage{}}
}

// passage is what a chunk uses on a way, and for how long it is on it.
type passage struct {
	uses   []network.Use
	length model.Time
}

// of returns the passage of a chunk on a pair's way, until another one is asked for.
func (b *builder) of(k int, w pair) *passage {
	size := b.p.Chunks[k].Size
	known := b.passages[size]
	if known == nil {
		known = make([]passage, len(b.ways.routes))
	}
	if more := len(b.ways.routes) - len(known); more > 0 { // found since
		known = append(known, make([]passage, more)...)
	}
	b.passages[size] = known
	x := &known[w.route]
	if x.uses == nil {
		route := b.ways.routes[w.route]
		x.length = b.board.Duration(route, size)
		if b.copies > 1 {
			route = slices.Clone(route)
			for i, l := range route {
				route[i] = b.standing[l]
			}
		}
		x.uses = b.board.Uses(route, size, nil)
		b.clash = b.clash || b.copies > 1 && meets(x.uses)
	}
	return x
}

// meets reports whether two uses are of one link at one time.
func meets(uses []network.Use) bool {
	for i, u := range uses {
		for _, v := range uses[:i] {
			if u.Choice == v.Choice && u.From < v.From+v.Extra && v.From < u.From+u.Extra {
				return true
			}
		}
	}
	return false
}

// mixture places the chunks of a division, or returns false if that cannot be or the time is over.
func (b *builder) mixture(d division) bool {
	n := b.n()
	var rounds [][]int // the chunks of each piece number
	for k := d.one; k < len(d.chunks); k++ {
		if (k-d.one)%n == 0 {
			rounds = append(rounds, nil)
		}
		last := len(rounds) - 1
		rounds[last] = append(rounds[last], k)
	}
	ready := make([]model.Time, len(d.chunks))
	for _, chunks := range rounds { // to the owners
		for _, w := range b.byDuration(chunks[0], b.order) {
			if w.to < len(chunks) {
				k := chunks[w.to]
				t := b.send(k, w, model.Reduction, 0)
				ready[k] = max(ready[k], t.End)
			}
		}
	}
	for k := range d.one {
		if !b.toAll(k, b.byDuration(k, b.order)) {
			return false
		}
	}
	for _, chunks := range rounds { // from the owners
		for _, w := range b.byDuration(chunks[0], b.order) {
			if w.from < len(chunks) {
				b.send(chunks[w.from], w, model.Copy, ready[chunks[w.from]])
			}
		}
		if b.b.Spent() {
			return false
		}
	}
	return true
}

// byDuration returns pairs in order, those first whose ways take longest for a chunk.
func (b *builder) byDuration(k int, pairs []pair) []pair {
	pairs = slices.Clone(pairs)
	slices.SortStableFunc(pairs, func(x, y pair) int {
		return cmp.Compare(b.of(k, y).length, b.of(k, x).length)
	})
	return pairs
}

// send places a transfer, no earlier than after. One owner books all, so that spans that touch are one.
func (b *builder) send(k int, w pair, op model.Op, after model.Time) model.Transfer {
	members := b.p.Members()
	x := b.of(k, w)
	start := b.board.First(x.uses, 0, after)
	b.places = append(b.places, b.board.Take(x.uses, 0, start, 0, nil))
	t := model.Transfer{Chunk: int32(k), Src: int32(members[w.from]), Dst: int32(members[w.to]), Route: w.route, Op: op, Start: start, End: start + x.length}
	b.transfers = append(b.transfers, t)
	b.work++
	return t
}

// cancel takes back the transfers from one on.
func (b *builder) cancel(from int) {
	for i := from; i < len(b.transfers); i++ {
		t := &b.transfers[i]
		b.board.Cancel(b.of(int(t.Chunk), pair{route: t.Route}).uses, 0, t.Start, 0, b.places[i])
	}
	b.transfers, b.places = b.transfers[:from], b.places[:from]
}

// again is how often a chunk is placed until no rank has sent it too late.
const again = 8

// toAll places a chunk that each member sends over all of its pairs, in their order.
// Every member has to have begun to send it to all, before the first of the others' has come: what is late is waited for by
// what comes.
func (b *builder) toAll(k int, pairs []pair) bool {
	notBefore := make([]model.Time, b.n()) // by member: when what comes may end
	first := len(b.transfers)
	for range again {
		sent, came := make([]model.Time, b.n()), slices.Repeat([]model.Time{model.MaxTime}, b.n())
		for _, w := range pairs {
			t := b.send(k, w, model.Reduction, max(0, notBefore[w.to]-b.of(k, w).length))
			sent[w.from], came[w.to] = max(sent[w.from], t.Start), min(came[w.to], t.End)
		}
		right := true
		for v := range sent {
			if came[v] <= sent[v] {
				notBefore[v], right = sent[v]+1, false
			}
		}
		if right {
			return true
		}
		b.cancel(first)
		if b.b.Spent() {
			return false
		}
	}
	return false
}
