package smt

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// data is what a goal over contributions knows about its terms, beside them.
type data struct {
	versions []version
	inputs   []string // by number: the name of the rank's contribution, or ""
}

// version is what a slot holds from one write to the next. Its value is an Int,
// or for idempotent operators a Bool; the other one is unused.
type version struct {
	sum      Int
	set      Bool
	defined  Bool
	rank     int32
	before   int32 // the version of the slot that the write found, or -1
	read     int32 // the version that the transfer had read, or -1
	transfer int32 // that wrote it, or -1: the precondition
}

// slot is the present state of a rank's slot while a goal is built.
type slot struct {
	version int32 // index into data.versions, or -1: undefined from the start
	writes  int
	last    *access // Timed and InRounds
}

// flow builds the goal over contributions of one chunk.
type flow struct {
	*Encoder
	*Goal
	q          *Query
	n          numbering
	idempotent bool
	forPeople  bool
	from       model.Time // of the first access
	slots      []slot     // by number
	input      []ref      // by number, of the contribution
}

// dataGoal states that no transfer touches an undefined slot, that no outcome
// depends on the order of simultaneous accesses, and that every slot with a goal
// ends with what is wanted.
func (e *Encoder) dataGoal(q *Query, told telling, n numbering, terms *Terms, forPeople bool) *Goal {
	accesses := told.accesses
	f := &flow{Encoder: e, q: q, n: n, forPeople: forPeople, idempotent: e.p.Collective.Op.Idempotent(),
		Goal:  newGoal(fmt.Sprintf("chunk %d: the values that it takes", q.Chunk), terms),
		slots: make([]slot, len(q.rank)), input: make([]ref, len(q.rank))}
	f.data = &data{inputs: make([]string, len(q.rank)), versions: make([]version, 0, len(accesses)/2+len(q.rank))}
	f.obligations = make([]obligation, 0, 2*len(accesses)+len(q.rank))
	for i := range f.slots {
		f.slots[i].version = -1
	}
	if len(accesses) > 0 {
		f.from = accesses[0].at
	}
	f.inputs()
	f.precondition()
	for c, list := range told.slots {
		for i := range list {
			f.ordered(&f.slots[c], &list[i])
		}
	}
	captured := make([]int32, len(e.transfers[q.Chunk])) // by place
	for i := range accesses {
		a := &accesses[i]
		if told.slots == nil {
			f.ordered(&f.slots[n.of(f.rankOf(a))], a)
		}
		if a.write {
			f.write(a.transfer, captured[a.place])
		} else {
			captured[a.place] = f.read(a.transfer)
		}
	}
	f.postcondition()
	return f.close()
}

// inputs declares the contributions that occur in the pre- or postcondition.
func (f *flow) inputs() {
	occurs := make([]bool, len(f.q.rank))
	for _, v := range f.p.Start(f.q.Chunk) {
		for j := range v.Terms() {
			occurs[f.n.of(j)] = true
		}
	}
	var last model.Value
	for _, v := range f.p.Goal(f.q.Chunk) {
		if model.Identical(v, last) {
			continue
		}
		for j := range v.Terms() {
			occurs[f.n.of(j)] = true
		}
		last = v
	}
	for c, is := range occurs {
		if !is {
			continue
		}
		name := indexed("x", c)
		comment := f.comment(func() string { return fmt.Sprintf("rank %d's contribution", f.q.rank[c]) })
		f.data.inputs[c] = name
		if f.idempotent {
			f.input[c] = f.boolVar(name, comment).ref
		} else {
			f.input[c] = f.intVar(name, comment).ref
		}
	}
}

// comment returns the text, if it is for people.
func (f *flow) comment(text func() string) string {
	if f.forPeople {
		return text()
	}
	return ""
}

// value returns the term of a multiset.
func (f *flow) value(v model.Value) (sum Int, set Bool) {
	terms := make([]model.Term, 0, v.Len()) // Rank holds the number
	for j, count := range v.Terms() {
		terms = append(terms, model.Term{Rank: int(f.n.of(j)), Count: count})
	}
	slices.SortFunc(terms, func(a, b model.Term) int { return cmp.Compare(a.Rank, b.Rank) })
	var ints []Int
	var bools []Bool
	for _, t := range terms {
		switch x := f.input[t.Rank]; {
		case f.idempotent:
			bools = append(bools, Bool{x})
		case t.Count == 1:
			ints = append(ints, Int{x})
		default:
			ints = append(ints, f.terms.Scale(int64(t.Count), Int{x}))
		}
	}
	if f.idempotent {
		return Int{}, f.terms.Or(bools...)
	}
	return f.terms.Add(ints...), Bool{}
}

// condition is what is at a rank at the start, or wanted at the end.
type condition struct {
	c int32 // the number of the rank
	v model.Value
}

// conditions returns a pre- or postcondition, in order of the ranks' numbers.
func conditions(all iter.Seq2[int, model.Value], n numbering) (list []condition) {
	for r, v := range all {
		list = append(list, condition{n.of(r), v})
	}
	slices.SortFunc(list, func(a, b condition) int { return cmp.Compare(a.c, b.c) })
	return list
}

// precondition makes the first versions, in order of the ranks' numbers.
func (f *flow) precondition() {
	for _, s := range conditions(f.p.Start(f.q.Chunk), f.n) {
		v := version{rank: s.c, before: -1, read: -1, transfer: -1, defined: f.terms.Truth(true)}
		v.sum, v.set = f.value(s.v)
		f.define(v, f.comment(func() string {
			return fmt.Sprintf("rank %d at the start; whether that is defined", f.q.rank[s.c])
		}))
	}
}

// define makes v what its slot holds. It names its terms: for people all of them, otherwise only those that
// are no names or constants themselves, as solvers take most of their time to read definitions.
func (f *flow) define(v version, comment string) {
	s := &f.slots[v.rank]
	switch {
	case f.idempotent && f.named(v.set.ref):
		v.set = f.terms.NameBool(indexed("v", int(v.rank), s.writes), comment, v.set)
	case !f.idempotent && f.named(v.sum.ref):
		v.sum = f.terms.NameInt(indexed("v", int(v.rank), s.writes), comment, v.sum)
	}
	if f.named(v.defined.ref) {
		v.defined = f.terms.NameBool(indexed("d", int(v.rank), s.writes), "", v.defined)
	}
	s.writes++
	s.version = int32(len(f.data.versions))
	f.data.versions = append(f.data.versions, v)
}

// named reports whether a term gets a name.
func (f *flow) named(x ref) bool { return f.forPeople || f.terms.nodes[x.id].op.compound() }

// at returns version i; the one before all others is empty and undefined.
func (f *flow) at(i int32) version {
	if i >= 0 {
		return f.data.versions[i]
	}
	v := version{defined: f.terms.Truth(false)}
	v.sum, v.set = f.value(model.Value{})
	return v
}

// read returns the version that transfer i reads, which must be defined.
func (f *flow) read(i int32) int32 {
	c := f.n.of(int(f.s.Transfers[i].Src))
	seen := f.slots[c].version
	f.must(obligation{broken: f.terms.Not(f.at(seen).defined), kind: sourceDefined, transfer: i, rank: c}, f.comment(func() string {
		return fmt.Sprintf("broken if rank %d is undefined when it is read by %s", f.s.Transfers[i].Src, describe(f.s, i))
	}))
	return seen
}

// write makes the version that transfer i leaves, having read another one.
func (f *flow) write(i, read int32) {
	t := &f.s.Transfers[i]
	c := f.n.of(int(t.Dst))
	before := f.slots[c].version
	got, v := f.at(read), version{rank: c, before: before, read: read, transfer: i}
	if t.Op == model.Copy {
		v.sum, v.set, v.defined = got.sum, got.set, got.defined
	} else {
		old := f.at(before)
		f.must(obligation{broken: f.terms.Not(old.defined), kind: targetDefined, transfer: i, rank: c}, f.comment(func() string {
			return fmt.Sprintf("broken if rank %d is undefined when it is added to by %s", t.Dst, describe(f.s, i))
		}))
		if f.idempotent {
			v.set = f.terms.Or(old.set, got.set)
		} else {
			v.sum = f.terms.Add(old.sum, got.sum)
		}
		v.defined = old.defined // what undefined input does is of no account: it refutes
	}
	f.define(v, f.comment(func() string {
		return fmt.Sprintf("rank %d after %s", t.Dst, describe(f.s, i))
	}))
}

// ordered states that the access before a on the same slot does come before it by
// the schedule's times. For an Ordered schedule EncodeOrder does that.
func (f *flow) ordered(s *slot, a *access) {
	if f.s.Form == model.Ordered {
		return
	}
	if b := s.last; b != nil {
		now, then := f.terms.Num(f.moment(a)), f.terms.Num(f.moment(b))
		commute := f.s.Transfers[a.transfer].Op == model.Reduction && f.s.Transfers[b.transfer].Op == model.Reduction
		// A read sees what ended when it starts. A write must leave no doubt
		// what reads and other writes found, but reductions commute.
		broken := f.terms.Lt(now, then)
		if a.write && !(b.write && commute) {
			broken = f.terms.Le(now, then)
		}
		f.must(obligation{broken: broken, kind: inOrder, transfer: a.transfer, other: b.transfer, rank: f.n.of(f.rankOf(a))}, f.comment(func() string {
			return fmt.Sprintf("broken if the %s of rank %d by transfer %d does not come after the %s by transfer %d", a.verb(), f.rankOf(a), a.transfer, b.verb(), b.transfer)
		}))
	}
	s.last = a
}

// moment returns the number that stands for the time of an access: that of its instant, or, for people, the time since the first access.
func (f *flow) moment(a *access) int64 {
	if f.forPeople {
		return int64(a.at - f.from)
	}
	return int64(a.instant)
}

// rankOf returns the rank whose slot an access concerns.
func (e *Encoder) rankOf(a *access) int {
	if t := &e.s.Transfers[a.transfer]; a.write {
		return int(t.Dst)
	} else {
		return int(t.Src)
	}
}

// postcondition states what must be there at the end, in order of the ranks'
// numbers.
func (f *flow) postcondition() {
	var last model.Value
	var sum Int
	var set Bool
	wanted := 0
	for _, g := range conditions(f.p.Goal(f.q.Chunk), f.n) {
		if wanted == 0 || !model.Identical(g.v, last) {
			sum, set = f.value(g.v)
			comment := f.comment(func() string {
				return fmt.Sprintf("wanted at the end by rank %d, and by all up to the next such line", f.q.rank[g.c])
			})
			if f.idempotent {
				set = f.terms.NameBool(indexed("w", wanted), comment, set)
			} else {
				sum = f.terms.NameInt(indexed("w", wanted), comment, sum)
			}
			last = g.v
			wanted++
		}
		at := f.slots[g.c].version
		v := f.at(at)
		var differs Bool
		if f.idempotent {
			differs = f.terms.Xor(v.set, set)
		} else {
			differs = f.terms.Distinct(v.sum, sum)
		}
		value := g.v
		f.must(obligation{broken: f.terms.Or(f.terms.Not(v.defined), differs), kind: endsRight, transfer: -1, rank: g.c, version: at, want: &value}, f.comment(func() string {
			return fmt.Sprintf("broken if rank %d ends undefined or with anything but what it must have", f.q.rank[g.c])
		}))
	}
}
