package smt

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// print returns the script that asserts x.
func print(t *Terms, x Bool) string {
	w := newText(t, false, x)
	w.declarations()
	w.assert(x)
	return w.String()
}

func TestPrint(t *testing.T) {
	for _, c := range []struct {
		want  string
		build func(t *Terms) Bool
	}{
		{"(assert true)\n", func(t *Terms) Bool { return t.And() }},
		{"(assert false)\n", func(t *Terms) Bool { return t.Or() }},
		{"(declare-const p Bool)\n(assert p)\n", func(t *Terms) Bool { return t.Or(t.BoolVar("p", "unseen")) }},
		{"(declare-const p Bool)\n(declare-const q Bool)\n(assert (and (not p) (or p q) (xor q p)))\n", func(t *Terms) Bool {
			p, q := t.BoolVar("p", ""), t.BoolVar("q", "")
			return t.And(t.Not(p), t.Or(p, q), t.Xor(q, p))
		}},
		{"(declare-const x Int)\n(assert (< (+ x (* 3 x) 0) (- 5)))\n", func(t *Terms) Bool {
			x := t.IntVar("x", "")
			return t.Lt(t.Add(x, t.Scale(3, x), t.Add()), t.Num(-5))
		}},
		{"(declare-const x Int)\n(assert (distinct (* (- 2) x) (- 9223372036854775808)))\n", func(t *Terms) Bool {
			return t.Distinct(t.Scale(-2, t.IntVar("x", "")), t.Num(math.MinInt64))
		}},
		{"(assert (<= 4294967297 9223372036854775807))\n", func(t *Terms) Bool { return t.Le(t.Num(1<<32+1), t.Num(math.MaxInt64)) }},
		{"(declare-const x Int)\n(define-fun y () Int (+ x 1))\n(define-fun p () Bool (= y x))\n(assert p)\n", func(t *Terms) Bool {
			x := t.IntVar("x", "")
			return t.NameBool("p", "", t.Eq(t.NameInt("y", "", t.Add(x, t.Num(1))), x))
		}},
		{"(declare-const x Int)\n(define-fun shared_1 () Int (+ x x))\n(assert (= shared_1 shared_1))\n", func(t *Terms) Bool {
			x := t.IntVar("x", "")
			y := t.Add(x, x)
			return t.Eq(y, y)
		}},
	} {
		terms := &Terms{}
		require.Equal(t, c.want, print(terms, c.build(terms)))
	}
}

// TestPrintIsLinear prints a term that is exponential without sharing.
func TestPrintIsLinear(t *testing.T) {
	terms := &Terms{}
	x := terms.IntVar("x", "")
	for range 200 {
		x = terms.Add(x, x)
	}
	s := print(terms, terms.Lt(x, terms.Num(0)))
	require.Less(t, len(s), 200*60)
	v, err := terms.evaluate(Assignment{"x": big.NewInt(3)}, nil)
	require.NoError(t, err)
	require.Equal(t, new(big.Int).Lsh(big.NewInt(3), 200), v.number(x.id))
}

func TestComments(t *testing.T) {
	terms := &Terms{}
	x := terms.IntVar("x", "two\nlines")
	w := newText(terms, true, terms.Lt(x, x))
	w.declarations()
	require.Equal(t, "; two\n; lines\n(declare-const x Int)\n", w.String())
}

func TestMisuse(t *testing.T) {
	for name, misuse := range map[string]func(t, u *Terms){
		"terms of two tables":     func(t, u *Terms) { t.Eq(t.Num(1), u.Num(1)) },
		"no term":                 func(t, u *Terms) { t.Not(Bool{}) },
		"one name, two variables": func(t, u *Terms) { t.IntVar("x", ""); t.BoolVar("x", "") },
		"a defined name again":    func(t, u *Terms) { t.NameInt("x", "", t.Num(1)); t.IntVar("x", "") },
		"no name":                 func(t, u *Terms) { t.IntVar("", "") },
		"a number for a name":     func(t, u *Terms) { t.IntVar("1x", "") },
		"brackets in a name":      func(t, u *Terms) { t.IntVar("x)(assert false)", "") },
		"a reserved word":         func(t, u *Terms) { t.BoolVar("and", "") },
		"a name of the writer's":  func(t, u *Terms) { t.BoolVar("shared_1", "") },
	} {
		require.Panics(t, func() { misuse(&Terms{}, &Terms{}) }, name)
	}
}

func TestEvaluate(t *testing.T) {
	terms := &Terms{}
	x, p := terms.IntVar("x", ""), terms.BoolVar("p", "")
	large := terms.Add(terms.Num(math.MaxInt64), x)
	back := terms.Add(large, terms.Num(-1), terms.Scale(-1, x))
	for want, list := range map[bool][]Bool{
		true: {terms.Truth(true), terms.And(), terms.Not(p), terms.Xor(p, terms.Truth(true)), terms.Or(p, terms.Eq(x, terms.Num(7))), terms.Implies(p, p), terms.Implies(p, terms.Truth(false)),
			terms.Lt(terms.Num(math.MaxInt64), large), terms.Eq(back, terms.Num(math.MaxInt64-1)), terms.Distinct(x, large),
			terms.Le(terms.Scale(math.MinInt64, x), terms.Num(math.MinInt64)), terms.Le(x, x)},
		false: {terms.Truth(false), terms.Or(), p, terms.And(terms.Truth(true), p), terms.Implies(terms.Truth(true), p), terms.Xor(p, p), terms.Eq(large, x), terms.Lt(x, x), terms.Distinct(x, x)},
	} {
		for i, b := range list {
			v, err := terms.evaluate(Assignment{"x": big.NewInt(7), "p": new(big.Int)}, nil)
			require.NoError(t, err)
			require.Equal(t, want, v.truth(b), "%v term %d: %s", want, i, strings.TrimSpace(print(terms, b)))
		}
	}
	_, err := terms.evaluate(Assignment{"x": big.NewInt(7)}, nil)
	require.ErrorContains(t, err, "p")
}
