package oneshot

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// division is a cut whose first chunks are sent one-shot; the others are added up by the members
// in turn.
type division struct {
	chunks []model.Chunk
	one    int
}

// search looks for the best division.
type search struct {
	p        *model.Problem
	b        *solve.Budget
	bound    model.Time
	others   model.Time // what other methods have found
	ways     *ways
	work     int // transfers placed so far
	most     int // of them
	verified int // transfers there is time to verify; 0: any number
	order    []pair
	large    map[int]int64 // by number of one-shot chunks: how many bytes they cannot be

	leading  bool      // latencies count
	guide    *guide    // of compositions
	images   *images   // of their courses
	slowness []float64 // by link: how many times longer it takes for a byte than the fastest one
	copies   int       // images of a chunk that are on their way together, by the first symmetries
	machine  []int     // by link: the number of its orbit under these
	machines int
	standing []int // by link: the one that stands for its orbit

	ranked *ranked // chunks of the best, nil: they have no ranks of their own
	mixing *mixing // what a search goes on with; nil: it has not come to that
	again  int     // how often it went on

	missing error    // why there are no patterns
	whole   []*offer // plans of the network before some of it failed; nil: not asked for yet, or none

	best      *model.Problem
	transfers []model.Transfer // those of the first image of each chunk
	imagesOf  int              // of each, that go together
	makespan  model.Time
	note      string
}

func (s *search) n() int { return len(s.p.Members()) }

// over reports whether to look no further.
func (s *search) over() bool {
	return s.b.Spent() || s.work >= s.most || s.best != nil && s.makespan <= s.bound
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

// Limits of the search for a division.
const (
	fewMixed   = 64  // members, among which steps are as fine as can be
	mostShares = 256 // the part of the buffer by which coarse steps are taken
)

// mix tries divisions of a buffer whose cut is left open, unless the network is no more than planes, where no places have to be looked for: see planes.go.
// For each number of pieces it tries sixteenths of the buffer first, and then finer steps around the best. Among more than fewMixed members it takes
// coarser steps, around the best of half as many pieces.
func (s *search) mix() {
	if x := s.planes(); x != nil {
		if x.mix(); x.Whole {
			return
		}
	}
	unit := s.unit()
	units := s.p.Size / unit
	at := int64(0)
	for pieces := 1; pieces <= 32; pieces *= 2 {
		n, most := s.n(), maxTransfers/8
		if n > fewMixed {
			most = maxTransfers / 2
		}
		if pieces > 1 && 2*n*(n-1)*pieces > most {
			break
		}
		before := s.makespan
		best := model.MaxTime
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
		last := int64(1)
		if n > fewMixed {
			last = max(1, units/mostShares)
		}
		if n > fewMixed && pieces > 1 {
			look(at)
		} else {
			for i := range int64(17) {
				look(i * units / 16)
			}
		}
		for step := units / 32; step >= last; step /= 2 {
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
	b := s.builder(&p)
	if !b.mixture(d) {
		return model.MaxTime
	}
	one := int64(0)
	for _, c := range d.chunks[:d.one] {
		one += c.Size
	}
	return s.keep(b, fmt.Sprintf("%s of %s one-shot", model.FormatBytes(one), model.FormatBytes(p.Size)))
}

// keep keeps what was built if it is the best, and returns its makespan. A composition of far more transfers must be
// better by a thousandth.
func (s *search) keep(b *builder, note string) model.Time {
	end := b.end()
	if s.guide != nil && s.best != nil && len(b.transfers)*b.copies > 2*len(s.transfers)*s.imagesOf && end > s.makespan-s.makespan/1000 {
		return end
	}
	if s.best == nil || end < s.makespan || end == s.makespan && len(b.whole.Chunks) < len(s.best.Chunks) {
		s.best, s.makespan, s.note, s.transfers, s.imagesOf, s.ranked = b.whole, end, note, b.transfers, b.copies, nil
	}
	return end
}

// end returns when all that was placed is over.
func (b *builder) end() (end model.Time) {
	for _, t := range b.transfers {
		end = max(end, t.End)
	}
	return end
}

// result returns the best, in order of time.
func (s *search) result(stop solve.Stop) solve.Result {
	first := byStart(s.transfers)
	transfers := first
	if s.imagesOf > 1 {
		transfers = make([]model.Transfer, 0, len(first)*s.imagesOf)
		members := s.p.Members()
		for _, t := range first {
			for e := range min(s.imagesOf, len(s.best.Chunks)-int(t.Chunk)*s.imagesOf) { // the last one may have fewer
				t := t
				w := s.images.pair(s.guide, e, pair{s.images.number[t.Src], s.images.number[t.Dst], t.Route})
				t.Src, t.Dst, t.Route, t.Chunk = int32(members[w.from]), int32(members[w.to]), w.route, t.Chunk*int32(s.imagesOf)+int32(e)
				transfers = append(transfers, t)
			}
		}
	}
	r := solve.Result{Problem: s.best, Schedule: &model.Schedule{Form: model.Timed, Routes: s.ways.routes, Transfers: transfers}, Stop: stop, Note: s.note}
	if s.missing != nil {
		r.Note += fmt.Sprintf("; patterns were left out: %v", s.missing)
	}
	if (s.mixing != nil || s.ranked != nil) && stop != solve.Interrupted && s.makespan > s.bound {
		r.More = s.more
	}
	return r
}

// byStart returns transfers in order of time, those that start at one time in their order.
func byStart(transfers []model.Transfer) []model.Transfer {
	order := make([]int32, len(transfers))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(transfers[i].Start, transfers[j].Start), cmp.Compare(i, j))
	})
	sorted := make([]model.Transfer, len(transfers))
	for k, i := range order {
		sorted[k] = transfers[i]
	}
	return sorted
}
