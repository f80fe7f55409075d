package workload

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
)

// layout divides each buffer into cells, so that whatever an operation moves, reads or
// writes is a list of whole cells, and whatever is copied from one place to another is cut at
// both alike.
type layout struct {
	names []string
	index map[string]int
	cuts  [][]int64 // of each buffer: where cells begin, and where the last one ends
}

// twins are two regions that are cut alike.
type twins struct{ a, b wl.Region }

// maxCells is how many cells a layout may have.
const maxCells = 1 << 22

// newLayout returns the coarsest layout of w. It takes O(cells·log(cells)) time for each
// round of cutting twins alike, of which there are as many as a cut is passed on.
func newLayout(w *wl.Workload) (*layout, error) {
	l := &layout{index: map[string]int{}}
	sets := []map[int64]bool{}
	cut := func(r wl.Region) {
		i, ok := l.index[r.Buffer]
		if !ok {
			i = len(l.names)
			l.index[r.Buffer] = i
			l.names, sets = append(l.names, r.Buffer), append(sets, map[int64]bool{})
		}
		sets[i][r.Offset], sets[i][r.Offset+r.Size] = true, true
	}
	var pairs []twins
	alike := func(a, b wl.Region) { pairs = append(pairs, twins{a, b}) }
	for i := range w.Ops {
		op := &w.Ops[i]
		if _, collective := op.Kind.Collective(); collective {
			p := w.Problem(i)
			for _, r := range ends(p.Members(), p.Collective.Root) {
				name, at := w.BufferOf(i, r)
				for _, c := range p.Chunks {
					cut(wl.Region{Buffer: name, Offset: at + c.Offset, Size: c.Size})
				}
			}
			if op.Into.Buffer != "" {
				name, at := w.BufferOf(i, p.Collective.Root)
				alike(wl.Region{Buffer: name, Offset: at, Size: p.Space()}, wl.Region{Buffer: op.Into.Buffer, Offset: op.Into.Offset})
			}
			continue
		}
		for _, a := range slices.Concat(op.Reads, op.Writes) {
			cut(a.Region)
		}
		o, _ := w.OperatorOf(op.Operator)
		switch {
		case op.Function == wl.Scalars:
			alike(op.Reads[0].Region, op.Reads[1].Region)
		case !o.Elementwise:
			alike(op.Reads[0].Region, op.Writes[0].Region)
		case op.Function == "":
			for k := range op.Reads {
				alike(op.Reads[k].Region, op.Writes[k].Region)
			}
		}
	}
	var inputs func(g wl.Region, v *wl.Value)
	inputs = func(g wl.Region, v *wl.Value) {
		switch {
		case v.Input != nil:
			cut(wl.Region{Buffer: v.Input.Buffer, Offset: v.Input.Offset, Size: g.Size})
			alike(g, wl.Region{Buffer: v.Input.Buffer, Offset: v.Input.Offset})
		case v.Function != "":
			for i := range v.Of { // what an argument is made of is cut alike, argument by argument
				if of := first(&v.Of[i]); of != nil {
					cut(wl.Region{Buffer: of.Buffer, Offset: of.Offset, Size: v.Bytes[i]})
				}
			}
		default:
			for i := range v.Of {
				inputs(g, &v.Of[i])
			}
		}
	}
	for i := range w.Goal {
		cut(w.Goal[i].Region)
		inputs(w.Goal[i].Region, &w.Goal[i].Value)
	}
	for changed := true; changed; {
		changed = false
		total := 0
		for _, p := range pairs {
			a, b := l.index[p.a.Buffer], l.index[p.b.Buffer]
			d := p.b.Offset - p.a.Offset
			for _, one := range []struct {
				from, to int
				at, d    int64
			}{{a, b, p.a.Offset, d}, {b, a, p.b.Offset, -d}} {
				for _, x := range sorted(sets[one.from]) {
					if x >= one.at && x <= one.at+p.a.Size && !sets[one.to][x+one.d] {
						sets[one.to][x+one.d] = true
						changed = true
					}
				}
			}
		}
		for _, s := range sets {
			total += len(s)
		}
		if total > maxCells {
			return nil, fmt.Errorf("more than %d cells in all buffers: %w", maxCells, model.ErrTooLarge)
		}
	}
	for _, s := range sets {
		l.cuts = append(l.cuts, sorted(s))
	}
	return l, nil
}

// ends returns the ranks that show each buffer of a collective: its root and another member.
func ends(members []int, root int) []int {
	other := members[0]
	if other == root && len(members) > 1 {
		other = members[1]
	}
	return []int{root, other}
}

// first returns the first input in v, or nil if v has none but in functions.
func first(v *wl.Value) *wl.Region {
	if v.Input != nil {
		return v.Input
	}
	for i := range v.Of {
		if v.Function == "" {
			if r := first(&v.Of[i]); r != nil {
				return r
			}
		}
	}
	return nil
}

func sorted(set map[int64]bool) []int64 {
	list := make([]int64, 0, len(set))
	for x := range set {
		list = append(list, x)
	}
	slices.Sort(list)
	return list
}

// cells returns the cells of a region: those from the one to before the other.
func (l *layout) cells(r wl.Region) (buffer, from, to int) {
	buffer = l.index[r.Buffer]
	from, _ = slices.BinarySearch(l.cuts[buffer], r.Offset)
	to, _ = slices.BinarySearch(l.cuts[buffer], r.Offset+r.Size)
	return buffer, from, to
}

// bytes returns how many bytes each of the cells from one to before another has.
func (l *layout) bytes(buffer, from, to int) []int64 {
	var all []int64
	for c := from; c < to; c++ {
		all = append(all, l.cuts[buffer][c+1]-l.cuts[buffer][c])
	}
	return all
}

// after returns the cell that begins some bytes after one does; ok is false if none does.
func (l *layout) after(buffer, cell int, bytes int64) (next int, ok bool) {
	next, ok = slices.BinarySearch(l.cuts[buffer], l.cuts[buffer][cell]+bytes)
	return next, ok && next < l.count(buffer)
}

// read returns how many bytes each cell of some regions has, in their order.
func (l *layout) read(list []wl.Access) (all []int64) {
	for _, a := range list {
		all = append(all, l.bytes(l.cells(a.Region))...)
	}
	return all
}

// count returns how many cells a buffer has.
func (l *layout) count(buffer int) int { return max(0, len(l.cuts[buffer])-1) }

// terms are the values of an engine.
type terms[T comparable] interface {
	input(buffer, rank, cell int) T
	combine(operator string, of []T) T // a free operator; in order, where it is not commutative
	tree(operator string, a, b T) T    // of an operator that has trees
	// apply returns the part of f(args) that begins at a byte. bytes has the size of each argument.
	apply(function string, args []T, bytes []int64, at int64) T
	// after returns the value that begins some bytes after another one does, where both are parts of one; ok is
	// false if it is not known to be.
	after(value T, bytes int64) (next T, ok bool)
}

// span is a value of several cells that follow each other in it, and how many bytes it has.
type span[T comparable] struct {
	value T
	bytes int64
}

// join returns the bytes that a function reads, whatever cells they are cut into: what follows each other in one
// value is one argument.
func join[T comparable](k terms[T], args []T, bytes []int64) (all []span[T]) {
	for i, x := range args {
		if last := len(all) - 1; last >= 0 {
			if next, ok := k.after(all[last].value, all[last].bytes); ok && next == x {
				all[last].bytes += bytes[i]
				continue
			}
		}
		all = append(all, span[T]{x, bytes[i]})
	}
	return all
}

var errSameTree = errors.New("an operator whose tree is only to be the same on all ranks has no value of its own in a goal")

// signature names a function of arguments of given sizes: arguments that are divided otherwise are
// other ones.
func signature(function string, sizes []int64) string { return function + fmt.Sprint(sizes) }

func sizes(list []wl.Access) (all []int64) {
	for _, a := range list {
		all = append(all, a.Size)
	}
	return all
}

// expect returns what a goal wants of the cell that begins d bytes after the goal's region, on
// a rank.
func expect[T comparable](w *wl.Workload, l *layout, k terms[T], v *wl.Value, rank int, d int64) (T, error) {
	var none T
	switch {
	case v.Input != nil:
		if v.Rank >= 0 {
			rank = v.Rank
		}
		b := l.index[v.Input.Buffer]
		c, ok := slices.BinarySearch(l.cuts[b], v.Input.Offset+d)
		if !ok {
			return none, fmt.Errorf("no cell of %s begins at %d", model.Quote(v.Input.Buffer), v.Input.Offset+d)
		}
		return k.input(b, rank, c), nil
	case v.Function != "":
		var args []T
		var bytes []int64
		for i := range v.Of {
			inner := v.Bytes[i : i+1]
			if in := first(&v.Of[i]); in != nil {
				inner = l.bytes(l.cells(wl.Region{Buffer: in.Buffer, Offset: in.Offset, Size: v.Bytes[i]}))
			}
			at := int64(0)
			for _, n := range inner {
				a, err := expect(w, l, k, &v.Of[i], rank, at)
				if err != nil {
					return none, err
				}
				args, bytes = append(args, a), append(bytes, n)
				at += n
			}
		}
		return k.apply(signature(v.Function, v.Bytes), args, bytes, v.At+d), nil
	}
	var of []T
	over := []int{rank}
	if v.Over != "" {
		over = w.Members(v.Over)
	}
	for _, r := range over {
		for i := range v.Of {
			x, err := expect(w, l, k, &v.Of[i], r, d)
			if err != nil {
				return none, err
			}
			of = append(of, x)
		}
	}
	o, _ := w.OperatorOf(v.Operator)
	if o.Associative && o.Elementwise {
		return k.combine(o.Name, of), nil
	}
	shape := v.Tree
	if shape == wl.AnyTree {
		shape = o.Tree
	}
	if shape == wl.Same {
		return none, errSameTree
	}
	return grow(k, o.Name, shape, of)
}

// grow combines values along a tree.
func grow[T comparable](k terms[T], operator string, shape wl.Tree, of []T) (T, error) {
	var none T
	if shape == wl.Balanced && len(of)&(len(of)-1) != 0 {
		return none, fmt.Errorf("a balanced tree of %d, want a power of two", len(of))
	}
	of = slices.Clone(of)
	for len(of) > 1 {
		if shape == wl.Chain {
			of[1] = k.tree(operator, of[0], of[1])
			of = of[1:]
			continue
		}
		for i := 0; i < len(of)/2; i++ {
			of[i] = k.tree(operator, of[2*i], of[2*i+1])
		}
		of = of[:len(of)/2]
	}
	return of[0], nil
}
