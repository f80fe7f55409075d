//go:build cgo

package highs_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// randomModel returns a small MIP of up to 4 integer columns with at most 5
// values each, so that it can be enumerated, with rows of every kind: empty,
// free, ranges, equations, with terms that occur twice and fractions.
func randomModel(r *rand.Rand) *lp.Model {
	m := &lp.Model{Sense: lp.Sense(r.IntN(2)), Offset: lp.Frac(r.Int64N(21)-10, 1+r.Int64N(3))}
	n := 1 + r.IntN(4)
	for range n {
		lower := r.Int64N(7) - 4
		m.AddColumn(lp.Column{Cost: lp.Frac(r.Int64N(13)-6, 1+r.Int64N(2)), Lower: lp.AtInt(lower),
			Upper: lp.AtInt(lower + r.Int64N(5)), Integer: true})
	}
	for range r.IntN(5) {
		var terms []lp.Term
		for range r.IntN(n + 2) {
			terms = append(terms, lp.Term{Col: r.IntN(n), Coef: lp.Frac(r.Int64N(11)-5, 1+r.Int64N(2))})
		}
		lower, upper := lp.AtInt(r.Int64N(13)-9), lp.AtInt(r.Int64N(13)-3)
		switch r.IntN(6) {
		case 0:
			lower = lp.MinusInf
		case 1:
			upper = lp.PlusInf
		case 2:
			upper = lower
		case 3:
			if r.IntN(3) == 0 {
				lower, upper = lp.MinusInf, lp.PlusInf
			}
		}
		if lower.Cmp(upper) > 0 && r.IntN(8) != 0 { // a few may stay empty
			lower, upper = upper, lower
		}
		m.AddRow("", lower, upper, terms...)
	}
	return m
}

// text returns m as an MPS file, or why there is none, for messages.
func text(m *lp.Model) string {
	var b strings.Builder
	if err := m.WriteMPS(&b); err != nil {
		return err.Error()
	}
	return b.String()
}

// enumerate returns the optimum of a model whose columns are all integer and
// bounded. It is exact and tries every point.
func enumerate(t *testing.T, m *lp.Model) (best lp.Rat, feasible bool) {
	x := make([]lp.Rat, m.NumColumns())
	var walk func(j int)
	walk = func(j int) {
		if j == len(x) {
			vs, err := m.Check(x)
			require.NoError(t, err)
			if len(vs) > 0 {
				return
			}
			v, err := m.Objective(x)
			require.NoError(t, err)
			if c := v.Cmp(best); !feasible || c < 0 && m.Sense == lp.Minimise || c > 0 && m.Sense == lp.Maximise {
				best, feasible = v, true
			}
			return
		}
		upper, _ := m.Column(j).Upper.Finite()
		for v, _ := m.Column(j).Lower.Finite(); v.Cmp(upper) <= 0; v = v.Add(lp.Int(1)) {
			x[j] = v
			walk(j + 1)
		}
	}
	walk(0)
	return best, feasible
}

func TestRandomMIPsAgainstEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	counts := map[bool]int{}
	for k := range 1500 {
		m := randomModel(r)
		want, feasible := enumerate(t, m)
		counts[feasible]++
		res := solve(t, m, highs.Options{Seed: uint64(k)})
		if !feasible {
			require.Equal(t, highs.Infeasible, res.Status, "%d: %s\n%s", k, res.RawStatus, text(m))
			continue
		}
		require.Equal(t, highs.Optimal, res.Status, "%d: %s\n%s", k, res.RawStatus, text(m))
		x, err := m.Round(res.Values)
		require.NoError(t, err)
		vs, err := m.Check(x)
		require.NoError(t, err)
		require.Empty(t, vs, "%d\n%s", k, text(m))
		got, err := m.Objective(x)
		require.NoError(t, err)
		require.Zero(t, got.Cmp(want), "%d: %s, want %s\n%s", k, got, want, text(m))
		bound, _ := want.Float64()
		require.InDelta(t, bound, res.DualBound, 1e-5*max(1, math.Abs(bound)), "%d\n%s", k, text(m))
	}
	require.Greater(t, counts[true], 300)
	require.Greater(t, counts[false], 300)
}

// The duals of an LP relaxation, rounded to any rationals, never prove more than
// the optimum, and the solver's own prove it up to its tolerance.
func TestRandomLPDualsProveTheOptimum(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	optimal := 0
	for k := range 500 {
		mip := randomModel(r)
		m := &lp.Model{Sense: mip.Sense, Offset: mip.Offset}
		for j := range mip.NumColumns() {
			c := mip.Column(j)
			c.Integer = false
			m.AddColumn(c)
		}
		for i := range mip.NumRows() {
			row := mip.Row(i)
			m.AddRow(row.Name, row.Lower, row.Upper, row.Terms...)
		}
		res := solve(t, m, highs.Options{})
		if res.Status != highs.Optimal {
			require.Equal(t, highs.Infeasible, res.Status, "%d: %s\n%s", k, res.RawStatus, text(m))
			continue
		}
		optimal++
		require.Len(t, res.RowDuals, m.NumRows())
		y := make([]lp.Rat, m.NumRows())
		for i, d := range res.RowDuals {
			// To a 1/2^20, of the sign that does not push against a missing bound.
			y[i] = lp.Frac(int64(math.RoundToEven(d*(1<<20))), 1<<20)
		}
		b, err := m.DualBound(y)
		require.NoError(t, err)
		bound, _ := b.Float64()
		require.InDelta(t, res.Objective, bound, 1e-4*max(1, math.Abs(res.Objective)), "%d\n%s", k, text(m))
	}
	require.Greater(t, optimal, 150)
}
