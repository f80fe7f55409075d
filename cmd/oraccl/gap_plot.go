package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
)

// checkPlot refuses, before any work, the name of a figure that could not be written. ""
// asks for none.
func checkPlot(name string) error {
	if name == "" {
		return nil
	}
	if _, err := chart.Format(name); err != nil {
		return fmt.Errorf("--plot %w", err)
	}
	switch d, err := os.Stat(filepath.Dir(name)); {
	case err != nil:
		return fmt.Errorf("--plot %s: %w", name, err)
	case !d.IsDir():
		return fmt.Errorf("--plot %s: %s is no directory", name, filepath.Dir(name))
	}
	return nil
}

// plot draws the makespan of each method beside the bound of every cut, with what the table
// tells of it. What is not proved is hollow.
func plotGap(ev *certify.Report, name string) error {
	p := ev.Problem
	b := &chart.Bars{Title: p.String(), ValueName: "makespan", Unit: chart.Seconds}
	if ev.Bound != nil {
		b.Bound, b.BoundName = inSeconds(ev.Bound.Bound), "bound "+holdsFor(ev.Bound)+", by "+ev.Bound.Witness.Kind()
	}
	for _, r := range ev.Rows {
		bar := chart.Bar{Name: r.Method, Value: inSeconds(r.Makespan)}
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

// inSeconds returns a time in seconds.
func inSeconds(t model.Time) float64 { return float64(t) / float64(model.Second) }
