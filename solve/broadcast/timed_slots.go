//go:build cgo

package broadcast

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// slots is chunks that take the trees of a program in slots, in each of which a link carries one chunk at most, and of which all latencies are
// some. A bit for each is enough, so that a million hops are placed in a second.
type slots struct {
	p      *model.Problem // cut
	chunks []timedChunk
	grid   model.Time // a slot
	hops   []slotHop  // of the program
	ranks  int
	around int32 // slots that all hops need, about: as many are free before and after those

	starts []int32 // by chunk and branch: the slot in which it begins
	end    int32
}

// slotHop is a hop in slots.
type slotHop struct {
	from, to int32
	links    []int
	after    []int32 // by link: how long after the start it is busy
	lasts    int32   // until the chunk has come
}

// newSlots returns chunks that are not placed yet, nil if a chunk takes longer than a slot or latencies are no multiples of it.
func newSlots(g *program, p *model.Problem, chunks []timedChunk, grid model.Time) *slots {
	for _, l := range p.Topology.Links {
		if l.Alpha%grid != 0 || model.TransferTime(p.Chunks[0].Size, l.Bandwidth) > grid {
			return nil
		}
	}
	s := &slots{p: p, chunks: chunks, grid: grid, ranks: p.Topology.Ranks}
	for h := range g.hops {
		x := &g.hops[h]
		y := slotHop{from: x.from, to: x.to, links: g.routes[h], lasts: int32(x.lasts/grid) + 1}
		for _, at := range g.classes[x.class].after {
			y.after = append(y.after, int32(at/grid))
		}
		s.hops = append(s.hops, y)
	}
	return s
}

// place places all chunks in the order of the program, none of their hops earlier than some time before its own, and then as late and as soon as they
// can be (forward-backward improvement: Tormos and Lova, Annals of Operations Research 102, 2001), if that is sooner over. It
// reports whether ctx let all be placed once.
func (s *slots) place(ctx context.Context, early model.Time) bool {
	var order []slotHopOf
	for k, c := range s.chunks {
		for i, at := range c.tree.at {
			y := slotHopOf{int32((c.at + at) / s.grid), int32(k), int32(i)}
			order = append(order, y)
			s.around = max(s.around, y.at+s.hops[c.hops[i]].lasts)
		}
	}
	s.around += wordBits
	s.starts, s.end = s.forward(ctx, sorted(order), int32(early/s.grid))
	if s.starts == nil {
		return false
	}
	if starts, end := s.forward(ctx, s.backward(ctx), -1); starts != nil && end < s.end {
		s.starts, s.end = starts, end
	}
	return true
}

// slotHopOf is a hop of a chunk's tree, with a slot.
type slotHopOf struct{ at, chunk, branch int32 }

// sorted returns hops in the order of their slots; those with the same slot stay in their order.
func sorted(list []slotHopOf) []slotHopOf {
	most := int32(0)
	for _, y := range list {
		most = max(most, y.at)
	}
	begin := make([]int, most+2) // by slot: how many are before it
	for _, y := range list {
		begin[y.at+1]++
	}
	for i := range most {
		begin[i+1] += begin[i]
	}
	order := make([]slotHopOf, len(list))
	for _, y := range list {
		order[begin[y.at]] = y
		begin[y.at]++
	}
	return order
}

// each returns how many hops a chunk has.
func (s *slots) each() int { return len(s.chunks[0].hops) }

// forward returns the starts of all hops that are placed in an order, parents before children, each as soon as it can begin, but no sooner than some
// slots before its own if that is not negative, and when the last one has come. There are none if there is no order, if ctx is done, or if they take far
// longer than the program says.
func (s *slots) forward(ctx context.Context, order []slotHopOf, early int32) (starts []int32, end int32) {
	if order == nil {
		return nil, 0
	}
	x := newLines(len(s.p.Topology.Links), 4*s.around)
	at, starts := make([]int32, len(s.chunks)*s.ranks), make([]int32, len(order))
	for n, y := range order {
		if n%every == 0 && ctx.Err() != nil {
			return nil, 0
		}
		k := int(y.chunk)
		h := &s.hops[s.chunks[k].hops[y.branch]]
		from := at[k*s.ranks+int(h.from)]
		if early >= 0 {
			from = max(from, y.at-early)
		}
		t := x.first(h, from, 3*s.around)
		if t < 0 {
			return nil, 0
		}
		x.take(h, t)
		starts[k*s.each()+int(y.branch)] = t
		at[k*s.ranks+int(h.to)] = t + h.lasts
		end = max(end, t+h.lasts)
	}
	return starts, end
}

// backward returns all hops in the order in which they begin if they are placed as late as they can be, the last first; nil if ctx is done, or if
// they take far longer than before.
func (s *slots) backward(ctx context.Context) []slotHopOf {
	order := make([]slotHopOf, 0, len(s.starts))
	for k, c := range slices.Backward(s.chunks) {
		for i, h := range slices.Backward(c.hops) {
			order = append(order, slotHopOf{s.end - s.starts[k*s.each()+i] - s.hops[h].lasts, int32(k), int32(i)})
		}
	}
	order = sorted(order)
	x := newLines(len(s.p.Topology.Links), 4*s.around)
	due := slices.Repeat([]int32{s.end + s.around}, len(s.chunks)*s.ranks)
	for n := range order {
		if n%every == 0 && ctx.Err() != nil {
			return nil
		}
		y := &order[n]
		k := int(y.chunk)
		h := &s.hops[s.chunks[k].hops[y.branch]]
		y.at = x.last(h, due[k*s.ranks+int(h.to)]-h.lasts)
		if y.at < 0 {
			return nil
		}
		x.take(h, y.at)
		from := k*s.ranks + int(h.from)
		due[from] = min(due[from], y.at)
	}
	slices.Reverse(order)
	return sorted(order)
}

// schedule returns what is placed.
func (s *slots) schedule() *model.Schedule {
	r := &model.Schedule{Form: model.FormFor(s.p.Cost), Transfers: make([]model.Transfer, 0, len(s.starts))}
	for i := range s.hops {
		r.Routes = append(r.Routes, s.hops[i].links)
	}
	for k, c := range s.chunks {
		for i, h := range c.hops {
			start := model.Time(s.starts[k*s.each()+i]) * s.grid
			end := start + s.p.Topology.Duration(s.hops[h].links, s.p.Chunks[k].Size)
			r.Transfers = append(r.Transfers, model.Transfer{Chunk: int32(k), Src: s.hops[h].from, Dst: s.hops[h].to, Route: h, Op: model.Copy, Start: start, End: end})
		}
	}
	return r
}

// lines is by link which slots are taken: a bit for each.
type lines struct {
	bits [][]uint64
	low  []int32 // by link: the first slot that is taken
}

func newLines(links int, slots int32) lines {
	words := int(slots)/wordBits + 2
	all, x := make([]uint64, links*words), lines{bits: make([][]uint64, links), low: slices.Repeat([]int32{slots}, links)}
	for l := range x.bits {
		x.bits[l] = all[l*words : (l+1)*words]
	}
	return x
}

// wordBits is the bits of a word, and givenUp how many slots are looked at from the first one on that is taken.
const wordBits, givenUp = 64, 1 << 12

// first returns the first slot from one on in which a hop may begin, -1 if there is none before a limit.
func (x lines) first(h *slotHop, at, limit int32) int32 {
	for ; at+wordBits < limit; at += wordBits {
		if taken := x.look(h, at); taken != math.MaxUint64 {
			return at + int32(bits.TrailingZeros64(^taken))
		}
	}
	return -1
}

// last returns the last slot until one in which a hop may begin, -1 if there is none. Slots long after the first one that is taken on a link are given up:
// what is still free there fits none.
func (x lines) last(h *slotHop, at int32) int32 {
	for i, l := range h.links {
		at = min(at, x.low[l]+givenUp-h.after[i])
	}
	for ; at >= wordBits-1; at -= wordBits {
		if taken := x.look(h, at-(wordBits-1)); taken != math.MaxUint64 {
			return at - int32(bits.LeadingZeros64(^taken))
		}
	}
	return -1
}

// look returns in which of as many slots as a word has bits, from one on, a hop may not begin: the lowest bit is the first one.
func (x lines) look(h *slotHop, at int32) (taken uint64) {
	for i, l := range h.links {
		from := at + h.after[i]
		w, b := from/wordBits, from%wordBits
		taken |= x.bits[l][w]>>b | x.bits[l][w+1]<<(wordBits-b)
	}
	return taken
}

func (x lines) take(h *slotHop, at int32) {
	for i, l := range h.links {
		t := at + h.after[i]
		x.bits[l][t/wordBits] |= 1 << (t % wordBits)
		x.low[l] = min(x.low[l], t)
	}
}
