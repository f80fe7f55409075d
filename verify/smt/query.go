package smt

import (
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Query is a part of the claim as goals, each of which a solver decides by itself:
// what concerns the contributions to one chunk, or, for Ordered schedules, the order
// of events. It is proved if every goal is.
type Query struct {
	Chunk int // or -1: the order of events in all chunks
	Goals []*Goal
	// TooLarge, if not empty, explains why the query leaves a part of the claim open:
	// even if all goals are proved, it is not.
	TooLarge string

	p    *model.Problem
	s    *model.Schedule
	rank []int32 // by number: the rank that the query calls so
}

// Goal is one statement: under assumptions, none of its obligations is broken. It
// is proved if the assumptions are satisfiable and become unsatisfiable together
// with the negated claim. A goal over contributions has no assumptions, and one
// negated claim, that some obligation is broken; a goal over the order has a
// negated claim, as a case, for each obligation, which is quicker there.
type Goal struct {
	Title string // what unsat establishes, in words

	terms       *Terms
	unknowns    []string // the variables, in order of declaration
	assume      []Bool
	obligations []obligation
	refute      Bool   // goals over contributions: some obligation is broken
	data        *data  // goals over contributions
	order       *order // goals over the order of events
}

// obligation is something that must hold, with the condition that breaks it.
type obligation struct {
	broken   Bool
	kind     kind
	transfer int32
	other    int32        // orders: the transfer of the other access
	rank     int32        // the number of the rank whose slot is concerned
	version  int32        // ends: index into data.versions, or -1
	want     *model.Value // ends
	phases   [2]phase     // orders of an Ordered schedule: these instead of two transfers
	assuming string       // the same: literals that say that it is broken
	words    string       // for people: when it is broken
}

// kind states what an obligation is about.
type kind uint8

const (
	sourceDefined kind = iota // the transfer reads a defined slot
	targetDefined             // the transfer reduces into a defined slot
	inOrder                   // other's access comes before that of transfer
	endsRight                 // the rank ends with what is wanted
)

// newGoal makes a goal over the table's terms.
func newGoal(title string, t *Terms) *Goal { return &Goal{Title: title, terms: t} }

func (g *Goal) intVar(name, comment string) Int {
	g.unknowns = append(g.unknowns, name)
	return g.terms.IntVar(name, comment)
}

func (g *Goal) boolVar(name, comment string) Bool {
	g.unknowns = append(g.unknowns, name)
	return g.terms.BoolVar(name, comment)
}

// must adds an obligation. With words, which say when it is broken, it gets a name
// and them as its comment, unless it is to be assumed broken by itself.
func (g *Goal) must(o obligation, words string) {
	if o.words = words; words != "" && o.assuming == "" {
		o.broken = g.terms.NameBool(indexed("o", len(g.obligations)), words, o.broken)
	}
	g.obligations = append(g.obligations, o)
}

// close states the negated claim as one: some obligation is broken.
func (g *Goal) close() *Goal {
	broken := make([]Bool, len(g.obligations))
	for i, o := range g.obligations {
		broken[i] = o.broken
	}
	g.refute = g.terms.Or(broken...)
	return g
}

// Assumes reports whether the goal has assumptions. Without any it consists of
// definitions and the negated claim, and cannot be vacuous.
func (g *Goal) Assumes() bool { return len(g.assume) > 0 }

// Question returns the question whose answer Unsat proves the goal, if its
// assumptions are satisfiable.
func (g *Goal) Question() Question {
	q := Question{Constants: g.unknowns}
	w := newText(g.terms, false, g.roots()...)
	w.declarations()
	for _, a := range g.assume {
		w.assert(a)
	}
	if g.refute.of != nil {
		w.assert(g.refute)
	}
	q.Script = w.String()
	if g.order != nil {
		q.Cases = make([]string, len(g.obligations))
		for i, o := range g.obligations {
			q.Cases[i] = o.assuming
		}
	}
	return q
}

// Assumptions returns the question whose answer Sat says that the assumptions do
// not contradict each other.
func (g *Goal) Assumptions() Question {
	w := newText(g.terms, false, g.roots()...)
	w.declarations()
	for _, a := range g.assume {
		w.assert(a)
	}
	return Question{Script: w.String()}
}

// roots returns the terms that are asserted.
func (g *Goal) roots() []Bool {
	roots := g.assume[:len(g.assume):len(g.assume)]
	if g.refute.of != nil {
		roots = append(roots, g.refute)
	}
	return roots
}

// annotated returns the goal for people: in a scope of its own, with comments.
func (g *Goal) annotated() string {
	w := newText(g.terms, true, g.roots()...)
	w.words(g.Title)
	w.put("(push 1)\n")
	w.declarations()
	if g.Assumes() {
		w.words("assumed:")
		for _, a := range g.assume {
			w.assert(a)
		}
		w.words("the assumptions do not contradict each other: expect sat")
		w.put("(check-sat)\n")
	}
	if g.refute.of != nil {
		w.words("the negated claim, that some obligation is broken: expect unsat")
		w.assert(g.refute)
		w.put("(check-sat)\n")
	}
	for _, o := range g.obligations {
		if o.assuming != "" {
			w.words(o.words + ": expect unsat")
			w.put("(check-sat-assuming (", o.assuming, "))\n")
		}
	}
	w.put("(pop 1)\n")
	return w.String()
}

// refutation checks the solver's model and returns states, or an error if
// it does not break any obligation, or not that of the case.
func (q *Query) refutation(g *Goal, answer Answer) ([]verify.Violation, error) {
	v, err := g.terms.evaluate(answer.Values, nil)
	if err != nil {
		return nil, fmt.Errorf("the solver's model: %w", err)
	}
	for _, x := range g.assume {
		if !v.truth(x) {
			return nil, fmt.Errorf("the solver's model breaks an assumption of %q", g.Title)
		}
	}
	claim := g.refute
	if g.order != nil && answer.Case < len(g.obligations) {
		claim = g.obligations[answer.Case].broken
	}
	if claim.of == nil || !v.truth(claim) {
		return nil, fmt.Errorf("the solver's model does not break %q", g.Title)
	}
	list, err := q.explain(g, v)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("the solver's model breaks %q without a violation", g.Title)
	}
	return list, err
}

// describe returns what transfer i is, for comments: "transfer 7: reduce, rank 2
// to rank 3, from 0s to 83.886us".
func describe(s *model.Schedule, i int32) string {
	t := &s.Transfers[i]
	var when strings.Builder
	switch s.Form {
	case model.Timed:
		fmt.Fprintf(&when, ", from %v to %v", t.Start, t.End)
	case model.InRounds:
		fmt.Fprintf(&when, ", in round %d", int64(t.Start))
	}
	return fmt.Sprintf("transfer %d: %v, rank %d to rank %d%s", i, t.Op, t.Src, t.Dst, when.String())
}
