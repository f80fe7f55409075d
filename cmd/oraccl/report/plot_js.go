package report

import (
	"errors"
	"io"

	"github.com/oraccl/oraccl/cmd/oraccl/calibrate"
	"github.com/oraccl/oraccl/model/format/trace"
	"github.com/oraccl/oraccl/solve/certify"
)

// errNoFigures is why nothing is drawn in a web page: the fonts alone would double its size.
var errNoFigures = errors.New("figures are not drawn in a web page")

// DrawGap returns an error: figures are not drawn in a web page.
func DrawGap(*certify.Report, string) error { return errNoFigures }

// CanDraw returns an error: figures are not drawn in a web page.
func CanDraw(string) error { return errNoFigures }

// DrawFit returns an error: figures are not drawn in a web page.
func DrawFit(*calibrate.Result, string) error { return errNoFigures }

// DrawTraces returns an error: figures are not drawn in a web page.
func DrawTraces([]trace.Job, string) error { return errNoFigures }

// DotsOf returns what returns an error: figures are not drawn in a web page.
func DotsOf[T any](func(io.Writer, T) error) func(io.Writer, T) error {
	return func(io.Writer, T) error { return errNoFigures }
}
