package operations

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// programs asks package smt about each collective by itself (V1, V3, V4), and in which order it
// combines, where that matters (V9).
func (e *encoder) programs() error {
	asked := map[string]bool{}
	for i := range e.placed {
		x := &e.placed[i]
		if x.program == nil {
			continue
		}
		c := x.problem.Collective
		key := fmt.Sprint(x.Program, c.Kind, c.Root, c.Op, c.Group, x.problem.Size, e.w.Ops[x.Op].Operator, e.w.Ops[x.Op].Chunks)
		if c.Kind == model.Custom {
			key += e.w.Ops[x.Op].ID
		}
		if asked[key] {
			continue
		}
		asked[key] = true
		v := smt.Check(e.ctx, x.problem, x.program, e.backend, smt.Options{Threads: 1})
		for _, w := range v.Violations {
			w.Where = e.w.Ops[x.Op].ID + ": " + w.Where
			e.wrong = append(e.wrong, w)
		}
		switch {
		case v.Outcome == verify.Refuted:
			return nil
		case v.Outcome != verify.Proved:
			return errUndecided(fmt.Sprintf("%s: %s", e.w.Ops[x.Op].ID, v.Reason))
		}
		if o := e.operator(x.Op); !o.Free() && c.Reduces() {
			if err := e.tree(x, o); err != nil || len(e.wrong) > 0 {
				return err
			}
		}
	}
	return nil
}

// joined writes what an operator that is not associative makes of two terms.
func joined(q *question, o wl.Operator, a, b string) string {
	f := q.declare("op_"+letters(o.Name), 2, "Int")
	if o.Commutative {
		return q.define("Int", fmt.Sprintf("(+ (%s %s %s) (%s %s %s))", f, a, b, f, b, a))
	}
	return q.define("Int", fmt.Sprintf("(%s %s %s)", f, a, b))
}

// letters writes any name in letters and digits, different ones differently.
func letters(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%X_", c)
		}
	}
	return b.String()
}

// wanted combines terms along the tree of an operator.
func wanted(q *question, o wl.Operator, tree wl.Tree, of []string) (string, error) {
	if tree == wl.Chain {
		x := of[0]
		for _, y := range of[1:] {
			x = joined(q, o, x, y)
		}
		return x, nil
	}
	if len(of)&(len(of)-1) != 0 {
		return "", errUndecided(fmt.Sprintf("a balanced tree of %d is not defined", len(of)))
	}
	if len(of) == 1 {
		return of[0], nil
	}
	var pairs []string
	for i := 0; i < len(of); i += 2 {
		pairs = append(pairs, joined(q, o, of[i], of[i+1]))
	}
	return wanted(q, o, tree, pairs)
}

// contributions returns the ranks whose contributions a value has, each as often as it has it, in the
// order of the group.
func contributions(members []int, v model.Value) (all []int) {
	for r, n := range v.Terms() {
		all = append(all, slices.Repeat([]int{r}, n)...)
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(slices.Index(members, a), slices.Index(members, b)) })
	return all
}

// tree asks in which order a program combines contributions. Of an operator that is associative
// a slot holds the members from low to before high; of another one, a term.
func (e *encoder) tree(x *placed, o wl.Operator) error {
	members := x.problem.Members()
	name := e.w.Ops[x.Op].ID
	for k := range x.problem.Chunks {
		var transfers []int
		for j := range x.program.Transfers {
			if int(x.program.Transfers[j].Chunk) == k {
				transfers = append(transfers, j)
			}
		}
		type event struct {
			at   model.Time
			read bool
			j    int
		}
		var events []event
		for _, j := range transfers {
			t := &x.program.Transfers[j]
			events = append(events, event{t.Start, true, j}, event{t.End, false, j})
			if t.Op == model.Reduction && !o.Elementwise && len(x.problem.Chunks) > 1 {
				q := &question{}
				q.unless("true", is(verify.WrongTree, name, "transfer %d combines a part of the tensor by %s, whose scalars are those of the whole", j, o.Name))
				return e.ask(q)
			}
		}
		slices.SortFunc(events, func(a, b event) int {
			if a.at != b.at {
				return cmp.Compare(a.at, b.at)
			}
			if a.read != b.read {
				if b.read {
					return -1
				}
				return 1
			}
			return cmp.Compare(a.j, b.j)
		})
		q := &question{}
		if o.Associative && o.Elementwise {
			type row struct{ low, high string }
			held, carried := map[int]row{}, map[int]row{}
			for v := range x.problem.Start(k) {
				i := slices.Index(members, v)
				held[v] = row{fmt.Sprint(i), fmt.Sprint(i + 1)}
			}
			for _, ev := range events {
				t := &x.program.Transfers[ev.j]
				if ev.read {
					carried[ev.j] = held[int(t.Src)]
					continue
				}
				got := carried[ev.j]
				if t.Op == model.Reduction {
					had := held[int(t.Dst)]
					q.unless(fmt.Sprintf("(and (distinct %s %s) (distinct %s %s))", had.high, got.low, got.high, had.low),
						is(verify.WrongTree, name, "transfer %d combines by %s what are no neighbours in the order of the group", ev.j, o.Name))
					got = row{q.define("Int", fmt.Sprintf("(ite (< %s %s) %s %s)", had.low, got.low, had.low, got.low)),
						q.define("Int", fmt.Sprintf("(ite (< %s %s) %s %s)", had.high, got.high, got.high, had.high))}
				}
				held[int(t.Dst)] = got
			}
		} else {
			held, carried := map[int]string{}, map[int]string{}
			for v := range x.problem.Start(k) {
				held[v] = q.declare(fmt.Sprintf("x%d", v), 0, "Int")
			}
			for _, ev := range events {
				t := &x.program.Transfers[ev.j]
				switch {
				case ev.read:
					carried[ev.j] = held[int(t.Src)]
				case t.Op == model.Reduction:
					held[int(t.Dst)] = joined(q, o, held[int(t.Dst)], carried[ev.j])
				default:
					held[int(t.Dst)] = carried[ev.j]
				}
			}
			want := ""
			for v, value := range x.problem.Goal(k) {
				if o.Tree != wl.Same {
					var of []string
					for _, u := range contributions(members, value) {
						of = append(of, q.declare(fmt.Sprintf("x%d", u), 0, "Int"))
					}
					var err error
					if want, err = wanted(q, o, o.Tree, of); err != nil {
						return err
					}
				} else if want == "" {
					want = held[v]
				}
				if held[v] != want {
					q.unless(fmt.Sprintf("(distinct %s %s)", held[v], want), is(verify.WrongTree, name, "chunk %d is combined on rank %d in another order than wanted by %s", k, v, o.Name))
				}
			}
		}
		if err := e.ask(q); err != nil || len(e.wrong) > 0 {
			return err
		}
	}
	return nil
}
