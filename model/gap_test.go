package model

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestGap(t *testing.T) {
	for _, c := range []struct {
		makespan, bound Time
		want            string
	}{
		{100, 100, "0%"}, {0, 0, "0%"}, {1, 0, "unbounded"},
		{12459_181_000, 12231_222_000, "1.9%"}, {171_800, 100_000, "71.8%"}, {350, 100, "250.0%"}, {97, 100, "-3.0%"},
		{1_001_000, 1_000_000, "0.1%"}, {1_000_960, 1_000_000, "0.1%"}, {1_000_940, 1_000_000, "0.09%"}, {1_000_003, 1_000_000, "0.0003%"},
		{18334_833_001, 18334_833_000, "0.000000005%"}, {MaxTime, MaxTime - 1, "0.00000000000000001%"}, {MaxTime, 1, "922337203685477580800.0%"},
	} {
		require.Equal(t, c.want, GapOf(c.makespan, c.bound).String(), "%d over %d", c.makespan, c.bound)
	}
}

// TestGapIsZeroOnlyWhereEqual: of any two times the gap, and its text, are zero exactly if
// the times are equal, and the text is near to the number.
func TestGapIsZeroOnlyWhereEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := Time(rapid.Int64Range(1, math.MaxInt64-1000).Draw(t, "bound"))
		makespan := bound + Time(rapid.Int64Range(0, 1000).Draw(t, "above"))
		g := GapOf(makespan, bound)
		text := g.String()
		require.Equal(t, makespan == bound, g == 0)
		require.Equal(t, makespan == bound, text == "0%")
		require.Equal(t, makespan != bound, strings.ContainsAny(text, "123456789"), text)
	})
}
