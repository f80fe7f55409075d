package model

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Time is a point in time or a duration in whole picoseconds.
type Time int64

// MaxTime is the largest Time. Arithmetic on times saturates there, and
// Problem.Validate refuses problems that could reach it.
const MaxTime Time = math.MaxInt64

// Units of Time.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Add returns t+u, or MaxTime where that would overflow. Both must be >= 0.
func (t Time) Add(u Time) Time {
	if t > MaxTime-u {
		return MaxTime
	}
	return t + u
}

// Mul returns n·t, or MaxTime where that would overflow. Both must be >= 0.
func (t Time) Mul(n int64) Time {
	hi, lo := bits.Mul64(uint64(t), uint64(n))
	if hi != 0 || lo > uint64(MaxTime) {
		return MaxTime
	}
	return Time(lo)
}

// String writes t in the largest unit that leaves at least one digit before
// the point, exactly: "83.886us", "700ns", "0s".
func (t Time) String() string {
	if t == 0 {
		return "0s"
	}
	sign := ""
	v := uint64(t)
	if t < 0 {
		sign, v = "-", -v
	}
	for _, u := range timeUnits {
		if v >= u.size {
			s := fmt.Sprintf("%d", v/u.size)
			if rest := v % u.size; rest != 0 {
				digits := len(fmt.Sprint(u.size)) - 1
				s += "." + strings.TrimRight(fmt.Sprintf("%0*d", digits, rest), "0")
			}
			return sign + s + u.name
		}
	}
	panic("unreachable: the smallest unit is 1 ps")
}

type unit struct {
	name string
	size uint64
}

var timeUnits = []unit{{"s", 1e12}, {"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {"ps", 1}}

var byteUnits = []unit{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1},
}

// TransferTime returns ⌈bytes·10¹²/bandwidth⌉ picoseconds, the time that bytes
// take at bandwidth bytes per second, or MaxTime where that would overflow.
// It requires bytes >= 0 and bandwidth > 0.
func TransferTime(bytes, bandwidth int64) Time {
	hi, lo := bits.Mul64(uint64(bytes), uint64(Second))
	if hi >= uint64(bandwidth) {
		return MaxTime
	}
	q, r := bits.Div64(hi, lo, uint64(bandwidth))
	if r != 0 {
		q++
	}
	if q == 0 && r != 0 || q > uint64(MaxTime) {
		return MaxTime
	}
	return Time(q)
}

// microseconds replaces the sign for micro, and the Greek letter that is used for it.
var microseconds = strings.NewReplacer("\u00b5s", "us", "\u03bcs", "us")

// ParseTime reads a duration with a unit: ps, ns, us (or µs), ms or s, as in
// "500ns" or "1.2ms". The value must be a whole number of picoseconds, not
// negative, and below 2⁶² ps.
func ParseTime(s string) (Time, error) {
	if s == "0" {
		return 0, nil
	}
	v, err := parseQuantity(microseconds.Replace(s), timeUnits, "ps, ns, us, ms or s")
	if err != nil {
		return 0, fmt.Errorf("time %q: %w", s, err)
	}
	return Time(v), nil
}

// testUnits are the sizes that nccl-tests and rccl-tests take.
var testUnits = []unit{{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}}

// sizeUnits are those of ParseBytes.
var sizeUnits = slices.Concat(testUnits, byteUnits)

// ParseBytes reads a size: a whole number of bytes, alone or with one of the
// units B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of
// 1024), as in "8MiB". K, M, G and T alone are powers of 1024, as nccl-tests
// reads them. The size must not be negative and be below 2⁶².
func ParseBytes(s string) (int64, error) {
	v, err := parseQuantity(s, sizeUnits, "B, KB, MB, GB, TB, KiB, MiB, GiB or TiB")
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", s, err)
	}
	return v, nil
}

// bitUnits are those in which networks are sold, in bits.
var bitUnits = []unit{{"Tb", 1e12}, {"Gb", 1e9}, {"Mb", 1e6}, {"Kb", 1e3}, {"kb", 1e3}, {"b", 1}}

// inBits returns an error that states a rate in bits a second in bytes, or nil if s is none.
func inBits(s string) error {
	size, ok := strings.CutSuffix(s, "/s")
	if !ok {
		size, ok = strings.CutSuffix(s, "ps") // Gbps
	}
	if !ok {
		return nil
	}
	size = strings.TrimSuffix(strings.Replace(size, "bit", "b", 1), " ")
	v, err := parseQuantity(size, bitUnits, "")
	if err != nil || v == 0 || v%8 != 0 {
		return nil
	}
	return fmt.Errorf("bandwidth %q: counts bits, want bytes per second: %s", s, FormatRate(v/8))
}

// FormatRate writes a bandwidth of v bytes per second so that ParseRate reads it, in the largest
// unit that gives a number of at most three decimals, powers of 1000 first: "50GB/s".
func FormatRate(v int64) string {
	for _, u := range byteUnits[4:8] {
		if v >= int64(u.size) && v%int64(u.size/1000) == 0 {
			return strconv.FormatFloat(float64(v/int64(u.size/1000))/1000, 'f', -1, 64) + u.name + "/s"
		}
	}
	return fmt.Sprintf("%dB/s", v)
}

// ParseRate reads a bandwidth: a size with a unit in bytes, followed by "/s", as in
// "50GiB/s" or "50GB/s". It must be positive. Of one in bits, such as "400Gb/s", the
// error says how many bytes that is.
func ParseRate(s string) (int64, error) {
	if err := inBits(s); err != nil {
		return 0, err
	}
	size, ok := strings.CutSuffix(s, "/s")
	if !ok {
		return 0, fmt.Errorf("bandwidth %q: want a size a second, as in 50GiB/s", s)
	}
	v, err := parseQuantity(size, byteUnits, "B, KB, MB, GB, TB, KiB, MiB, GiB or TiB before /s")
	if err != nil {
		return 0, fmt.Errorf("bandwidth %q: %w", s, err)
	}
	if v == 0 {
		return 0, fmt.Errorf("bandwidth %q: want more than zero", s)
	}
	return v, nil
}

// parseQuantity reads a decimal number and a unit exactly.
func parseQuantity(s string, units []unit, want string) (int64, error) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	name := s[len(digits):]
	digits = strings.TrimSpace(digits)
	if digits == "" || len(digits) > 40 || strings.Trim(digits, "0123456789.") != "" || strings.Count(digits, ".") > 1 ||
		strings.HasPrefix(digits, ".") || strings.HasSuffix(digits, ".") {
		return 0, fmt.Errorf("want a decimal number and a unit (%s)", want)
	}
	size := uint64(0)
	for _, u := range units {
		if u.name == name {
			size = u.size
		}
	}
	if name == "" && units[len(units)-1].name == "B" {
		size = 1
	}
	if size == 0 {
		return 0, fmt.Errorf("unknown unit %q, want %s", name, want)
	}
	v, ok := new(big.Rat).SetString(digits)
	if !ok {
		return 0, fmt.Errorf("want a decimal number and a unit (%s)", want)
	}
	v.Mul(v, new(big.Rat).SetUint64(size))
	if !v.IsInt() {
		return 0, fmt.Errorf("is not a whole number of the smallest unit (%s)", units[len(units)-1].name)
	}
	if v.Num().BitLen() > 62 {
		return 0, fmt.Errorf("is too large, want less than 2^62 %s", units[len(units)-1].name)
	}
	return v.Num().Int64(), nil
}

// FormatBytes writes a size in the largest binary unit that divides it, or as
// plain bytes: "8 MiB", "1500000 B".
func FormatBytes(b int64) string {
	for _, u := range byteUnits[:4] {
		if b != 0 && uint64(b)%u.size == 0 {
			return fmt.Sprintf("%d %s", uint64(b)/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d B", b)
}
