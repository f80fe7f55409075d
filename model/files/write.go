package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A Replacement is a file that is being written. Until Commit it has another name, and what
// was there under its own stays, so that no reader ever sees half of it. A device, such as /dev/null, is
// no file that could be replaced, and is written to at once.
type Replacement struct {
	*os.File
	name   string
	device bool
}

// Unfinished is how the names of files begin that were not committed, where they have no
// suffix.
const Unfinished = ".new-"

// Replace begins to write the file of a name. Until Commit its name begins with Unfinished or,
// where a suffix is given, is the same with random characters and the suffix behind it.
func Replace(name, suffix string) (*Replacement, error) {
	if old, err := os.Stat(name); err == nil && old.Mode()&fs.ModeDevice != 0 {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, unnamed(err, name))
		}
		return &Replacement{f, name, true}, nil
	} else if err == nil && !old.Mode().IsRegular() && !old.IsDir() {
		return nil, fmt.Errorf("%s: neither a file nor a device, and it is not replaced by one", name)
	}
	pattern := Unfinished + "*"
	if suffix != "" {
		pattern = filepath.Base(name) + ".*" + suffix
	}
	f, err := os.CreateTemp(filepath.Dir(name), pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, unnamed(err, ""))
	}
	return &Replacement{f, name, false}, nil
}

// Commit gives the file its name. If that fails, or failed is an error, nothing of it is
// left. An error names the file.
func (r *Replacement) Commit(failed error) error {
	err := failed
	if r.device {
		if err = errors.Join(err, r.Close()); err != nil {
			return fmt.Errorf("%s: %w", r.name, unnamed(err, r.name))
		}
		return nil
	}
	if err == nil {
		err = r.Chmod(0o644)
	}
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(r.Name(), r.name)
	}
	if err != nil {
		_ = os.Remove(r.Name())
		return fmt.Errorf("%s: %w", r.name, unnamed(err, r.Name()))
	}
	return nil
}

// Drop removes what has been written.
func (r *Replacement) Drop() error {
	if r.device {
		return r.Close()
	}
	return errors.Join(r.Close(), os.Remove(r.Name()))
}

// Write writes a file, whole or not at all. An error names the file.
func Write(name string, write func(io.Writer) error) error {
	r, err := Replace(name, "")
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(r, 1<<16)
	if err = write(b); err == nil {
		err = b.Flush()
	}
	return r.Commit(err)
}

// WriteUntil is Write that fails when ctx is done.
func WriteUntil(ctx context.Context, name string, write func(io.Writer) error) error {
	return Write(name, func(w io.Writer) error {
		err := write(Until(ctx, w))
		if ctx.Err() != nil {
			return fmt.Errorf("not written: %w", ctx.Err())
		}
		return err
	})
}

// Until returns a writer to w that fails when ctx is done.
func Until(ctx context.Context, w io.Writer) io.Writer { return until{ctx, w} }

type until struct {
	ctx context.Context
	io.Writer
}

func (u until) Write(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Writer.Write(b)
}

// unnamed returns the reason of an error about the file called temporary, whose name is not the
// user's, and any other error as it is.
func unnamed(err error, temporary string) error {
	switch e := err.(type) {
	case *fs.PathError:
		if e.Path == temporary || temporary == "" {
			return e.Err
		}
	case *os.LinkError:
		if e.Old == temporary {
			return e.Err
		}
	}
	return err
}
