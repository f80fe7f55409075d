package operations

import (
	"cmp"
	"fmt"
	"slices"
)

// A function reads bytes, however they are cut: cells that follow each other in one value are one
// argument of it. To see that they do, each value has a form.

// form is what a value is made of. Equal values that no solver is needed for have equal forms, each kept
// once, by number.
type form struct {
	kind byte
	word string // the operator, or of what nothing is known but its term
	of   []int  // operands, in the order of their numbers where that does not matter
	cell cell   // of an input
	at   int64  // of a part of an application: where it begins
}

const (
	formInput = 'x'
	formPart  = 'p' // of has the application
	formCall  = 'c' // word has the function and how many bytes each argument has
	formSum   = 's'
	formRow   = 'r' // operands in order
	formTree  = 't'
	formOther = '?'
)

// forms holds all forms.
type forms struct {
	numbers map[string]int
	all     []form
	next    map[later]int // of after; -1: nothing is known to be there
}

// later is the place a number of bytes after where a value begins.
type later struct {
	form  int
	bytes int64
}

// number returns the number of a form.
func (x *forms) number(m form) int {
	key := fmt.Sprintf("%c %q %v %q %d %d %d", m.kind, m.word, m.of, m.cell.buffer, m.cell.rank, m.cell.at, m.at)
	n, known := x.numbers[key]
	if !known {
		if x.numbers == nil {
			x.numbers, x.next = map[string]int{}, map[later]int{}
		}
		n = len(x.all)
		x.numbers[key], x.all = n, append(x.all, m)
	}
	return n
}

// other is the form of a term of which nothing is known.
func (x *forms) other(term string) int { return x.number(form{kind: formOther, word: term}) }

// sum is the form of a combination of operands whose order does not matter; each counts once if once is set.
func (x *forms) sum(operator string, once bool, of []int) int {
	var all []int
	for _, y := range of {
		if m := x.all[y]; m.kind == formSum && m.word == operator {
			all = append(all, m.of...)
		} else {
			all = append(all, y)
		}
	}
	slices.Sort(all)
	if once {
		all = slices.Compact(all)
	}
	if len(all) == 1 {
		return all[0]
	}
	return x.number(form{kind: formSum, word: operator, of: all})
}

// row is the form of a product of factors in order.
func (x *forms) row(operator string, of []int) int {
	var all []int
	for _, y := range of {
		if m := x.all[y]; m.kind == formRow && m.word == operator {
			all = append(all, m.of...)
		} else {
			all = append(all, y)
		}
	}
	return x.number(form{kind: formRow, word: operator, of: all})
}

// tree is the form of what an operator makes of two values; commutative: in any order.
func (x *forms) tree(operator string, commutative bool, a, b int) int {
	if commutative && b < a {
		a, b = b, a
	}
	return x.number(form{kind: formTree, word: operator, of: []int{a, b}})
}

// after returns the form of the value that begins some bytes after another one does, where both are parts of
// one; ok is false where that is not known.
func (f *flow) after(n int, bytes int64) (next int, ok bool) {
	next, known := f.forms.next[later{n, bytes}]
	if !known {
		if next, ok = f.moveOn(n, bytes); !ok {
			next = -1
		}
		f.forms.next[later{n, bytes}] = next
	}
	return next, next >= 0
}

func (f *flow) moveOn(n int, bytes int64) (next int, ok bool) {
	m := f.forms.all[n]
	switch m.kind {
	case formInput:
		m.cell.at += bytes
		i, there := slices.BinarySearch(f.cuts[m.cell.buffer], m.cell.at)
		return f.forms.number(m), there && i+1 < len(f.cuts[m.cell.buffer])
	case formPart:
		m.at += bytes
		return f.forms.number(m), true
	case formSum, formRow, formTree:
		var of []int
		for _, y := range m.of {
			z, ok := f.after(y, bytes)
			if !ok {
				return 0, false
			}
			of = append(of, z)
		}
		o, _ := f.w.OperatorOf(m.word)
		if m.kind == formSum || m.kind == formTree && o.Commutative {
			slices.Sort(of)
		}
		return f.forms.number(form{kind: m.kind, word: m.word, of: of}), true
	}
	return 0, false
}

// argument is a value of some bytes that a function reads.
type argument struct {
	value
	bytes int64
}

// merged returns the bytes that a function reads, whatever cells they are cut into.
func (f *flow) merged(args []argument) (all []argument) {
	for _, x := range args {
		if last := len(all) - 1; last >= 0 {
			if next, ok := f.after(all[last].form, all[last].bytes); ok && next == x.form {
				all[last].bytes += x.bytes
				continue
			}
		}
		all = append(all, x)
	}
	return all
}

// length returns how many bytes a cell has.
func (f *flow) length(c cell) int64 {
	cuts := f.cuts[c.buffer]
	i, _ := slices.BinarySearchFunc(cuts, c.at, cmp.Compare[int64])
	return cuts[i+1] - cuts[i]
}
