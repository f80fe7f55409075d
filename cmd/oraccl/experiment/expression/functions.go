package expression

import (
	"errors"
	"fmt"
	"go/constant"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// builtin are the functions that every expression may call, beside has(x), which reports
// whether x is known, and when(condition, a, b).
var builtin = Functions{
	"min": func(a []Value) (Value, error) { return least(a, -1) },
	"max": func(a []Value) (Value, error) { return least(a, 1) },
	"floor": func(a []Value) (Value, error) {
		r, err := numbers(a, 1)
		if err != nil {
			return Value{}, err
		}
		return whole(r[0], false), nil
	},
	"ceil": func(a []Value) (Value, error) {
		r, err := numbers(a, 1)
		if err != nil {
			return Value{}, err
		}
		return whole(r[0], true), nil
	},
	"log2": func(a []Value) (Value, error) {
		r, err := numbers(a, 1)
		if err != nil {
			return Value{}, err
		}
		if r[0].Sign() <= 0 {
			return Value{}, fmt.Errorf("of %v: want a number above zero", a[0])
		}
		if n := r[0].Num(); r[0].IsInt() && new(big.Int).And(n, new(big.Int).Sub(n, big.NewInt(1))).Sign() == 0 {
			return Number(n.BitLen() - 1), nil // exact
		}
		f, _ := r[0].Float64()
		return Float(math.Log2(f)), nil
	},
	"sqrt": func(a []Value) (Value, error) {
		r, err := numbers(a, 1)
		if err != nil {
			return Value{}, err
		}
		f, _ := r[0].Float64()
		if f < 0 {
			return Value{}, fmt.Errorf("of %v: want a number from zero on", a[0])
		}
		return Float(math.Sqrt(f)), nil
	},
	"power": func(a []Value) (Value, error) { // power(2, q)
		r, err := numbers(a, 2)
		if err != nil {
			return Value{}, err
		}
		if !r[0].IsInt() || !r[1].IsInt() || r[1].Sign() < 0 || r[1].Cmp(big.NewRat(1024, 1)) > 0 {
			return Value{}, errors.New("want whole numbers, and an exponent of 0 to 1024")
		}
		return Fraction(new(big.Rat).SetInt(new(big.Int).Exp(r[0].Num(), r[1].Num(), nil))), nil
	},
	// fixed writes a number with the given decimals, exact with all that it has.
	"fixed": func(a []Value) (Value, error) {
		r, err := numbers(a, 2)
		if err != nil {
			return Value{}, err
		}
		return Text(r[0].FloatString(int(min(30, r[1].Num().Uint64())))), nil
	},
	"exact": func(a []Value) (Value, error) {
		if _, err := numbers(a, 1); err != nil {
			return Value{}, err
		}
		return Text(a[0].String()), nil
	},
	"fraction": func(a []Value) (Value, error) {
		r, err := numbers(a, 1)
		if err != nil {
			return Value{}, err
		}
		return Text(r[0].RatString()), nil
	},
	// percent writes by how much a is above b.
	"percent": func(a []Value) (Value, error) {
		r, err := numbers(a, 2)
		if err != nil {
			return Value{}, err
		}
		if r[1].Sign() == 0 {
			return Value{}, errors.New("above 0: want a number above zero")
		}
		v, _ := new(big.Rat).Quo(r[0], r[1]).Float64()
		if v = 100 * (v - 1); v > 0 && v < .05 {
			return Text(fmt.Sprintf("%.1g %%", v)), nil
		}
		return Text(fmt.Sprintf("%.1f %%", v)), nil
	},
	// bytes, time and rate read quantities with units: bytes, picoseconds, bytes per second.
	"bytes": func(a []Value) (Value, error) {
		return quantity(a, func(s string) (int64, error) { return model.ParseBytes(s) })
	},
	"time": func(a []Value) (Value, error) {
		return quantity(a, func(s string) (int64, error) { t, err := model.ParseTime(s); return int64(t), err })
	},
	"rate": func(a []Value) (Value, error) {
		return quantity(a, func(s string) (int64, error) { return model.ParseRate(s) })
	},
	"number": func(a []Value) (Value, error) {
		if len(a) != 1 {
			return Value{}, errors.New("want one argument")
		}
		return ReadNumber(a[0].String())
	},
	"text": func(a []Value) (Value, error) {
		if len(a) != 1 {
			return Value{}, errors.New("want one argument")
		}
		return Text(a[0].String()), nil
	},
	// join joins the texts that are not empty: join(" and ", a, b).
	"join": func(a []Value) (Value, error) {
		if len(a) == 0 {
			return Value{}, errors.New("want what is to be between the texts")
		}
		var parts []string
		for _, v := range a[1:] {
			if s := v.String(); s != "" {
				parts = append(parts, s)
			}
		}
		return Text(strings.Join(parts, a[0].String())), nil
	},
	"contains": func(a []Value) (Value, error) {
		if len(a) != 2 {
			return Value{}, errors.New("want a text and a part")
		}
		return Truth(strings.Contains(a[0].String(), a[1].String())), nil
	},
	// halfdigit returns half a unit of the last digit of a number as it is printed, by which
	// it may be off: 0.0005 for "1.127", 0.5 for "65000".
	"halfdigit": func(a []Value) (Value, error) {
		if len(a) != 1 {
			return Value{}, errors.New("want a number as text")
		}
		_, fraction, _ := strings.Cut(a[0].String(), ".")
		return Fraction(new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Mul(big.NewInt(2), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(fraction))), nil)))), nil
	},
}

func numbers(a []Value, n int) ([]*big.Rat, error) {
	if len(a) != n {
		return nil, fmt.Errorf("%d arguments, want %d", len(a), n)
	}
	var all []*big.Rat
	for _, v := range a {
		r := v.Rat()
		if r == nil {
			return nil, fmt.Errorf("of %s: want a number", strconv.Quote(v.String()))
		}
		all = append(all, r)
	}
	return all, nil
}

func least(a []Value, sign int) (Value, error) {
	r, err := numbers(a, max(1, len(a)))
	if err != nil {
		return Value{}, err
	}
	best := 0
	for i := range r {
		if r[i].Cmp(r[best]) == sign {
			best = i
		}
	}
	return a[best], nil
}

// whole rounds down, or up.
func whole(r *big.Rat, up bool) Value {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if up && m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return Value{scalar: constant.Make(q)}.reduced()
}

func quantity(a []Value, read func(string) (int64, error)) (Value, error) {
	if len(a) != 1 {
		return Value{}, errors.New("want one argument")
	}
	n, err := read(a[0].String())
	return Number(n), err
}
