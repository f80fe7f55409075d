package lp

import (
	"bufio"
	"fmt"
	"io"
	"math/big"
	"strconv"
)

// mpsDigits is the number of decimals up to which WriteMPS writes a fraction
// exactly; beyond them, and where no number of decimals is enough, it rounds to
// mpsRounded significant digits, which a float64 does not lose anything by.
const (
	mpsDigits  = 40
	mpsRounded = 17
)

// WriteMPS writes m in free MPS format, so that any solver can be asked. The
// names of columns and rows are those of ColumnName and RowName, with every
// character that a reader could stumble over replaced by '_' and made unique
// by an appended number. Whole numbers and decimal fractions are written
// exactly; others are rounded, and a comment at the end of the file says how
// many. The start vector is not written: MPS has no place for it.
//
// The objective is the row "obj" (or that with a number), its constant is the
// negated right-hand side of that row, as CPLEX, Gurobi and HiGHS read it. An
// error comes from w, or from a row whose lower bound is above its upper bound
// or a column with -inf above or inf below, which MPS cannot say. WriteMPS takes O(nonzeros) time and memory.
func (m *Model) WriteMPS(w io.Writer) error {
	for i := range m.rows {
		r := &m.rows[i]
		if r.lower.Cmp(r.upper) > 0 || r.lower.inf > 0 || r.upper.inf < 0 {
			return fmt.Errorf("lp: row %d (%s) must be from %s to %s: an empty range cannot be written as MPS", i, m.RowName(i), r.lower, r.upper)
		}
	}
	for j := range m.columns {
		c := &m.columns[j]
		if c.Lower.inf > 0 || c.Upper.inf < 0 {
			return fmt.Errorf("lp: column %d (%s) must be from %s to %s: an empty range cannot be written as MPS", j, m.ColumnName(j), c.Lower, c.Upper)
		}
	}
	p := &mpsWriter{m: m, w: bufio.NewWriterSize(w, 1<<16)}
	p.names()
	p.head()
	p.body()
	p.rhs()
	p.bounds()
	if p.rounded > 0 {
		fmt.Fprintf(p.w, "* %d numbers are rounded to %d digits\n", p.rounded, mpsRounded)
	}
	p.put("ENDATA")
	return p.w.Flush() // a bufio.Writer keeps the first error of all
}

type mpsWriter struct {
	m       *Model
	w       *bufio.Writer
	obj     string
	rows    []string
	columns []string
	rounded int
}

// put writes one line: fields with a blank between them.
func (p *mpsWriter) put(fields ...string) {
	for i, f := range fields {
		if i > 0 {
			p.w.WriteByte(' ')
		}
		p.w.WriteString(f)
	}
	p.w.WriteByte('\n')
}

// number returns r in decimal and counts it if that is not exact.
func (p *mpsWriter) number(r Rat) string {
	if r.r == nil {
		return strconv.FormatInt(r.n, 10)
	}
	if digits, exact := r.r.FloatPrec(); exact && digits <= mpsDigits {
		return r.r.FloatString(digits)
	}
	p.rounded++
	return new(big.Float).SetPrec(200).SetRat(r.r).Text('g', mpsRounded)
}

func (p *mpsWriter) names() {
	taken := map[string]bool{}
	p.obj = validName("obj", 0, taken)
	p.rows = make([]string, len(p.m.rows))
	for i := range p.rows {
		p.rows[i] = validName(p.m.RowName(i), i, taken)
	}
	clear(taken) // rows and columns may share names
	p.columns = make([]string, len(p.m.columns))
	for j := range p.columns {
		p.columns[j] = validName(p.m.ColumnName(j), j, taken)
	}
}

// maxName is the length up to which every solver that we know of takes names.
const maxName = 200

// validName returns name, the name of the row or column with index i, in a form
// that MPS readers accept and that is not in taken, and adds it there.
func validName(name string, i int, taken map[string]bool) string {
	b := []byte(name[:min(len(name), maxName)])
	for k, c := range b {
		ok := c > ' ' && c < 0x7f
		if k == 0 && (c == '*' || c == '$' || c == '\'') { // comment, comment, marker
			ok = false
		}
		if !ok {
			b[k] = '_'
		}
	}
	valid := string(b)
	for n := i; taken[valid]; n++ {
		valid = fmt.Sprintf("%s_%d", b, n)
	}
	taken[valid] = true
	return valid
}

// kind returns the letter of a row.
func kind(lower, upper Bound) string {
	switch {
	case lower.inf != 0 && upper.inf != 0:
		return "N"
	case lower.inf != 0:
		return "L"
	case upper.inf == 0 && lower.Cmp(upper) == 0:
		return "E"
	}
	return "G" // with a range if there is an upper bound
}

func (p *mpsWriter) head() {
	name := p.m.Name
	if name == "" {
		name = "model"
	}
	p.put("NAME", validName(name, 0, map[string]bool{}))
	if p.m.Sense == Maximise {
		p.put("OBJSENSE")
		p.put("", "MAX")
	}
	p.put("ROWS")
	p.put("", "N", p.obj)
	for i := range p.m.rows {
		p.put("", kind(p.m.rows[i].lower, p.m.rows[i].upper), p.rows[i])
	}
}

// body writes the matrix by columns.
func (p *mpsWriter) body() {
	m := p.m
	// first[j] is where the entries of column j begin once all are in place.
	first := make([]int, len(m.columns)+1)
	for _, t := range m.terms {
		first[t.Col+1]++
	}
	for j := range m.columns {
		first[j+1] += first[j]
	}
	type entry struct{ row, term int }
	entries := make([]entry, len(m.terms))
	next := append([]int(nil), first...)
	begin := 0
	for i := range m.rows {
		for k := begin; k < m.rows[i].end; k++ {
			j := m.terms[k].Col
			entries[next[j]] = entry{i, k}
			next[j]++
		}
		begin = m.rows[i].end
	}

	p.put("COLUMNS")
	integer, markers := false, 0
	marker := func(kind string) {
		p.put("", "MARKER"+strconv.Itoa(markers), "'MARKER'", kind)
		markers++
	}
	for j := range m.columns {
		c := &m.columns[j]
		switch {
		case c.Integer && !integer:
			marker("'INTORG'")
		case !c.Integer && integer:
			marker("'INTEND'")
		}
		integer = c.Integer
		if c.Cost.Sign() != 0 || first[j] == first[j+1] { // a column in no row must be named all the same
			p.put("", p.columns[j], p.obj, p.number(c.Cost))
		}
		for _, e := range entries[first[j]:first[j+1]] {
			p.put("", p.columns[j], p.rows[e.row], p.number(m.terms[e.term].Coef))
		}
	}
	if integer {
		marker("'INTEND'")
	}
}

func (p *mpsWriter) rhs() {
	p.put("RHS")
	if p.m.Offset.Sign() != 0 {
		p.put("", "rhs", p.obj, p.number(p.m.Offset.Neg()))
	}
	ranges := false
	for i := range p.m.rows {
		r := &p.m.rows[i]
		b := r.lower
		if b.inf != 0 {
			b = r.upper
		}
		if b.inf != 0 {
			continue
		}
		if b.v.Sign() != 0 {
			p.put("", "rhs", p.rows[i], p.number(b.v))
		}
		ranges = ranges || r.lower.inf == 0 && r.upper.inf == 0 && r.lower.Cmp(r.upper) < 0
	}
	if !ranges {
		return
	}
	p.put("RANGES")
	for i := range p.m.rows {
		r := &p.m.rows[i]
		if r.lower.inf == 0 && r.upper.inf == 0 && r.lower.Cmp(r.upper) < 0 {
			p.put("", "rng", p.rows[i], p.number(r.upper.v.Sub(r.lower.v)))
		}
	}
}

// bounds writes what differs from the default of 0 to infinity, and for integer
// columns everything, because readers do not agree on their default.
func (p *mpsWriter) bounds() {
	p.put("BOUNDS")
	for j := range p.m.columns {
		c := &p.m.columns[j]
		name := p.columns[j]
		switch {
		case c.Lower.inf != 0 && c.Upper.inf != 0:
			p.put("", "FR", "bnd", name)
		case c.Lower.inf == 0 && c.Lower.Cmp(c.Upper) == 0:
			p.put("", "FX", "bnd", name, p.number(c.Lower.v))
		default:
			upper, finite := c.Upper.Finite()
			switch {
			case c.Lower.inf != 0:
				p.put("", "MI", "bnd", name)
			case c.Integer || c.Lower.v.Sign() != 0 || finite && upper.Sign() <= 0: // a lone UP <= 0 would lower the lower bound too
				p.put("", "LO", "bnd", name, p.number(c.Lower.v))
			}
			switch {
			case finite:
				p.put("", "UP", "bnd", name, p.number(upper))
			case c.Integer:
				p.put("", "PL", "bnd", name)
			}
		}
	}
}
