package smt

import (
	"fmt"
	"strings"
)

// Terms is a table of terms: a directed acyclic graph that only grows. All terms
// of a formula belong to one table; mixing tables panics, as does naming two
// things alike. The sorts are Go types, so that an ill-sorted term does not
// compile. The zero Terms is empty and ready to use.
type Terms struct {
	nodes []node
	names map[string]bool
	lists []int32 // the arguments of nodes
}

// reset empties the table, and keeps its memory for other terms. Those that it had are of no use any more.
func (t *Terms) reset() {
	t.nodes, t.lists = t.nodes[:0], t.lists[:0]
	clear(t.names)
}

// Bool is a term of sort Bool.
type Bool struct{ ref }

// Int is a term of sort Int: the integers, without bounds.
type Int struct{ ref }

// ref is an index into the nodes of a table.
type ref struct {
	of *Terms
	id int32
}

// op is what a node does.
type op uint8

const (
	opTrue op = iota
	opFalse
	opBoolVar
	opBoolName // a definition
	opNot
	opAnd
	opOr
	opXor
	opImplies
	opEq
	opDistinct
	opLt
	opLe
	opIntVar
	opIntName // a definition
	opNum
	opAdd
	opScale // num times the argument
)

// symbols are the SMT-LIB names of the operations that have arguments.
var symbols = [...]string{opNot: "not", opAnd: "and", opOr: "or", opXor: "xor", opImplies: "=>", opEq: "=", opDistinct: "distinct",
	opLt: "<", opLe: "<=", opAdd: "+", opScale: "*"}

type node struct {
	op      op
	args    []int32 // all of them smaller than the node's own index
	num     int64
	name    string // of a variable or a definition
	comment string // of a definition or a variable: what it is, in words
}

func (o op) compound() bool { return int(o) < len(symbols) && symbols[o] != "" }

func (t *Terms) add(n node) ref {
	t.nodes = append(t.nodes, n)
	return ref{t, int32(len(t.nodes) - 1)}
}

// args returns the indices of terms, and checks that all of them are of this table.
func args[T interface{ in(*Terms) int32 }](t *Terms, list ...T) []int32 {
	from := len(t.lists)
	for _, x := range list {
		t.lists = append(t.lists, x.in(t))
	}
	return t.lists[from:len(t.lists):len(t.lists)]
}

func (r ref) in(t *Terms) int32 {
	if r.of != t {
		panic("smt: term of another table, or no term at all")
	}
	return r.id
}

// sharePrefix begins the names that the writer makes up.
const sharePrefix = "shared_"

// reserved are the words that SMT-LIB or its theory of integers defines.
var reserved = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range append(symbols[:], "true", "false", "let", "par", "forall", "exists", "match", "as", "ite", "div", "mod", "abs", "_") {
		words[w] = true
	}
	return words
}()

// register takes a name, which must be new and a simple symbol of SMT-LIB that
// collides with nothing.
func (t *Terms) register(name string) string {
	ok := name != "" && !strings.HasPrefix(name, sharePrefix) && (name[0] < '0' || name[0] > '9')
	for _, c := range []byte(name) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_')
	}
	ok = ok && !reserved[name]
	if !ok {
		panic(fmt.Sprintf("smt: name %q: want letters, digits and _, and nothing reserved", name))
	}
	if t.names == nil {
		t.names = map[string]bool{}
	}
	if t.names[name] {
		panic(fmt.Sprintf("smt: name %q is taken", name))
	}
	t.names[name] = true
	return name
}

// BoolVar returns an unknown of sort Bool.
func (t *Terms) BoolVar(name, comment string) Bool {
	return Bool{t.add(node{op: opBoolVar, name: t.register(name), comment: comment})}
}

// IntVar returns an unknown of sort Int.
func (t *Terms) IntVar(name, comment string) Int {
	return Int{t.add(node{op: opIntVar, name: t.register(name), comment: comment})}
}

// NameBool defines name as x and returns the name as a term. A definition
// excludes nothing: every assignment of the unknowns extends to it.
func (t *Terms) NameBool(name, comment string, x Bool) Bool {
	return Bool{t.add(node{op: opBoolName, name: t.register(name), comment: comment, args: args(t, x)})}
}

// NameInt defines name as x, as NameBool does.
func (t *Terms) NameInt(name, comment string, x Int) Int {
	return Int{t.add(node{op: opIntName, name: t.register(name), comment: comment, args: args(t, x)})}
}

// Truth returns the constant true or false.
func (t *Terms) Truth(b bool) Bool {
	if b {
		return Bool{t.add(node{op: opTrue})}
	}
	return Bool{t.add(node{op: opFalse})}
}

// Num returns the constant n.
func (t *Terms) Num(n int64) Int { return Int{t.add(node{op: opNum, num: n})} }

// Not returns the negation of x.
func (t *Terms) Not(x Bool) Bool { return Bool{t.add(node{op: opNot, args: args(t, x)})} }

// And returns the conjunction of xs; of none it is true.
func (t *Terms) And(xs ...Bool) Bool { return t.junction(opAnd, xs, true) }

// Or returns the disjunction of xs; of none it is false.
func (t *Terms) Or(xs ...Bool) Bool { return t.junction(opOr, xs, false) }

func (t *Terms) junction(o op, xs []Bool, none bool) Bool {
	switch len(xs) {
	case 0:
		return t.Truth(none)
	case 1:
		return Bool{ref{t, xs[0].in(t)}}
	}
	return Bool{t.add(node{op: o, args: args(t, xs...)})}
}

// Xor says that x and y differ.
func (t *Terms) Xor(x, y Bool) Bool { return Bool{t.add(node{op: opXor, args: args(t, x, y)})} }

// Implies says that y holds if x does.
func (t *Terms) Implies(x, y Bool) Bool {
	return Bool{t.add(node{op: opImplies, args: args(t, x, y)})}
}

// Eq says that x = y.
func (t *Terms) Eq(x, y Int) Bool { return Bool{t.add(node{op: opEq, args: args(t, x, y)})} }

// Distinct says that x and y differ.
func (t *Terms) Distinct(x, y Int) Bool {
	return Bool{t.add(node{op: opDistinct, args: args(t, x, y)})}
}

// Lt says that x < y.
func (t *Terms) Lt(x, y Int) Bool { return Bool{t.add(node{op: opLt, args: args(t, x, y)})} }

// Le says that x <= y.
func (t *Terms) Le(x, y Int) Bool { return Bool{t.add(node{op: opLe, args: args(t, x, y)})} }

// Add returns the sum of xs; of none it is 0.
func (t *Terms) Add(xs ...Int) Int {
	switch len(xs) {
	case 0:
		return t.Num(0)
	case 1:
		return Int{ref{t, xs[0].in(t)}}
	}
	return Int{t.add(node{op: opAdd, args: args(t, xs...)})}
}

// Scale returns n times x.
func (t *Terms) Scale(n int64, x Int) Int {
	return Int{t.add(node{op: opScale, num: n, args: args(t, x)})}
}

// Len returns the number of nodes in the table.
func (t *Terms) Len() int { return len(t.nodes) }
