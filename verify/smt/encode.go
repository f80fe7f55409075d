package smt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Query is the claim about one chunk. Its script asserts that the claim is false;
// if that is unsatisfiable, the claim holds.
type Query struct {
	Chunk  int
	Script Script

	p       *model.Problem
	s       *model.Schedule
	faults  []fault
	states  []version
	observe []string // the names whose values tell what went wrong
}

// fault is a way in which the claim can be false: a Boolean of the script.
type fault struct {
	code     verify.Code
	transfer int32 // or -1
	other    int32 // the other transfer of a race, or -1
	rank     int
	state    int // the version that ends wrong, or -1
	wanted   Term
}

// version is what a slot holds from one write to the next: how often it contains
// contribution j, and whether it is defined at all.
type version struct {
	count, defined Term
	rank           int
	writers        []int32 // the transfers that made it, none for the precondition
	old            int     // the version before, or -1
	added          []int   // the versions that the writers read
	from           model.Time
}

// encoder builds a Query.
type encoder struct {
	*Query
	current []int // by rank: the index of the version that its slot holds, or -1
	bad     []Term
	j       Term
}

// Encode states the claim about one chunk: for every rank r of the postcondition
// and every contribution j, the last version of r's slot contains j as often as
// it must, and no transfer reads or adds to a slot that is undefined.
//
// The contribution is an unknown j of the script, so that its size is linear in
// the number of transfers of the chunk. p and s must be valid; transfers are those
// of the chunk.
func Encode(p *model.Problem, s *model.Schedule, chunk int, transfers []int32) *Query {
	q := &Query{Chunk: chunk, p: p, s: s}
	e := &encoder{Query: q, current: make([]int, p.Topology.Ranks)}
	for r := range e.current {
		e.current[r] = -1
	}
	e.Script.Comment("chunk %d of %v", chunk, p)
	e.Script.Comment("j is the rank whose contribution is looked at: any of them")
	e.j = e.Script.Declare("j", Int)
	e.Script.Assert(And(Le(Number(0), e.j), Lt(e.j, Number(int64(p.Topology.Ranks)))))
	e.precondition()
	if s.Form == model.Ordered {
		e.ordered(transfers)
	} else {
		e.timed(transfers)
	}
	e.postcondition()
	e.Script.Comment("some of this goes wrong")
	e.Script.Assert(Or(e.bad...))
	return q
}

// precondition makes the first versions.
func (e *encoder) precondition() {
	e.Script.Comment("how often j is in what each rank holds at the start")
	for r, v := range e.p.Start(e.Chunk) {
		e.add(version{count: e.Script.Define(fmt.Sprintf("c%d", len(e.states)), e.countIn(v)), defined: Truth(true), rank: r, old: -1})
	}
}

// countIn returns the count of j in a value.
func (e *encoder) countIn(v model.Value) Term {
	t := Number(0)
	for r, n := range v.Terms() {
		t = Ite(Eq(e.j, Number(int64(r))), Number(int64(n)), t)
	}
	return t
}

// add makes v the version that its rank's slot holds.
func (e *encoder) add(v version) int {
	e.states = append(e.states, v)
	e.observe = append(e.observe, v.count.text)
	e.current[v.rank] = len(e.states) - 1
	return len(e.states) - 1
}

// wrong adds a way in which the claim can be false.
func (e *encoder) wrong(condition Term, f fault) {
	name := e.Script.Define(fmt.Sprintf("w%d", len(e.faults)), condition)
	e.faults = append(e.faults, f)
	e.bad = append(e.bad, name)
	e.observe = append(e.observe, name.text)
}

// moment is a read or a batch of writes.
type moment struct {
	at    model.Time
	write bool
	i     int32
}

// timed encodes the order of events that times fix: a read sees every write that
// ended when it starts, or before.
func (e *encoder) timed(transfers []int32) {
	var moments []moment
	for _, i := range transfers {
		t := &e.s.Transfers[i]
		moments = append(moments, moment{t.Start, false, i}, moment{t.End, true, i})
	}
	slices.SortFunc(moments, func(a, b moment) int {
		first := func(m moment) int {
			if m.write {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(first(a), first(b)),
			cmp.Compare(e.s.Transfers[a.i].Dst, e.s.Transfers[b.i].Dst), cmp.Compare(a.i, b.i))
	})
	reads := make(map[int32]int, len(transfers))
	for n := 0; n < len(moments); {
		m := moments[n]
		if !m.write {
			reads[m.i] = e.read(m.i)
			n++
			continue
		}
		end := n + 1
		for end < len(moments) && moments[end].write && moments[end].at == m.at &&
			e.s.Transfers[moments[end].i].Dst == e.s.Transfers[m.i].Dst {
			end++
		}
		var writers []int32
		for _, w := range moments[n:end] {
			writers = append(writers, w.i)
		}
		e.write(writers, reads)
		n = end
	}
}

// read returns the version that transfer i reads.
func (e *encoder) read(i int32) int {
	t := &e.s.Transfers[i]
	at := e.current[t.Src]
	defined := Truth(false)
	if at >= 0 {
		defined = e.states[at].defined
	}
	if defined != Truth(true) {
		e.wrong(Not(defined), fault{verify.SendUndefined, i, -1, int(t.Src), -1, Term{}})
	}
	return at
}

// write makes the version that the writers, which end at one instant at one slot,
// leave there. A copy among several is a race; which of them is last is left open.
func (e *encoder) write(writers []int32, reads map[int32]int) {
	first := &e.s.Transfers[writers[0]]
	v := version{rank: int(first.Dst), writers: writers, old: e.current[first.Dst], from: first.End}
	zero := version{count: Number(0), defined: Truth(false)}
	old := zero
	if v.old >= 0 {
		old = e.states[v.old]
	}
	count, defined := old.count, old.defined
	for n, i := range writers {
		got := zero
		if at := reads[i]; at >= 0 {
			got = e.states[at]
		}
		v.added = append(v.added, reads[i])
		copies := e.s.Transfers[i].Op == model.Copy
		if n > 0 && (copies || e.s.Transfers[writers[0]].Op == model.Copy) {
			e.Script.Comment("transfers %d and %d write one slot at %v and %v", writers[0], i, e.s.Transfers[writers[0]].End, e.s.Transfers[i].End)
			e.wrong(Eq(Number(int64(e.s.Transfers[writers[0]].End)), Number(int64(e.s.Transfers[i].End))),
				fault{verify.WriteWriteRace, i, writers[0], v.rank, -1, Term{}})
		}
		if copies {
			count, defined = got.count, got.defined
			continue
		}
		if defined != Truth(true) {
			e.wrong(And(got.defined, Not(defined)), fault{verify.ReduceUndefined, i, -1, v.rank, -1, Term{}})
		}
		count = Add(count, got.count)
	}
	e.Script.Comment("rank %d after %s", v.rank, e.name(writers))
	n := len(e.states)
	v.count = e.Script.Define(fmt.Sprintf("c%d", n), count)
	if v.defined = defined; defined != Truth(true) && defined != Truth(false) {
		v.defined = e.Script.Define(fmt.Sprintf("d%d", n), defined)
	}
	e.add(v)
}

func (e *encoder) name(writers []int32) string {
	if len(writers) > 1 {
		return fmt.Sprintf("transfers %v", writers)
	}
	t := &e.s.Transfers[writers[0]]
	return fmt.Sprintf("transfer %d: %v %d->%d", writers[0], t.Op, t.Src, t.Dst)
}

// postcondition states what must be there at the end.
func (e *encoder) postcondition() {
	e.Script.Comment("what each rank must hold at the end")
	for r, want := range e.p.Goal(e.Chunk) {
		at := e.current[r]
		wanted := e.countIn(want)
		if at < 0 {
			e.wrong(Truth(true), fault{verify.MissingContribution, -1, -1, r, -1, wanted})
			continue
		}
		v := e.states[at]
		differs := Not(Eq(v.count, wanted))
		if e.p.Collective.Op.Idempotent() {
			differs = Not(Eq(Lt(Number(0), v.count), Lt(Number(0), wanted)))
		}
		if v.defined != Truth(true) {
			differs = Or(Not(v.defined), differs)
		}
		e.wrong(differs, fault{verify.WrongValue, -1, -1, r, at, wanted})
	}
}
