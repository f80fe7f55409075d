package experiment

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStoreCounts: what was computed in this run, and is asked for again, is not from before.
func TestStoreCounts(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []struct{ kept, made int }{{0, 2}, {2, 0}} {
		s, err := OpenStore(dir, "stamp")
		require.NoError(t, err)
		for _, key := range []string{"a", "b", "a"} {
			v, err := keepIn(s, key, nil, func() (string, error) { return key, nil })
			require.NoError(t, err)
			require.Equal(t, key, v)
		}
		require.Equal(t, want.made, s.Made)
		require.Equal(t, want.kept, s.Kept)
	}
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	calls := 0
	compute := func() (map[string]int, error) {
		calls++
		return map[string]int{"x": calls}, nil
	}
	open := func(stamp string) *Store {
		s, err := OpenStore(filepath.Join(dir, "kept"), stamp)
		require.NoError(t, err)
		return s
	}
	get := func(s *Store, key string) int {
		v, err := keepIn(s, key, nil, compute)
		require.NoError(t, err)
		return v["x"]
	}
	require.Equal(t, 1, get(open("a"), "k"))
	require.Equal(t, 1, get(open("a"), "k"), "kept")
	require.Equal(t, 2, get(open("a"), "another"))
	require.Equal(t, 3, get(open("b"), "k"), "of another program")
	require.Equal(t, 3, get(open("b"), "k"))
	require.Equal(t, 4, get(&Store{}, "k"), "a store that keeps nothing")

	files, err := filepath.Glob(filepath.Join(dir, "kept", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, name := range files { // what is cut short or damaged is computed again
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, b[:len(b)/2], 0o644))
	}
	require.Equal(t, 5, get(open("b"), "k"))
	require.Equal(t, 5, get(open("b"), "k"))

	_, err = keepIn(open("b"), "fails", nil, func() (int, error) { return 7, context.Canceled })
	require.ErrorIs(t, err, context.Canceled)
	v, err := keepIn(open("b"), "fails", nil, func() (int, error) { return 8, nil })
	require.NoError(t, err)
	require.Equal(t, 8, v, "an error is not kept")

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "kept"))) // as if the disk were gone
	s := &Store{dir: filepath.Join(dir, "kept"), stamp: "b"}
	_, err = keepIn(s, "k", nil, compute)
	require.ErrorContains(t, err, "cannot be kept")
}
