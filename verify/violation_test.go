package verify_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/verify"
)

// TestViolation: what was not set is none, and what was set comes back.
func TestViolation(t *testing.T) {
	get := func(f func() (int, bool)) int {
		i, ok := f()
		require.Equal(t, i >= 0, ok)
		return i
	}
	places := func(v verify.Violation) []int { return []int{get(v.Transfer), get(v.Rank), get(v.Chunk), v.Line} }
	v := verify.Wrong(verify.TooFast, "transfer 7", "too late")
	require.Equal(t, string(verify.TooFast)+": transfer 7: too late", v.String())
	require.Equal(t, []int{-1, -1, -1, 0}, places(v))
	require.Equal(t, []int{-1, -1, -1, 0}, places(verify.Violation{}))
	rapid.Check(t, func(r *rapid.T) {
		index := rapid.IntRange(-3, 1<<30)
		at, rank, chunk, line := index.Draw(r, "transfer"), index.Draw(r, "rank"), index.Draw(r, "chunk"), rapid.IntRange(0, 9).Draw(r, "line")
		w := v.AtTransfer(at).AtSlot(rank, chunk).AtLine(line)
		require.Equal(t, []int{max(at, -1), max(rank, -1), max(chunk, -1), line}, places(w))
		require.Equal(t, w, v.AtLine(line).AtChunk(chunk).AtRank(rank).AtTransfer(at), "in any order")
		require.Equal(t, v, w.AtTransfer(-1).AtSlot(-1, -1).AtLine(0))
	})
}
