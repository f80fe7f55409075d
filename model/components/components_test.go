package components

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOf: on random graphs two nodes are in one component if and only if each reaches the other, and
// what comes before a node has no larger number.
func TestOf(t *testing.T) {
	joined := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		n := 1 + r.IntN(9)
		before := make([][]int32, n)
		reach := make([][]bool, n)
		for v := range reach {
			reach[v] = make([]bool, n)
			reach[v][v] = true
		}
		for range r.IntN(2 * n) {
			a, b := r.IntN(n), r.IntN(n)
			before[a] = append(before[a], int32(b))
			reach[a][b] = true
		}
		for k := range n {
			for a := range n {
				for b := range n {
					reach[a][b] = reach[a][b] || reach[a][k] && reach[k][b]
				}
			}
		}
		group, count := Of(n, func(i int32) []int32 { return before[i] })
		seen := map[int32]bool{}
		for a := range n {
			seen[group[a]] = true
			for b := range n {
				require.Equal(t, reach[a][b] && reach[b][a], group[a] == group[b], "%v: %d and %d", before, a, b)
				if a != b && group[a] == group[b] {
					joined++
				}
				if reach[a][b] {
					require.LessOrEqual(t, group[b], group[a])
				}
			}
		}
		require.Len(t, seen, count)
	}
	require.Positive(t, joined)
}
