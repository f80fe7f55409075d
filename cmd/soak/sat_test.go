package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/sat/cadical"
	"github.com/oraccl/oraccl/verify/cnf"
)

// formula is a conjunction of clauses.
type formula struct {
	vars    int
	clauses [][]int32
}

// section10 returns the formula of section 10 of the specification.
func section10(p *model.Problem, w model.Refutation) (*formula, error) {
	f := &formula{}
	size, err := cnf.Write(context.Background(), p, w, func(clause []int32) error {
		f.clauses = append(f.clauses, slices.Clone(clause))
		return nil
	})
	f.vars = size.Variables
	return f, err
}

func (f *formula) Variables() int { return f.vars }

func (f *formula) WriteDIMACS(out io.Writer) error {
	fmt.Fprintf(out, "p cnf %d %d\n", f.vars, len(f.clauses))
	for _, clause := range f.clauses {
		for _, l := range clause {
			fmt.Fprint(out, l, " ")
		}
		if _, err := fmt.Fprintln(out, 0); err != nil {
			return err
		}
	}
	return nil
}

// satisfiable decides by the algorithm of Davis, Putnam, Logemann and Loveland, within this
// many decisions, or by CaDiCaL, where that is installed. It returns false if neither does.
func (f *formula) satisfiable(decisions int) (sat, decided bool, err error) {
	d := &dpll{f: f, value: make([]int8, f.vars+1), in: make([][]int, 2*f.vars+2), left: decisions}
	for i, clause := range f.clauses {
		for _, l := range clause {
			d.in[index(l)] = append(d.in[index(l)], i)
		}
		if len(clause) == 0 {
			return false, true, nil
		}
	}
	for _, clause := range f.clauses {
		if len(clause) == 1 && !d.set(clause[0]) {
			return false, true, nil
		}
	}
	if sat = d.search(1); d.left > 0 {
		if sat && !f.holds(d.value) {
			return false, false, errors.New("the search of this test claims a model that is none")
		}
		return sat, true, nil
	}
	r, err := cadical.Solve(context.Background(), f, cadical.Options{})
	switch {
	case errors.Is(err, cadical.ErrMissing):
		return false, false, nil
	case err != nil:
		return false, false, err
	}
	return r.Answer == cadical.Satisfiable, r.Answer != cadical.Unknown, nil
}

// holds reports whether an assignment makes every clause true.
func (f *formula) holds(value []int8) bool {
	return !slices.ContainsFunc(f.clauses, func(clause []int32) bool {
		return !slices.ContainsFunc(clause, func(l int32) bool { return l > 0 && value[l] > 0 || l < 0 && value[-l] < 0 })
	})
}

// dpll is a search for an assignment.
type dpll struct {
	f     *formula
	value []int8  // by variable: 1 true, -1 false, 0 open
	in    [][]int // by literal: the clauses that it is in
	trail []int32
	left  int // decisions
}

func index(l int32) int {
	if l < 0 {
		return int(-2*l + 1)
	}
	return int(2 * l)
}

func (d *dpll) of(l int32) int8 {
	if l < 0 {
		return -d.value[-l]
	}
	return d.value[l]
}

// set makes a literal true, and what follows from it alone. It returns false if that is a
// contradiction.
func (d *dpll) set(l int32) bool {
	switch d.of(l) {
	case 1:
		return true
	case -1:
		return false
	}
	begin := len(d.trail)
	assign := func(l int32) {
		if l < 0 {
			d.value[-l] = -1
		} else {
			d.value[l] = 1
		}
		d.trail = append(d.trail, l)
	}
	assign(l)
	for ; begin < len(d.trail); begin++ {
		for _, i := range d.in[index(-d.trail[begin])] {
			var open int32
			n, holds := 0, false
			for _, m := range d.f.clauses[i] {
				switch d.of(m) {
				case 1:
					holds = true
				case 0:
					open = m
					n++
				}
			}
			switch {
			case holds || n > 1:
			case n == 0:
				return false
			default:
				assign(open)
			}
		}
	}
	return true
}

// search assigns the variables from number v on.
func (d *dpll) search(v int32) bool {
	for int(v) <= d.f.vars && d.value[v] != 0 {
		v++
	}
	if int(v) > d.f.vars {
		return true
	}
	for _, l := range []int32{v, -v} {
		if d.left--; d.left <= 0 {
			return false
		}
		mark := len(d.trail)
		if d.set(l) && d.search(v+1) {
			return true
		}
		for _, m := range d.trail[mark:] {
			d.value[max(m, -m)] = 0
		}
		d.trail = d.trail[:mark]
	}
	return false
}
