package files

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

// soon is longer than what ends at once takes, and shorter than what hangs.
const soon = 5 * time.Second

// at writes a file into a directory of the test's own and returns its name.
func at(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func fifo(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	return name
}

// sparse is a file of 100 GB that takes no room.
func sparse(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "sparse")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	require.NoError(t, os.Truncate(name, 100e9))
	return name
}

func link(t *testing.T, dir, to string) string {
	t.Helper()
	name := filepath.Join(dir, "link-to-"+filepath.Base(to))
	require.NoError(t, os.Symlink(to, name))
	return name
}

// ends runs f, and fails the test if that takes long.
func ends(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(soon):
		t.Fatal("hangs")
	}
}

func open(ctx context.Context, name string) ([]byte, error) {
	f, err := Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

var readers = map[string]func(context.Context, string) ([]byte, error){"Open": open, "Read": Read, "ReadRegular": ReadRegular}

func TestRegularFile(t *testing.T) {
	name := at(t, "a.json", "{}")
	for how, read := range readers {
		for _, n := range []string{name, link(t, t.TempDir(), name)} {
			b, err := read(t.Context(), n)
			require.NoError(t, err, how)
			require.Equal(t, "{}", string(b), how)
		}
		_, err := read(t.Context(), name+"x")
		require.ErrorIs(t, err, fs.ErrNotExist, how)
		require.Equal(t, name+"x: no such file or directory", err.Error(), how)
	}
	require.True(t, Exists(name))
	require.True(t, Exists("-"))
	require.False(t, Exists(name+"x"))
}

// TestRefused: nothing that is no file is read, whatever the name.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	zero, pipe := link(t, dir, "/dev/zero"), fifo(t, dir)
	for how, read := range readers {
		for name, want := range map[string]error{
			"/dev/zero": ErrKind, "/dev/null": ErrKind, zero: ErrKind, link(t, t.TempDir(), zero): ErrKind,
			dir: ErrKind, sparse(t, t.TempDir()): ErrTooLarge,
		} {
			ends(t, func() {
				b, err := read(t.Context(), name)
				require.ErrorIs(t, err, want, "%s %s", how, name)
				require.Contains(t, err.Error(), name+": ")
				require.Empty(t, b)
			})
		}
	}
	ends(t, func() {
		_, err := ReadRegular(t.Context(), pipe)
		require.ErrorIs(t, err, ErrKind)
		_, err = ReadRegular(t.Context(), "-")
		require.ErrorIs(t, err, fs.ErrNotExist)
	})
}

func TestLimit(t *testing.T) {
	name := at(t, "five", "12345")
	for how, read := range readers {
		for limit, fits := range map[int64]bool{4: false, 5: true, 6: true, 0: true} {
			b, err := read(With(t.Context(), limit, nil), name)
			if !fits {
				require.ErrorIs(t, err, ErrTooLarge, how)
				require.Contains(t, err.Error(), "--max-file-size")
				continue
			}
			require.NoError(t, err, how)
			require.Equal(t, "12345", string(b), how)
		}
	}
}

// packed compresses a text.
func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// TestPlain: neither compression nor a byte order mark reaches who reads what a user names.
func TestPlain(t *testing.T) {
	zip := packed(t, "{}")
	for text, want := range map[string]string{
		"": "", "{": "{", "{}": "{}", mark: "", mark + "{}": "{}", mark + mark: mark, "x" + mark: "x" + mark, mark[:2]: mark[:2],
		zip: "{}", packed(t, ""): "", packed(t, mark+"{}"): "{}", zip + packed(t, "[]"): "{}[]", packed(t, zip): zip, "\x1f": "\x1f",
	} {
		name := at(t, "a", text)
		for how, read := range readers {
			expected := want
			if how == "ReadRegular" {
				expected = text
			}
			b, err := read(t.Context(), name)
			require.NoError(t, err, "%s %q", how, text)
			require.Equal(t, expected, string(b), "%s %q", how, text)
		}
		f, err := os.Open(name)
		require.NoError(t, err)
		defer f.Close()
		b, err := Read(With(t.Context(), 0, f), "-")
		require.NoError(t, err)
		require.Equal(t, want, string(b))
	}
	flipped := []byte(zip)
	flipped[len(flipped)-5] ^= 1 // of the checksum
	for text, want := range map[string]string{
		zip[:len(zip)-1]: "end too early", zip[:12]: "end too early", zip[:5]: "end too early", zip + "x": "end too early", zip + "more than ten bytes": "not what gzip writes", string(flipped): "not what gzip writes",
	} {
		name := at(t, "a.gz", text)
		for _, read := range []func(context.Context, string) ([]byte, error){open, Read} {
			_, err := read(t.Context(), name)
			require.ErrorContains(t, err, name+": ", "%q", text)
			require.ErrorContains(t, err, want, "%q", text)
		}
	}
	// What is small when compressed may be large.
	bomb := at(t, "bomb", packed(t, strings.Repeat("x", 1<<20)))
	for _, read := range []func(context.Context, string) ([]byte, error){open, Read} {
		_, err := read(With(t.Context(), 1<<20-1, nil), bomb)
		require.ErrorIs(t, err, ErrTooLarge)
		b, err := read(With(t.Context(), 1<<20, nil), bomb)
		require.NoError(t, err)
		require.Len(t, b, 1<<20)
	}
}

// TestGrows: the limit holds for what a file has become after it was opened.
func TestGrows(t *testing.T) {
	name := at(t, "grows", "12345")
	f, err := Open(With(t.Context(), 8, nil), name)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.WriteFile(name, []byte(strings.Repeat("x", 9)), 0o600))
	_, err = io.ReadAll(f)
	require.ErrorIs(t, err, ErrTooLarge)
}

// TestPipe: what a pipe held can be opened again, by any number of readers at a time.
func TestPipe(t *testing.T) {
	name := fifo(t, t.TempDir())
	go func() { _ = os.WriteFile(name, []byte("{}"), 0o600) }()
	ctx := With(t.Context(), 0, nil)
	ends(t, func() {
		var readers sync.WaitGroup
		for i := range 8 {
			readers.Go(func() {
				b, err := []func(context.Context, string) ([]byte, error){open, Read}[i%2](ctx, name)
				require.NoError(t, err)
				require.Equal(t, "{}", string(b))
			})
		}
		readers.Wait()
	})
}

func TestPipeHasALimit(t *testing.T) {
	name := fifo(t, t.TempDir())
	go func() { // as cat /dev/zero
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		for err == nil {
			_, err = f.Write(make([]byte, 1<<16))
		}
	}()
	ctx := With(t.Context(), 1<<20, nil)
	ends(t, func() {
		_, err := Open(ctx, name)
		require.ErrorIs(t, err, ErrTooLarge)
		_, err = Read(ctx, name)
		require.ErrorIs(t, err, ErrTooLarge)
	})
}

func TestStdin(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	_, err = w.WriteString("{}")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	ctx := With(t.Context(), 0, r)
	for range 2 {
		b, err := Read(ctx, "-")
		require.NoError(t, err)
		require.Equal(t, "{}", string(b))
	}
	for name, want := range map[string]error{"/dev/zero": ErrKind, "/dev/tty": ErrKind, t.TempDir(): ErrKind, sparse(t, t.TempDir()): ErrTooLarge} {
		f, err := os.Open(name)
		if err != nil {
			continue // no terminal
		}
		defer f.Close()
		ends(t, func() {
			_, err = Read(With(t.Context(), 0, f), "-")
			require.ErrorIs(t, err, want, name)
		})
	}
	f, err := os.Open(at(t, "regular", "[]"))
	require.NoError(t, err)
	defer f.Close()
	b, err := Read(With(t.Context(), 0, f), "-")
	require.NoError(t, err)
	require.Equal(t, "[]", string(b))
}

// TestInterrupted: a read ends with its context, even one that waits for what never comes.
func TestInterrupted(t *testing.T) {
	silent, _, err := os.Pipe()
	require.NoError(t, err)
	for how, begin := range map[string]func(ctx context.Context) error{
		"a FIFO without a writer": func(ctx context.Context) error { _, err := Open(ctx, fifo(t, t.TempDir())); return err },
		"a silent standard input": func(ctx context.Context) error { _, err := Read(With(ctx, 0, silent), "-"); return err },
		"a large file": func(ctx context.Context) error {
			f, err := Open(With(ctx, 200e9, nil), sparse(t, t.TempDir()))
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(io.Discard, struct{ io.Reader }{f})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		ends(t, func() {
			err := begin(ctx)
			require.ErrorIs(t, err, context.Canceled, how)
		})
		require.ErrorIs(t, begin(ctx), context.Canceled, "%s, later", how)
	}
}

func TestDir(t *testing.T) {
	outside := at(t, "outside.json", "secret")
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "below"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "below/a.json"), []byte("{}"), 0o600))
	require.NoError(t, os.Symlink("below/a.json", filepath.Join(dir, "inside")))
	clean, err := OpenDir(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(clean, "below/a.json", "inside"))
	require.NoError(t, os.Symlink("nothing", filepath.Join(dir, "dangling")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "way")))
	relative, err := filepath.Rel(dir, outside)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(relative, filepath.Join(dir, "relative")))
	fifo(t, dir)
	sparse(t, dir)
	link(t, dir, "/dev/zero")
	link(t, dir, outside)

	d, err := OpenDir(t.Context(), dir)
	require.NoError(t, err)
	defer d.Close()
	for name, want := range map[string]error{
		"fifo": ErrKind, "link-to-zero": ErrKind, "link-to-outside.json": ErrKind, "relative": ErrKind, "sparse": ErrTooLarge,
		"dangling": fs.ErrNotExist, "nothing": fs.ErrNotExist, "way/outside.json": errAny, "../x": fs.ErrInvalid, "/etc/passwd": fs.ErrInvalid,
	} {
		for how, read := range map[string]func() ([]byte, error){
			"ReadFile": func() ([]byte, error) { return fs.ReadFile(d, name) },
			"Open": func() ([]byte, error) {
				f, err := d.Open(name)
				if err != nil {
					return nil, err
				}
				defer f.Close()
				return io.ReadAll(f)
			},
		} {
			ends(t, func() {
				b, err := read()
				if want == errAny {
					require.Error(t, err, "%s %s", how, name)
				} else {
					require.ErrorIs(t, err, want, "%s %s", how, name)
				}
				require.Empty(t, b, "%s %s", how, name)
			})
		}
	}
	_, err = fs.ReadFile(d, "below")
	require.ErrorIs(t, err, ErrKind)

	for _, name := range []string{outside, outside + "x", filepath.Join(dir, "fifo")} {
		ends(t, func() {
			_, err := OpenDir(t.Context(), name)
			require.Error(t, err)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	d, err = OpenDir(ctx, dir)
	require.NoError(t, err)
	defer d.Close()
	f, err := d.Open("inside")
	require.NoError(t, err)
	cancel()
	_, err = io.ReadAll(f)
	require.ErrorIs(t, err, context.Canceled)
	_, err = d.Open("inside")
	require.ErrorIs(t, err, context.Canceled)
}

var errAny = errors.New("any")
