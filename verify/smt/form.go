package smt

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// former tells the forms of a schedule's chunks. It keeps what it has allocated, so that only one chunk at
// a time can be asked for.
type former struct {
	*Encoder
	text  []byte
	terms []model.Term
	nth   []int32 // by place among the transfers of a chunk: how many reads come before its own
	list  []condition
	slot  []int32 // by number: 1 + the place in list, or 0
}

// kind returns what an access does: 0 if it reads.
func (e *former) kind(a *access) int64 {
	if !a.write {
		return 0
	}
	return 1 + int64(e.s.Transfers[a.transfer].Op)
}

// form returns the SHA-256 of all that the goal about chunk q.Chunk is made of, with ranks by their numbers and times as
// instants, those of each slot by itself if it is retold: what each access does, which transfer it belongs to, what is there at the start, and what is wanted. Two chunks of one
// form have one question (TestForm), so that what is proved of one is proved of the other. It takes O(transfers of the chunk + pre- and
// postcondition) time, about a fifth of what it takes to make the question.
func (e *former) form(q *Query, told telling, n numbering) identity {
	accesses := told.accesses
	b := e.text[:0]
	put := func(numbers ...int64) {
		for _, x := range numbers {
			b = binary.AppendVarint(b, x)
		}
	}
	put(int64(len(q.rank)), int64(len(accesses)), int64(len(told.slots)))
	e.nth = append(e.nth[:0], make([]int32, len(e.transfers[q.Chunk]))...)
	reads := int32(0)
	for i := range accesses {
		a := &accesses[i]
		put(e.kind(a), int64(n.of(e.rankOf(a))))
		if told.slots == nil {
			put(int64(a.instant))
		}
		if a.write {
			put(int64(e.nth[a.place]))
			continue
		}
		e.nth[a.place] = reads
		reads++
	}
	for _, list := range told.slots {
		put(int64(len(list)))
		for i := range list {
			put(e.kind(&list[i]), int64(list[i].instant))
		}
	}
	for i, all := range []iter.Seq2[int, model.Value]{e.p.Start(q.Chunk), e.p.Goal(q.Chunk)} {
		e.list, e.slot = e.list[:0], append(e.slot[:0], make([]int32, len(q.rank))...)
		for r, v := range all {
			c := n.of(r)
			e.list = append(e.list, condition{c, v})
			e.slot[c] = int32(len(e.list))
		}
		put(int64(i), int64(len(e.list)))
		var before *condition
		for _, place := range e.slot { // in order of the ranks' numbers
			if place == 0 {
				continue
			}
			x, last := &e.list[place-1], before
			before = x
			if put(int64(x.c)); last != nil && model.Identical(x.v, last.v) {
				put(-1)
				continue
			}
			e.terms = e.terms[:0] // Rank holds the number
			for r, count := range x.v.Terms() {
				e.terms = append(e.terms, model.Term{Rank: int(n.of(r)), Count: count})
			}
			slices.SortFunc(e.terms, func(a, b model.Term) int { return cmp.Compare(a.Rank, b.Rank) })
			put(int64(len(e.terms)))
			for _, t := range e.terms {
				put(int64(t.Rank), int64(t.Count))
			}
		}
	}
	e.text = b
	return sha256.Sum256(b)
}
