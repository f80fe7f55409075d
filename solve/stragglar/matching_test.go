package stragglar

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMatched: the heuristic's rounds are right, no more than the authors' code takes, whose ties are
// broken in one way, and more than the general construction needs.
func TestMatched(t *testing.T) {
	authors := map[int]int{
		6: 7, 10: 12, 12: 15, 14: 17, 18: 21, 20: 24, 22: 26, 24: 27, 26: 33, 28: 33, 30: 36, 34: 40, 36: 44, 38: 45, 40: 47,
		42: 48, 44: 50, 46: 53, 48: 57, 50: 58, 52: 59, 54: 65, 56: 64, 58: 65, 60: 69, 62: 73, 96: 108, 192: 208,
	}
	theirs, ours, beaten := 0, 0, 0
	for n, want := range authors {
		rounds, err := fewestRounds(context.Background(), n)
		require.NoError(t, err)
		carryOut(t, n, RoundRobin(n, n-1), rounds)
		require.LessOrEqual(t, len(rounds), want, "n=%d", n)
		least := n - 2 + ceilLog2(n)
		require.GreaterOrEqual(t, len(rounds), least, "n=%d: below the bound", n)
		if len(rounds) > least {
			beaten++
		}
		theirs, ours = theirs+want, ours+len(rounds)
	}
	require.Less(t, ours, theirs)
	require.Equal(t, 21, beaten, "sizes for which the heuristic is not optimal")
}

// TestOffers: of what one has and the other lacks the first, or the last.
func TestOffers(t *testing.T) {
	a, b := make(chunkSet, 3), make(chunkSet, 3)
	require.Equal(t, -1, a.offers(b, false))
	require.Equal(t, -1, a.highest())
	for _, c := range []int{3, 63, 64, 130} {
		a.add(c)
	}
	b.add(3)
	require.Equal(t, 63, a.offers(b, false))
	require.Equal(t, 130, a.offers(b, true))
	b.add(130)
	require.Equal(t, 64, a.offers(b, true))
	require.Equal(t, -1, b.offers(a, true))
	require.Equal(t, 130, a.highest())
	require.Equal(t, 3, chunkSet{8, 0, 0}.highest())
}
