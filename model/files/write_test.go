package files

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWrite: a file is there as a whole, or what was there before is, and nothing else.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	has := func(want string) {
		t.Helper()
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, want, string(b))
		all, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, all, 1)
	}
	require.NoError(t, Write(name, text("one")))
	has("one")
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm())

	err = Write(name, func(w io.Writer) error { _ = text("half")(w); return errors.New("no more") })
	require.EqualError(t, err, name+": no more")
	has("one")

	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, WriteUntil(ctx, name, text("two")))
	has("two")
	cancel()
	err = WriteUntil(ctx, name, text("three"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, name+": not written")
	has("two")

	r, err := Replace(name, ".partial")
	require.NoError(t, err)
	found, err := filepath.Glob(filepath.Join(dir, "a.*.partial"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, r.Drop())
	has("two")

	missing := filepath.Join(dir, "none", "a")
	require.EqualError(t, Write(missing, text("x")), missing+": no such file or directory")
}

// TestWriteToDevice: a device is written to, and not replaced by a file, also where the user may do that.
func TestWriteToDevice(t *testing.T) {
	name := filepath.Join(t.TempDir(), "null")
	require.NoError(t, os.Symlink(os.DevNull, name))
	some := func(w io.Writer) error { _, err := io.WriteString(w, "some"); return err }
	require.NoError(t, Write(name, some))
	r, err := Replace(name, "")
	require.NoError(t, err)
	require.NoError(t, some(r))
	require.NoError(t, r.Drop())
	require.EqualError(t, Write(name, func(io.Writer) error { return errors.New("no more") }), name+": no more")
	info, err := os.Lstat(name)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
	info, err = os.Stat(name)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeDevice)
}
