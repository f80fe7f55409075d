package smt

import (
	"context"
	"fmt"
	"math/big"
	"strings"
)

// Status is a solver's answer to a (check-sat). Its zero value is Undecided.
type Status uint8

// The answers.
const (
	Undecided Status = iota
	Sat
	Unsat
)

// String returns the word that solvers print: "unknown", "sat" or "unsat".
func (s Status) String() string {
	switch s {
	case Sat:
		return "sat"
	case Unsat:
		return "unsat"
	}
	return "unknown"
}

// ParseStatus reads what a solver prints after one (check-sat), or returns an
// error for anything else.
func ParseStatus(text string) (Status, error) {
	switch strings.TrimSpace(text) {
	case "sat":
		return Sat, nil
	case "unsat":
		return Unsat, nil
	case "unknown":
		return Undecided, nil
	}
	return Undecided, fmt.Errorf("the solver printed %q, want sat, unsat or unknown", text)
}

// Question is what a solver is asked: whether a script is satisfiable, as it stands
// or in cases.
type Question struct {
	Script string // declarations, definitions and assertions, nothing else
	// Cases, if there are any, are lists of literals, "e5 (not s3)", each of which
	// is assumed to be true in turn.
	Cases     []string
	Constants []string // whose values are wanted if the answer is Sat
}

// Answer is what a solver says.
type Answer struct {
	// Status is Unsat if the script is unsatisfiable, in every case.
	Status Status
	Case   int        // Sat or Undecided: the first case that is not unsatisfiable
	Values Assignment // Sat: of the constants, in that case
	Reason string     // Undecided: why
}

// Backend is a solver.
type Backend interface {
	// Name returns the solver and its version: "z3 4.8.12".
	Name() string

	// Solve answers a question from a clean state. If ctx is done first, the answer
	// is Undecided, with the reason. An error means that the solver did not
	// understand or failed. Solve may be called from several goroutines at once.
	Solve(ctx context.Context, q Question) (Answer, error)
}

// ParseValues reads what a solver prints for (get-value (names)) of constants of
// the sorts Int and Bool.
func ParseValues(text string, names []string) (Assignment, error) {
	r := &tokens{text: text}
	a := make(Assignment, len(names))
	r.want("(")
	for _, name := range names {
		r.want("(")
		r.want(name)
		a[name] = r.value()
		r.want(")")
	}
	r.want(")")
	if r.err == nil && r.next() != "" {
		r.err = fmt.Errorf("more than %d values", len(names))
	}
	if r.err != nil {
		return nil, fmt.Errorf("the solver's values: %w", r.err)
	}
	return a, nil
}

// tokens reads an S-expression of symbols and numbers; err is its first complaint.
type tokens struct {
	text string
	err  error
}

func (r *tokens) next() string {
	r.text = strings.TrimLeft(r.text, " \t\r\n")
	if r.text == "" {
		return ""
	}
	n := 1
	if r.text[0] != '(' && r.text[0] != ')' {
		if n = strings.IndexAny(r.text, "() \t\r\n"); n < 0 {
			n = len(r.text)
		}
	}
	token := r.text[:n]
	r.text = r.text[n:]
	return token
}

func (r *tokens) want(token string) {
	if got := r.next(); got != token && r.err == nil {
		r.err = fmt.Errorf("%q, want %q", got, token)
	}
}

func (r *tokens) value() *big.Int {
	switch token := r.next(); token {
	case "true":
		return big.NewInt(1)
	case "false":
		return new(big.Int)
	case "(":
		r.want("-")
		n := r.number(r.next())
		r.want(")")
		return n.Neg(n)
	default:
		return r.number(token)
	}
}

func (r *tokens) number(token string) *big.Int {
	n, ok := new(big.Int), token != "" && strings.Trim(token, "0123456789") == ""
	if ok {
		_, ok = n.SetString(token, 10)
	}
	if !ok && r.err == nil {
		r.err = fmt.Errorf("%q, want a number, true or false", token)
	}
	return n
}
