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
	sets       []uint64   // words for each set: who is in it
	counts     [][]uint32 // for each set nil if every count is 1, else all counts
}

func newValues(ranks int, op model.Operator) *values {
	return &values{ranks: ranks, words: (ranks + 63) / 64, idempotent: op.Idempotent()}
}

// reset forgets all values but the undefined one and the single ones.
func (a *values) reset() {
	a.sets = a.sets[:0]
	a.counts = a.counts[:0]
}

// single returns rank r's contribution alone.
func (a *values) single(r int) value { return value(r + 1) }

// make returns a new, empty set.
func (a *values) make() (value, []uint64) {
	for range a.words {
		a.sets = append(a.sets, 0)
	}
	a.counts = append(a.counts, nil)
	return value(a.ranks + len(a.counts)), a.sets[len(a.sets)-a.words:]
}

// set returns the words of a value that is not single, and its counts.
func (a *values) set(v value) ([]uint64, []uint32) {
	i := int(v) - a.ranks - 1
	return a.sets[i*a.words : (i+1)*a.words], a.counts[i]
}

// of returns the value that a model.Value describes.
func (a *values) of(m model.Value) value {
	if r, ok := m.Single(); ok {
		return a.single(r)
	}
	v, set := a.make()
	for r, n := range m.Terms() {
		set[r/64] |= 1 << (r % 64)
		if n > 1 && !a.idempotent {
			a.setCount(v, r, uint32(n))
		}
	}
	return v
}

// setCount gives rank r in the set v a count; the set must contain r already.
func (a *values) setCount(v value, r int, n uint32) {
	i := int(v) - a.ranks - 1
	if a.counts[i] == nil {
		a.counts[i] = make([]uint32, a.ranks)
		set := a.sets[i*a.words : (i+1)*a.words]
		for s := range a.ranks {
			a.counts[i][s] = uint32(set[s/64] >> (s % 64) & 1)
		}
	}
	a.counts[i][r] = n
}

// count returns how often rank r's contribution is in v, which is defined.
func (a *values) count(v value, r int) uint32 {
	if int(v) <= a.ranks {
		if int(v) == r+1 {
			return 1
		}
		return 0
	}
	set, counts := a.set(v)
	if counts != nil {
		return counts[r]
	}
	return uint32(set[r/64] >> (r % 64) & 1)
}

// add returns the sum of two defined values; for idempotent operators, where a
// contribution more or less makes no difference, their union.
func (a *values) add(v, w value) value {
	x, sum := a.make()
	overlap := uint64(0)
	counted := false
	for _, y := range [2]value{v, w} {
		if int(y) <= a.ranks {
			r := int(y) - 1
			bit := uint64(1) << (r % 64)
			overlap |= sum[r/64] & bit
			sum[r/64] |= bit
			continue
		}
		set, counts := a.set(y)
		counted = counted || counts != nil
		for i, word := range set {
			overlap |= sum[i] & word
			sum[i] |= word
		}
	}
	if a.idempotent || overlap == 0 && !counted {
		return x
	}
	for i, word := range sum {
		for ; word != 0; word &= word - 1 {
			r := i*64 + bits.TrailingZeros64(word)
			if n := min(a.count(v, r)+a.count(w, r), maxCount); n > 1 {
				a.setCount(x, r, n)
			}
		}
	}
	return x
}

// equal says whether two defined values contain the same.
func (a *values) equal(v, w value) bool {
	if v == w {
		return true
	}
	if int(v) <= a.ranks && int(w) <= a.ranks {
		return false
	}
	if int(v) > a.ranks && int(w) > a.ranks {
		x, counts := a.set(v)
		y, others := a.set(w)
		if counts == nil && others == nil {
			return slices.Equal(x, y)
		}
	}
	for r := range a.ranks {
		if a.count(v, r) != a.count(w, r) {
			return false
		}
	}
	return true
}
