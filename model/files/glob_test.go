package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGlob: the marks of a pattern in the name of the directory mean themselves.
func TestGlob(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[1*?")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "x"), 0o755))
	for _, name := range []string{"b-2.svg", "b-1.svg", "b.csv", "x/job"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	found, err := Glob(dir, "b-*.svg")
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "b-1.svg"), filepath.Join(dir, "b-2.svg")}, found)
	found, err = Glob(dir, "*/job")
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "x", "job")}, found)
	found, err = Glob(filepath.Join(dir, "none"), "*")
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = Glob(dir, "[")
	require.Error(t, err)
}
