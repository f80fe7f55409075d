package operations

import (
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
)

func (e *encoder) operator(op int) wl.Operator {
	o, _ := e.w.OperatorOf(e.w.Ops[op].Operator)
	return o
}

// value is what a cell holds: a term; and, of a product, its factors, and of a combination of inputs by
// an operator that is not associative, that.
type value struct {
	term    string
	form    int
	factors []string
	by      *combination
}

// combination is an input, or what an operator makes of two.
type combination struct {
	input    cell
	operator string
	of       [2]*combination
}

// flow makes the question about values.
type flow struct {
	*encoder
	q      *question
	cuts   map[string][]int64
	writes map[cell][]write
	made   map[[4]int][]value // by placement, rank, chunk or -1, and n or 0
	forms  forms
	sum    string // the operator that is written as + or, if it is idempotent, as larger or smaller
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

// input is what a cell holds at the start.
func (f *flow) input(c cell) value {
	return value{term: f.q.declare(fmt.Sprintf("x%d_%d_%s", c.rank, c.at, letters(c.buffer)), 0, "Int"), form: f.forms.number(form{kind: formInput, cell: c}), by: &combination{input: c}}
}

// unknown is a value of which nothing is known but its name.
func (f *flow) unknown(name string) value {
	term := f.q.declare(name, 0, "Int")
	return value{term: term, form: f.forms.other(term)}
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
	result := f.unknown(fmt.Sprintf("left%d_%d_%d_%d", i, rank, chunk, n)) // what is not promised
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
			result = f.unknown(fmt.Sprintf("same%d_%d_%d", i, chunk, n))
		} else if result, err = f.combine(o, o.Tree, of); err != nil {
			return value{}, err
		}
	}
	f.made[key] = []value{result}
	return result, nil
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
		var args []argument
		for i := range v.Of {
			parts := v.Bytes[i : i+1]
			if x := inputOf(&v.Of[i]); x != nil {
				parts = nil
				for _, c := range f.cells(wl.Region{Buffer: x.Buffer, Offset: x.Offset, Size: v.Bytes[i]}, rank) {
					parts = append(parts, f.length(c))
				}
			}
			at := int64(0)
			for _, bytes := range parts {
				a, err := f.expected(&v.Of[i], rank, at)
				if err != nil {
					return value{}, err
				}
				args = append(args, argument{a, bytes})
				at += bytes
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
