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

	room int   // how many words sets may take
	sets []set // the first made of them are in use
	made int
	used int      // words in their counts
	slab []uint64 // where new sets come from
}

// set is a multiset of contributions: who is in it, and, by ascending rank, who is in it
// more than once. The two are said of different things, so that they cannot contradict each
// other, in whatever order they are filled.
type set struct {
	who  []uint64
	more []excess
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
func (a *values) reset() { a.made, a.used = 0, 0 }

// release does so too, and gives their memory back.
func (a *values) release() {
	a.reset()
	a.sets, a.slab = nil, nil
}

// full reports whether the room for sets was not enough. Then values mean nothing.
func (a *values) full() bool { return a.made*(a.words+perSet)+a.used > a.room }

// perSet is how many words a set takes beside its members.
const perSet = 6

// single returns rank r's contribution alone.
func (a *values) single(r int) value { return value(r + 1) }

// make returns a new, empty set; when there is no more room the one that it returned last.
func (a *values) make() (value, *set) {
	switch {
	case a.full():
	case a.made < len(a.sets):
		a.made++
	default:
		if len(a.slab) < a.words {
			a.slab = make([]uint64, max(a.words, 1<<12))
		}
		a.sets = append(a.sets, set{who: a.slab[:a.words:a.words]})
		a.slab = a.slab[a.words:]
		a.made++
	}
	s := &a.sets[a.made-1]
	clear(s.who)
	s.more = nil
	return value(a.ranks + a.made), s
}

// set returns a value that is not single.
func (a *values) set(v value) *set { return &a.sets[int(v)-a.ranks-1] }

// of returns the value that a model.Value describes, whatever the order of its terms.
func (a *values) of(m model.Value) value {
	if r, ok := m.Single(); ok {
		return a.single(r)
	}
	v, set := a.make()
	for r, n := range m.Terms() {
		set.who[r/64] |= 1 << (r % 64)
		if n > 1 && !a.idempotent {
			set.more = append(set.more, excess{int32(r), uint32(n - 1)})
		}
	}
	slices.SortFunc(set.more, func(x, y excess) int { return int(x.rank - y.rank) })
	a.used += len(set.more)
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
	set := a.set(v)
	if set.who[r/64]>>(r%64)&1 == 0 {
		return 0
	}
	i, several := slices.BinarySearchFunc(set.more, int32(r), func(x excess, r int32) int { return int(x.rank - r) })
	if !several {
		return 1
	}
	return 1 + set.more[i].by
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
			overlap |= sum.who[r/64] & bit
			sum.who[r/64] |= bit
			continue
		}
		set := a.set(y)
		several = several || set.more != nil
		for i, word := range set.who {
			overlap |= sum.who[i] & word
			sum.who[i] |= word
		}
	}
	if a.idempotent || overlap == 0 && !several {
		return x
	}
	for i, word := range sum.who {
		for ; word != 0; word &= word - 1 {
			r := i*64 + bits.TrailingZeros64(word)
			if n := min(a.count(v, r)+a.count(w, r), maxCount); n > 1 {
				sum.more = append(sum.more, excess{int32(r), n - 1})
			}
		}
	}
	a.used += len(sum.more)
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
		x, y := a.set(v), a.set(w)
		return slices.Equal(x.who, y.who) && slices.Equal(x.more, y.more)
	case int(v) <= a.ranks:
		v, w = w, v
	}
	set := a.set(v)
	r, n := int(w)-1, 0
	for _, word := range set.who {
		n += bits.OnesCount64(word)
	}
	return n == 1 && set.who[r/64]>>(r%64)&1 != 0 && set.more == nil
}
