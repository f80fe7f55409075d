package foreign

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheirMI250: the numbers that TE-CCL and ForestColl give to the dies of MI250 are those
// of the table in their code.
func TestTheirMI250(t *testing.T) {
	theirs := map[[2]int]int{ // links between dies
		{0, 1}: 4, {0, 4}: 2, {0, 8}: 1, {1, 5}: 1, {1, 9}: 1, {1, 10}: 1, {2, 3}: 4, {2, 6}: 1, {2, 9}: 1, {2, 10}: 1,
		{3, 7}: 2, {3, 11}: 1, {4, 5}: 4, {4, 6}: 1, {5, 6}: 1, {5, 7}: 1, {6, 7}: 4, {8, 9}: 4, {8, 12}: 2, {9, 13}: 1,
		{10, 11}: 4, {10, 14}: 1, {11, 15}: 2, {12, 13}: 4, {12, 14}: 1, {13, 14}: 1, {13, 15}: 1, {14, 15}: 4,
	}
	topology, err := theirMI250()
	require.NoError(t, err)
	ours := map[[2]int]int{}
	for _, l := range topology.Links {
		ours[[2]int{min(l.Src, l.Dst), max(l.Src, l.Dst)}]++
	}
	for _, n := range ours {
		require.Zero(t, n%2)
	}
	require.Len(t, ours, len(theirs))
	for pair, n := range theirs {
		require.Equal(t, 2*n, ours[pair], "%v", pair)
	}
}
