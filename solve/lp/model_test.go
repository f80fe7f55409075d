package lp_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/solve/lp"
)

func TestRowSumsDuplicates(t *testing.T) {
	m := &lp.Model{}
	for range 4 {
		m.AddNonNegative("", lp.Int(1))
	}
	terms := []lp.Term{lp.T(2, 1), lp.T(0, 3), lp.T(2, 4), lp.T(1, 5), lp.T(1, -5), lp.T(3, 0), lp.T(0, -1)}
	i := m.AddEQ("sum", lp.Int(7), terms...)
	terms[0].Coef = lp.Int(99) // the caller's again
	require.Equal(t, []lp.Term{lp.T(2, 5), lp.T(0, 2)}, m.Row(i).Terms)

	i = m.AddLE("next", lp.Int(1), lp.T(0, 1), lp.T(1, 1))
	require.Equal(t, []lp.Term{lp.T(0, 1), lp.T(1, 1)}, m.Row(i).Terms)
	i = m.AddGE("", lp.Int(1))
	require.Empty(t, m.Row(i).Terms)
	// A term that cancels and comes again.
	i = m.AddRow("", lp.MinusInf, lp.PlusInf, lp.T(0, 1), lp.T(0, -1), lp.T(0, 2))
	require.Equal(t, []lp.Term{lp.T(0, 2)}, m.Row(i).Terms)

	require.Equal(t, lp.Dims{Columns: 4, Rows: 4, Nonzeros: 5}, m.Dims())
	require.Equal(t, "4 columns (0 integer), 4 rows, 5 nonzeros", m.Dims().String())
	require.Equal(t, "sum", m.RowName(0))
	require.Equal(t, "r2", m.RowName(2))
	require.Equal(t, "c3", m.ColumnName(3))
	require.Panics(t, func() { m.AddLE("", lp.Int(1), lp.T(4, 1)) })
	require.Panics(t, func() { m.AddLE("", lp.Int(1), lp.T(-1, 1)) })
}

func TestRowAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &lp.Model{}
		n := rapid.IntRange(1, 6).Draw(t, "columns")
		for range n {
			m.AddBinary("", lp.Rat{})
		}
		want := []map[int]int64{}
		for range rapid.IntRange(0, 6).Draw(t, "rows") {
			row := map[int]int64{}
			var terms []lp.Term
			for range rapid.IntRange(0, 12).Draw(t, "terms") {
				j, v := rapid.IntRange(0, n-1).Draw(t, "column"), rapid.Int64Range(-2, 2).Draw(t, "coefficient")
				terms = append(terms, lp.T(j, v))
				row[j] += v
			}
			m.AddLE("", lp.Int(1), terms...)
			want = append(want, row)
		}
		for i, row := range want {
			got := map[int]int64{}
			for _, term := range m.Row(i).Terms {
				v, ok := term.Coef.Int64()
				require.True(t, ok)
				require.NotZero(t, v)
				require.NotContains(t, got, term.Col)
				got[term.Col] = v
			}
			for j, v := range row {
				require.Equal(t, v, got[j])
			}
		}
	})
}

func TestCheckFindsEveryViolation(t *testing.T) {
	m := &lp.Model{Offset: lp.Int(10)}
	x := m.AddBinary("x", lp.Int(2))
	y := m.AddColumn(lp.Column{Name: "y", Lower: lp.AtInt(-1), Upper: lp.PlusInf, Cost: lp.Frac(1, 2)})
	m.AddLE("cap", lp.Int(3), lp.T(x, 2), lp.T(y, 1))
	m.AddEQ("tie", lp.Int(1), lp.T(x, 1), lp.T(y, 1))
	m.AddGE("never", lp.Int(1))
	m.AddRow("free", lp.MinusInf, lp.PlusInf, lp.T(y, 1))
	for _, c := range []struct {
		x, y lp.Rat
		want []string
		obj  string
	}{
		{lp.Int(1), lp.Int(0), []string{"row 2 (never) sums to 0, want >= 1"}, "12"},
		{lp.Int(2), lp.Int(-2), []string{"column 0 (x) is 2, want <= 1", "column 1 (y) is -2, want >= -1",
			"row 1 (tie) sums to 0, want >= 1", "row 2 (never) sums to 0, want >= 1"}, "13"},
		{lp.Frac(1, 3), lp.Frac(5, 2), []string{"column 0 (x) is 1/3, want a whole number",
			"row 0 (cap) sums to 19/6, want <= 3", "row 1 (tie) sums to 17/6, want <= 1", "row 2 (never) sums to 0, want >= 1"}, "143/12"},
	} {
		vs, err := m.Check([]lp.Rat{c.x, c.y})
		require.NoError(t, err)
		var got []string
		for _, v := range vs {
			got = append(got, v.String())
			require.Positive(t, v.Amount.Cmp(lp.AtInt(0)))
		}
		require.Equal(t, c.want, got)
		obj, err := m.Objective([]lp.Rat{c.x, c.y})
		require.NoError(t, err)
		require.Equal(t, c.obj, obj.String())
	}
	vs, err := m.Check([]lp.Rat{lp.Frac(1, 3), lp.Frac(5, 2)})
	require.NoError(t, err)
	require.Equal(t, lp.Violation{Side: lp.Fractional, Index: 0, Name: "x", Value: lp.Frac(1, 3), Limit: lp.AtInt(0), Amount: lp.At(lp.Frac(1, 3))}, vs[0])
	require.Equal(t, lp.At(lp.Frac(1, 6)), vs[1].Amount)

	// The smallest excess counts, and bounds that nothing meets are violated.
	m.SetBounds(y, lp.PlusInf, lp.PlusInf)
	vs, err = m.Check([]lp.Rat{lp.Frac(1, math.MaxInt64).Add(lp.Int(1)), lp.Int(0)})
	require.NoError(t, err)
	require.Equal(t, lp.ColumnUpper, vs[0].Side)
	require.Equal(t, lp.Fractional, vs[1].Side)
	require.Equal(t, lp.ColumnLower, vs[2].Side)
	require.Equal(t, lp.PlusInf, vs[2].Amount)

	for _, n := range []int{0, 1, 3} {
		_, err := m.Check(make([]lp.Rat, n))
		require.Error(t, err)
		_, err = m.Objective(make([]lp.Rat, n))
		require.Error(t, err)
		_, err = m.Round(make([]float64, n))
		require.Error(t, err)
	}
	_, err = m.DualBound(make([]lp.Rat, 3))
	require.Error(t, err)
}

func TestRound(t *testing.T) {
	m := &lp.Model{}
	m.AddBinary("b", lp.Rat{})
	m.AddNonNegative("f", lp.Rat{})
	x, err := m.Round([]float64{0.9999997, 0.1})
	require.NoError(t, err)
	require.Equal(t, lp.Int(1), x[0])
	tenth, _ := lp.Float(0.1)
	require.Equal(t, tenth, x[1])
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		_, err = m.Round([]float64{0, bad})
		require.ErrorContains(t, err, "column 1 (f)")
	}
}

func ExampleModel_DualBound() {
	m := &lp.Model{Sense: lp.Maximise}
	x := m.AddNonNegative("x", lp.Int(3))
	y := m.AddNonNegative("y", lp.Int(5))
	m.AddLE("a", lp.Int(4), lp.T(x, 1))
	m.AddLE("b", lp.Int(12), lp.T(y, 2))
	m.AddLE("c", lp.Int(18), lp.T(x, 3), lp.T(y, 2))
	for _, multipliers := range [][]lp.Rat{
		{lp.Int(0), lp.Frac(3, 2), lp.Int(1)}, // the optimal duals
		{lp.Int(3), lp.Frac(5, 2), lp.Int(0)}, // others
		{lp.Int(0), lp.Int(0), lp.Int(0)},     // nothing
	} {
		b, err := m.DualBound(multipliers)
		fmt.Println(b, err)
	}
	// Output:
	// 36 <nil>
	// 42 <nil>
	// inf <nil>
}

// Whatever the multipliers are, no feasible point beats the bound that they prove.
func TestDualBoundIsABound(t *testing.T) {
	bounded := 0
	rapid.Check(t, func(t *rapid.T) {
		m := &lp.Model{Sense: lp.Sense(rapid.IntRange(0, 1).Draw(t, "sense")), Offset: lp.Int(rapid.Int64Range(-3, 3).Draw(t, "offset"))}
		small := rapid.Int64Range(-4, 4)
		n := rapid.IntRange(1, 4).Draw(t, "columns")
		x := make([]lp.Rat, n)
		for j := range x {
			// Bounds and rows are drawn around x, so that it is feasible.
			v := small.Draw(t, "x")
			x[j] = lp.Int(v)
			l, u := around(t, x[j])
			m.AddColumn(lp.Column{Cost: lp.Int(small.Draw(t, "cost")), Lower: l, Upper: u})
		}
		y := make([]lp.Rat, rapid.IntRange(0, 4).Draw(t, "rows"))
		for i := range y {
			var terms []lp.Term
			var sum lp.Rat
			for j := range x {
				a := small.Draw(t, "coefficient")
				terms = append(terms, lp.T(j, a))
				sum = sum.Add(lp.Int(a).Mul(x[j]))
			}
			l, u := around(t, sum)
			m.AddRow("", l, u, terms...)
			y[i] = lp.Frac(small.Draw(t, "multiplier"), 3)
		}
		vs, err := m.Check(x)
		require.NoError(t, err)
		require.Empty(t, vs)
		bound, err := m.DualBound(y)
		require.NoError(t, err)
		value, err := m.Objective(x)
		require.NoError(t, err)
		if m.Sense == lp.Minimise {
			require.LessOrEqual(t, bound.Cmp(lp.At(value)), 0)
		} else {
			require.GreaterOrEqual(t, bound.Cmp(lp.At(value)), 0)
		}
		if _, ok := bound.Finite(); ok {
			bounded++
		}
	})
	require.Positive(t, bounded)
}

func around(t *rapid.T, v lp.Rat) (lower, upper lp.Bound) {
	lower = lp.At(v.Sub(lp.Int(rapid.Int64Range(0, 3).Draw(t, "below"))))
	upper = lp.At(v.Add(lp.Int(rapid.Int64Range(0, 3).Draw(t, "above"))))
	switch rapid.IntRange(0, 5).Draw(t, "side") {
	case 0:
		lower = lp.MinusInf
	case 1:
		upper = lp.PlusInf
	}
	return lower, upper
}
