package repro

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStoreCounts: what was computed in this run, and is asked for again, is not from before.
func TestStoreCounts(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []struct{ kept, made int }{{0, 2}, {2, 0}} {
		s, err := Open(dir, "stamp")
		require.NoError(t, err)
		for _, key := range []string{"a", "b", "a"} {
			v, err := Keep(s, key, func() (string, error) { return key, nil })
			require.NoError(t, err)
			require.Equal(t, key, v)
		}
		require.Equal(t, want.made, s.Made)
		require.Equal(t, want.kept, s.Kept)
	}
}
