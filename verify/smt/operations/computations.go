package operations

import (
	"fmt"
	"strings"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/verify"
)

// combine returns what an operator makes of values, in their order.
func (f *flow) combine(o wl.Operator, tree wl.Tree, of []value) (value, error) {
	if len(of) == 1 {
		return of[0], nil
	}
	var terms []string
	var made []int
	for _, x := range of {
		terms, made = append(terms, x.term), append(made, x.form)
	}
	switch {
	case o.Free():
		once := o.Name == model.Min.String() || o.Name == model.Max.String()
		sum := f.forms.sum(o.Name, once, made)
		if once {
			x := terms[0]
			for _, y := range terms[1:] {
				x = f.q.define("Int", fmt.Sprintf("(extreme %s %s)", x, y))
			}
			return value{term: x, form: sum}, nil
		}
		return value{term: f.q.define("Int", "(+ "+strings.Join(terms, " ")+")"), form: sum}, nil
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
		return value{term: x, form: f.forms.row(o.Name, made), factors: append([]string{o.Name}, factors...)}, nil
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
	x := value{term: joined(f.q, o, a.term, b.term), form: f.forms.tree(o.Name, o.Commutative, a.form, b.form)}
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
	all := func(list []wl.Access) (values []argument, at []int64, sizes []int64, err error) {
		before := int64(0)
		for _, a := range list {
			for _, c := range f.cells(a.Region, rank) {
				v, err := f.at(c, x.on[rank].from)
				if err != nil {
					return nil, nil, nil, err
				}
				values, at = append(values, argument{v, f.length(c)}), append(at, before+c.at-a.Offset)
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
			y.form = f.forms.other(y.term)
		case !o.Elementwise:
			n := len(own)
			f.scalars(x, o, rank, own[k].value, args[k].value, args[n:], op.Reads[1].Region)
			y = f.two(o, own[k].value, args[k].value)
		case op.Function == "" && len(op.Reads) == 0:
			y = f.unknown(fmt.Sprintf("new%d_%d_%d", i, rank, k))
		case op.Function == "" && op.Operator == "":
			y = args[k].value
		case op.Function == "":
			if y, err = f.join(o, own[k].value, args[k].value); err != nil {
				return nil, err
			}
		default:
			y = f.apply(op.Function, sizes, args, at[k])
			if op.Operator != "" {
				if y, err = f.join(o, own[k].value, y); err != nil {
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
func (f *flow) apply(function string, sizes []int64, args []argument, at int64) value {
	name := letters(function)
	for _, s := range sizes {
		name += fmt.Sprintf("_%d", s)
	}
	name += "_of"
	var terms []string
	var made []int
	args = f.merged(args)
	for _, x := range args {
		name += fmt.Sprintf("_%d", x.bytes)
		terms, made = append(terms, x.term), append(made, x.form)
	}
	call := f.forms.number(form{kind: formCall, word: name, of: made})
	all := f.q.declare("args_"+name, len(args), "Int")
	if len(args) > 0 {
		all = f.q.define("Int", "("+all+" "+strings.Join(terms, " ")+")")
	}
	return value{term: f.q.define("Int", fmt.Sprintf("(%s %s)", f.q.declare(fmt.Sprintf("part_%s_%d", name, at), 1, "Int"), all)),
		form: f.forms.number(form{kind: formPart, of: []int{call}, at: at})}
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
func (f *flow) scalars(x *placed, o wl.Operator, rank int, a, b value, got []argument, region wl.Region) {
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
