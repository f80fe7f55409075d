//go:build cgo

package broadcast

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// timedChunk is a chunk that takes an image of a tree, from a time on.
type timedChunk struct {
	at   model.Time
	tree *timedTree
	hops []int32
}

// timedStream is chunks that take the trees of a program.
type timedStream struct {
	p      *model.Problem // cut
	chunks []timedChunk
	grid   model.Time // all hops begin at multiples of it
}

// send returns a stream of the chunks of p, all of whose hops begin on a grid of times, or nil if ctx is done first.
func (g *program) send(ctx context.Context, p *model.Problem, grid model.Time) *stream {
	all := g.deal(p, len(p.Chunks))
	if all == nil || !g.balance(ctx, all) {
		return nil
	}
	x := &timedStream{p: p, chunks: all, grid: grid}
	s := x.placed(ctx, x.planned(), g.width/tooEarly)
	if s == nil {
		return nil
	}
	if y := x.justified(ctx, s); y != nil && y.end() < s.end() {
		return y
	}
	return s
}

// tooEarly is a part of the width of bins by which hops begin before the program's time at most: what waits there leaves links to
// others.
const tooEarly = 4

// deal gives each of a number of chunks of p a tree and a time, ascending: as the program, whose buffer may be another one, has them at the
// end; if it has more than the buffer of p, what would leave the root first is left out, and if it has less, what leaves it first goes on
// for longer.
func (g *program) deal(p *model.Problem, chunks int) (all []timedChunk) {
	whole := float64(g.p.Space()) / float64(p.Space()) * float64(chunks) // chunks of the program's buffer
	trees, sums := make([][]int, g.bins()), make([]float64, g.bins())
	for j, x := range g.shares {
		if x > noShare {
			bin := g.trees[j].bin
			trees[bin] = append(trees[bin], j)
			sums[bin] += x
		}
	}
	type span struct {
		bin      int
		from     float64 // in picoseconds, of the program
		lasts, n float64
	}
	var spans []span
	rest, first := float64(chunks), 0
	for bin := g.bins() - 1; bin >= 0 && rest > 0; bin-- {
		if n, lasts := sums[bin]*whole, float64(g.lasts(bin)); n > 0 {
			part := min(1, rest/n)
			spans = append(spans, span{bin, float64(g.begin[bin]) + (1-part)*lasts, part * lasts, part * n})
			rest -= part * n
			first = bin
		}
	}
	if len(spans) == 0 {
		return nil
	}
	if rest > 0 {
		lasts := rest / (sums[first] * whole) * float64(g.lasts(first))
		spans = append(spans, span{first, spans[len(spans)-1].from - lasts, lasts, rest})
	}
	slices.Reverse(spans)
	begin, owed := spans[0].from, 0.0
	for _, x := range spans {
		owed += x.n
		n := min(int(owed+noShare*float64(chunks)), chunks-len(all))
		owed -= float64(n)
		given := make([]float64, len(trees[x.bin]))
		for k := range n {
			most, pick := math.Inf(-1), 0
			for i, j := range trees[x.bin] {
				if lacks := float64(k+1)*g.shares[j]/sums[x.bin] - given[i]; lacks > most {
					most, pick = lacks, i
				}
			}
			given[pick]++
			at := x.from - begin + (float64(k)+1./2)/float64(n)*x.lasts
			all = append(all, timedChunk{at: model.Time(at), tree: g.trees[trees[x.bin][pick]]})
		}
	}
	for len(all) < chunks { // rounded away
		all = append(all, all[len(all)-1])
	}
	return all
}

// noShare is a part of the buffer that counts as nothing.
const noShare = 1e-9

// booking is a hop of a chunk's tree, in an order of times.
type booking struct {
	at     model.Time
	chunk  int32
	branch int32 // of the tree
}

// before orders bookings by time.
func before(a, b booking) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.chunk, b.chunk), cmp.Compare(a.branch, b.branch))
}

// planned returns all hops in the order of the program.
func (x *timedStream) planned() (order []booking) {
	for k, c := range x.chunks {
		for i, at := range c.tree.at {
			order = append(order, booking{c.at + at, int32(k), int32(i)})
		}
	}
	slices.SortFunc(order, before)
	return order
}

// placed books all hops in an order, parents before children, each as soon as it can begin, but no sooner than a time before its own,
// if that is not negative. It returns nil if ctx is done.
func (x *timedStream) placed(ctx context.Context, order []booking, early model.Time) *stream {
	s := newStream(x.p, nil, 1)
	for n, y := range order {
		if n%every == 0 && ctx.Err() != nil {
			return nil
		}
		k := int(y.chunk)
		h := x.chunks[k].hops[y.branch]
		uses, at := s.uses[s.size(k)][h], s.at[s.slot(k, s.hops[h].from)]
		if early >= 0 {
			at = max(at, y.at-early)
		}
		for free := at; ; at = free {
			at = (at + x.grid - 1) / x.grid * x.grid
			if free = s.board.First(uses, 0, at); free == at {
				break
			}
		}
		s.book(k, h, at)
	}
	return s
}

// justified places all hops of a stream as late as they can be for the same end, the last first, and then each as soon as it can be, in the order
// in which they began so (forward-backward improvement: Tormos and Lova, Annals of Operations Research 102, 2001). It returns nil
// if ctx is done.
func (x *timedStream) justified(ctx context.Context, s *stream) *stream {
	var order []booking
	for k, c := range x.chunks {
		for i, h := range c.hops {
			order = append(order, booking{s.at[s.slot(k, s.hops[h].to)], int32(k), int32(i)})
		}
	}
	slices.SortFunc(order, func(a, b booking) int { return before(b, a) })
	late := newStream(x.p, nil, 1)
	due := slices.Repeat([]model.Time{s.end()}, len(s.at)) // by train and rank
	for n := range order {
		if n%every == 0 && ctx.Err() != nil {
			return nil
		}
		y := &order[n]
		k := int(y.chunk)
		h, z := x.chunks[k].hops[y.branch], s.size(k)
		at := due[s.slot(k, s.hops[h].to)] - s.lasts[z][h]
		for free := at; ; at = free {
			at -= (at%x.grid + x.grid) % x.grid
			if free = late.board.Last(s.uses[z][h], 0, at); free == at {
				break
			}
		}
		late.board.Take(s.uses[z][h], 0, at, 0, nil)
		from := s.slot(k, s.hops[h].from)
		due[from] = min(due[from], at)
		y.at = at
	}
	slices.SortFunc(order, before)
	return x.placed(ctx, order, -1)
}
