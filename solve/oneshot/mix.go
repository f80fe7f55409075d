package oneshot

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// division is a cut whose first chunks are sent one-shot; the others are added up by the members
// in turn.
type division struct {
	chunks []model.Chunk
	one    int
}

// search looks for the best division.
type search struct {
	p     *model.Problem
	b     *solve.Budget
	bound model.Time
	ways  *ways
	work  int // transfers placed so far
	order []pair
	large map[int]int64 // by number of one-shot chunks: how many bytes they cannot be

	best     *model.Problem
	schedule *model.Schedule
	makespan model.Time
	note     string
}

func (s *search) n() int { return len(s.p.Members()) }

// over reports whether to look no further.
func (s *search) over() bool {
	return s.b.Spent() || s.work >= maxWork || s.best != nil && s.makespan <= s.bound
}

// unit is what chunks are multiples of, where the buffer is.
func (s *search) unit() int64 {
	for unit := int64(4); unit > 1; unit /= 2 {
		if s.p.Size%unit == 0 {
			return unit
		}
	}
	return 1
}

// divide returns the division that sends some bytes one-shot, in a number of parts, and cuts the
// others into a number of pieces for each member, all equal up to a unit.
func (s *search) divide(oneShot int64, parts, pieces int) division {
	var d division
	at := int64(0)
	cut := func(bytes int64, into int) {
		units, n := bytes/s.unit(), int64(into)
		for i := range n {
			size := (units*(i+1)/n - units*i/n) * s.unit()
			if i == n-1 {
				size += bytes % s.unit()
			}
			if size > 0 {
				d.chunks = append(d.chunks, model.Chunk{Offset: at, Size: size})
				at += size
			}
		}
	}
	if oneShot > 0 {
		cut(oneShot, parts)
	}
	d.one = len(d.chunks)
	if rest := s.p.Size - oneShot; rest > 0 {
		cut(rest, pieces*s.n())
	}
	return d
}

// mix tries divisions of a buffer whose cut is left open: for each number of pieces sixteenths of
// the buffer first, and then finer steps around the best.
func (s *search) mix() {
	unit := s.unit()
	units := s.p.Size / unit
	for pieces := 1; pieces <= 32; pieces *= 2 {
		if n := s.n(); 2*n*(n-1)*pieces > maxTransfers/8 {
			break
		}
		before := s.makespan
		best, at := model.MaxTime, int64(0)
		look := func(one int64) bool {
			if one < 0 || one > units || s.over() {
				return false
			}
			bytes := one * unit
			if one == units {
				bytes = s.p.Size
			}
			t := s.tryParts(bytes, pieces)
			if t >= best {
				return false
			}
			best, at = t, one
			return true
		}
		for i := range int64(17) {
			look(i * units / 16)
		}
		for step := units / 32; step > 0; step /= 2 {
			for look(at-step) || look(at+step) {
			}
		}
		if pieces > 1 && s.makespan > before/1000*999 {
			break
		}
	}
}

// tryParts tries a division with as few one-shot chunks as will do.
func (s *search) tryParts(oneShot int64, pieces int) model.Time {
	for parts := 1; parts <= 16; parts *= 4 {
		if most, known := s.large[parts]; known && oneShot >= most {
			continue
		}
		if t := s.try(s.divide(oneShot, parts, pieces)); t < model.MaxTime || oneShot == 0 || s.over() {
			return t
		}
		s.large[parts] = oneShot
	}
	return model.MaxTime
}

// shuffles is in how many orders those that take equally long are placed.
const shuffles = 24

// oneShot tries divisions of which all is sent one-shot, then the best one in other orders.
func (s *search) oneShot() {
	if s.p.Chunks != nil {
		s.try(division{chunks: s.p.Chunks, one: len(s.p.Chunks)})
	} else {
		for parts := 1; parts <= 16 && int64(parts) <= s.p.Size; parts *= 2 {
			s.try(s.divide(s.p.Size, parts, 0))
		}
	}
	if s.best == nil {
		return
	}
	r := rand.New(rand.NewPCG(2, uint64(s.n())))
	best := division{s.best.Chunks, len(s.best.Chunks)}
	for range shuffles {
		r.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
		s.try(best)
	}
}

// mixCut tries how many chunks of a given cut are sent one-shot.
func (s *search) mixCut() {
	k := len(s.p.Chunks)
	for one := 0; one <= k && !s.over(); one += max(1, k/32) {
		s.try(division{s.p.Chunks, one})
	}
	s.try(division{s.p.Chunks, k})
}

// try places a division, keeps it if it is the best, and returns its makespan, MaxTime if there
// is none.
func (s *search) try(d division) model.Time {
	if s.over() {
		return model.MaxTime
	}
	p := *s.p
	p.Chunks = d.chunks
	b := &builder{search: s, p: &p, board: timing.NewBoard(&p), uses: map[use][]network.Use{}}
	if !b.place(d) {
		return model.MaxTime
	}
	end := model.Time(0)
	for _, t := range b.transfers {
		end = max(end, t.End)
	}
	if s.best == nil || end < s.makespan || end == s.makespan && len(d.chunks) < len(s.best.Chunks) {
		s.best, s.makespan = &p, end
		s.schedule = &model.Schedule{Form: model.Timed, Routes: s.ways.routes, Transfers: b.transfers}
		one := int64(0)
		for _, c := range d.chunks[:d.one] {
			one += c.Size
		}
		s.note = fmt.Sprintf("%s of %s one-shot", model.FormatBytes(one), model.FormatBytes(p.Size))
	}
	return end
}

// result returns the best, in order of time.
func (s *search) result(stop solve.Stop) solve.Result {
	slices.SortStableFunc(s.schedule.Transfers, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	return solve.Result{Problem: s.best, Schedule: s.schedule, Stop: stop, Note: s.note}
}

// builder places the transfers of a division, one after the other, at the first time that is free.
type builder struct {
	*search
	p         *model.Problem
	board     *timing.Board
	transfers []model.Transfer
	uses      map[use][]network.Use
}

// use is a route as a chunk of a size takes it.
type use struct {
	route int32
	size  int64
}

// of returns what a chunk uses on a pair's way, and for how long it is on it.
func (b *builder) of(k int, w pair) (uses []network.Use, length model.Time) {
	key := use{w.route, b.p.Chunks[k].Size}
	uses, known := b.uses[key]
	if !known {
		uses = b.board.Uses(b.ways.routes[w.route], key.size, nil)
		b.uses[key] = uses
	}
	return uses, b.board.Duration(b.ways.routes[w.route], key.size)
}

// place places all, or returns false if that cannot be or the time is over.
func (b *builder) place(d division) bool {
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
		for _, w := range b.byDuration(chunks) {
			if w.to < len(chunks) {
				k := chunks[w.to]
				t := b.send(k, w, model.Reduction, 0)
				ready[k] = max(ready[k], t.End)
			}
		}
	}
	for k := range d.one {
		if !b.toAll(k) {
			return false
		}
	}
	for _, chunks := range rounds { // from the owners
		for _, w := range b.byDuration(chunks) {
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

// byDuration returns the pairs, those first whose ways take longest for the first chunk.
func (b *builder) byDuration(chunks []int) []pair {
	pairs := slices.Clone(b.order)
	length := make([]model.Time, len(b.ways.routes))
	for _, w := range pairs {
		length[w.route] = b.board.Duration(b.ways.routes[w.route], b.p.Chunks[chunks[0]].Size)
	}
	slices.SortStableFunc(pairs, func(x, y pair) int { return cmp.Compare(length[y.route], length[x.route]) })
	return pairs
}

// send places a transfer, no earlier than after.
func (b *builder) send(k int, w pair, op model.Op, after model.Time) model.Transfer {
	members := b.p.Members()
	uses, length := b.of(k, w)
	start := b.board.First(uses, 0, after)
	b.board.Take(uses, 0, start, int32(len(b.transfers)), nil)
	t := model.Transfer{Chunk: int32(k), Src: int32(members[w.from]), Dst: int32(members[w.to]), Route: w.route, Op: op, Start: start, End: start + length}
	b.transfers = append(b.transfers, t)
	b.work++
	return t
}

// again is how often a chunk is placed until no rank has sent it too late.
const again = 8

// toAll places a chunk that each rank sends to each. Every rank has to have begun to send it to
// all before the first of the others' has come: what is late is waited for by what comes.
func (b *builder) toAll(k int) bool {
	n := b.n()
	pairs := b.byDuration([]int{k})
	notBefore := make([]model.Time, n) // by member: when what comes may end
	first := len(b.transfers)
	var places [][]int32
	for range again {
		sent, came := make([]model.Time, n), slices.Repeat([]model.Time{model.MaxTime}, n)
		for _, w := range pairs {
			uses, length := b.of(k, w)
			start := b.board.First(uses, 0, max(0, notBefore[w.to]-length))
			places = append(places, b.board.Take(uses, 0, start, int32(len(b.transfers)), nil))
			members := b.p.Members()
			b.transfers = append(b.transfers, model.Transfer{Chunk: int32(k), Src: int32(members[w.from]), Dst: int32(members[w.to]), Route: w.route, Op: model.Reduction, Start: start, End: start + length})
			sent[w.from], came[w.to] = max(sent[w.from], start), min(came[w.to], start+length)
			b.work++
		}
		right := true
		for v := range n {
			if came[v] <= sent[v] {
				notBefore[v], right = sent[v]+1, false
			}
		}
		if right {
			return true
		}
		for i, w := range pairs {
			uses, _ := b.of(k, w)
			b.board.Cancel(uses, 0, b.transfers[first+i].Start, int32(first+i), places[i])
		}
		b.transfers, places = b.transfers[:first], nil
		if b.b.Spent() {
			return false
		}
	}
	return false
}
