// Package lp holds linear and mixed-integer programs as data: a sparse matrix
// of exact rational coefficients with bounds on columns and rows. It decides
// nothing about them except, in exact arithmetic, whether given values satisfy
// a program (Model.Check), what they cost (Model.Objective) and what bound on
// the optimum given row multipliers prove (Model.DualBound). Encodings build a
// Model; backends in the packages below solve it, and Model.WriteMPS hands it
// to any other solver.
//
// A program reads
//
//	minimise (or maximise)   Offset + Σ_j cost_j·x_j
//	subject to               lower_i <= Σ_j a_ij·x_j <= upper_i   for every row i
//	                         lower_j <= x_j <= upper_j            for every column j
//	                         x_j whole                            for every integer column j
//
// Numbers have the unit that the encoding gives them.
package lp

import "fmt"

// Sense is the direction of the objective.
type Sense uint8

// The two senses.
const (
	Minimise Sense = iota
	Maximise
)

// String returns "minimise" or "maximise".
func (s Sense) String() string {
	if s == Maximise {
		return "maximise"
	}
	return "minimise"
}

// Column is a variable. The zero value is fixed at 0.
type Column struct {
	Name         string // for people and for MPS files; may be empty or occur twice
	Cost         Rat
	Lower, Upper Bound
	Integer      bool
}

// Term is a coefficient of a row.
type Term struct {
	Col  int // index of the column
	Coef Rat
}

// T returns the term n·x_col.
func T(col int, n int64) Term { return Term{Col: col, Coef: Int(n)} }

// Row is a constraint.
type Row struct {
	Name         string // for people and for MPS files; may be empty or occur twice
	Lower, Upper Bound
	Terms        []Term // each column at most once, no zeros; not to be changed
}

// Model is a linear or mixed-integer program. The zero value is an empty one to
// be minimised. Columns and rows keep the order in which they were added. A
// Model must not be changed while another goroutine uses it.
type Model struct {
	Name   string
	Sense  Sense
	Offset Rat // the constant of the objective

	// Start is a value for every column where a solver may begin, or nil. It
	// need not satisfy anything; a solver ignores what it cannot use.
	Start []Rat

	columns []Column
	rows    []rowHead
	terms   []Term // of all rows, one row after the other
	seen    []int  // by column: 1 + place in terms of its latest term
}

type rowHead struct {
	name         string
	lower, upper Bound
	end          int // end of its terms in Model.terms
}

// AddColumn adds a column and returns its index.
func (m *Model) AddColumn(c Column) int {
	m.columns = append(m.columns, c)
	m.seen = append(m.seen, 0)
	return len(m.columns) - 1
}

// AddBinary adds an integer column with the bounds 0 and 1 and returns its index.
func (m *Model) AddBinary(name string, cost Rat) int {
	return m.AddColumn(Column{Name: name, Cost: cost, Upper: AtInt(1), Integer: true})
}

// AddNonNegative adds a continuous column with the bounds 0 and infinity and
// returns its index.
func (m *Model) AddNonNegative(name string, cost Rat) int {
	return m.AddColumn(Column{Name: name, Cost: cost, Upper: PlusInf})
}

// AddRow adds the row lower <= Σ terms <= upper and returns its index. Terms of
// the same column are summed into the first of them, and what is zero is left
// out; a row without terms is allowed. AddRow copies the terms and panics if one
// of them names a column that does not exist. It takes O(terms) time.
func (m *Model) AddRow(name string, lower, upper Bound, terms ...Term) int {
	begin := len(m.terms)
	for _, t := range terms {
		if t.Col < 0 || t.Col >= len(m.columns) {
			panic(fmt.Sprintf("lp: row %d (%q) has a term of column %d, but there are %d columns", len(m.rows), name, t.Col, len(m.columns)))
		}
		if k := m.seen[t.Col] - 1; k >= begin {
			m.terms[k].Coef = m.terms[k].Coef.Add(t.Coef)
			continue
		}
		m.terms = append(m.terms, t)
		m.seen[t.Col] = len(m.terms)
	}
	end := begin
	for _, t := range m.terms[begin:] {
		m.seen[t.Col] = 0
		if t.Coef.Sign() != 0 {
			m.terms[end] = t
			end++
		}
	}
	m.terms = m.terms[:end]
	m.rows = append(m.rows, rowHead{name: name, lower: lower, upper: upper, end: end})
	return len(m.rows) - 1
}

// AddLE adds the row Σ terms <= rhs. See AddRow.
func (m *Model) AddLE(name string, rhs Rat, terms ...Term) int {
	return m.AddRow(name, MinusInf, At(rhs), terms...)
}

// AddGE adds the row Σ terms >= rhs. See AddRow.
func (m *Model) AddGE(name string, rhs Rat, terms ...Term) int {
	return m.AddRow(name, At(rhs), PlusInf, terms...)
}

// AddEQ adds the row Σ terms = rhs. See AddRow.
func (m *Model) AddEQ(name string, rhs Rat, terms ...Term) int {
	return m.AddRow(name, At(rhs), At(rhs), terms...)
}

// NumColumns returns the number of columns.
func (m *Model) NumColumns() int { return len(m.columns) }

// NumRows returns the number of rows.
func (m *Model) NumRows() int { return len(m.rows) }

// Column returns column j.
func (m *Model) Column(j int) Column { return m.columns[j] }

// Row returns row i in O(1) time.
func (m *Model) Row(i int) Row {
	begin := 0
	if i > 0 {
		begin = m.rows[i-1].end
	}
	h := &m.rows[i]
	return Row{Name: h.name, Lower: h.lower, Upper: h.upper, Terms: m.terms[begin:h.end:h.end]}
}

// SetCost sets the cost of column j.
func (m *Model) SetCost(j int, cost Rat) { m.columns[j].Cost = cost }

// SetBounds sets the bounds of column j.
func (m *Model) SetBounds(j int, lower, upper Bound) {
	m.columns[j].Lower, m.columns[j].Upper = lower, upper
}

// SetRowBounds sets the bounds of row i.
func (m *Model) SetRowBounds(i int, lower, upper Bound) {
	m.rows[i].lower, m.rows[i].upper = lower, upper
}

// ColumnName returns the name of column j, or "c<j>" if it has none.
func (m *Model) ColumnName(j int) string {
	if n := m.columns[j].Name; n != "" {
		return n
	}
	return fmt.Sprintf("c%d", j)
}

// RowName returns the name of row i, or "r<i>" if it has none.
func (m *Model) RowName(i int) string {
	if n := m.rows[i].name; n != "" {
		return n
	}
	return fmt.Sprintf("r%d", i)
}

// Dims is the size of a model.
type Dims struct {
	Columns  int
	Integers int // integer columns among them
	Rows     int
	Nonzeros int // coefficients of all rows
}

// String returns d as "12 columns (4 integer), 7 rows, 30 nonzeros".
func (d Dims) String() string {
	return fmt.Sprintf("%d columns (%d integer), %d rows, %d nonzeros", d.Columns, d.Integers, d.Rows, d.Nonzeros)
}

// Dims returns the size of m. It takes O(columns) time.
func (m *Model) Dims() Dims {
	d := Dims{Columns: len(m.columns), Rows: len(m.rows), Nonzeros: len(m.terms)}
	for j := range m.columns {
		if m.columns[j].Integer {
			d.Integers++
		}
	}
	return d
}
