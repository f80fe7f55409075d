package workload

import (
	"encoding/binary"
	"maps"
	"slices"
)

// table holds values as terms, each once, so that equal terms have equal numbers. Number 0 is
// no term.
type table struct {
	l       *layout // of what inputs are
	numbers map[string]int32
	nodes   []node
	pairs   map[[3]int32]int32 // of join
	words   map[string]int32
	names   []string        // of words, by number
	swap    map[string]bool // those of a tree that may be exchanged
	ordered map[string]bool // operators that are associative, and not commutative
	idem    map[string]bool
	key     []byte
	args    []int32 // the last list of arguments, which nobody changes, and its term
	tuple   int32
	next    map[later]int32 // of after; 0: nothing is known to be there
}

// later is the place a number of bytes after where a value begins.
type later struct {
	value int32
	bytes int64
}

// node is a term: what it is, and what of.
type node struct {
	kind byte
	word int32   // the operator, or function
	list []int32 // of a sum: term, count, term, count, ...; of an input: buffer, rank, cell; of a tuple: term and bytes, high and low
	at   int64
}

// The kinds of terms.
const (
	isInput = iota + 1
	isSum
	isRow // of an operator whose operands have an order: these, in it
	isTree
	isApplied
	isScalar
	isTuple
	isOther // that is known to be nothing else: the list has what made it
)

func newTable(l *layout) *table {
	return &table{l: l, numbers: map[string]int32{}, nodes: make([]node, 1), pairs: map[[3]int32]int32{}, words: map[string]int32{}, names: make([]string, 1), next: map[later]int32{},
		swap: map[string]bool{}, ordered: map[string]bool{}, idem: map[string]bool{"min": true, "max": true}}
}

func (t *table) wordOf(s string) int32 {
	n, ok := t.words[s]
	if !ok {
		n = int32(len(t.names))
		t.words[s] = n
		t.names = append(t.names, s)
	}
	return n
}

// number returns the number of a term. It keeps list.
func (t *table) number(n node) int32 {
	t.key = append(t.key[:0], n.kind)
	t.key = binary.LittleEndian.AppendUint32(t.key, uint32(n.word))
	t.key = binary.LittleEndian.AppendUint64(t.key, uint64(n.at))
	for _, x := range n.list {
		t.key = binary.LittleEndian.AppendUint32(t.key, uint32(x))
	}
	if id, ok := t.numbers[string(t.key)]; ok {
		return id
	}
	id := int32(len(t.nodes))
	t.numbers[string(t.key)] = id
	t.nodes = append(t.nodes, n)
	return id
}

func (t *table) input(buffer, rank, cell int) int32 {
	return t.number(node{kind: isInput, list: []int32{int32(buffer), int32(rank), int32(cell)}})
}

// other returns a term that equals none but itself.
func (t *table) other(of ...int32) int32 { return t.number(node{kind: isOther, list: of}) }

// parts returns a term as operands with counts.
func (t *table) parts(word, id int32) []int32 {
	switch n := &t.nodes[id]; {
	case n.kind == isSum && n.word == word:
		return n.list
	case n.kind == isRow && n.word == word:
		var list []int32
		for _, x := range n.list {
			list = append(list, x, 1)
		}
		return list
	}
	return []int32{id, 1}
}

// join combines two values by an operator, in order where it has one.
func (t *table) join(operator string, a, b int32) int32 {
	w := t.wordOf(operator)
	if t.ordered[operator] {
		return t.number(node{kind: isRow, word: w, list: slices.Concat(t.row(w, a), t.row(w, b))})
	}
	key := [3]int32{w, min(a, b), max(a, b)}
	if id, ok := t.pairs[key]; ok {
		return id
	}
	x, y := t.parts(w, a), t.parts(w, b)
	list := make([]int32, 0, len(x)+len(y))
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0] < y[0]:
			list, x = append(list, x[0], x[1]), x[2:]
		case len(x) == 0 || y[0] < x[0]:
			list, y = append(list, y[0], y[1]), y[2:]
		default:
			n := min(int64(x[1])+int64(y[1]), 1<<30)
			list, x, y = append(list, x[0], int32(n)), x[2:], y[2:]
		}
	}
	if t.idem[operator] {
		for i := 1; i < len(list); i += 2 {
			list[i] = 1
		}
	}
	id := list[0]
	if len(list) > 2 || list[1] != 1 {
		id = t.number(node{kind: isSum, word: w, list: list})
	}
	t.pairs[key] = id
	return id
}

// row returns a term as operands in their order.
func (t *table) row(word, id int32) []int32 {
	if n := &t.nodes[id]; n.kind == isRow && n.word == word {
		return n.list
	}
	return []int32{id}
}

// total combines many values, in order where the operator has one.
func (t *table) total(operator string, of []int32) int32 {
	w := t.wordOf(operator)
	if t.ordered[operator] {
		return t.combine(operator, of)
	}
	counts := map[int32]int64{}
	for _, x := range of {
		parts := t.parts(w, x)
		for i := 0; i < len(parts); i += 2 {
			counts[parts[i]] += int64(parts[i+1])
		}
	}
	ids := slices.Sorted(maps.Keys(counts))
	list := make([]int32, 0, 2*len(ids))
	for _, id := range ids {
		n := min(counts[id], 1<<30)
		if t.idem[operator] {
			n = 1
		}
		list = append(list, id, int32(n))
	}
	if len(list) == 2 && list[1] == 1 {
		return list[0]
	}
	return t.number(node{kind: isSum, word: w, list: list})
}

func (t *table) combine(operator string, of []int32) int32 {
	id := of[0]
	for _, x := range of[1:] {
		id = t.join(operator, id, x)
	}
	return id
}

func (t *table) tree(operator string, a, b int32) int32 {
	if t.swap[operator] && b < a {
		a, b = b, a
	}
	return t.number(node{kind: isTree, word: t.wordOf(operator), list: []int32{a, b}})
}

func (t *table) apply(function string, args []int32, bytes []int64, at int64) int32 {
	if len(args) == 0 {
		return t.number(node{kind: isApplied, word: t.wordOf(function), at: at})
	}
	if len(t.args) != len(args) || &t.args[0] != &args[0] { // a computation writes many cells with one list
		var list []int32
		for _, s := range join[int32](t, args, bytes) {
			list = append(list, s.value, int32(s.bytes>>31), int32(s.bytes&(1<<31-1)))
		}
		t.args, t.tuple = args, t.number(node{kind: isTuple, list: list})
	}
	return t.number(node{kind: isApplied, word: t.wordOf(function), list: []int32{t.tuple}, at: at})
}

// after returns the part of a value that begins some bytes after a part of it does. It takes O(size·log(size)) time, once.
func (t *table) after(id int32, bytes int64) (int32, bool) {
	next, known := t.next[later{id, bytes}]
	if !known {
		next, _ = t.moveOn(id, bytes)
		t.next[later{id, bytes}] = next
	}
	return next, next != 0
}

func (t *table) moveOn(id int32, bytes int64) (int32, bool) {
	n := t.nodes[id]
	switch n.kind {
	case isInput:
		c, ok := t.l.after(int(n.list[0]), int(n.list[2]), bytes)
		if !ok {
			return 0, false
		}
		return t.input(int(n.list[0]), int(n.list[1]), c), true
	case isApplied:
		n.at += bytes
		return t.number(n), true
	case isSum, isRow, isTree:
		step := 1
		if n.kind == isSum {
			step = 2
		}
		list := slices.Clone(n.list)
		for i := 0; i < len(list); i += step {
			next, ok := t.after(list[i], bytes)
			if !ok {
				return 0, false
			}
			list[i] = next
		}
		switch n.kind {
		case isTree:
			return t.tree(t.names[n.word], list[0], list[1]), true
		case isSum:
			counts := map[int32]int32{}
			for i := 0; i < len(list); i += 2 {
				counts[list[i]] = list[i+1]
			}
			list = list[:0]
			for _, x := range slices.Sorted(maps.Keys(counts)) {
				list = append(list, x, counts[x])
			}
		}
		return t.number(node{kind: n.kind, word: n.word, list: list}), true
	}
	return 0, false
}

// scalar returns what one cell of two operands adds to the scalars of an operator.
func (t *table) scalar(operator string, a, b int32, at int64) int32 {
	if t.swap[operator] && b < a {
		a, b = b, a
	}
	return t.number(node{kind: isScalar, word: t.wordOf(operator), list: []int32{a, b}, at: at})
}

// moved returns the tree of inputs that id is, with its leaves in another cell; ok is false if
// it is none, or its leaves are not all in one cell of one buffer.
func (t *table) moved(id int32, buffer, from, to int) (int32, bool) {
	switch n := &t.nodes[id]; n.kind {
	case isInput:
		return t.input(int(n.list[0]), int(n.list[1]), to), int(n.list[0]) == buffer && int(n.list[2]) == from
	case isTree:
		word, l, r := n.word, n.list[0], n.list[1]
		a, ok := t.moved(l, buffer, from, to)
		b, also := t.moved(r, buffer, from, to)
		if !ok || !also {
			return 0, false
		}
		return t.tree(t.names[word], a, b), true
	}
	return 0, false
}

// leaf returns the buffer and the cell of the first leaf of a tree.
func (t *table) leaf(id int32) (buffer, cell int, ok bool) {
	for t.nodes[id].kind == isTree {
		id = t.nodes[id].list[0]
	}
	n := &t.nodes[id]
	if n.kind != isInput {
		return 0, 0, false
	}
	return int(n.list[0]), int(n.list[2]), true
}
