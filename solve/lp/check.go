package lp

import (
	"fmt"
	"math"
)

// Side states which demand of a model is violated.
type Side uint8

// The demands.
const (
	ColumnLower Side = iota + 1 // a column is below its lower bound
	ColumnUpper                 // a column is above its upper bound
	Fractional                  // an integer column is not a whole number
	RowLower                    // a row's sum is below its lower bound
	RowUpper                    // a row's sum is above its upper bound
)

// Violation is one demand that values do not meet.
type Violation struct {
	Side   Side
	Index  int    // of the column or row
	Name   string // of the column or row
	Value  Rat    // of the column, or the row's sum
	Limit  Bound  // the bound, or for Fractional the nearest whole number
	Amount Bound  // how far Value is from Limit; > 0, infinite only if Limit is
}

// String returns a sentence.
func (v Violation) String() string {
	switch v.Side {
	case Fractional:
		return fmt.Sprintf("column %d (%s) is %s, want a whole number", v.Index, v.Name, v.Value)
	case ColumnLower:
		return fmt.Sprintf("column %d (%s) is %s, want >= %s", v.Index, v.Name, v.Value, v.Limit)
	case ColumnUpper:
		return fmt.Sprintf("column %d (%s) is %s, want <= %s", v.Index, v.Name, v.Value, v.Limit)
	case RowLower:
		return fmt.Sprintf("row %d (%s) sums to %s, want >= %s", v.Index, v.Name, v.Value, v.Limit)
	case RowUpper:
		return fmt.Sprintf("row %d (%s) sums to %s, want <= %s", v.Index, v.Name, v.Value, v.Limit)
	}
	return fmt.Sprintf("Side(%d) of %d", v.Side, v.Index)
}

// Check returns every demand of m that the values x, one a column, do not meet:
// first those of the columns, then those of the rows, in order. Nothing comes
// back exactly if x is feasible, in exact arithmetic without any tolerance. An
// error means that x has the wrong length. It takes O(nonzeros) operations.
func (m *Model) Check(x []Rat) ([]Violation, error) {
	if err := m.checkLength("Check", len(x), len(m.columns), "columns"); err != nil {
		return nil, err
	}
	var vs []Violation
	for j := range m.columns {
		c := &m.columns[j]
		if At(x[j]).Cmp(c.Lower) < 0 {
			vs = append(vs, Violation{ColumnLower, j, m.ColumnName(j), x[j], c.Lower, distance(x[j], c.Lower)})
		}
		if At(x[j]).Cmp(c.Upper) > 0 {
			vs = append(vs, Violation{ColumnUpper, j, m.ColumnName(j), x[j], c.Upper, distance(x[j], c.Upper)})
		}
		if c.Integer && !x[j].IsInt() {
			near := At(x[j].Nearest())
			vs = append(vs, Violation{Fractional, j, m.ColumnName(j), x[j], near, distance(x[j], near)})
		}
	}
	begin := 0
	for i := range m.rows {
		r := &m.rows[i]
		var sum Rat
		for _, t := range m.terms[begin:r.end] {
			sum = sum.Add(t.Coef.Mul(x[t.Col]))
		}
		begin = r.end
		if At(sum).Cmp(r.lower) < 0 {
			vs = append(vs, Violation{RowLower, i, m.RowName(i), sum, r.lower, distance(sum, r.lower)})
		}
		if At(sum).Cmp(r.upper) > 0 {
			vs = append(vs, Violation{RowUpper, i, m.RowName(i), sum, r.upper, distance(sum, r.upper)})
		}
	}
	return vs, nil
}

// distance returns |v-b|.
func distance(v Rat, b Bound) Bound {
	if b.inf != 0 {
		return PlusInf
	}
	d := v.Sub(b.v)
	if d.Sign() < 0 {
		d = d.Neg()
	}
	return At(d)
}

// Objective returns the value of the objective at x, one value a column. An
// error means that x has the wrong length.
func (m *Model) Objective(x []Rat) (Rat, error) {
	if err := m.checkLength("Objective", len(x), len(m.columns), "columns"); err != nil {
		return Rat{}, err
	}
	sum := m.Offset
	for j := range m.columns {
		if m.columns[j].Cost.Sign() != 0 {
			sum = sum.Add(m.columns[j].Cost.Mul(x[j]))
		}
	}
	return sum, nil
}

// Round returns x, values that a solver found, as rationals: for integer
// columns the nearest whole number, for the others the exact value of the
// float64. The result may violate m even if the solver called x feasible: ask
// Check. An error means that x has the wrong length or contains a value that is
// not finite.
func (m *Model) Round(x []float64) ([]Rat, error) {
	if err := m.checkLength("Round", len(x), len(m.columns), "columns"); err != nil {
		return nil, err
	}
	out := make([]Rat, len(x))
	for j, v := range x {
		if m.columns[j].Integer {
			v = math.RoundToEven(v)
		}
		r, ok := Float(v)
		if !ok {
			return nil, fmt.Errorf("lp: Round: column %d (%s) has the value %v, want a finite number", j, m.ColumnName(j), v)
		}
		out[j] = r
	}
	return out, nil
}

func (m *Model) checkLength(what string, got, want int, of string) error {
	if got != want {
		return fmt.Errorf("lp: %s: %d values for %d %s", what, got, want, of)
	}
	return nil
}

// DualBound returns what the multipliers y, one a row, prove about the optimum:
// no feasible x has an objective below (for Maximise: above) the bound that
// comes back. It is true for every y, wherever it is from; the optimal row duals
// of the linear relaxation prove the relaxation's optimum. Where y proves
// nothing, the bound is infinite. An error means that y has the wrong length.
// It takes O(nonzeros) operations.
//
// For Minimise the bound is the Lagrangian one,
//
//	Offset + Σ_i min(y_i·lower_i, y_i·upper_i) + Σ_j min over lower_j <= x_j <= upper_j of (cost_j - Σ_i a_ij·y_i)·x_j
//
// where the first minimum takes the side that y_i pushes against: lower_i for
// y_i > 0 and upper_i for y_i < 0. Maximise has the maxima instead.
func (m *Model) DualBound(y []Rat) (Bound, error) {
	if err := m.checkLength("DualBound", len(y), len(m.rows), "rows"); err != nil {
		return Bound{}, err
	}
	none := MinusInf
	if m.Sense == Maximise {
		none = PlusInf
	}
	bound := m.Offset
	reduced := make([]Rat, len(m.columns))
	for j := range m.columns {
		reduced[j] = m.columns[j].Cost
	}
	begin := 0
	for i := range m.rows {
		r := &m.rows[i]
		terms := m.terms[begin:r.end]
		begin = r.end
		if y[i].Sign() == 0 {
			continue
		}
		add, ok := m.extreme(y[i], r.lower, r.upper)
		if !ok {
			return none, nil
		}
		bound = bound.Add(add)
		for _, t := range terms {
			reduced[t.Col] = reduced[t.Col].Sub(t.Coef.Mul(y[i]))
		}
	}
	for j := range m.columns {
		if reduced[j].Sign() == 0 {
			continue
		}
		add, ok := m.extreme(reduced[j], m.columns[j].Lower, m.columns[j].Upper)
		if !ok {
			return none, nil
		}
		bound = bound.Add(add)
	}
	return At(bound), nil
}

// extreme returns the least (for Maximise: the greatest) value of f·v over
// lower <= v <= upper. ok is false if there is none.
func (m *Model) extreme(f Rat, lower, upper Bound) (v Rat, ok bool) {
	b := lower
	if (f.Sign() < 0) != (m.Sense == Maximise) {
		b = upper
	}
	if b.inf != 0 {
		return Rat{}, false
	}
	return f.Mul(b.v), true
}
