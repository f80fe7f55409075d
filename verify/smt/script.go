package smt

import (
	"strconv"
	"strings"
)

// text prints terms of one table as SMT-LIB 2.
type text struct {
	*Terms
	strings.Builder
	comments bool
	shared   []bool // by node: compound, without a name, and used more than once
}

// bytesPerNode is about how long the text of a node is.
const bytesPerNode = 16

// newText prepares printing with these roots, each of which is used once more
// than the table itself says. It takes O(terms) time.
func newText(t *Terms, comments bool, roots ...Bool) *text {
	w := &text{Terms: t, comments: comments, shared: make([]bool, len(t.nodes))}
	once := make([]bool, len(t.nodes))
	use := func(id int32) {
		w.shared[id] = once[id] && t.nodes[id].op.compound()
		once[id] = true
	}
	for i := range t.nodes {
		for _, a := range t.nodes[i].args {
			use(a)
		}
	}
	for _, r := range roots {
		use(r.in(t))
	}
	w.Grow(bytesPerNode * len(t.nodes))
	return w
}

// declarations writes a declare-const for each variable, and a define-fun for
// each definition and for each term that occurs more than once, so that the text
// is linear in the terms.
func (w *text) declarations() {
	for i := range w.nodes {
		switch n := &w.nodes[i]; {
		case n.op == opBoolVar || n.op == opIntVar:
			w.words(n.comment)
			w.put("(declare-const ", n.name, sortOf(n.op), ")\n")
		case n.op == opBoolName || n.op == opIntName:
			w.words(n.comment)
			w.put("(define-fun ", n.name, " ()", sortOf(n.op), " ")
			w.term(n.args[0])
			w.put(")\n")
		case w.shared[i]:
			w.put("(define-fun ", sharePrefix, strconv.Itoa(i), " ()", sortOf(n.op), " ")
			w.application(n)
			w.put(")\n")
		}
	}
}

// assert writes an assertion.
func (w *text) assert(x Bool) {
	w.put("(assert ")
	w.term(x.in(w.Terms))
	w.put(")\n")
}

// words writes a comment, if comments are wanted.
func (w *text) words(comment string) {
	if w.comments && comment != "" {
		for line := range strings.Lines(comment) {
			w.put(strings.TrimRight("; "+line, " \r\n"), "\n")
		}
	}
}

func (w *text) put(parts ...string) {
	for _, s := range parts {
		w.WriteString(s)
	}
}

func sortOf(o op) string {
	if o >= opIntVar {
		return " Int"
	}
	return " Bool"
}

func (w *text) term(id int32) {
	n := &w.nodes[id]
	switch n.op {
	case opTrue:
		w.put("true")
	case opFalse:
		w.put("false")
	case opBoolVar, opBoolName, opIntVar, opIntName:
		w.put(n.name)
	case opNum:
		w.number(n.num)
	default:
		if w.shared[id] {
			w.put(sharePrefix, strconv.Itoa(int(id)))
			return
		}
		w.application(n)
	}
}

func (w *text) application(n *node) {
	w.put("(", symbols[n.op])
	if n.op == opScale {
		w.put(" ")
		w.number(n.num)
	}
	for _, a := range n.args {
		w.put(" ")
		w.term(a)
	}
	w.put(")")
}

// number writes n exactly; SMT-LIB has no negative literals.
func (w *text) number(n int64) {
	var digits [20]byte
	if n < 0 {
		w.put("(- ")
		w.Write(strconv.AppendUint(digits[:0], -uint64(n), 10))
		w.put(")")
		return
	}
	w.Write(strconv.AppendInt(digits[:0], n, 10))
}
