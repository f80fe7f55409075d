package highs

import (
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/solve/lp"
)

// What HiGHS makes of numbers with its default options: smaller coefficients are
// dropped, larger ones refused, larger bounds and costs taken for infinite.
const (
	smallCoef = 1e-9
	largeCoef = 1e15
	infinite  = 1e20
)

// arrays is a model in the form that HiGHS reads: floating point, row by row.
type arrays struct {
	sense      lp.Sense
	offset     float64
	cost       []float64
	colL, colU []float64
	rowL, rowU []float64
	begin      []int32 // of every row in index and value
	index      []int32
	value      []float64
	kinds      []int32 // 1 for integer columns; nil if there are none
	integer    bool    // whether there are integer columns
	start      []float64
	rows       int    // of the model, without the cutoff
	rounded    int    // numbers that float64 does not hold
	empty      string // the bounds that nothing satisfies, if there are any
}

func newArrays(m *lp.Model, o Options) (*arrays, error) {
	d := m.Dims()
	nz := d.Nonzeros
	if o.Cutoff != nil {
		nz += d.Columns
	}
	if max(d.Columns, d.Rows+1, nz) > math.MaxInt32 {
		return nil, fmt.Errorf("a model of %v is too large: want at most %d each", d, math.MaxInt32)
	}
	a := &arrays{
		sense: m.Sense, rows: d.Rows, integer: d.Integers > 0,
		cost: make([]float64, d.Columns),
		colL: make([]float64, d.Columns), colU: make([]float64, d.Columns),
		rowL: make([]float64, d.Rows, d.Rows+1), rowU: make([]float64, d.Rows, d.Rows+1),
		begin: make([]int32, d.Rows, d.Rows+1),
		index: make([]int32, 0, nz), value: make([]float64, 0, nz),
	}
	if a.integer {
		a.kinds = make([]int32, d.Columns)
	}
	var err error
	if a.offset, err = a.number(m.Offset, 0, infinite); err != nil {
		return nil, fmt.Errorf("the objective's constant %w", err)
	}
	for j := range d.Columns {
		c := m.Column(j)
		if a.cost[j], err = a.number(c.Cost, 0, infinite); err != nil {
			return nil, fmt.Errorf("column %d (%s): cost %w", j, m.ColumnName(j), err)
		}
		if a.colL[j], a.colU[j], err = a.bounds(c.Lower, c.Upper); err != nil {
			return nil, fmt.Errorf("column %d (%s): %w", j, m.ColumnName(j), err)
		}
		if crossed(c.Lower, c.Upper) && a.empty == "" {
			a.empty = fmt.Sprintf("column %d (%s) must be from %s to %s", j, m.ColumnName(j), c.Lower, c.Upper)
		}
		if c.Integer {
			a.kinds[j] = 1
		}
	}
	for i := range d.Rows {
		r := m.Row(i)
		if a.rowL[i], a.rowU[i], err = a.bounds(r.Lower, r.Upper); err != nil {
			return nil, fmt.Errorf("row %d (%s): %w", i, m.RowName(i), err)
		}
		zero := lp.AtInt(0)
		if (crossed(r.Lower, r.Upper) || len(r.Terms) == 0 && (r.Lower.Cmp(zero) > 0 || r.Upper.Cmp(zero) < 0)) && a.empty == "" {
			a.empty = fmt.Sprintf("row %d (%s) with %d terms must be from %s to %s", i, m.RowName(i), len(r.Terms), r.Lower, r.Upper)
		}
		a.begin[i] = int32(len(a.index))
		for _, t := range r.Terms {
			v, err := a.number(t.Coef, smallCoef, largeCoef)
			if err != nil {
				return nil, fmt.Errorf("row %d (%s): coefficient of column %d (%s) %w", i, m.RowName(i), t.Col, m.ColumnName(t.Col), err)
			}
			a.index = append(a.index, int32(t.Col))
			a.value = append(a.value, v)
		}
	}
	if o.Cutoff != nil {
		if err := a.cutOff(*o.Cutoff); err != nil {
			return nil, err
		}
	}
	a.setStart(m, o)
	return a, nil
}

// number returns r as a float64, or an error if HiGHS would not take it at its value.
func (a *arrays) number(r lp.Rat, small, large float64) (float64, error) {
	x, exact := r.Float64()
	if !exact {
		a.rounded++
	}
	if v := math.Abs(x); r.Sign() != 0 && v <= small || v >= large {
		return 0, fmt.Errorf("%s is out of the solver's range, want 0 or a magnitude in (%g, %g): scale the model", r, small, large)
	}
	return x, nil
}

func (a *arrays) bounds(lower, upper lp.Bound) (l, u float64, err error) {
	if l, err = a.bound(lower); err != nil {
		return 0, 0, fmt.Errorf("lower bound %w", err)
	}
	if u, err = a.bound(upper); err != nil {
		return 0, 0, fmt.Errorf("upper bound %w", err)
	}
	return l, u, nil
}

func (a *arrays) bound(b lp.Bound) (float64, error) {
	if r, ok := b.Finite(); ok {
		return a.number(r, 0, infinite)
	}
	x, _ := b.Float64()
	return x, nil
}

// crossed reports whether no number is within the bounds.
func crossed(lower, upper lp.Bound) bool {
	return lower.Cmp(upper) > 0 || lower == lp.PlusInf || upper == lp.MinusInf
}

// cutOff adds the row that demands an objective at least as good as limit.
func (a *arrays) cutOff(limit float64) error {
	lower, upper := math.Inf(-1), limit-a.offset
	if a.sense == lp.Maximise {
		lower, upper = limit-a.offset, math.Inf(1)
	}
	a.rowL, a.rowU = append(a.rowL, lower), append(a.rowU, upper)
	a.begin = append(a.begin, int32(len(a.index)))
	for j, c := range a.cost {
		if c == 0 {
			continue
		}
		if v := math.Abs(c); v <= smallCoef || v >= largeCoef {
			return fmt.Errorf("cutoff: the cost %g of column %d is out of the solver's range for rows, (%g, %g): scale the objective", c, j, smallCoef, largeCoef)
		}
		a.index, a.value = append(a.index, int32(j)), append(a.value, c)
	}
	if len(a.index) == int(a.begin[a.rows]) && (lower > 0 || upper < 0) && a.empty == "" {
		a.empty = fmt.Sprintf("the objective is %g and cannot reach the cutoff %g", a.offset, limit)
	}
	return nil
}

func (a *arrays) setStart(m *lp.Model, o Options) {
	switch {
	case o.Start != nil:
		a.start = o.Start
	case m.Start != nil:
		a.start = make([]float64, len(m.Start))
		for j, r := range m.Start {
			a.start[j], _ = r.Float64()
		}
	}
	for _, v := range a.start {
		if !finite(v) { // HiGHS would compute with it
			a.start = nil
		}
	}
}

// objective returns the value of the objective at x.
func (a *arrays) objective(x []float64) float64 {
	sum := a.offset
	for j, c := range a.cost {
		sum += c * x[j]
	}
	return sum
}

func (a *arrays) hasCosts() bool {
	return slices.ContainsFunc(a.cost, func(c float64) bool { return c != 0 })
}

// finish completes what a run, or a case that needs none, has put into res,
// where a DualBound that is not a number stands for none.
func (a *arrays) finish(res *Result, o Options) {
	none := math.Inf(-1)
	if a.sense == lp.Maximise {
		none = math.Inf(1)
	}
	if !res.HasSolution {
		res.Objective = math.NaN()
	}
	if res.Status == InfeasibleOrUnbounded && !a.hasCosts() {
		res.Status = Infeasible
	}
	switch {
	case res.Status == Infeasible:
		res.DualBound = -none
	case res.Status == Optimal && !a.integer:
		res.DualBound = res.Objective
	case res.Status == Unbounded || res.Status == InfeasibleOrUnbounded ||
		!a.integer || math.Abs(res.DualBound) >= infinite || math.IsNaN(res.DualBound):
		res.DualBound = none
	}
	// A bound that was found below the cutoff says nothing about what is beyond it.
	if o.Cutoff != nil && a.sense == lp.Minimise {
		res.DualBound = min(res.DualBound, *o.Cutoff)
	} else if o.Cutoff != nil {
		res.DualBound = max(res.DualBound, *o.Cutoff)
	}
	switch {
	case !res.HasSolution || math.IsInf(res.DualBound, 0):
		res.Gap = math.Inf(1)
	case res.Objective == res.DualBound:
		res.Gap = 0
	default:
		res.Gap = math.Abs(res.Objective-res.DualBound) / math.Abs(res.Objective)
	}
}
