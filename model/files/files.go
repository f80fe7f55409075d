// Package files opens the files that the user of a command names, and those in a
// directory that the user names, so that no file makes a program hang, fill the memory
// or read what it was not shown.
//
// A name may be that of a regular file or of a pipe (a FIFO, or <(command) of a shell),
// or "-", standard input. In a directory there are regular files alone, and no link
// leads out of it. Devices are refused. Every read has a limit in bytes, which the user
// may set, and ends when its context does.
//
// What the user names may be compressed by gzip, and text may begin with a byte order mark:
// neither reaches the caller. Files in a directory are read as they are.
package files

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Stdin is the name of standard input.
const Stdin = "-"

// The limits, in bytes, where the user sets none.
const (
	Document int64 = 1 << 30  // of what is read into memory as a whole: a document, or anything from a pipe
	Stream   int64 = 16 << 30 // of what is read piece by piece: a compact schedule, or a proof
)

// Flag is the name of the flag that sets the limit, for errors to name.
const Flag = "max-file-size"

var (
	// ErrTooLarge is wrapped by the error for a file larger than its limit.
	ErrTooLarge = errors.New("too large")
	// ErrKind is wrapped by the error for a name that is neither a regular file nor, where
	// those are read, a pipe.
	ErrKind = errors.New("cannot be read as a file")
)

// session is what With puts into a context.
type session struct {
	limit int64 // 0: Document or Stream
	stdin *os.File

	mu    sync.Mutex // held while a pipe is read
	pipes map[string]pipe
}

// pipe is what a pipe held.
type pipe struct {
	b   []byte
	err error
}

type sessionKey struct{}

// With returns a context under which a file has at most limit bytes, if limit is above 0,
// and what a pipe held is kept: under one such context a pipe may be opened any number
// of times, as a file may. Stdin is what the name "-" stands for.
func With(ctx context.Context, limit int64, stdin *os.File) context.Context {
	return context.WithValue(ctx, sessionKey{}, &session{limit: limit, stdin: stdin, pipes: map[string]pipe{}})
}

func of(ctx context.Context) *session {
	if s, ok := ctx.Value(sessionKey{}).(*session); ok {
		return s
	}
	return &session{stdin: os.Stdin, pipes: map[string]pipe{}}
}

// most returns the limit that holds instead of byDefault.
func (s *session) most(byDefault int64) int64 {
	if s.limit > 0 {
		return s.limit
	}
	return byDefault
}

// Exists reports whether name can stand for a file: it is "-", or there is something of
// that name.
func Exists(name string) bool {
	if name == Stdin {
		return true
	}
	_, err := os.Stat(name)
	return err == nil
}

// IsDir reports whether name stands for a directory. It returns an error if it stands for
// nothing.
func IsDir(name string) (bool, error) {
	if name == Stdin {
		return false, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return false, short(name, err)
	}
	return info.IsDir(), nil
}

// File is a file that is open for reading. A read fails when the context is done under
// which the file was opened, with an error that wraps the context's, and when there is
// more in the file than its limit, with one that wraps ErrTooLarge.
type File struct {
	ctx  context.Context
	name string
	r    io.Reader
	f    *os.File // nil: what is held in memory
	held []byte   // that
	size int64    // when it was opened
	read int64
	most int64
}

// Open opens a file or a pipe to be read piece by piece, of at most Stream bytes unless
// the context sets a limit. A pipe is read to its end first, up to Document bytes.
func Open(ctx context.Context, name string) (*File, error) {
	s := of(ctx)
	return s.openPlain(ctx, name, s.most(Stream))
}

// Read returns what a file or a pipe holds, at most Document bytes unless the context sets
// a limit. The caller must not change it.
func Read(ctx context.Context, name string) ([]byte, error) {
	s := of(ctx)
	return all(s.openPlain(ctx, name, s.most(Document)))
}

// ReadRegular is Read for a name that the user did not give, such as that of a file in a
// directory: it refuses pipes too, and returns the bytes as they are.
func ReadRegular(ctx context.Context, name string) ([]byte, error) {
	s := of(ctx)
	return all(s.open(ctx, name, s.most(Document), false))
}

func all(f *File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.f == nil {
		return f.held, nil
	}
	return f.all()
}

// all returns what is left of the file.
func (f *File) all() ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, f.size+bytes.MinRead))
	_, err := b.ReadFrom(f)
	return b.Bytes(), err
}

// openPlain opens a file or a pipe past a byte order mark, and unpacked.
func (s *session) openPlain(ctx context.Context, name string, most int64) (*File, error) {
	f, err := s.open(ctx, name, most, true)
	if err != nil || f.f == nil { // what a pipe held is plain
		return f, err
	}
	if err := f.plain(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// plain has a file that is open at its beginning read unpacked, and from behind its mark.
func (f *File) plain() error {
	packed := &File{ctx: f.ctx, name: f.name, r: f.r, most: f.most}
	r := bufio.NewReader(packed)
	if head, _ := r.Peek(2); compressed(head) {
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			return broken(f.name, err)
		}
		r = bufio.NewReader(unpacked)
	}
	if head, _ := r.Peek(len(mark)); string(head) == mark {
		_, _ = r.Discard(len(mark))
	}
	f.r = r
	return nil
}

// mark is the byte order mark with which some editors begin a text in UTF-8.
const mark = "\xef\xbb\xbf"

// compressed reports whether a file that begins with head is compressed by gzip (RFC 1952,
// section 2.3.1).
func compressed(head []byte) bool {
	return len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b
}

// broken is the error for what is compressed and cannot be unpacked.
func broken(name string, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: the compressed data end too early: %w", name, err)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return fmt.Errorf("%s: not what gzip writes: %w", name, err)
	}
	return err
}

// held returns a file of bytes that are in memory.
func held(ctx context.Context, name string, b []byte) *File {
	return &File{ctx: ctx, name: name, r: bytes.NewReader(b), held: b, size: int64(len(b)), most: int64(len(b))}
}

func (s *session) open(ctx context.Context, name string, most int64, pipes bool) (*File, error) {
	if err := ctx.Err(); err != nil {
		return nil, interruption{name, err}
	}
	if name == Stdin && pipes {
		return s.fromPipe(ctx, name, func() (*os.File, error) { return s.stdin, nil })
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, short(name, err)
	}
	if pipes && info.Mode()&fs.ModeNamedPipe != 0 {
		return s.fromPipe(ctx, name, func() (*os.File, error) { return os.Open(name) })
	}
	return regular(ctx, name, info, most, func() (*os.File, error) {
		return os.OpenFile(name, os.O_RDONLY|waitless, 0)
	})
}

// regular opens a regular file. It looks at the file before and after open does: opening a
// device may do something, and the name may stand for another file by then.
func regular(ctx context.Context, name string, info fs.FileInfo, most int64, open func() (*os.File, error)) (*File, error) {
	if err := isRegular(name, info); err != nil {
		return nil, err
	}
	f, err := open()
	if err != nil {
		return nil, short(name, err)
	}
	if info, err = f.Stat(); err == nil {
		err = isRegular(name, info)
	}
	if err == nil && info.Size() > most {
		err = tooLarge(name, info.Size(), most)
	}
	if err != nil {
		_ = f.Close()
		return nil, short(name, err)
	}
	return &File{ctx: ctx, name: name, r: f, f: f, size: info.Size(), most: most}, nil
}

// fromPipe opens what a pipe held, which is read now if it was not before.
func (s *session) fromPipe(ctx context.Context, name string, open func() (*os.File, error)) (*File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pipes[name]
	if !ok {
		if p.b, p.err = drain(ctx, name, s.most(Document), open); p.err == nil {
			f := held(ctx, name, p.b)
			f.most = s.most(Document)
			if p.err = f.plain(); p.err == nil {
				p.b, p.err = f.all()
			}
		}
		s.pipes[name] = p
	}
	if p.err != nil {
		return nil, p.err
	}
	return held(ctx, name, p.b), nil
}

// drain reads a pipe to its end. Nobody need write to a pipe, ever: what waits for a writer
// is left behind when ctx is done, and ends with the program.
func drain(ctx context.Context, name string, most int64, open func() (*os.File, error)) ([]byte, error) {
	done := make(chan pipe, 1)
	go func() {
		f, err := open()
		if err != nil {
			done <- pipe{nil, short(name, err)}
			return
		}
		if name != Stdin {
			defer f.Close()
		}
		info, err := f.Stat()
		switch {
		case err != nil:
			err = short(name, err)
		case info.Mode()&(fs.ModeDevice|fs.ModeDir|fs.ModeIrregular) != 0: // what standard input may be: a file, a pipe, a socket
			err = wrongKind(name, info)
		case info.Mode().IsRegular() && info.Size() > most:
			err = tooLarge(name, info.Size(), most)
		}
		if err != nil {
			done <- pipe{nil, err}
			return
		}
		b, err := (&File{ctx: ctx, name: name, r: f, most: most}).all()
		done <- pipe{b, err}
	}()
	select {
	case p := <-done:
		return p.b, p.err
	case <-ctx.Done():
		return nil, interruption{name, ctx.Err()}
	}
}

// piece is how much a read asks the operating system for at most, so that the context is
// looked at often.
const piece = 1 << 20

// Read implements io.Reader.
func (f *File) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, interruption{f.name, err}
	}
	n, err := f.r.Read(p[:min(len(p), piece)])
	if f.read += int64(n); f.read > f.most {
		return 0, tooLarge(f.name, 0, f.most)
	}
	if err != nil && err != io.EOF {
		err = broken(f.name, short(f.name, err))
	}
	return n, err
}

// Close implements io.Closer.
func (f *File) Close() error {
	if f.f == nil {
		return nil
	}
	return f.f.Close()
}

// short names the file and the cause, without the system call.
func short(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", name, p.Err)
	}
	return err
}

// interruption is the error of a read whose context is done.
type interruption struct {
	name string
	err  error // the context's
}

func (i interruption) Error() string { return i.name + ": interrupted while it was read" }
func (i interruption) Unwrap() error { return i.err }

// tooLarge is the error for a file of size bytes, or of 0 if that is not known.
func tooLarge(name string, size, most int64) error {
	if size == 0 {
		return fmt.Errorf("%s: %w: more than %d bytes; --%s sets the limit", name, ErrTooLarge, most, Flag)
	}
	return fmt.Errorf("%s: %w: %d bytes, want at most %d; --%s sets the limit", name, ErrTooLarge, size, most, Flag)
}

// isRegular returns an error unless info is of a regular file.
func isRegular(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return wrongKind(name, info)
}

func wrongKind(name string, info fs.FileInfo) error {
	what := "neither a file nor a directory"
	switch mode := info.Mode(); {
	case mode.IsDir():
		what = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return fmt.Errorf("%s: %w: it is %s, want a regular file", name, ErrKind, what)
}

// Dir is a directory: a file system of the regular files in it and below it, out of which
// no link leads. Its names are relative to the directory, as those of fs.FS are.
type Dir struct {
	ctx  context.Context
	name string
	root *os.Root
}

// OpenDir opens a directory. The limits of its files are those of Open and Read.
func OpenDir(ctx context.Context, name string) (*Dir, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, short(name, err)
	}
	if !info.IsDir() { // which os.OpenRoot finds out by opening it
		return nil, fmt.Errorf("%s: want a directory", name)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, short(name, err)
	}
	return &Dir{ctx, name, root}, nil
}

// Close closes the directory. Files of it that are open stay open.
func (d *Dir) Close() error { return d.root.Close() }

// Open implements fs.FS. What it opens is a directory or a *DirFile.
func (d *Dir) Open(name string) (fs.File, error) {
	info, err := d.stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return d.root.FS().Open(name)
	}
	f, err := d.regular(name, info, Stream)
	if err != nil {
		return nil, err
	}
	return &DirFile{f}, nil
}

// ReadFile implements fs.ReadFileFS.
func (d *Dir) ReadFile(name string) ([]byte, error) {
	info, err := d.stat(name)
	if err != nil {
		return nil, err
	}
	f, err := d.regular(name, info, Document)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.all()
}

func (d *Dir) regular(name string, info fs.FileInfo, most int64) (*File, error) {
	if err := d.ctx.Err(); err != nil {
		return nil, interruption{d.path(name), err}
	}
	return regular(d.ctx, d.path(name), info, of(d.ctx).most(most), func() (*os.File, error) {
		return d.root.OpenFile(name, os.O_RDONLY|waitless, 0)
	})
}

// stat looks at what name stands for, through links within the directory.
func (d *Dir) stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	info, err := d.root.Stat(name)
	if err == nil {
		return info, nil
	}
	if link, lerr := d.root.Lstat(name); lerr == nil && link.Mode()&fs.ModeSymlink != 0 && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: it is a link that leads out of %s", d.path(name), ErrKind, d.name)
	}
	return nil, short(d.path(name), err)
}

// path returns what errors call a file.
func (d *Dir) path(name string) string { return filepath.Join(d.name, filepath.FromSlash(name)) }

// DirFile is a regular file of a Dir.
type DirFile struct{ *File }

// Stat implements fs.File.
func (f *DirFile) Stat() (fs.FileInfo, error) { return f.f.Stat() }

// IsRegular returns an error unless name is that of a regular file, or of a link to one.
func IsRegular(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return short(name, err)
	}
	return isRegular(name, info)
}
