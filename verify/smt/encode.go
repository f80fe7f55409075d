package smt

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/oraccl/oraccl/model"
)

// Encoder makes the queries of one schedule.
type Encoder struct {
	p *model.Problem
	s *model.Schedule
	// by chunk: its transfers, ascending; Ordered: in topological order
	transfers [][]int32
}

// NewEncoder returns an encoder, or an error if p is invalid or uncut, or if s is
// malformed for p, see model.Schedule.Validate. Neither may change while it is in
// use. It takes O(transfers + chunks + waits) time.
func NewEncoder(p *model.Problem, s *model.Schedule) (*Encoder, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	if err := s.Validate(p); err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	return newEncoder(p, s), nil
}

// newEncoder does without the checks.
func newEncoder(p *model.Problem, s *model.Schedule) *Encoder {
	e := &Encoder{p: p, s: s, transfers: make([][]int32, len(p.Chunks))}
	count := make([]int32, len(p.Chunks))
	for i := range s.Transfers {
		count[s.Transfers[i].Chunk]++
	}
	flat := make([]int32, len(s.Transfers))
	for k, n := range count {
		e.transfers[k], flat = flat[:0:n], flat[n:]
	}
	put := func(i int32) {
		k := s.Transfers[i].Chunk
		e.transfers[k] = append(e.transfers[k], i)
	}
	if s.Form == model.Ordered {
		order, err := s.TopologicalOrder()
		if err != nil {
			panic("smt: schedule was not validated: " + err.Error())
		}
		for _, i := range order {
			put(i)
		}
		return e
	}
	for i := range s.Transfers {
		put(int32(i))
	}
	return e
}

// Encode returns the query for one chunk, in which ranks have their own numbers.
// To encode many chunks, or the order of an Ordered schedule, make an Encoder.
func Encode(p *model.Problem, s *model.Schedule, chunk int) (*Query, error) {
	e, err := NewEncoder(p, s)
	if err != nil {
		return nil, err
	}
	if chunk < 0 || chunk >= len(p.Chunks) {
		return nil, fmt.Errorf("chunk %d does not exist, want 0 to %d", chunk, len(p.Chunks)-1)
	}
	return e.Encode(chunk), nil
}

// Encode returns the query for chunk k, in which ranks have their own numbers and
// comments say what is what. It takes O(transfers of k + pre- and postcondition)
// time.
func (e *Encoder) Encode(k int) *Query { return e.encode(k, true, &Terms{}) }

// MaxData is how many accesses, conditions and contributions in them there may be of a
// chunk. Beyond that, nothing is asked about it, and its query is TooLarge.
const MaxData = 1 << 18

// size returns how many accesses, conditions and contributions in them there are of chunk k,
// or some number above most if there are more. It takes O(most) time.
func (e *Encoder) size(k, most int) int {
	n := 2 * len(e.transfers[k])
	var last model.Value
	for _, list := range []iter.Seq2[int, model.Value]{e.p.Start(k), e.p.Goal(k)} {
		for _, v := range list {
			if n++; !model.Identical(v, last) {
				n += v.Len()
			}
			if last = v; n > most {
				return n
			}
		}
	}
	return n
}

// encode returns the query for chunk k. For people, ranks keep their numbers;
// otherwise they are numbered as they come up, so that equal queries read equal. The
// query is made of terms, which loses all that it has.
func (e *Encoder) encode(k int, forPeople bool, terms *Terms) *Query {
	q, told, n := e.begin(k, forPeople)
	if q.TooLarge == "" {
		e.state(q, told, n, terms, forPeople)
	}
	return q
}

// begin returns the query for chunk k, which has no goal yet, and what that is about, unless it is TooLarge.
func (e *Encoder) begin(k int, forPeople bool) (q *Query, told telling, n numbering) {
	q = &Query{Chunk: k, p: e.p, s: e.s}
	if e.size(k, MaxData) > MaxData {
		q.TooLarge = fmt.Sprintf("more than %d accesses, conditions and contributions in them, about this many of which a question is asked at most", MaxData)
		return q, telling{}, nil
	}
	told = telling{accesses: e.accesses(k)}
	return q, told, e.number(q, told.accesses, forPeople)
}

// state gives a query its goal.
func (e *Encoder) state(q *Query, told telling, n numbering, terms *Terms, forPeople bool) {
	terms.reset()
	q.Goals = []*Goal{e.dataGoal(q, told, n, terms, forPeople)}
}

// access is one end of a transfer: it reads the source's slot or writes the
// destination's.
type access struct {
	transfer int32
	place    int32 // of the transfer among those of the chunk
	write    bool
	at       model.Time // Ordered: not used
	instant  int32      // how many instants of the chunk come before at or, if that is retold, of the slot; Ordered: not used
}

// verb states what the access does.
func (a *access) verb() string {
	if a.write {
		return "write"
	}
	return "read"
}

// accesses returns what the transfers of chunk k do, in an order that agrees with
// the schedule. Times: by time; at one instant writes come before reads. Ordered:
// one transfer after the other.
func (e *Encoder) accesses(k int) []access {
	list := make([]access, 0, 2*len(e.transfers[k]))
	for place, i := range e.transfers[k] {
		t := &e.s.Transfers[i]
		list = append(list, access{i, int32(place), false, t.Start, 0}, access{i, int32(place), true, t.End, 0})
	}
	if e.s.Form == model.Ordered {
		return list
	}
	slices.SortFunc(list, func(a, b access) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.write != b.write && a.write:
			return -1
		case a.write != b.write:
			return 1
		}
		return cmp.Compare(a.transfer, b.transfer)
	})
	instants(list)
	return list
}

// instants numbers the times of accesses, which ascend, from the first on: of two the earlier one has the smaller number, and equal ones have
// one. What the numbers say of the order is checked here, where they stand for times.
func instants(list []access) {
	now := int32(0)
	for i := range list {
		if i > 0 {
			switch before := list[i-1].at; {
			case before > list[i].at:
				panic(fmt.Sprintf("smt: an access at %v comes after one at %v", list[i].at, before))
			case before < list[i].at:
				now++
			}
		}
		list[i].instant = now
	}
}

// numbering holds, by rank, the number that a query calls it by, or -1.
type numbering []int32

// of returns the number of rank r, which must have one.
func (n numbering) of(r int) int32 {
	if n[r] < 0 {
		panic(fmt.Sprintf("smt: rank %d has no number", r))
	}
	return n[r]
}

// number numbers the ranks that chunk q.Chunk concerns and sets q.rank.
func (e *Encoder) number(q *Query, accesses []access, forPeople bool) numbering {
	n := numbering(slices.Repeat([]int32{-1}, e.p.Topology.Ranks))
	if forPeople {
		q.rank = make([]int32, e.p.Topology.Ranks)
		for r := range q.rank {
			n[r], q.rank[r] = int32(r), int32(r)
		}
		return n
	}
	see := func(r int) {
		if n[r] < 0 {
			n[r] = int32(len(q.rank))
			q.rank = append(q.rank, int32(r))
		}
	}
	for _, a := range accesses {
		t := &e.s.Transfers[a.transfer]
		see(int(t.Src))
		see(int(t.Dst))
	}
	for r, v := range e.p.Start(q.Chunk) {
		see(r)
		for j := range v.Terms() {
			see(j)
		}
	}
	var last model.Value
	for r, v := range e.p.Goal(q.Chunk) {
		see(r)
		if model.Identical(v, last) {
			continue
		}
		for j := range v.Terms() {
			see(j)
		}
		last = v
	}
	return n
}

// indexed returns prefix followed by numbers, separated by _.
func indexed(prefix string, numbers ...int) string {
	b := append(make([]byte, 0, 24), prefix...)
	for i, n := range numbers {
		if i > 0 {
			b = append(b, '_')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return string(b)
}
