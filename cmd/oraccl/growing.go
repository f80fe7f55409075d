package main

import (
	"bufio"
	"errors"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/stream"
)

// growing is a compact file that is written while its schedule is made or read. Until it is
// finished it has another name, that of the file with .partial at its end, and what was
// there before stays.
type growing struct {
	*compact.Writer
	f *files.Replacement
	b *bufio.Writer
}

func newGrowing(out string, p *model.Problem, form model.Form, o model.Origin, routes [][]int) (*growing, error) {
	f, err := files.Replace(out, ".partial")
	if err != nil {
		return nil, err
	}
	g := &growing{f: f, b: bufio.NewWriterSize(f, 1<<20)}
	if g.Writer, err = compact.NewWriter(g.b, p, form, o, routes); err != nil {
		return nil, errors.Join(err, f.Drop())
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
	return g.f.Commit(errors.Join(err, g.b.Flush()))
}

// drop removes what has been written.
func (g *growing) drop() error { return g.f.Drop() }
