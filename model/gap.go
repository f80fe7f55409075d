package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Gap is how far a makespan is above a lower bound, as a share of the bound. It is zero
// exactly where the two are equal.
type Gap float64

// GapOf returns (makespan − bound) ÷ bound, or +Inf if only the bound is zero. Where the
// bound holds for every cut of the buffer into chunks, no schedule is shorter than the
// makespan by more than this share of the bound.
func GapOf(makespan, bound Time) Gap {
	switch {
	case makespan == bound:
		return 0
	case bound == 0:
		return Gap(math.Inf(1))
	}
	return Gap(float64(makespan-bound) / float64(bound))
}

// String writes g in percent: with one decimal, "1.9%", or below 0.1 % with the decimals
// that its first digit other than 0 needs, "0.0003%". It is "0%" only for zero.
func (g Gap) String() string {
	percent := 100 * float64(g)
	switch {
	case g == 0:
		return "0%"
	case math.IsInf(percent, 0):
		return "unbounded"
	case math.Abs(percent) >= 0.1:
		return strconv.FormatFloat(percent, 'f', 1, 64) + "%"
	}
	percent, _ = strconv.ParseFloat(strconv.FormatFloat(percent, 'e', 0, 64), 64)
	return strconv.FormatFloat(percent, 'f', -1, 64) + "%"
}

// ParseGap reads a gap in percent, "5%" or "0.5 %", or as a number, "0.05".
func ParseGap(s string) (Gap, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	g, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(g >= 0) || math.IsInf(g, 0) {
		return 0, fmt.Errorf("gap %q: want a percentage of 0 or more, such as 5%%", s)
	}
	if percent {
		g /= 100
	}
	return Gap(g), nil
}
