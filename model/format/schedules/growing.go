package schedules

import (
	"bufio"
	"errors"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/compact"
)

// Growing is a compact file that is written while its schedule is made or read. Until it is
// finished it has another name, that of the file with .partial at its end, and what was
// there before stays.
type Growing struct {
	*compact.Writer
	f *files.Replacement
	b *bufio.Writer
}

// Create begins the compact file of a name with a problem and the routes of its transfers.
func Create(out string, p *model.Problem, form model.Form, o model.Origin, routes [][]int) (*Growing, error) {
	f, err := files.Replace(out, ".partial")
	if err != nil {
		return nil, err
	}
	g := &Growing{f: f, b: bufio.NewWriterSize(f, 1<<20)}
	if g.Writer, err = compact.NewWriter(g.b, p, form, o, routes); err != nil {
		return nil, errors.Join(err, f.Drop())
	}
	return g, nil
}

// Finish gives the file its name. It is marked as complete, with the verdicts of the engines
// that proved it, or as partial if there are none.
func (g *Growing) Finish(verdicts map[string]string) error {
	var err error
	if verdicts != nil {
		err = g.Close(verdicts)
	} else {
		err = g.Flush()
	}
	return g.f.Commit(errors.Join(err, g.b.Flush()))
}

// Drop removes what has been written.
func (g *Growing) Drop() error { return g.f.Drop() }
