package smt

import (
	"fmt"
	"math/big"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// tracer finds out what slots hold, and why, by evaluating a goal over
// contributions for one contribution at a time.
type tracer struct {
	q      *Query
	p      *model.Problem
	s      *model.Schedule
	g      *Goal
	data   *data
	values values
}

func newTracer(q *Query, g *Goal) *tracer {
	return &tracer{q: q, p: q.p, s: q.s, g: g, data: g.data}
}

// units calls f with the number of each contribution and the goal's values where
// that one is 1 and all others are 0. A value is then the contribution's count, by
// linearity. It takes O(contributions · terms) time.
func (t *tracer) units(f func(c int, v *values)) error {
	zero, one := new(big.Int), big.NewInt(1)
	a := Assignment{}
	for _, name := range t.g.unknowns {
		a[name] = zero
	}
	none := true
	for c, name := range t.data.inputs {
		if name == "" {
			continue
		}
		none = false
		a[name] = one
		v, err := t.g.terms.evaluate(a, &t.values)
		if err != nil {
			return err
		}
		f(c, v)
		a[name] = zero
	}
	if none { // the slot's state may still be wrong
		v, err := t.g.terms.evaluate(a, &t.values)
		if err != nil {
			return err
		}
		f(-1, v)
	}
	return nil
}

// count returns how often version i holds the contribution of v.
func (t *tracer) count(v *values, i int32) *big.Int {
	if i < 0 {
		return new(big.Int)
	}
	if ver := &t.data.versions[i]; ver.sum.of != nil {
		return v.number(ver.sum.id)
	} else {
		return v.number(ver.set.id)
	}
}

// ending is what a slot with a goal ends with, and what is wrong with that.
type ending struct {
	*tracer
	*obligation
	wanted, ends multiset
	undefined    bool
	fault
}

// fault is what is wrong with how often a slot holds a contribution.
type fault struct {
	code verify.Code
	at   int32 // the transfer, or -1
	why  string
}

// gravity decides which of several faults a violation is named after.
var gravity = map[verify.Code]int{verify.MissingContribution: 3, verify.DoubleContribution: 2, verify.WrongValue: 1}

func (t *tracer) newEnding(o *obligation) *ending {
	e := &ending{tracer: t, obligation: o, wanted: multiset{}, ends: multiset{}, undefined: o.version < 0}
	for j, n := range o.want.Terms() {
		if e.wanted[j] = big.NewInt(int64(n)); t.p.Collective.Op.Idempotent() {
			e.wanted[j] = big.NewInt(1)
		}
	}
	return e
}

// look takes note of how often the slot holds the contribution that is 1 in v.
func (e *ending) look(c int, v *values) {
	e.undefined = e.undefined || !v.truth(e.data.versions[e.version].defined)
	if c < 0 || e.undefined {
		return
	}
	j := int(e.q.rank[c])
	n, want := new(big.Int).Set(e.count(v, e.version)), e.wanted[j]
	if n.Sign() != 0 {
		e.ends[j] = n
	}
	if want == nil {
		want = new(big.Int)
	}
	if f := e.judge(v, e.version, j, n, want); gravity[f.code] > gravity[e.code] {
		e.fault = f
	}
}

// violation states what is wrong, or returns an error if nothing is.
func (e *ending) violation() (verify.Violation, error) {
	rank := int(e.q.rank[e.rank])
	wrong := func(code verify.Code, message string) verify.Violation {
		return verify.Wrong(code, fmt.Sprintf("rank %d, chunk %d", rank, e.q.Chunk), message).AtSlot(rank, e.q.Chunk)
	}
	switch {
	case e.undefined:
		return wrong(verify.MissingContribution, fmt.Sprintf("ends undefined, want %v", e.wanted)), nil
	case e.code == "":
		return verify.Violation{}, fmt.Errorf("rank %d ends chunk %d with %v, which is what is wanted, where the query says otherwise", rank, e.q.Chunk, e.ends)
	}
	return wrong(e.code, fmt.Sprintf("ends with %v, want %v: %s", e.ends, e.wanted, e.why)).AtTransfer(int(e.at)), nil
}

// judge compares how often version i holds rank j's contribution, n times, with
// how often it should, and finds the transfer at which it went wrong.
func (t *tracer) judge(v *values, i int32, j int, n, want *big.Int) fault {
	switch {
	case n.Cmp(want) == 0:
		return fault{}
	case n.Cmp(want) < 0:
		if at := t.lost(v, i, want); at >= 0 {
			return fault{verify.MissingContribution, at, fmt.Sprintf("x%d is overwritten by transfer %d (%s)", j, at, short(t.s, at))}
		}
		if n.Sign() == 0 {
			return fault{verify.MissingContribution, -1, fmt.Sprintf("x%d never arrives", j)}
		}
		return fault{verify.MissingContribution, -1, fmt.Sprintf("x%d never arrives %v times", j, want)}
	case want.Sign() == 0:
		if at := t.brought(v, i); at >= 0 {
			return fault{verify.WrongValue, at, fmt.Sprintf("x%d comes with transfer %d (%s)", j, at, short(t.s, at))}
		}
		return fault{verify.WrongValue, -1, fmt.Sprintf("x%d is there from the start", j)}
	}
	if at := t.doubled(v, i, want); at >= 0 {
		return fault{verify.DoubleContribution, at, fmt.Sprintf("x%d is added again by transfer %d (%s)", j, at, short(t.s, at))}
	}
	return fault{verify.DoubleContribution, -1, fmt.Sprintf("x%d is there too often from the start", j)}
}

// lost returns the transfer after which the slot of version i no longer held
// enough, or -1 if it never did.
func (t *tracer) lost(v *values, i int32, want *big.Int) int32 {
	for ; i >= 0; i = t.data.versions[i].before {
		if t.count(v, t.data.versions[i].before).Cmp(want) >= 0 {
			return t.data.versions[i].transfer
		}
	}
	return -1
}

// brought returns the transfer by which the slot of version i came to hold the
// contribution that it still does, or -1 for the precondition.
func (t *tracer) brought(v *values, i int32) int32 {
	for t.count(v, t.data.versions[i].before).Sign() > 0 {
		i = t.data.versions[i].before
	}
	return t.data.versions[i].transfer
}

// doubled follows version i back, through copies too, to the reduction that added
// what exceeds want, or returns -1 for the precondition.
func (t *tracer) doubled(v *values, i int32, want *big.Int) int32 {
	for i >= 0 && t.data.versions[i].transfer >= 0 {
		switch ver := &t.data.versions[i]; {
		case t.count(v, ver.read).Cmp(want) > 0:
			i = ver.read
		case t.s.Transfers[ver.transfer].Op == model.Reduction && t.count(v, ver.before).Cmp(want) > 0:
			i = ver.before
		default:
			return ver.transfer
		}
	}
	return -1
}
