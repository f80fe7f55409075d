package operations

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// programs asks package smt about each collective by itself (V1, V3, V4), and in which order it
// combines, where that matters (V9).
func (e *encoder) programs() error {
	asked := map[string]bool{}
	for i := range e.placed {
		x := &e.placed[i]
		if x.program == nil {
			continue
		}
		c := x.problem.Collective
		key := fmt.Sprint(x.Program, c.Kind, c.Root, c.Op, c.Group, x.problem.Size, e.w.Ops[x.Op].Operator, e.w.Ops[x.Op].Chunks)
		if c.Kind == model.Custom {
			key += e.w.Ops[x.Op].ID
		}
		if asked[key] {
			continue
		}
		asked[key] = true
		v := smt.Check(e.ctx, x.problem, x.program, e.backend, smt.Options{Threads: 1})
		for _, w := range v.Violations {
			w.Where = e.w.Ops[x.Op].ID + ": " + w.Where
			e.wrong = append(e.wrong, w)
		}
		switch {
		case v.Outcome == verify.Refuted:
			return nil
		case v.Outcome != verify.Proved:
			return errUndecided(fmt.Sprintf("%s: %s", e.w.Ops[x.Op].ID, v.Reason))
		}
		if o := e.operator(x.Op); !o.Free() && c.Reduces() {
			if err := e.tree(x, o); err != nil || len(e.wrong) > 0 {
				return err
			}
		}
	}
	return nil
}

func (e *encoder) operator(op int) wl.Operator {
	o, _ := e.w.OperatorOf(e.w.Ops[op].Operator)
	return o
}

// joined writes what an operator that is not associative makes of two terms.
func joined(q *question, o wl.Operator, a, b string) string {
	f := q.declare("op_"+letters(o.Name), 2, "Int")
	if o.Commutative {
		return q.define("Int", fmt.Sprintf("(+ (%s %s %s) (%s %s %s))", f, a, b, f, b, a))
	}
	return q.define("Int", fmt.Sprintf("(%s %s %s)", f, a, b))
}

// letters writes any name in letters and digits, different ones differently.
func letters(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%X_", c)
		}
	}
	return b.String()
}

// wanted combines terms along the tree of an operator.
func wanted(q *question, o wl.Operator, tree wl.Tree, of []string) (string, error) {
	if tree == wl.Chain {
		x := of[0]
		for _, y := range of[1:] {
			x = joined(q, o, x, y)
		}
		return x, nil
	}
	if len(of)&(len(of)-1) != 0 {
		return "", errUndecided(fmt.Sprintf("a balanced tree of %d is not defined", len(of)))
	}
	if len(of) == 1 {
		return of[0], nil
	}
	var pairs []string
	for i := 0; i < len(of); i += 2 {
		pairs = append(pairs, joined(q, o, of[i], of[i+1]))
	}
	return wanted(q, o, tree, pairs)
}

// contributions returns the ranks whose contributions a value has, each as often as it has it, in the
// order of the group.
func contributions(members []int, v model.Value) (all []int) {
	for r, n := range v.Terms() {
		all = append(all, slices.Repeat([]int{r}, n)...)
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(slices.Index(members, a), slices.Index(members, b)) })
	return all
}

// tree asks in which order a program combines contributions. Of an operator that is associative
// a slot holds the members from low to before high; of another one, a term.
func (e *encoder) tree(x *placed, o wl.Operator) error {
	members := x.problem.Members()
	name := e.w.Ops[x.Op].ID
	for k := range x.problem.Chunks {
		var transfers []int
		for j := range x.program.Transfers {
			if int(x.program.Transfers[j].Chunk) == k {
				transfers = append(transfers, j)
			}
		}
		type event struct {
			at   model.Time
			read bool
			j    int
		}
		var events []event
		for _, j := range transfers {
			t := &x.program.Transfers[j]
			events = append(events, event{t.Start, true, j}, event{t.End, false, j})
			if t.Op == model.Reduction && !o.Elementwise && len(x.problem.Chunks) > 1 {
				q := &question{}
				q.unless("true", is(verify.WrongTree, name, "transfer %d combines a part of the tensor by %s, whose scalars are those of the whole", j, o.Name))
				return e.ask(q)
			}
		}
		slices.SortFunc(events, func(a, b event) int {
			if a.at != b.at {
				return cmp.Compare(a.at, b.at)
			}
			if a.read != b.read {
				if b.read {
					return -1
				}
				return 1
			}
			return cmp.Compare(a.j, b.j)
		})
		q := &question{}
		if o.Associative && o.Elementwise {
			type row struct{ low, high string }
			held, carried := map[int]row{}, map[int]row{}
			for v := range x.problem.Start(k) {
				i := slices.Index(members, v)
				held[v] = row{fmt.Sprint(i), fmt.Sprint(i + 1)}
			}
			for _, ev := range events {
				t := &x.program.Transfers[ev.j]
				if ev.read {
					carried[ev.j] = held[int(t.Src)]
					continue
				}
				got := carried[ev.j]
				if t.Op == model.Reduction {
					had := held[int(t.Dst)]
					q.unless(fmt.Sprintf("(and (distinct %s %s) (distinct %s %s))", had.high, got.low, got.high, had.low),
						is(verify.WrongTree, name, "transfer %d combines by %s what are no neighbours in the order of the group", ev.j, o.Name))
					got = row{q.define("Int", fmt.Sprintf("(ite (< %s %s) %s %s)", had.low, got.low, had.low, got.low)),
						q.define("Int", fmt.Sprintf("(ite (< %s %s) %s %s)", had.high, got.high, got.high, had.high))}
				}
				held[int(t.Dst)] = got
			}
		} else {
			held, carried := map[int]string{}, map[int]string{}
			for v := range x.problem.Start(k) {
				held[v] = q.declare(fmt.Sprintf("x%d", v), 0, "Int")
			}
			for _, ev := range events {
				t := &x.program.Transfers[ev.j]
				switch {
				case ev.read:
					carried[ev.j] = held[int(t.Src)]
				case t.Op == model.Reduction:
					held[int(t.Dst)] = joined(q, o, held[int(t.Dst)], carried[ev.j])
				default:
					held[int(t.Dst)] = carried[ev.j]
				}
			}
			want := ""
			for v, value := range x.problem.Goal(k) {
				if o.Tree != wl.Same {
					var of []string
					for _, u := range contributions(members, value) {
						of = append(of, q.declare(fmt.Sprintf("x%d", u), 0, "Int"))
					}
					var err error
					if want, err = wanted(q, o, o.Tree, of); err != nil {
						return err
					}
				} else if want == "" {
					want = held[v]
				}
				if held[v] != want {
					q.unless(fmt.Sprintf("(distinct %s %s)", held[v], want), is(verify.WrongTree, name, "chunk %d is combined on rank %d in another order than wanted by %s", k, v, o.Name))
				}
			}
		}
		if err := e.ask(q); err != nil || len(e.wrong) > 0 {
			return err
		}
	}
	return nil
}

// cell is a part of a buffer on a rank that whatever happens moves as a whole.
type cell struct {
	buffer string
	rank   int
	at     int64 // where it begins
}

// value is what a cell holds: a term; and, of a product, its factors, and of a combination of inputs by
// an operator that is not associative, that.
type value struct {
	term    string
	factors []string
	by      *combination
}

// combination is an input, or what an operator makes of two.
type combination struct {
	input    cell
	operator string
	of       [2]*combination
}

// write is a time in which a placement, on a rank, makes what a cell holds; the cell is the n-th in its
// chunk or region.
type write struct {
	span
	of    int
	chunk int // or the region
	n     int
}

// flow makes the question about values.
type flow struct {
	*encoder
	q      *question
	cuts   map[string][]int64
	writes map[cell][]write
	made   map[[4]int][]value // by placement, rank, chunk or -1, and n or 0
	sum    string             // the operator that is written as + or, if it is idempotent, as larger or smaller
}

// values asks what is there at the end (V4, V9). Of a periodic workload there is nothing more to ask:
// see SPEC.md, 19.8.
func (e *encoder) values() error {
	if e.s.Period > 0 {
		for i := range e.w.Ops {
			if o := e.operator(i); !o.Elementwise {
				return errUndecided(fmt.Sprintf("%s has the operator %s, whose scalars are not followed from period to period", e.w.Ops[i].ID, o.Name))
			}
		}
		return nil
	}
	f := &flow{encoder: e, q: &question{}, writes: map[cell][]write{}, made: map[[4]int][]value{}}
	if err := f.operators(); err != nil {
		return err
	}
	if err := f.divide(); err != nil {
		return err
	}
	if err := f.accesses(); err != nil {
		return err
	}
	for i := range e.placed {
		if e.w.Ops[e.placed[i].Op].Kind != wl.Compute || e.operator(e.placed[i].Op).Elementwise {
			continue
		}
		for _, v := range e.w.Members(e.w.Ops[e.placed[i].Op].Group) { // with scalars, which must be right even where no goal needs them
			if _, err := f.computed(i, v); err != nil {
				return err
			}
		}
	}
	for i := range e.w.Goal {
		if err := f.goal(&e.w.Goal[i]); err != nil {
			return err
		}
	}
	return e.ask(f.q)
}

// operators finds the one operator whose operands have neither order nor tree.
func (f *flow) operators() error {
	see := func(name string) error {
		o, _ := f.w.OperatorOf(name)
		if !o.Free() {
			return nil
		}
		if f.sum != "" && f.sum != o.Name {
			return errUndecided(fmt.Sprintf("values of a workload with both %s and %s are not asked about", f.sum, o.Name))
		}
		f.sum = o.Name
		return nil
	}
	for i := range f.w.Ops {
		op := &f.w.Ops[i]
		var err error
		switch _, collective := op.Kind.Collective(); {
		case op.Function == wl.Scalars:
			err = see("")
		case collective && f.w.Problem(i).Collective.Reduces(), op.Kind == wl.Compute && op.Operator != "":
			err = see(op.Operator)
		}
		if err != nil {
			return err
		}
	}
	var within func(v *wl.Value) error
	within = func(v *wl.Value) error {
		if v.Operator != "" {
			if err := see(v.Operator); err != nil {
				return err
			}
		}
		for i := range v.Of {
			if err := within(&v.Of[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range f.w.Goal {
		if err := within(&f.w.Goal[i].Value); err != nil {
			return err
		}
	}
	if f.sum == model.Min.String() || f.sum == model.Max.String() {
		sign := "<"
		if f.sum == model.Max.String() {
			sign = ">"
		}
		f.q.put("(define-fun extreme ((a Int) (b Int)) Int (ite (%s a b) a b))\n", sign)
	}
	return nil
}

// divide cuts each buffer where something begins or ends, and what is copied or combined alike in
// both places.
func (f *flow) divide() error {
	cuts := map[string]map[int64]bool{}
	type alike struct {
		a    wl.Region
		b    string
		from int64
	}
	var pairs []alike
	cut := func(buffer string, offset, size int64) {
		if cuts[buffer] == nil {
			cuts[buffer] = map[int64]bool{}
		}
		cuts[buffer][offset], cuts[buffer][offset+size] = true, true
	}
	same := func(a wl.Region, b wl.Region) {
		pairs = append(pairs, alike{a, b.Buffer, b.Offset}, alike{wl.Region{Buffer: b.Buffer, Offset: b.Offset, Size: a.Size}, a.Buffer, a.Offset})
	}
	for i := range f.w.Ops {
		op := &f.w.Ops[i]
		if _, collective := op.Kind.Collective(); collective {
			p := f.w.Problem(i)
			source := wl.Region{Size: p.Space()}
			for m, v := range p.Members() {
				name, at := f.w.BufferOf(i, v)
				for _, c := range p.Chunks {
					cut(name, at+c.Offset, c.Size)
				}
				if m == 0 {
					source.Buffer, source.Offset = name, at
				} else if name != source.Buffer || at != source.Offset {
					same(source, wl.Region{Buffer: name, Offset: at})
				}
			}
			continue
		}
		for _, a := range slices.Concat(op.Reads, op.Writes) {
			cut(a.Buffer, a.Offset, a.Size)
		}
		switch {
		case op.Function == wl.Scalars:
			same(op.Reads[0].Region, op.Reads[1].Region)
		case !f.operator(i).Elementwise:
			same(op.Reads[0].Region, op.Writes[0].Region)
		case op.Function == "":
			for k := range op.Reads {
				same(op.Reads[k].Region, op.Writes[k].Region)
			}
		}
	}
	var within func(at wl.Region, v *wl.Value)
	within = func(at wl.Region, v *wl.Value) {
		if v.Input != nil {
			cut(v.Input.Buffer, v.Input.Offset, at.Size)
			same(at, *v.Input)
		}
		for i := range v.Of {
			if v.Function == "" {
				within(at, &v.Of[i])
			} else if x := inputOf(&v.Of[i]); x != nil {
				cut(x.Buffer, x.Offset, v.Bytes[i])
			}
		}
	}
	for i := range f.w.Goal {
		g := &f.w.Goal[i]
		cut(g.Buffer, g.Offset, g.Size)
		within(g.Region, &g.Value)
	}
	for changed := true; changed; {
		changed = false
		total := 0
		for _, p := range pairs {
			for x := range cuts[p.a.Buffer] {
				if y := p.from + x - p.a.Offset; x >= p.a.Offset && x <= p.a.Offset+p.a.Size && !cuts[p.b][y] {
					cuts[p.b][y], changed = true, true
				}
			}
		}
		for _, c := range cuts {
			total += len(c)
		}
		if total > MaxTerms || f.ctx.Err() != nil {
			return errUndecided(fmt.Sprintf("more than the %d cells that are asked about", MaxTerms))
		}
	}
	f.cuts = map[string][]int64{}
	for name, c := range cuts {
		for x := range c {
			f.cuts[name] = append(f.cuts[name], x)
		}
		slices.Sort(f.cuts[name])
	}
	return nil
}

// inputOf returns the first input of a value that is outside of functions.
func inputOf(v *wl.Value) *wl.Region {
	if v.Input != nil || v.Function != "" {
		return v.Input
	}
	for i := range v.Of {
		if x := inputOf(&v.Of[i]); x != nil {
			return x
		}
	}
	return nil
}

// cells returns the cells of a region on a rank.
func (f *flow) cells(r wl.Region, rank int) (all []cell) {
	for _, x := range f.cuts[r.Buffer] {
		if x >= r.Offset && x < r.Offset+r.Size {
			all = append(all, cell{r.Buffer, rank, x})
		}
	}
	return all
}

// chunk returns the cells of a chunk of a collective on a rank.
func (f *flow) chunk(op, k, rank int) []cell {
	name, at := f.w.BufferOf(op, rank)
	c := f.w.Ops[op].Chunks[k]
	return f.cells(wl.Region{Buffer: name, Offset: at + c.Offset, Size: c.Size}, rank)
}

// accesses lists what writes each cell, and states that no two accesses of which one writes meet, so
// that what ended last before a time is what a cell holds then.
func (f *flow) accesses() error {
	type touch struct {
		span
		of     int
		writes bool
	}
	touches := map[cell][]touch{}
	total := 0
	note := func(list []cell, s span, of int, writes bool, chunk int) {
		for n, c := range list {
			if last := len(touches[c]) - 1; last >= 0 && touches[c][last].of == of {
				touches[c][last].span = touches[c][last].and(s, true)
				touches[c][last].writes = touches[c][last].writes || writes
			} else {
				touches[c] = append(touches[c], touch{s, of, writes})
			}
			if writes {
				f.writes[c] = append(f.writes[c], write{s, of, chunk, n})
			}
			total++
		}
	}
	for i := range f.placed {
		x := &f.placed[i]
		op := &f.w.Ops[x.Op]
		members := f.w.Members(op.Group)
		for m, v := range members {
			if op.Kind != wl.Compute {
				continue
			}
			end := func(a wl.Access) model.Time {
				if a.Until > 0 {
					return x.Starts[m] + a.Until
				}
				return x.on[v].to
			}
			for _, a := range op.Reads {
				note(f.cells(a.Region, v), span{x.Starts[m], end(a)}, i, false, 0)
			}
			for k, a := range op.Writes {
				note(f.cells(a.Region, v), span{x.Starts[m], end(a)}, i, true, k)
			}
		}
		for k, s := range x.slots {
			if slices.Contains(members, k.rank) {
				note(f.chunk(x.Op, k.chunk, k.rank), s, i, x.written[k], k.chunk)
			}
		}
		if total > MaxTerms {
			return errUndecided(fmt.Sprintf("more than the %d accesses to cells that are asked about", MaxTerms))
		}
	}
	for c, list := range touches {
		slices.SortFunc(list, func(a, b touch) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.of, b.of)) })
		lastWrite, last := -1, -1
		for i, b := range list {
			before := lastWrite
			if b.writes {
				before = last
			}
			if before >= 0 {
				a := list[before]
				f.q.unless(fmt.Sprintf("(< %d %d)", b.from, a.to), is(verify.ReadWriteRace, fmt.Sprintf("rank %d, byte %d of %s", c.rank, c.at, model.Quote(c.buffer)),
					"%s comes when %s is not over", f.placed[b.of].name, f.placed[a.of].name))
			}
			if last < 0 || b.to > list[last].to {
				last = i
			}
			if b.writes {
				lastWrite = i
			}
		}
	}
	for c := range f.writes {
		slices.SortFunc(f.writes[c], func(a, b write) int { return cmp.Compare(a.to, b.to) })
	}
	return nil
}

// input is what a cell holds at the start.
func (f *flow) input(c cell) value {
	return value{term: f.q.declare(fmt.Sprintf("x%d_%d_%s", c.rank, c.at, letters(c.buffer)), 0, "Int"), by: &combination{input: c}}
}

// at returns what a cell holds at a time.
func (f *flow) at(c cell, when model.Time) (value, error) {
	list := f.writes[c]
	for i := len(list) - 1; i >= 0; i-- {
		if w := list[i]; w.to <= when {
			x := &f.placed[w.of]
			if x.program == nil {
				all, err := f.computed(w.of, c.rank)
				if err != nil {
					return value{}, err
				}
				before := 0
				for _, a := range f.w.Ops[x.Op].Writes[:w.chunk] {
					before += len(f.cells(a.Region, c.rank))
				}
				return all[before+w.n], nil
			}
			return f.collected(w.of, c.rank, w.chunk, w.n)
		}
	}
	return f.input(c), nil
}

// collected returns what a collective leaves in a cell of a chunk that it has written on a rank.
func (f *flow) collected(i, rank, chunk, n int) (value, error) {
	key := [4]int{i, rank, chunk, n}
	if known := f.made[key]; known != nil {
		return known[0], nil
	}
	if f.q.n > MaxTerms || f.ctx.Err() != nil {
		return value{}, errUndecided(fmt.Sprintf("more than the %d terms that are asked about", MaxTerms))
	}
	x := &f.placed[i]
	members := f.w.Members(f.w.Ops[x.Op].Group)
	result := value{term: f.q.declare(fmt.Sprintf("left%d_%d_%d_%d", i, rank, chunk, n), 0, "Int")} // what is not promised
	for v, want := range x.problem.Goal(chunk) {
		if v != rank {
			continue
		}
		var of []value
		for _, u := range contributions(members, want) {
			at := x.on[u].from
			if s, ok := x.slots[slot{u, chunk}]; ok {
				at = s.from
			}
			y, err := f.at(f.chunk(x.Op, chunk, u)[n], at)
			if err != nil {
				return value{}, err
			}
			of = append(of, y)
		}
		var err error
		o := f.operator(x.Op)
		if o.Tree == wl.Same && len(of) > 1 {
			result = value{term: f.q.declare(fmt.Sprintf("same%d_%d_%d", i, chunk, n), 0, "Int")}
		} else if result, err = f.combine(o, o.Tree, of); err != nil {
			return value{}, err
		}
	}
	f.made[key] = []value{result}
	return result, nil
}

// combine returns what an operator makes of values, in their order.
func (f *flow) combine(o wl.Operator, tree wl.Tree, of []value) (value, error) {
	if len(of) == 1 {
		return of[0], nil
	}
	var terms []string
	for _, x := range of {
		terms = append(terms, x.term)
	}
	switch {
	case o.Free():
		if o.Name == model.Min.String() || o.Name == model.Max.String() {
			x := terms[0]
			for _, y := range terms[1:] {
				x = f.q.define("Int", fmt.Sprintf("(extreme %s %s)", x, y))
			}
			return value{term: x}, nil
		}
		return value{term: f.q.define("Int", "(+ "+strings.Join(terms, " ")+")")}, nil
	case o.Associative && o.Elementwise:
		var factors []string
		for _, x := range of {
			if len(x.factors) > 1 && x.factors[0] == o.Name {
				factors = append(factors, x.factors[1:]...)
			} else {
				factors = append(factors, x.term)
			}
		}
		x := factors[0]
		for _, y := range factors[1:] {
			x = f.q.define("Int", fmt.Sprintf("(%s %s %s)", f.q.declare("row_"+letters(o.Name), 2, "Int"), x, y))
		}
		return value{term: x, factors: append([]string{o.Name}, factors...)}, nil
	}
	for len(of) > 1 {
		if tree == wl.Chain {
			of = append([]value{f.two(o, of[0], of[1])}, of[2:]...)
			continue
		}
		if len(of)%2 != 0 {
			return value{}, errUndecided("a balanced tree of no power of two is not defined")
		}
		var pairs []value
		for i := 0; i < len(of); i += 2 {
			pairs = append(pairs, f.two(o, of[i], of[i+1]))
		}
		of = pairs
	}
	return of[0], nil
}

// two returns what an operator that has trees makes of two values.
func (f *flow) two(o wl.Operator, a, b value) value {
	x := value{term: joined(f.q, o, a.term, b.term)}
	if a.by != nil && b.by != nil {
		x.by = &combination{operator: o.Name, of: [2]*combination{a.by, b.by}}
	}
	return x
}

// computed returns what a computation writes on a rank, cell by cell.
func (f *flow) computed(i, rank int) ([]value, error) {
	key := [4]int{i, rank, -1, 0}
	if known := f.made[key]; known != nil {
		return known, nil
	}
	if f.q.n > MaxTerms || f.ctx.Err() != nil {
		return nil, errUndecided(fmt.Sprintf("more than the %d terms that are asked about", MaxTerms))
	}
	x := &f.placed[i]
	op := &f.w.Ops[x.Op]
	o := f.operator(x.Op)
	all := func(list []wl.Access) (values []value, at []int64, sizes []int64, err error) {
		before := int64(0)
		for _, a := range list {
			for _, c := range f.cells(a.Region, rank) {
				v, err := f.at(c, x.on[rank].from)
				if err != nil {
					return nil, nil, nil, err
				}
				values, at = append(values, v), append(at, before+c.at-a.Offset)
			}
			before += a.Size
			sizes = append(sizes, a.Size)
		}
		return values, at, sizes, nil
	}
	args, _, sizes, err := all(op.Reads)
	if err != nil {
		return nil, err
	}
	own, at, _, err := all(op.Writes)
	if err != nil {
		return nil, err
	}
	var result []value
	for k := range own {
		var y value
		switch {
		case op.Function == wl.Scalars:
			half := len(args) / 2
			var terms []string
			for d := range half {
				terms = append(terms, f.scalar(o, args[d].term, args[half+d].term, at[k]))
			}
			y = value{term: f.q.define("Int", "(+ 0 "+strings.Join(terms, " ")+")")}
		case !o.Elementwise:
			n := len(own)
			f.scalars(x, o, rank, own[k], args[k], args[n:], op.Reads[1].Region)
			y = f.two(o, own[k], args[k])
		case op.Function == "" && len(op.Reads) == 0:
			y = value{term: f.q.declare(fmt.Sprintf("new%d_%d_%d", i, rank, k), 0, "Int")}
		case op.Function == "" && op.Operator == "":
			y = args[k]
		case op.Function == "":
			if y, err = f.join(o, own[k], args[k]); err != nil {
				return nil, err
			}
		default:
			y = f.apply(op.Function, sizes, args, at[k])
			if op.Operator != "" {
				if y, err = f.join(o, own[k], y); err != nil {
					return nil, err
				}
			}
		}
		result = append(result, y)
	}
	f.made[key] = result
	return result, nil
}

// join returns what a computation makes of what was there and what it brings.
func (f *flow) join(o wl.Operator, own, x value) (value, error) {
	if o.Associative && o.Elementwise {
		return f.combine(o, wl.AnyTree, []value{own, x})
	}
	return f.two(o, own, x), nil
}

// apply returns the part of a function of arguments of given sizes that begins at a byte.
func (f *flow) apply(function string, sizes []int64, args []value, at int64) value {
	name := letters(function)
	for _, s := range sizes {
		name += fmt.Sprintf("_%d", s)
	}
	name += fmt.Sprintf("_of%d", len(args))
	var terms []string
	for _, x := range args {
		terms = append(terms, x.term)
	}
	all := f.q.declare("args_"+name, len(args), "Int")
	if len(args) > 0 {
		all = f.q.define("Int", "("+all+" "+strings.Join(terms, " ")+")")
	}
	return value{term: f.q.define("Int", fmt.Sprintf("(%s %s)", f.q.declare(fmt.Sprintf("part_%s_%d", name, at), 1, "Int"), all))}
}

// scalar returns what a cell of two operands adds to a part of their scalars.
func (f *flow) scalar(o wl.Operator, a, b string, at int64) string {
	q := f.q.declare(fmt.Sprintf("scalar_%s_%d", letters(o.Name), at), 2, "Int")
	if o.Commutative {
		return f.q.define("Int", fmt.Sprintf("(+ (%s %s %s) (%s %s %s))", q, a, b, q, b, a))
	}
	return f.q.define("Int", fmt.Sprintf("(%s %s %s)", q, a, b))
}

// scalars states that scalars are those of two operands over the whole buffer from which their inputs
// are (A3).
func (f *flow) scalars(x *placed, o wl.Operator, rank int, a, b value, got []value, region wl.Region) {
	wrong := is(verify.WrongTree, x.name, "combines on rank %d by %s with scalars that are not those of the two operands over their whole tensor", rank, o.Name)
	if a.by == nil || b.by == nil {
		f.q.unless("true", wrong)
		return
	}
	first := a.by
	for first.operator != "" {
		first = first.of[0]
	}
	at := first.input
	if !a.by.within(at) || !b.by.within(at) {
		f.q.unless("true", wrong)
		return
	}
	cuts := f.cuts[at.buffer]
	for k, c := range f.cells(region, rank) {
		var terms []string
		for _, to := range cuts[:len(cuts)-1] {
			terms = append(terms, f.scalar(o, f.moved(a.by, to), f.moved(b.by, to), c.at-region.Offset))
		}
		if want := f.q.define("Int", "(+ 0 "+strings.Join(terms, " ")+")"); want != got[k].term {
			f.q.unless(fmt.Sprintf("(distinct %s %s)", got[k].term, want), wrong)
		}
	}
}

// within reports whether all inputs are of one cell of one buffer.
func (c *combination) within(at cell) bool {
	if c.operator == "" {
		return c.input.buffer == at.buffer && c.input.at == at.at
	}
	return c.of[0].within(at) && c.of[1].within(at)
}

// moved is the term of a combination with all inputs in another cell.
func (f *flow) moved(c *combination, to int64) string {
	if c.operator == "" {
		return f.input(cell{c.input.buffer, c.input.rank, to}).term
	}
	o, _ := f.w.OperatorOf(c.operator)
	return joined(f.q, o, f.moved(c.of[0], to), f.moved(c.of[1], to))
}

// goal states that a goal holds at the end.
func (f *flow) goal(g *wl.Goal) error {
	for _, v := range f.w.Members(g.Group) {
		for _, c := range f.cells(g.Region, v) {
			got, err := f.at(c, math.MaxInt64)
			if err != nil {
				return err
			}
			want, err := f.expected(&g.Value, v, c.at-g.Offset)
			if err != nil {
				return err
			}
			if got.term != want.term {
				f.q.unless(fmt.Sprintf("(distinct %s %s)", got.term, want.term),
					is(verify.WrongValue, fmt.Sprintf("rank %d, byte %d of %s", v, c.at, model.Quote(g.Buffer)), "does not hold at the end what the goal wants"))
			}
		}
	}
	return nil
}

// expected returns what a value is for a rank, a number of bytes after where it begins.
func (f *flow) expected(v *wl.Value, rank int, d int64) (value, error) {
	switch {
	case v.Input != nil:
		if v.Rank >= 0 {
			rank = v.Rank
		}
		c := cell{v.Input.Buffer, rank, v.Input.Offset + d}
		if _, there := slices.BinarySearch(f.cuts[c.buffer], c.at); !there {
			return value{}, errUndecided(fmt.Sprintf("no cell of %s begins at %d", model.Quote(c.buffer), c.at))
		}
		return f.input(c), nil
	case v.Function != "":
		var args []value
		for i := range v.Of {
			parts := []int64{0}
			if x := inputOf(&v.Of[i]); x != nil {
				parts = nil
				for _, c := range f.cells(wl.Region{Buffer: x.Buffer, Offset: x.Offset, Size: v.Bytes[i]}, rank) {
					parts = append(parts, c.at-x.Offset)
				}
			}
			for _, at := range parts {
				a, err := f.expected(&v.Of[i], rank, at)
				if err != nil {
					return value{}, err
				}
				args = append(args, a)
			}
		}
		return f.apply(v.Function, v.Bytes, args, v.At+d), nil
	}
	over := []int{rank}
	if v.Over != "" {
		over = f.w.Members(v.Over)
	}
	var of []value
	for _, r := range over {
		for i := range v.Of {
			x, err := f.expected(&v.Of[i], r, d)
			if err != nil {
				return value{}, err
			}
			of = append(of, x)
		}
	}
	o, _ := f.w.OperatorOf(v.Operator)
	tree := v.Tree
	if tree == wl.AnyTree {
		tree = o.Tree
	}
	if tree == wl.Same && !(o.Associative && o.Elementwise) {
		return value{}, errUndecided("an operator whose tree is only to be the same on all ranks has no value of its own in a goal")
	}
	return f.combine(o, tree, of)
}
