// Package expression evaluates the expressions of an experiment's file. They have Go's
// syntax: numbers, "texts", true and false, names, record.field, record["field"],
// arithmetic, comparisons, &&, || and !, and calls of the functions that this package and
// its caller define. Numbers are exact: a quotient is a fraction, 1e-6 is one millionth.
//
// What was not computed is unknown. So is every number that follows from it; a condition
// on it is false, and as text it is empty.
package expression

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Value is a number, a text, a truth value or a record. The zero Value is unknown.
type Value struct {
	scalar constant.Value // nil: unknown, or a record
	record Record
}

// Record has fields by name. Of a nil Record every field is unknown.
type Record map[string]Value

// Number returns a whole number.
func Number[T ~int | ~int64](n T) Value { return Value{scalar: constant.MakeInt64(int64(n))} }

// Float returns the number that f is.
func Float(f float64) Value { return Value{scalar: constant.MakeFloat64(f)} }

// Fraction returns the number that r is.
func Fraction(r *big.Rat) Value { return Value{scalar: constant.Make(new(big.Rat).Set(r))}.reduced() }

// reduced has whole numbers as such.
func (v Value) reduced() Value {
	if i := constant.ToInt(v.scalar); i.Kind() == constant.Int {
		return Value{scalar: i}
	}
	return v
}

// Text returns a text.
func Text(s string) Value { return Value{scalar: constant.MakeString(s)} }

// Truth returns a truth value.
func Truth(b bool) Value { return Value{scalar: constant.MakeBool(b)} }

// Fields returns a record.
func Fields(r Record) Value { return Value{record: r} }

// ReadNumber reads a number as it is printed: 12, -1.50, 7/6. It knows no exponents.
func ReadNumber(s string) (Value, error) {
	r, ok := new(big.Rat).SetString(s)
	if !ok || len(s) > 100 || strings.ContainsAny(s, "eEpPxXbBoO_ ") {
		return Value{}, fmt.Errorf("%q: want a number such as 1.127", s)
	}
	return Fraction(r), nil
}

// Known reports whether v is not unknown.
func (v Value) Known() bool {
	return v.record != nil || v.scalar != nil && v.scalar.Kind() != constant.Unknown
}

// Record returns the fields of v, and whether it is a record.
func (v Value) Record() (Record, bool) { return v.record, v.record != nil }

func (v Value) is(k constant.Kind) bool {
	return v.record == nil && v.scalar != nil && v.scalar.Kind() == k
}

// IsNumber reports whether v is a number.
func (v Value) IsNumber() bool { return v.is(constant.Int) || v.is(constant.Float) }

// IsTrue reports whether v is true.
func (v Value) IsTrue() bool { return v.is(constant.Bool) && constant.BoolVal(v.scalar) }

// Rat returns the number that v is, or nil.
func (v Value) Rat() *big.Rat {
	if !v.IsNumber() {
		return nil
	}
	switch x := constant.Val(constant.ToFloat(v.scalar)).(type) {
	case *big.Rat:
		return new(big.Rat).Set(x)
	case *big.Float:
		r, _ := x.Rat(nil)
		return r
	}
	r, _ := new(big.Rat).SetString(v.scalar.ExactString())
	return r
}

// Float returns the number that v is, to a float64's digits, and whether it is one.
func (v Value) Float() (float64, bool) {
	if !v.IsNumber() {
		return 0, false
	}
	f, _ := constant.Float64Val(v.scalar)
	return f, true
}

// Int returns the whole number that v is, and whether it is one of 64 bits.
func (v Value) Int() (int64, bool) {
	if !v.IsNumber() {
		return 0, false
	}
	return constant.Int64Val(constant.ToInt(v.scalar))
}

// String returns v as it is printed: "" for what is unknown, numbers with as many digits as
// tell them apart from others.
func (v Value) String() string {
	switch {
	case v.record != nil:
		return fmt.Sprintf("a record of %s", strings.Join(slices.Sorted(maps.Keys(v.record)), ", "))
	case v.is(constant.String):
		return constant.StringVal(v.scalar)
	case v.is(constant.Bool), v.is(constant.Int):
		return v.scalar.ExactString()
	case v.is(constant.Float):
		f, _ := v.Float()
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return ""
}

// Scope has what names mean.
type Scope struct {
	Names Record
	Outer *Scope // asked where Names has none; nil: none
}

// Get returns what a name means, and whether it means anything.
func (s *Scope) Get(name string) (Value, bool) {
	for ; s != nil; s = s.Outer {
		if v, ok := s.Names[name]; ok {
			return v, true
		}
	}
	return Value{}, false
}

// In returns a scope within s.
func (s *Scope) In(names Record) *Scope { return &Scope{Names: names, Outer: s} }

// Functions are functions by name. One that gets an unknown argument is not called: its
// value is unknown.
type Functions map[string]func(args []Value) (Value, error)

// Expr is an expression.
type Expr struct {
	text  string
	tree  ast.Expr
	calls Functions
}

// Parse reads an expression that may call the functions of this package and those given.
func Parse(text string, own Functions) (*Expr, error) {
	tree, err := parser.ParseExpr(text)
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n")
		if _, after, ok := strings.Cut(what, ": "); ok {
			what = after
		}
		return nil, fmt.Errorf("%q: %s", text, what)
	}
	calls := maps.Clone(builtin)
	maps.Copy(calls, own)
	e := &Expr{text, tree, calls}
	return e, e.check(tree)
}

// Text returns the expression as it was written.
func (e *Expr) Text() string { return e.text }

// Uses returns the names that the expression asks its scope for, once each, sorted.
func (e *Expr) Uses() []string {
	seen := map[string]bool{}
	var visit func(n ast.Expr)
	visit = func(n ast.Expr) {
		switch n := n.(type) {
		case *ast.Ident:
			seen[n.Name] = true
		case *ast.ParenExpr:
			visit(n.X)
		case *ast.UnaryExpr:
			visit(n.X)
		case *ast.BinaryExpr:
			visit(n.X)
			visit(n.Y)
		case *ast.SelectorExpr:
			visit(n.X)
		case *ast.IndexExpr:
			visit(n.X)
			visit(n.Index)
		case *ast.CallExpr:
			for _, a := range n.Args {
				visit(a)
			}
		}
	}
	visit(e.tree)
	delete(seen, "true")
	delete(seen, "false")
	return slices.Sorted(maps.Keys(seen))
}

// check returns an error for what is Go and no expression of ours.
func (e *Expr) check(n ast.Expr) error {
	unlike := func() error {
		return fmt.Errorf("%q: is not an expression of numbers, texts, names and functions", e.text)
	}
	switch n := n.(type) {
	case *ast.Ident:
		return nil
	case *ast.BasicLit:
		if n.Kind == token.IMAG || n.Kind == token.CHAR {
			return unlike()
		}
		if v := (Value{scalar: constant.MakeFromLiteral(n.Value, n.Kind, 0)}); v.IsNumber() {
			if f, _ := v.Float(); math.IsInf(f, 0) || f == 0 && constant.Sign(v.scalar) != 0 {
				return fmt.Errorf("%q: %s is out of range", e.text, n.Value)
			}
		} else if n.Kind != token.STRING {
			return unlike()
		}
		return nil
	case *ast.ParenExpr:
		return e.check(n.X)
	case *ast.UnaryExpr:
		if n.Op != token.SUB && n.Op != token.NOT && n.Op != token.ADD {
			return unlike()
		}
		return e.check(n.X)
	case *ast.BinaryExpr:
		if _, ok := binary[n.Op]; !ok {
			return unlike()
		}
		return errors.Join(e.check(n.X), e.check(n.Y))
	case *ast.SelectorExpr:
		return e.check(n.X)
	case *ast.IndexExpr:
		return errors.Join(e.check(n.X), e.check(n.Index))
	case *ast.CallExpr:
		name, ok := n.Fun.(*ast.Ident)
		if !ok || n.Ellipsis.IsValid() {
			return unlike()
		}
		if e.calls[name.Name] == nil && name.Name != "has" && name.Name != "when" {
			return fmt.Errorf("%q: unknown function %s, want one of %s", e.text, name.Name, strings.Join(append(slices.Sorted(maps.Keys(e.calls)), "has", "when"), ", "))
		}
		for _, a := range n.Args {
			if err := e.check(a); err != nil {
				return err
			}
		}
		return nil
	}
	return unlike()
}

// binary are the operators between two values: of numbers, of truth values, or comparisons.
var binary = map[token.Token]bool{ // whether it compares
	token.ADD: false, token.SUB: false, token.MUL: false, token.QUO: false, token.REM: false,
	token.EQL: true, token.NEQ: true, token.LSS: true, token.LEQ: true, token.GTR: true, token.GEQ: true,
	token.LAND: false, token.LOR: false,
}

// Eval returns the value of the expression.
func (e *Expr) Eval(s *Scope) (Value, error) {
	v, err := e.eval(e.tree, s)
	if err != nil {
		return Value{}, fmt.Errorf("%q: %w", e.text, err)
	}
	return v, nil
}

func (e *Expr) eval(n ast.Expr, s *Scope) (Value, error) {
	switch n := n.(type) {
	case *ast.BasicLit:
		return Value{scalar: constant.MakeFromLiteral(n.Value, n.Kind, 0)}, nil
	case *ast.ParenExpr:
		return e.eval(n.X, s)
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			return Truth(n.Name == "true"), nil
		}
		v, ok := s.Get(n.Name)
		if !ok {
			return Value{}, fmt.Errorf("unknown name %s", n.Name)
		}
		return v, nil
	case *ast.SelectorExpr:
		return e.field(n.X, n.Sel.Name, s)
	case *ast.IndexExpr:
		name, err := e.eval(n.Index, s)
		if err != nil || !name.Known() {
			return Value{}, err
		}
		return e.field(n.X, name.String(), s)
	case *ast.UnaryExpr:
		x, err := e.eval(n.X, s)
		switch {
		case err != nil:
			return Value{}, err
		case n.Op == token.NOT:
			if x.Known() && !x.is(constant.Bool) {
				return Value{}, fmt.Errorf("! of %v: want a condition", x)
			}
			return Truth(!x.IsTrue()), nil
		case !x.Known():
			return x, nil
		case !x.IsNumber():
			return Value{}, fmt.Errorf("%v of %v: want a number", n.Op, x)
		}
		return Value{scalar: constant.UnaryOp(n.Op, x.scalar, 0)}, nil
	case *ast.BinaryExpr:
		return e.operate(n, s)
	}
	return e.call(n.(*ast.CallExpr), s)
}

func (e *Expr) field(of ast.Expr, name string, s *Scope) (Value, error) {
	x, err := e.eval(of, s)
	if err != nil || !x.Known() {
		return Value{}, err
	}
	r, ok := x.Record()
	if !ok {
		return Value{}, fmt.Errorf("%v has no field %s", x, name)
	}
	v, ok := r[name]
	if !ok {
		return Value{}, fmt.Errorf("no field %s, want one of %s", name, strings.Join(slices.Sorted(maps.Keys(r)), ", "))
	}
	return v, nil
}

func (e *Expr) operate(n *ast.BinaryExpr, s *Scope) (Value, error) {
	x, err := e.eval(n.X, s)
	if err != nil {
		return Value{}, err
	}
	if logic := n.Op == token.LAND || n.Op == token.LOR; logic && x.Known() && !x.is(constant.Bool) {
		return Value{}, fmt.Errorf("%v %v …: want conditions", x, n.Op)
	} else if logic {
		if x.IsTrue() == (n.Op == token.LOR) {
			return Truth(n.Op == token.LOR), nil
		}
	}
	y, err := e.eval(n.Y, s)
	if err != nil {
		return Value{}, err
	}
	numbers, texts, truths := x.IsNumber() && y.IsNumber(), x.is(constant.String) && y.is(constant.String), x.is(constant.Bool) && y.is(constant.Bool)
	compares := binary[n.Op]
	switch {
	case n.Op == token.LAND || n.Op == token.LOR:
		if y.Known() && !y.is(constant.Bool) {
			return Value{}, fmt.Errorf("%v %v %v: want conditions", x, n.Op, y)
		}
		return Truth(y.IsTrue()), nil
	case !x.Known() || !y.Known():
		if compares {
			return Truth(false), nil
		}
		return Value{}, nil
	case compares && (numbers || texts || truths && (n.Op == token.EQL || n.Op == token.NEQ)):
		return Truth(constant.Compare(x.scalar, n.Op, y.scalar)), nil
	case n.Op == token.ADD && texts:
		return Value{scalar: constant.BinaryOp(x.scalar, n.Op, y.scalar)}, nil
	case compares || !numbers:
		return Value{}, fmt.Errorf("%v %v %v: want two numbers, or texts to compare or to join", x, n.Op, y)
	case (n.Op == token.QUO || n.Op == token.REM) && constant.Sign(y.scalar) == 0:
		return Value{}, fmt.Errorf("%v %v 0: a division by zero", x, n.Op)
	case n.Op == token.REM:
		a, b := constant.ToInt(x.scalar), constant.ToInt(y.scalar)
		if a.Kind() != constant.Int || b.Kind() != constant.Int {
			return Value{}, fmt.Errorf("%v %% %v: want whole numbers", x, y)
		}
		return Value{scalar: constant.BinaryOp(a, n.Op, b)}, nil
	}
	return Value{scalar: constant.BinaryOp(x.scalar, n.Op, y.scalar)}.reduced(), nil
}

func (e *Expr) call(n *ast.CallExpr, s *Scope) (Value, error) {
	name := n.Fun.(*ast.Ident).Name
	if name == "when" { // the others are not evaluated
		if len(n.Args) != 3 {
			return Value{}, errors.New("when: want a condition and two values")
		}
		c, err := e.eval(n.Args[0], s)
		if err != nil {
			return Value{}, err
		}
		return e.eval(n.Args[1+map[bool]int{false: 1}[c.IsTrue()]], s)
	}
	var args []Value
	known := true
	for _, a := range n.Args {
		v, err := e.eval(a, s)
		if err != nil {
			return Value{}, err
		}
		known = known && v.Known()
		args = append(args, v)
	}
	if name == "has" {
		return Truth(known), nil
	}
	if !known {
		return Value{}, nil
	}
	v, err := e.calls[name](args)
	if err != nil {
		return Value{}, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// Names returns the names of the functions of this package, of has and when, and of those
// given, sorted.
func Names(own Functions) []string {
	all := append(slices.Collect(maps.Keys(builtin)), "has", "when")
	all = slices.AppendSeq(all, maps.Keys(own))
	slices.Sort(all)
	return all
}
