package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
)

// The values of Compose: what operations make of each other's results by what they promise,
// not by their transfers. A value is a word of a language in which equal values are equal
// words; long ones are kept once, by number.

// word is a value. The zero word is none.
type word string

// algebra makes words.
type algebra struct {
	l       *layout
	numbers map[string]int
	sums    map[word]sum     // what is in a sum
	rows    map[word]row     // what is in a product whose factors have an order
	shapes  map[word][3]word // operator and operands of a tree
	inputs  map[word][3]int  // buffer, rank, cell
	applied map[word]applied
	next    map[word]map[int64]word // of after; "": nothing is known to be there
	swap    map[string]bool
	ordered map[string]bool // associative, and not commutative
	args    []word          // the last list of arguments, which nobody changes, and its word
	list    word
}

// sum holds the operands of a sum, with how often each is there.
type sum struct {
	operator string
	of       map[word]int
}

// row holds the factors of a product, in their order.
type row struct {
	operator string
	of       []word
}

// applied is a part of what a function makes of a list of arguments.
type applied struct {
	function string
	list     word
	at       int64
}

func newAlgebra(w *wl.Workload, l *layout) *algebra {
	a := &algebra{l: l, applied: map[word]applied{}, next: map[word]map[int64]word{}, numbers: map[string]int{}, sums: map[word]sum{}, rows: map[word]row{}, shapes: map[word][3]word{},
		inputs: map[word][3]int{}, swap: map[string]bool{}, ordered: map[string]bool{}}
	for _, o := range w.Operators {
		a.swap[o.Name], a.ordered[o.Name] = o.Commutative, o.Associative && !o.Commutative
	}
	return a
}

// short returns the word for a text: the kind, and the text's number.
func (a *algebra) short(kind byte, text string) word {
	text = string(kind) + text
	n, ok := a.numbers[text]
	if !ok {
		n = len(a.numbers)
		a.numbers[text] = n
	}
	return word(string(kind) + strconv.Itoa(n))
}

func (a *algebra) input(buffer, rank, cell int) word {
	w := word(fmt.Sprintf("x%d.%d.%d", buffer, rank, cell))
	a.inputs[w] = [3]int{buffer, rank, cell}
	return w
}

func (a *algebra) combine(operator string, of []word) word {
	if a.ordered[operator] {
		return a.row(operator, of)
	}
	all := map[word]int{}
	for _, x := range of {
		if parts, ok := a.sums[x]; ok && parts.operator == operator {
			for y, n := range parts.of {
				all[y] += n
			}
			continue
		}
		all[x]++
	}
	return a.total(operator, all)
}

// total is the sum of operands with how often each is there.
func (a *algebra) total(operator string, all map[word]int) word {
	var text strings.Builder
	for _, x := range slices.Sorted(maps.Keys(all)) {
		if operator == "min" || operator == "max" {
			all[x] = 1
		}
		fmt.Fprintf(&text, "%d*%s,", all[x], x)
	}
	if len(all) == 1 {
		for x, n := range all {
			if n == 1 {
				return x
			}
		}
	}
	w := a.short('s', fmt.Sprintf("%q:%s", operator, text.String()))
	a.sums[w] = sum{operator, all}
	return w
}

// row is a product of values in their order.
func (a *algebra) row(operator string, of []word) word {
	var all []word
	for _, x := range of {
		if factors, ok := a.rows[x]; ok && factors.operator == operator {
			all = append(all, factors.of...)
			continue
		}
		all = append(all, x)
	}
	if len(all) == 1 {
		return all[0]
	}
	w := a.short('r', fmt.Sprintf("%q:%s", operator, all))
	a.rows[w] = row{operator, all}
	return w
}

func (a *algebra) tree(operator string, l, r word) word {
	if a.swap[operator] && r < l {
		l, r = r, l
	}
	w := a.short('t', fmt.Sprintf("%q(%s,%s)", operator, l, r))
	a.shapes[w] = [3]word{word(operator), l, r}
	return w
}

func (a *algebra) apply(function string, args []word, bytes []int64, at int64) word {
	if len(args) > 0 && (len(a.args) != len(args) || &a.args[0] != &args[0]) { // a computation writes many cells with one list
		var text strings.Builder
		for _, s := range join[word](a, args, bytes) {
			fmt.Fprintf(&text, "%s:%d ", s.value, s.bytes)
		}
		a.args, a.list = args, a.short('l', text.String())
	}
	list := a.list
	if len(args) == 0 {
		list = ""
	}
	return a.part(applied{function, list, at})
}

// part is the word for a part of an application.
func (a *algebra) part(f applied) word {
	w := a.short('f', fmt.Sprintf("%q@%d %s", f.function, f.at, f.list))
	a.applied[w] = f
	return w
}

// after is what follows a value a number of bytes later; ok is false where that is not known.
func (a *algebra) after(x word, bytes int64) (next word, ok bool) {
	next, known := a.next[x][bytes]
	if !known {
		if a.next[x] == nil {
			a.next[x] = map[int64]word{}
		}
		if next, ok = a.moveOn(x, bytes); !ok {
			next = ""
		}
		a.next[x][bytes] = next
	}
	return next, next != ""
}

func (a *algebra) moveOn(x word, bytes int64) (next word, ok bool) {
	each := func(of []word) []word {
		var all []word
		for _, y := range of {
			z, ok := a.after(y, bytes)
			if !ok {
				return nil
			}
			all = append(all, z)
		}
		return all
	}
	if in, is := a.inputs[x]; is {
		c, ok := a.l.after(in[0], in[2], bytes)
		return a.input(in[0], in[1], c), ok
	}
	if f, is := a.applied[x]; is {
		f.at += bytes
		return a.part(f), true
	}
	if t, is := a.shapes[x]; is {
		if of := each(t[1:]); of != nil {
			return a.tree(string(t[0]), of[0], of[1]), true
		}
	}
	if r, is := a.rows[x]; is {
		if of := each(r.of); of != nil {
			return a.row(r.operator, of), true
		}
	}
	if s, is := a.sums[x]; is {
		all := map[word]int{}
		for y, n := range s.of {
			z, ok := a.after(y, bytes)
			if !ok {
				return "", false
			}
			all[z] = n
		}
		return a.total(s.operator, all), true
	}
	return "", false
}

func (a *algebra) scalar(operator string, l, r word, at int64) word {
	if a.swap[operator] && r < l {
		l, r = r, l
	}
	return a.short('q', fmt.Sprintf("%q@%d(%s,%s)", operator, at, l, r))
}

// elsewhere is a tree of inputs with all of them in another cell; ok is false if they are not
// in one cell of one buffer.
func (a *algebra) elsewhere(x word, buffer, from, to int) (word, bool) {
	if in, ok := a.inputs[x]; ok {
		return a.input(in[0], in[1], to), in[0] == buffer && in[2] == from
	}
	t, ok := a.shapes[x]
	if !ok {
		return "", false
	}
	l, okL := a.elsewhere(t[1], buffer, from, to)
	r, okR := a.elsewhere(t[2], buffer, from, to)
	return a.tree(string(t[0]), l, r), okL && okR
}

// place is a cell of a buffer on a rank.
type place struct{ buffer, rank, cell int }

// state is what all places hold.
type state struct {
	c   *composition
	l   *layout
	a   *algebra
	now map[place]word
}

// values derives what is there at the end from what operations promise (V4, V9). Since nothing
// races, any order that the edges allow will do. For a periodic workload nothing is left to
// derive: see races.
func (c *composition) values() {
	if c.s.Period > 0 {
		for i := range c.w.Ops {
			if o, _ := c.w.OperatorOf(c.w.Ops[i].Operator); !o.Elementwise {
				c.reason = fmt.Sprintf("%s has the operator %s, whose scalars are not followed from period to period", c.w.Ops[i].ID, o.Name)
			}
		}
		return
	}
	l, err := newLayout(c.w)
	if err != nil {
		c.reason = err.Error()
		return
	}
	s := &state{c: c, l: l, a: newAlgebra(c.w, l), now: map[place]word{}}
	most := 1
	for _, j := range c.w.Jobs {
		most = max(most, j.Iterations)
	}
	order := c.w.Order()
	for k := range most {
		for _, i := range order {
			if k >= c.w.Iterations(i) {
				continue
			}
			switch _, collective := c.w.Ops[i].Kind.Collective(); {
			case collective:
				s.collective(i, k)
			case c.w.Ops[i].Kind == wl.Compute:
				s.compute(i, k)
			}
			if len(c.wrong) > 0 || c.reason != "" || !c.work.Go(1) {
				return
			}
		}
	}
	s.goals()
}

func (s *state) at(p place) word {
	if x, ok := s.now[p]; ok {
		return x
	}
	return s.a.input(p.buffer, p.rank, p.cell)
}

// collective has each rank hold what the postcondition says of what ranks held before, and
// nothing definite where it was written otherwise.
func (s *state) collective(i, iteration int) {
	p := s.c.problems[i]
	o, _ := s.c.w.OperatorOf(s.c.w.Ops[i].Operator)
	written := make([][]int, len(p.Chunks)) // the ranks to which a chunk goes
	program := s.c.s.Programs[s.c.s.Placed[s.c.placed[i][iteration]].Program]
	for j := range program.Transfers {
		t := &program.Transfers[j]
		written[t.Chunk] = append(written[t.Chunk], int(t.Dst))
	}
	s.c.work.Go(len(program.Transfers))
	member := map[int]bool{}
	for _, v := range p.Members() {
		member[v] = true
	}
	for k, chunk := range p.Chunks {
		where := func(v int) (b, from, to int) {
			name, at := s.c.w.BufferOf(i, v)
			return s.l.cells(wl.Region{Buffer: name, Offset: at + chunk.Offset, Size: chunk.Size})
		}
		_, from, to := where(p.Members()[0])
		for d := range to - from {
			before := map[int]word{}
			for v := range p.Start(k) {
				b, from, _ := where(v)
				before[v] = s.at(place{b, v, from + d})
			}
			after := map[int]word{}
			var last model.Value // most goals want the same, which is made once
			var made word
			for v, want := range p.Goal(k) {
				if made == "" || !model.Identical(last, want) {
					var of []word
					for _, u := range inOrder(p, want) {
						of = append(of, before[u])
					}
					made, last = s.promised(o, of, i, iteration, k, d), want
					s.c.work.Go(len(of))
				}
				after[v] = made
			}
			for _, v := range written[k] {
				if _, ok := after[v]; !ok && member[v] {
					after[v] = s.a.short('?', fmt.Sprintf("%d.%d.%d.%d.%d", i, iteration, k, d, v))
				}
			}
			for v, x := range after {
				b, from, _ := where(v)
				s.now[place{b, v, from + d}] = x
			}
			if !s.c.work.Go(1 + len(after)) {
				return
			}
		}
	}
}

// inOrder returns the ranks whose contributions a value has, each as often as it has it, in the order
// of the collective's group.
func inOrder(p *model.Problem, v model.Value) []int {
	place := map[int]int{}
	for i, r := range p.Members() {
		place[r] = i
	}
	var all []int
	for r, n := range v.Terms() {
		all = append(all, slices.Repeat([]int{r}, n)...)
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
	return all
}

// promised is what an operation makes of operands.
func (s *state) promised(o wl.Operator, of []word, i, iteration, chunk, d int) word {
	if len(of) == 1 {
		return of[0]
	}
	if o.Associative && o.Elementwise {
		return s.a.combine(o.Name, of)
	}
	if o.Tree == wl.Same {
		return s.a.short('?', fmt.Sprintf("same %d.%d.%d.%d", i, iteration, chunk, d))
	}
	x, err := grow[word](s.a, o.Name, o.Tree, of)
	if err != nil {
		s.c.reason = err.Error()
	}
	return x
}

// compute carries out a computation on all its ranks.
func (s *state) compute(i, iteration int) {
	op := &s.c.w.Ops[i]
	o, _ := s.c.w.OperatorOf(op.Operator)
	for m, v := range s.c.w.Members(op.Group) {
		list := func(all []wl.Access) (cells []place, at []int64) {
			before := int64(0)
			for _, a := range all {
				b, from, to := s.l.cells(a.Region)
				for c := from; c < to; c++ {
					cells, at = append(cells, place{b, v, c}), append(at, before+s.l.cuts[b][c]-a.Offset)
				}
				before += a.Size
			}
			return cells, at
		}
		reads, _ := list(op.Reads)
		writes, at := list(op.Writes)
		var args, result []word
		bytes := s.l.read(op.Reads)
		for _, p := range reads {
			args = append(args, s.at(p))
		}
		join := func(own, x word) word {
			if o.Associative && o.Elementwise {
				return s.a.combine(o.Name, []word{own, x})
			}
			return s.a.tree(o.Name, own, x)
		}
		for k, p := range writes {
			var x word
			switch own := s.at(p); {
			case op.Function == wl.Scalars:
				var of []word
				for d := range len(args) / 2 {
					of = append(of, s.a.scalar(o.Name, args[d], args[len(args)/2+d], at[k]))
				}
				x = s.a.combine(model.Sum.String(), of)
			case !o.Elementwise:
				if !s.scalarsFit(o.Name, own, args[k], args[len(writes):], reads[len(writes):], op.Reads[1].Region) {
					s.c.report(verify.Wrong(verify.WrongTree, s.c.name(s.c.placed[i][iteration]), fmt.Sprintf("rank %d combines by %s with scalars that are not those of the two operands over their whole tensor", v, o.Name)).AtRank(v))
					return
				}
				x = s.a.tree(o.Name, own, args[k])
			case op.Function == "" && len(op.Reads) == 0:
				x = s.a.short('?', fmt.Sprintf("new %d.%d.%d.%d", i, iteration, m, k))
			case op.Function == "" && op.Operator == "":
				x = args[k]
			case op.Function == "":
				x = join(own, args[k])
			default:
				if x = s.a.apply(signature(op.Function, sizes(op.Reads)), args, bytes, at[k]); op.Operator != "" {
					x = join(own, x)
				}
			}
			result = append(result, x)
			s.c.work.Go(1 + len(args))
		}
		for k, p := range writes {
			s.now[p] = result[k]
		}
	}
}

// scalarsFit reports whether scalars are those of two operands over the whole buffer that
// their inputs are from (A3).
func (s *state) scalarsFit(operator string, l, r word, got []word, at []place, region wl.Region) bool {
	x := l
	for s.a.shapes[x][0] != "" {
		x = s.a.shapes[x][1]
	}
	in, ok := s.a.inputs[x]
	if !ok {
		return false
	}
	for k, g := range got {
		var of []word
		for c := range s.l.count(in[0]) {
			a, okA := s.a.elsewhere(l, in[0], in[2], c)
			b, okB := s.a.elsewhere(r, in[0], in[2], c)
			if !okA || !okB {
				return false
			}
			of = append(of, s.a.scalar(operator, a, b, s.l.cuts[at[k].buffer][at[k].cell]-region.Offset))
			s.c.work.Go(8)
		}
		if g != s.a.combine(model.Sum.String(), of) {
			return false
		}
	}
	return true
}

// goals compares what is there at the end with what is wanted.
func (s *state) goals() {
	for i := range s.c.w.Goal {
		g := &s.c.w.Goal[i]
		b, from, to := s.l.cells(g.Region)
		for _, v := range s.c.w.Members(g.Group) {
			for c := from; c < to; c++ {
				at := s.l.cuts[b][c]
				want, err := expect[word](s.c.w, s.l, s.a, &g.Value, v, at-g.Offset)
				if err != nil {
					s.c.reason = err.Error()
					return
				}
				if got := s.at(place{b, v, c}); got != want {
					s.c.report(verify.Wrong(verify.WrongValue, fmt.Sprintf("rank %d, byte %d of %s", v, at, model.Quote(g.Buffer)), "does not hold at the end what the goal wants").AtRank(v))
				}
				if !s.c.work.Go(1) || len(s.c.wrong) >= verify.MaxViolations {
					return
				}
			}
		}
	}
}
