package lp

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// Rat is a rational number, exact whatever its size. Whole numbers that fit an
// int64 take no memory beside the Rat; all others cost a big.Rat. A Rat is
// never changed once made. The zero value is 0.
type Rat struct {
	n int64    // the value, if r is nil
	r *big.Rat // else the value: a fraction, or a whole number beyond int64
}

// Int returns n as a Rat.
func Int(n int64) Rat { return Rat{n: n} }

// Frac returns num/den. It panics if den is 0, as a division does.
func Frac(num, den int64) Rat {
	if den == 1 {
		return Rat{n: num}
	}
	return narrow(big.NewRat(num, den))
}

// Big returns a copy of r as a Rat.
func Big(r *big.Rat) Rat { return narrow(new(big.Rat).Set(r)) }

// Float returns the exact value of x. ok is false if x is infinite or no number.
func Float(x float64) (r Rat, ok bool) {
	if x == math.Trunc(x) && math.Abs(x) < 1<<62 {
		return Rat{n: int64(x)}, true
	}
	b := new(big.Rat).SetFloat64(x)
	if b == nil {
		return Rat{}, false
	}
	return narrow(b), true
}

// narrow takes r over and returns its one representation as a Rat.
func narrow(r *big.Rat) Rat {
	if r.IsInt() && r.Num().IsInt64() {
		return Rat{n: r.Num().Int64()}
	}
	return Rat{r: r}
}

// wide returns a as a big.Rat that must not be changed.
func (a Rat) wide() *big.Rat {
	if a.r != nil {
		return a.r
	}
	return new(big.Rat).SetInt64(a.n)
}

// Rat returns a new big.Rat of value a.
func (a Rat) Rat() *big.Rat { return new(big.Rat).Set(a.wide()) }

// Int64 returns a as an int64. ok is false if it is none.
func (a Rat) Int64() (n int64, ok bool) { return a.n, a.r == nil }

// IsInt reports whether a is a whole number.
func (a Rat) IsInt() bool { return a.r == nil || a.r.IsInt() }

// Nearest returns the whole number nearest to a; halves go up.
func (a Rat) Nearest() Rat {
	if a.IsInt() {
		return a
	}
	// ⌊a + 1/2⌋ = ⌊(2·num + den) / (2·den)⌋; Euclidean division rounds down here,
	// because the denominator is positive.
	num := new(big.Int).Lsh(a.r.Num(), 1)
	num.Add(num, a.r.Denom())
	num.Div(num, new(big.Int).Lsh(a.r.Denom(), 1))
	return narrow(new(big.Rat).SetInt(num))
}

// Sign returns -1, 0 or 1.
func (a Rat) Sign() int {
	switch {
	case a.r != nil:
		return a.r.Sign()
	case a.n < 0:
		return -1
	case a.n > 0:
		return 1
	}
	return 0
}

// Cmp returns -1 if a < b, 0 if they are equal, 1 if a > b.
func (a Rat) Cmp(b Rat) int {
	if a.r == nil && b.r == nil {
		switch {
		case a.n < b.n:
			return -1
		case a.n > b.n:
			return 1
		}
		return 0
	}
	return a.wide().Cmp(b.wide())
}

// Add returns a+b.
func (a Rat) Add(b Rat) Rat {
	if a.r == nil && b.r == nil {
		if s := a.n + b.n; (s^a.n)&(s^b.n) >= 0 {
			return Rat{n: s}
		}
	}
	return narrow(new(big.Rat).Add(a.wide(), b.wide()))
}

// Sub returns a-b.
func (a Rat) Sub(b Rat) Rat { return a.Add(b.Neg()) }

// Neg returns -a.
func (a Rat) Neg() Rat {
	if a.r == nil && a.n != math.MinInt64 {
		return Rat{n: -a.n}
	}
	return narrow(new(big.Rat).Neg(a.wide()))
}

// Mul returns a·b.
func (a Rat) Mul(b Rat) Rat {
	if a.r == nil && b.r == nil {
		hi, lo := bits.Mul64(uint64(abs(a.n)), uint64(abs(b.n)))
		if hi == 0 && lo <= math.MaxInt64 {
			if (a.n < 0) != (b.n < 0) {
				return Rat{n: -int64(lo)}
			}
			return Rat{n: int64(lo)}
		}
	}
	return narrow(new(big.Rat).Mul(a.wide(), b.wide()))
}

// abs returns |n|; of math.MinInt64 that is itself, whose bits read as a uint64
// are the right magnitude.
func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// Float64 returns the float64 nearest to a, and whether it is a exactly. Beyond
// the range of float64 it is infinite.
func (a Rat) Float64() (x float64, exact bool) {
	if a.r != nil {
		return a.r.Float64()
	}
	x = float64(a.n)
	// 1<<63 is a float64 but no int64: the conversion back must not see it.
	return x, x < 1<<63 && int64(x) == a.n
}

// String returns a as "3", "-1/2".
func (a Rat) String() string {
	if a.r == nil {
		return fmt.Sprint(a.n)
	}
	return a.r.RatString()
}

// Bound is the lower or upper bound of a column or row: a number, or infinite.
// The zero value is the number 0.
type Bound struct {
	v   Rat
	inf int8
}

// Free bounds: there is none on that side. MinusInf is meant as a lower and
// PlusInf as an upper bound; the other way round nothing satisfies them.
var (
	MinusInf = Bound{inf: -1}
	PlusInf  = Bound{inf: +1}
)

// At returns the bound r.
func At(r Rat) Bound { return Bound{v: r} }

// AtInt returns the bound n.
func AtInt(n int64) Bound { return Bound{v: Rat{n: n}} }

// Finite returns the number that b is. ok is false if b is infinite.
func (b Bound) Finite() (r Rat, ok bool) { return b.v, b.inf == 0 }

// Cmp returns -1 if b < c, 0 if they are equal, 1 if b > c.
func (b Bound) Cmp(c Bound) int {
	if b.inf != 0 || c.inf != 0 {
		return int(max(-1, min(1, b.inf-c.inf)))
	}
	return b.v.Cmp(c.v)
}

// Float64 returns the float64 nearest to b, infinite if b is, and whether it is
// b exactly.
func (b Bound) Float64() (x float64, exact bool) {
	if b.inf != 0 {
		return math.Inf(int(b.inf)), true
	}
	return b.v.Float64()
}

// String returns b as "3", "-1/2", "-inf", "inf".
func (b Bound) String() string {
	switch {
	case b.inf < 0:
		return "-inf"
	case b.inf > 0:
		return "inf"
	}
	return b.v.String()
}
