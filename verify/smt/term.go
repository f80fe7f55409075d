package smt

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// Sort is the type of a term.
type Sort uint8

// The sorts in use.
const (
	Bool Sort = iota
	Int
)

func (s Sort) String() string {
	if s == Bool {
		return "Bool"
	}
	return "Int"
}

// Term is a node of a formula. Terms are made by a Script's methods, which insist
// on the right sorts, so that no ill-sorted term can be written. The zero Term is
// not one.
type Term struct {
	sort Sort
	text string // an atom: a name or a literal
}

// Script is an SMT-LIB 2 script under construction: declarations, definitions
// and assertions, in the order in which they are made. Terms of any size stay
// linear in the script, because every compound one is defined under a name.
type Script struct {
	lines []string
}

// Comment adds a line of words.
func (s *Script) Comment(format string, args ...any) {
	s.lines = append(s.lines, "; "+fmt.Sprintf(format, args...))
}

// Declare introduces an unknown.
func (s *Script) Declare(name string, sort Sort) Term {
	s.lines = append(s.lines, fmt.Sprintf("(declare-const %s %v)", name, sort))
	return Term{sort, name}
}

// Number returns an integer literal.
func Number(n int64) Term {
	if n < 0 {
		return Term{Int, "(- " + strconv.FormatUint(uint64(-n), 10) + ")"}
	}
	return Term{Int, strconv.FormatInt(n, 10)}
}

// Truth returns a Boolean literal.
func Truth(b bool) Term { return Term{Bool, strconv.FormatBool(b)} }

// Define introduces an unknown that equals t, and returns it. The solver, not
// this program, works out what that is.
func (s *Script) Define(name string, t Term) Term {
	v := s.Declare(name, t.sort)
	s.Assert(Eq(v, t))
	return v
}

// Assert adds an assertion.
func (s *Script) Assert(t Term) {
	must(t, Bool)
	s.lines = append(s.lines, "(assert "+t.text+")")
}

// Write writes the script so far.
func (s *Script) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, l := range s.lines {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return b.Flush()
}

func must(t Term, sort Sort) {
	if t.text == "" || t.sort != sort {
		panic(fmt.Sprintf("term %q of sort %v where %v is wanted", t.text, t.sort, sort))
	}
}

func apply(sort, of Sort, name string, args ...Term) Term {
	text := "(" + name
	for _, a := range args {
		must(a, of)
		text += " " + a.text
	}
	return Term{sort, text + ")"}
}

// Eq states that two terms of one sort are equal.
func Eq(a, b Term) Term { return apply(Bool, a.sort, "=", a, b) }

// Add is the sum of two integers.
func Add(a, b Term) Term { return apply(Int, Int, "+", a, b) }

// Le states a <= b.
func Le(a, b Term) Term { return apply(Bool, Int, "<=", a, b) }

// Lt states a < b.
func Lt(a, b Term) Term { return apply(Bool, Int, "<", a, b) }

// Not negates.
func Not(a Term) Term { return apply(Bool, Bool, "not", a) }

// Or is true if one of its terms is; of none it is false.
func Or(terms ...Term) Term {
	if len(terms) == 0 {
		return Truth(false)
	}
	return join("or", terms)
}

// And is true if all of its terms are; of none it is true.
func And(terms ...Term) Term {
	if len(terms) == 0 {
		return Truth(true)
	}
	return join("and", terms)
}

func join(name string, terms []Term) Term {
	b := make([]byte, 0, 16*len(terms))
	b = append(append(b, '('), name...)
	for _, t := range terms {
		must(t, Bool)
		b = append(append(b, ' '), t.text...)
	}
	return Term{Bool, string(append(b, ')'))}
}

// Ite is a where the condition holds, and b elsewhere.
func Ite(condition, a, b Term) Term {
	must(condition, Bool)
	must(b, a.sort)
	return Term{a.sort, "(ite " + condition.text + " " + a.text + " " + b.text + ")"}
}
