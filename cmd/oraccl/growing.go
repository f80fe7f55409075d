package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/stream"
)

// growing is a compact file that is written while its schedule is made or read. Until it is
// finished it has another name, that of the file with .partial at its end, and what was
// there before stays.
type growing struct {
	*compact.Writer
	out string
	f   *os.File
	b   *bufio.Writer
}

func newGrowing(out string, p *model.Problem, form model.Form, o model.Origin, routes [][]int) (*growing, error) {
	f, err := os.CreateTemp(filepath.Dir(out), filepath.Base(out)+".*.partial")
	if err != nil {
		var perr *fs.PathError
		if errors.As(err, &perr) {
			err = perr.Err
		}
		return nil, fmt.Errorf("%s: %w", out, err)
	}
	g := &growing{out: out, f: f, b: bufio.NewWriterSize(f, 1<<20)}
	if g.Writer, err = compact.NewWriter(g.b, p, form, o, routes); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return g, nil
}

// finish gives the file its name, marked as complete if the schedule is proved.
func (g *growing) finish(outcome verify.Outcome) error {
	var err error
	if outcome == verify.Proved {
		err = g.Close(map[string]string{stream.Engine: outcome.String()})
	} else {
		err = g.Flush()
	}
	if err = errors.Join(err, g.b.Flush()); err == nil {
		err = g.f.Chmod(0o644)
	}
	if err = errors.Join(err, g.f.Close()); err == nil {
		err = os.Rename(g.f.Name(), g.out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", g.out, errors.Join(err, os.Remove(g.f.Name())))
	}
	return nil
}

// drop removes what has been written.
func (g *growing) drop() error { return errors.Join(g.f.Close(), os.Remove(g.f.Name())) }
