package lp_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/solve/lp"
)

// rats draws numbers around the places where the representation changes.
func rats() *rapid.Generator[lp.Rat] {
	ints := rapid.OneOf(rapid.Int64Range(-5, 5), rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64, 1 << 53, 1<<53 + 1, 1 << 62}))
	return rapid.Custom(func(t *rapid.T) lp.Rat {
		n := ints.Draw(t, "num")
		if rapid.Bool().Draw(t, "whole") {
			return lp.Int(n)
		}
		return lp.Frac(n, ints.Filter(func(d int64) bool { return d != 0 }).Draw(t, "den"))
	})
}

func TestRatAgainstBigRat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rats().Draw(t, "a"), rats().Draw(t, "b")
		x, y := a.Rat(), b.Rat()
		same := func(got lp.Rat, want *big.Rat) {
			t.Helper()
			require.Zero(t, got.Rat().Cmp(want), "%s, want %s", got, want.RatString())
			// One value has one representation.
			require.Equal(t, lp.Big(want), got)
			n, ok := got.Int64()
			require.Equal(t, want.IsInt() && want.Num().IsInt64(), ok)
			if ok {
				require.Equal(t, want.Num().Int64(), n)
			}
			require.Equal(t, want.IsInt(), got.IsInt())
			require.Equal(t, want.Sign(), got.Sign())
			require.Equal(t, want.RatString(), got.String())
			f, exact := got.Float64()
			g, exactWant := want.Float64()
			require.Equal(t, g, f)
			require.Equal(t, exactWant, exact)
		}
		same(a.Add(b), new(big.Rat).Add(x, y))
		same(a.Sub(b), new(big.Rat).Sub(x, y))
		same(a.Mul(b), new(big.Rat).Mul(x, y))
		same(a.Neg(), new(big.Rat).Neg(x))
		require.Equal(t, x.Cmp(y), a.Cmp(b))
		require.Equal(t, x.Cmp(y), lp.At(a).Cmp(lp.At(b)))

		// The nearest whole number is at most 1/2 away.
		n := a.Nearest()
		require.True(t, n.IsInt())
		d := a.Sub(n)
		require.LessOrEqual(t, d.Cmp(lp.Frac(1, 2)), 0)
		require.GreaterOrEqual(t, d.Cmp(lp.Frac(-1, 2)), 0)
		require.Zero(t, x.Cmp(a.Rat()), "operands stay as they are")
	})
}

func TestFloat(t *testing.T) {
	for _, x := range []float64{0, math.Copysign(0, -1), 1, -3, 0.1, 1e300, 1 << 62, -(1 << 63), 5e-324, 1e18} {
		r, ok := lp.Float(x)
		require.True(t, ok)
		require.Zero(t, r.Rat().Cmp(new(big.Rat).SetFloat64(x)))
		back, exact := r.Float64()
		require.True(t, exact)
		require.Equal(t, x+0, back)
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, ok := lp.Float(x)
		require.False(t, ok)
	}
	x, exact := lp.Int(math.MaxInt64).Float64()
	require.Equal(t, float64(1<<63), x)
	require.False(t, exact)
}

func TestBoundOrder(t *testing.T) {
	order := []lp.Bound{lp.MinusInf, lp.AtInt(math.MinInt64), {}, lp.At(lp.Frac(1, 3)), lp.AtInt(1), lp.PlusInf}
	for i, a := range order {
		for j, b := range order {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			require.Equal(t, want, a.Cmp(b), "%s and %s", a, b)
		}
	}
	require.Equal(t, "-inf", lp.MinusInf.String())
	require.Equal(t, "inf", lp.PlusInf.String())
	require.Equal(t, "1/3", lp.At(lp.Frac(1, 3)).String())
	_, ok := lp.PlusInf.Finite()
	require.False(t, ok)
	r, ok := lp.AtInt(4).Finite()
	require.True(t, ok)
	require.Equal(t, lp.Int(4), r)
	x, exact := lp.MinusInf.Float64()
	require.True(t, exact)
	require.True(t, math.IsInf(x, -1))
}
