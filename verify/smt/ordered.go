package smt

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// MaxOrder is how many transfers and waits an Ordered schedule may have. Beyond
// it the query about its order is not asked, and the answer is Unknown. 130 000 take
// about 4 seconds, more in proportion.
const MaxOrder = 1_000_000

// phase is a run of accesses to one slot that need no order among each other: reads,
// reductions, or a single copy.
type phase []access

// phases divides the accesses of a chunk to each slot, in the order of the list,
// and returns them by rank, as the ranks come up.
func (e *Encoder) phases(accesses []access) [][]phase {
	place := map[int]int{}
	var slots [][]phase
	for i := range accesses {
		a := &accesses[i]
		c, seen := place[e.rankOf(a)]
		if !seen {
			c = len(slots)
			place[e.rankOf(a)] = c
			slots = append(slots, nil)
		}
		if last := len(slots[c]) - 1; last >= 0 && e.harmless(&slots[c][last][0], a) {
			slots[c][last] = append(slots[c][last], *a)
		} else {
			slots[c] = append(slots[c], phase{*a})
		}
	}
	return slots
}

// harmless reports whether a and b, accesses to one slot, need no order.
func (e *Encoder) harmless(a, b *access) bool {
	if a.write != b.write {
		return false
	}
	return !a.write || e.s.Transfers[a.transfer].Op == model.Reduction && e.s.Transfers[b.transfer].Op == model.Reduction
}

// order is what a goal over the order of events knows about its terms.
type order struct {
	start, end []Bool // by transfer: whether that has happened
}

// happened returns whether the access has taken place.
func (o *order) happened(a *access) Bool {
	if a.write {
		return o.end[a.transfer]
	}
	return o.start[a.transfer]
}

// EncodeOrder returns the query about the order of accesses of an Ordered
// schedule, for all chunks together, or nil where there is nothing to ask: for
// other forms, and if no two accesses need an order. Its unknowns are what
// has happened at some instant of some execution: any set of starts and ends of
// transfers that holds with each start the ends that it waits for, and with each
// end the start. It takes O(transfers + waits) time.
func (e *Encoder) EncodeOrder() *Query { return e.encodeOrder(true) }

func (e *Encoder) encodeOrder(forPeople bool) *Query {
	if e.s.Form != model.Ordered {
		return nil
	}
	q := &Query{Chunk: -1, p: e.p, s: e.s}
	size := len(e.s.Transfers)
	for _, list := range e.s.After {
		size += len(list)
	}
	if size > MaxOrder {
		q.TooLarge = fmt.Sprintf("%d transfers and waits, more than the %d whose order is asked about", size, MaxOrder)
		return q
	}
	g := newGoal("the order of accesses to all slots", &Terms{})
	g.order = &order{make([]Bool, len(e.s.Transfers)), make([]Bool, len(e.s.Transfers))}
	for i := range e.s.Transfers {
		comment := ""
		if forPeople {
			comment = fmt.Sprintf("whether it has begun, and ended: chunk %d's %s", e.s.Transfers[i].Chunk, describe(e.s, int32(i)))
		}
		g.order.start[i] = g.boolVar(indexed("s", i), comment)
		g.order.end[i] = g.boolVar(indexed("e", i), "")
		g.assume = append(g.assume, g.terms.Implies(g.order.end[i], g.order.start[i]))
	}
	for i, list := range e.s.After {
		for _, j := range list {
			g.assume = append(g.assume, g.terms.Implies(g.order.start[i], g.order.end[j]))
		}
	}
	for k := range e.p.Chunks {
		for _, phases := range e.phases(e.accesses(k)) {
			for i := 1; i < len(phases); i++ {
				e.precede(g, phases[i-1], phases[i], forPeople)
			}
		}
	}
	if len(g.obligations) == 0 {
		return nil
	}
	q.Goals = []*Goal{g}
	return q
}

// precede states that every access of a comes before every one of b: it never is
// the case that one of b has happened and one of a has not.
func (e *Encoder) precede(g *Goal, a, b phase, forPeople bool) {
	before, after := make([]Bool, len(a)), make([]Bool, len(b))
	for i := range a {
		before[i] = g.terms.Not(g.order.happened(&a[i]))
	}
	for i := range b {
		after[i] = g.order.happened(&b[i])
	}
	o := obligation{broken: g.terms.And(g.terms.Or(after...), g.terms.Or(before...)), kind: inOrder, phases: [2]phase{a, b}}
	if len(a) == 1 && len(b) == 1 {
		o.assuming = fmt.Sprintf("%s (not %s)", b[0].event(), a[0].event())
	} else {
		n := len(g.obligations)
		later, earlier := g.boolVar(indexed("y", n), ""), g.boolVar(indexed("x", n), "")
		g.assume = append(g.assume, g.terms.Implies(later, g.terms.Or(after...)), g.terms.Implies(earlier, g.terms.Or(before...)))
		o.assuming = indexed("y", n) + " " + indexed("x", n)
	}
	words := ""
	if forPeople {
		words = fmt.Sprintf("chunk %d of rank %d: no %s by %s before the %s by %s is over",
			e.s.Transfers[a[0].transfer].Chunk, e.rankOf(&a[0]), b[0].verb(), b.names(), a[0].verb(), a.names())
	}
	g.must(o, words)
}

// event returns the name of the unknown that reports whether the access has happened.
func (a *access) event() string {
	if a.write {
		return indexed("e", int(a.transfer))
	}
	return indexed("s", int(a.transfer))
}

// names lists the transfers of a phase: "transfers 3, 5, 6".
func (p phase) names() string {
	text := "transfer"
	if len(p) > 1 {
		text = "transfers"
	}
	for i := range p {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %d", p[i].transfer)
	}
	return text
}
