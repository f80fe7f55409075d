package replay

import (
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// value identifies a multiset of contributions within one chunk: 0 is undefined,
// r+1 is rank r's contribution alone, and larger ones index values.sets. Values
// never change once made, so that copying one is copying its number.
type value int32

const undefined value = 0

// maxCount is where counts saturate. It is above every count that a postcondition
// can ask for, so that a saturated count is never taken for a wanted one.
const maxCount = 1 << 30

// values makes and compares the values of one chunk at a time.
type values struct {
	ranks      int
	words      int // of a set: ⌈ranks/64⌉
	idempotent bool
	room       int      // how many words there are for sets
	sets       []uint64 // words for each set: who is in it
	// more holds for each set who is in it more than once, by ascending rank. A set and
	// what is more are said of different things, so that they cannot contradict each
	// other, in whatever order they are filled.
	more [][]excess
	used int // words in more
}

// excess says how often a contribution is in a set beyond once.
type excess struct {
	rank int32
	by   uint32 // 1 or more
}

func newValues(ranks int, op model.Operator, room int) *values {
	return &values{ranks: ranks, words: (ranks + 63) / 64, idempotent: op.Idempotent(), room: room}
}

// reset forgets all values but the undefined one and the single ones.
func (a *values) reset() {
	a.sets = a.sets[:0]
	a.more, a.used = a.more[:0], 0
}

// full reports whether the room for sets was not enough. Then values mean nothing.
func (a *values) full() bool { return len(a.sets)+a.used > a.room }

// single returns rank r's contribution alone.
func (a *values) single(r int) value { return value(r + 1) }

// make returns a new, empty set; when there is no more room the one that it returned last.
func (a *values) make() (value, []uint64) {
	if !a.full() {
		a.sets = slices.Grow(a.sets, a.words)[:len(a.sets)+a.words]
		a.more = append(a.more, nil)
		a.used += 3
	}
	set := a.sets[len(a.sets)-a.words:]
	clear(set)
	return value(a.ranks + len(a.more)), set
}

// hold notes who is in the set that was made last more than once.
func (a *values) hold(more []excess) {
	a.more[len(a.more)-1] = more
	a.used += len(more)
}

// set returns the words of a value that is not single, and what is more.
func (a *values) set(v value) ([]uint64, []excess) {
	i := int(v) - a.ranks - 1
	return a.sets[i*a.words : (i+1)*a.words], a.more[i]
}

// of returns the value that a model.Value describes, whatever the order of its terms.
func (a *values) of(m model.Value) value {
	if r, ok := m.Single(); ok {
		return a.single(r)
	}
	v, set := a.make()
	var more []excess
	for r, n := range m.Terms() {
		set[r/64] |= 1 << (r % 64)
		if n > 1 && !a.idempotent {
			more = append(more, excess{int32(r), uint32(n - 1)})
		}
	}
	slices.SortFunc(more, func(x, y excess) int { return int(x.rank - y.rank) })
	a.hold(more)
	return v
}

// count returns how often rank r's contribution is in v, which is defined.
func (a *values) count(v value, r int) uint32 {
	if int(v) <= a.ranks {
		if int(v) == r+1 {
			return 1
		}
		return 0
	}
	set, more := a.set(v)
	if set[r/64]>>(r%64)&1 == 0 {
		return 0
	}
	i, several := slices.BinarySearchFunc(more, int32(r), func(x excess, r int32) int { return int(x.rank - r) })
	if !several {
		return 1
	}
	return 1 + more[i].by
}

// add returns the sum of two defined values; for idempotent operators, where a
// contribution more or less makes no difference, their union.
func (a *values) add(v, w value) value {
	x, sum := a.make()
	overlap, several := uint64(0), false
	for _, y := range [2]value{v, w} {
		if int(y) <= a.ranks {
			r := int(y) - 1
			bit := uint64(1) << (r % 64)
			overlap |= sum[r/64] & bit
			sum[r/64] |= bit
			continue
		}
		set, more := a.set(y)
		several = several || more != nil
		for i, word := range set {
			overlap |= sum[i] & word
			sum[i] |= word
		}
	}
	if a.idempotent || overlap == 0 && !several {
		return x
	}
	var more []excess
	for i, word := range sum {
		for ; word != 0; word &= word - 1 {
			r := i*64 + bits.TrailingZeros64(word)
			if n := min(a.count(v, r)+a.count(w, r), maxCount); n > 1 {
				more = append(more, excess{int32(r), n - 1})
			}
		}
	}
	a.hold(more)
	return x
}

// equal reports whether two defined values contain the same.
func (a *values) equal(v, w value) bool {
	switch {
	case v == w:
		return true
	case int(v) <= a.ranks && int(w) <= a.ranks:
		return false
	case int(v) > a.ranks && int(w) > a.ranks:
		x, more := a.set(v)
		y, others := a.set(w)
		return slices.Equal(x, y) && slices.Equal(more, others)
	case int(v) <= a.ranks:
		v, w = w, v
	}
	set, more := a.set(v)
	r, n := int(w)-1, 0
	for _, word := range set {
		n += bits.OnesCount64(word)
	}
	return n == 1 && set[r/64]>>(r%64)&1 != 0 && more == nil
}
