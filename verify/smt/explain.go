package smt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/oraccl/oraccl/verify"
)

// explain returns what is broken in a goal that the solver's model refutes, v
// being the goal's terms under that model. It says more than the model does: all
// slots that end wrong, with all that they hold, from the goal's own terms.
func (q *Query) explain(g *Goal, v *values) ([]verify.Violation, error) {
	if g.order != nil {
		return q.unordered(g, v), nil
	}
	var list, races []verify.Violation
	for _, o := range g.obligations {
		if len(list) == verify.MaxViolations || len(races) == verify.MaxViolations {
			break
		}
		if o.kind == endsRight || !v.truth(o.broken) {
			continue
		}
		switch rank := q.rank[o.rank]; o.kind {
		case sourceDefined:
			list = append(list, q.undefined(verify.SendUndefined, &o,
				fmt.Sprintf("sends chunk %d from rank %d, which holds nothing of it then (%s), want it to have arrived before", q.Chunk, rank, short(q.s, o.transfer))))
		case targetDefined:
			list = append(list, q.undefined(verify.ReduceUndefined, &o,
				fmt.Sprintf("reduces into chunk %d of rank %d, which holds nothing of it then (%s), want a copy or an earlier value", q.Chunk, rank, short(q.s, o.transfer))))
		case inOrder:
			a, b := &q.s.Transfers[o.other], &q.s.Transfers[o.transfer]
			if a.Dst != b.Dst || a.End != b.End {
				return nil, fmt.Errorf("transfers %d and %d are out of order in the query, which is a fault of the encoder", o.other, o.transfer)
			}
			races = append(races, q.race(verify.WriteWriteRace, int(rank), o.other, o.transfer, "both write it at the same instant and not both reduce"))
		}
	}
	if len(races) > 0 { // the values are open then
		return races, nil
	}
	return q.ends(g, list)
}

// undefined is the violation of an obligation that something is defined.
func (q *Query) undefined(code verify.Code, o *obligation, message string) verify.Violation {
	return verify.Wrong(code, fmt.Sprintf("transfer %d", o.transfer), message).AtTransfer(int(o.transfer)).AtSlot(int(q.rank[o.rank]), q.Chunk)
}

// race says that transfers x and y, in this order, are at odds over their chunk at
// a rank.
func (q *Query) race(code verify.Code, rank int, x, y int32, what string) verify.Violation {
	chunk := int(q.s.Transfers[y].Chunk)
	message := fmt.Sprintf("transfer %d (%s) and transfer %d (%s) %s", x, short(q.s, x), y, short(q.s, y), what)
	return verify.Wrong(code, fmt.Sprintf("rank %d, chunk %d", rank, chunk), message).AtTransfer(int(y)).AtSlot(rank, chunk)
}

// unordered returns the races that the solver's instant shows: accesses that have
// happened while others that should come before them have not.
func (q *Query) unordered(g *Goal, v *values) []verify.Violation {
	var list []verify.Violation
	for _, o := range g.obligations {
		for _, x := range o.phases[0] {
			for _, y := range o.phases[1] {
				if len(list) == verify.MaxViolations || v.truth(g.order.happened(&x)) || !v.truth(g.order.happened(&y)) {
					continue
				}
				code, what := verify.WriteWriteRace, "both write it, not both reduce, and neither waits for the other"
				if !x.write || !y.write {
					code, what = verify.ReadWriteRace, fmt.Sprintf("%s and %s it, and neither waits for the other", x.verb(), y.verb())
				}
				rank := q.s.Transfers[y.transfer].Src
				if y.write {
					rank = q.s.Transfers[y.transfer].Dst
				}
				list = append(list, q.race(code, int(rank), x.transfer, y.transfer, what))
			}
		}
	}
	return list
}

// ends appends to list the slots that end wrong, by rank, until there are
// MaxViolations.
func (q *Query) ends(g *Goal, list []verify.Violation) ([]verify.Violation, error) {
	t := newTracer(q, g)
	wrong := map[int]bool{}
	err := t.units(func(_ int, v *values) {
		for i, o := range g.obligations {
			if o.kind == endsRight && v.truth(o.broken) {
				wrong[i] = true
			}
		}
	})
	if err != nil {
		return nil, err
	}
	byRank := slices.SortedFunc(maps.Keys(wrong), func(i, j int) int {
		return cmp.Compare(q.rank[g.obligations[i].rank], q.rank[g.obligations[j].rank])
	})
	states := make([]*ending, 0, verify.MaxViolations)
	for _, i := range byRank[:min(len(byRank), verify.MaxViolations-len(list))] {
		states = append(states, t.newEnding(&g.obligations[i]))
	}
	err = t.units(func(c int, v *values) {
		for _, e := range states {
			e.look(c, v)
		}
	})
	for _, e := range states {
		violation, fault := e.violation()
		err = cmp.Or(err, fault)
		list = append(list, violation)
	}
	return list, err
}
