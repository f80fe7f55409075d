//go:build !js

package report

import (
	"fmt"
	"io"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
)

// DrawGap draws the makespan of each method beside the bound of every cut, with what the table
// tells of it. What is not proved is hollow.
func DrawGap(ev *certify.Report, name string) error {
	p := ev.Problem
	b := &chart.Bars{Title: p.String(), ValueName: "makespan", Unit: chart.Seconds}
	if ev.Bound != nil {
		b.Bound, b.BoundName = InSeconds(ev.Bound.Bound), "bound "+HoldsFor(ev.Bound)+", by "+ev.Bound.Witness.Kind()
	}
	for _, r := range ev.Rows {
		bar := chart.Bar{Name: r.Method, Value: InSeconds(r.Makespan)}
		switch known := evidence(r); {
		case r.Optimal() != "":
			bar.Note = known
		case ev.Bound != nil && ev.Bound.Bound > 0:
			bar.Note, bar.Detail = fmt.Sprintf("%v above", model.GapOf(r.Makespan, ev.Bound.Bound)), known
		default:
			bar.Note = known
		}
		if r.Outcome() != verify.Proved {
			bar.Pale, bar.Note, bar.Detail = true, r.Outcome().String(), ""
		}
		b.Bars = append(b.Bars, bar)
	}
	format, err := chart.Format(name)
	if err != nil {
		return err
	}
	return files.Write(name, func(w io.Writer) error { return b.Write(w, format) })
}

// CanDraw returns an error if no figure is written to a file of that name.
func CanDraw(name string) error {
	_, err := chart.Format(name)
	return err
}
