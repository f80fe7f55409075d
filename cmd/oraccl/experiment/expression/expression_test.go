package expression

import (
	"go/constant"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var names = &Scope{Names: Record{
	"n": Number(8), "third": Fraction(big.NewRat(1, 3)), "word": Text("ring:8"), "yes": Truth(true), "none": {},
	"run": Fields(Record{"makespan": Number(1500), "ring-bidirectional": Fields(Record{"makespan": Number(7)}), "bound": {}}),
}}

func eval(t require.TestingT, text string) (Value, error) {
	e, err := Parse(text, nil)
	if err != nil {
		return Value{}, err
	}
	return e.Eval(names)
}

func TestEval(t *testing.T) {
	for text, want := range map[string]string{
		"1 + 2*3":                             "7",
		"1e-6 * 1500000":                      "1.5",
		"n / 3 * 3":                           "8",
		"third + third + third == 1":          "true",
		"0.1 + 0.2 == 0.3":                    "true",
		"7 % 4":                               "3",
		"-n":                                  "-8",
		"!yes":                                "false",
		"run.makespan / 1e3":                  "1.5",
		`run["ring-bidirectional"].makespan`:  "7",
		`word + " x"`:                         "ring:8 x",
		`word == "ring:8" && n > 7`:           "true",
		"none":                                "",
		"none + 1":                            "",
		"none < 1":                            "false",
		"!(none < 1)":                         "true",
		"none < 1 || yes":                     "true",
		"run.bound.anything":                  "",
		"has(none)":                           "false",
		"has(run.makespan)":                   "true",
		"when(none < 1, 1/0, 2)":              "2",
		`when(n == 8, "a", "b")`:              "a",
		"fixed(2/3, 3)":                       "0.667",
		"fixed(none, 3)":                      "",
		"fraction(n / 12)":                    "2/3",
		"percent(3, 2)":                       "50.0 %",
		"percent(100000, 99999)":              "0.001 %",
		"percent(1, 2)":                       "-50.0 %",
		`bytes("64KiB")`:                      "65536",
		`time("1.5us")`:                       "1500000",
		`rate("450GiB/s")`:                    "483183820800",
		"log2(8)":                             "3",
		"floor(log2(12))":                     "3",
		"ceil(7/2)":                           "4",
		"floor(-7/2)":                         "-4",
		"power(2, 100) % 7":                   "2",
		"max(1, third, n)":                    "8",
		"min(1, third, n) == third":           "true",
		"sqrt(16)":                            "4",
		`halfdigit("1.127") * 2 == 0.001`:     "true",
		`halfdigit("65000")`:                  "0.5",
		`number("7/6") > 1`:                   "true",
		`join(" and ", "", "a", "b")`:         "a and b",
		`contains("abc", "bc")`:               "true",
		"9223372036854775807 + 1":             "9223372036854775808",
		"123456789012345678901234567890 / 10": "12345678901234567890123456789",
		"text(1/4)":                           "0.25",
	} {
		v, err := eval(t, text)
		require.NoError(t, err, text)
		require.Equal(t, want, v.String(), text)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"1 +":            `"1 +": expected operand`,
		"a.b(1)":         "is not an expression of numbers",
		"func() {}":      "is not an expression of numbers",
		"[]int{1}":       "is not an expression of numbers",
		"'a'":            "is not an expression of numbers",
		"1 << 3":         "is not an expression of numbers",
		"n.(int)":        "is not an expression of numbers",
		"magic(1)":       "unknown function magic, want one of bytes, ceil, ",
		"m":              "unknown name m",
		"n.field":        "8 has no field field",
		"run.makspan":    "no field makspan, want one of bound, makespan, ring-bidirectional",
		"n / 0":          "a division by zero",
		"n % third":      "want whole numbers",
		`n + "a"`:        "want two numbers, or texts",
		`word - "a"`:     "want two numbers, or texts",
		"yes < yes":      "want two numbers, or texts",
		"n && yes":       "want conditions",
		"!n":             "want a condition",
		"-word":          "want a number",
		"fixed(1)":       "1 arguments, want 2",
		`fixed("a", 1)`:  `of "a": want a number`,
		"when(1)":        "want a condition and two values",
		`bytes("soon")`:  "bytes: ",
		"power(2, 9999)": "exponent of 0 to 1024",
		"log2(0)":        "want a number above zero",
		"sqrt(-1)":       "from zero on",
		`number("1e9")`:  "want a number such as 1.127",
	} {
		_, err := eval(t, text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestTemplate(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"plain":                          "plain",
		"${n} ranks":                     "8 ranks",
		"ring:${n}, ${run.makespan/1e3}": "ring:8, 1.5",
		"$${n} is ${n}":                  "${n} is 8",
		`${when(yes, "}", "{")}`:         "}",
		"${none}":                        "",
		"a $ and a }":                    "a $ and a }",
	} {
		x, err := ParseTemplate(text, nil)
		require.NoError(t, err, text)
		got, err := x.Expand(names)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	_, err := ParseTemplate("${n", nil)
	require.ErrorContains(t, err, "a ${ without its }")
	x, err := ParseTemplate("${a + b.c} ${when(d, e[f], \"g\")} ${fixed(a, 1)}", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "d", "e", "f"}, x.Uses())
}

// TestNumbers: arithmetic on fractions is that of math/big, and what is printed as a
// fraction is read as the same number.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(label string) *big.Rat {
			return big.NewRat(rapid.Int64Range(-1e12, 1e12).Draw(t, label), rapid.Int64Range(1, 1e6).Draw(t, label))
		}
		a, b := number("a"), number("b")
		s := &Scope{Names: Record{"a": Fraction(a), "b": Fraction(b)}}
		for op, f := range map[string]func(x, y *big.Rat) *big.Rat{
			"a + b": new(big.Rat).Add, "a - b": new(big.Rat).Sub, "a * b": new(big.Rat).Mul, "a / b": new(big.Rat).Quo,
		} {
			if op == "a / b" && b.Sign() == 0 {
				continue
			}
			e, err := Parse("fraction("+op+")", nil)
			require.NoError(t, err)
			v, err := e.Eval(s)
			require.NoError(t, err)
			require.Equal(t, f(a, b).RatString(), v.String())
			back, err := ReadNumber(v.String())
			require.NoError(t, err)
			require.Zero(t, back.Rat().Cmp(f(a, b)))
		}
		e, err := Parse("a < b", nil)
		require.NoError(t, err)
		v, err := e.Eval(s)
		require.NoError(t, err)
		require.Equal(t, a.Cmp(b) < 0, v.IsTrue())
		require.Equal(t, a.IsInt(), Fraction(a).is(constant.Int))
	})
}

// FuzzParse: no text makes the reader or the evaluation panic, and what is evaluated names
// what is wrong.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"1 + n", "${n}", `run["makespan"].x`, "when(n, 1, 2)", "fixed(1/3, 9)", "power(2,1024)*power(2,1024)", "((((1))))", "n[1:2]", "a.b.c(…)", "1e999999999", `"\x00"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 200 || strings.Count(text, "power") > 2 { // a power of a power takes long
			return
		}
		if e, err := Parse(text, nil); err == nil {
			if v, err := e.Eval(names); err == nil {
				_ = v.String()
			}
			e.Uses()
		}
		if x, err := ParseTemplate(text, nil); err == nil {
			_, _ = x.Expand(names)
		}
	})
}
