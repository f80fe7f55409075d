package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/model"
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

// plot draws the makespan of each method beside the bound. What is not proved is hollow.
func (ev *evaluation) plot(name string) error {
	p := ev.problem
	b := &chart.Bars{Title: p.String(), ValueName: "makespan", Unit: chart.Seconds}
	if ev.bound != nil {
		b.Bound, b.BoundName = inSeconds(ev.bound.Bound), "bound, by "+ev.bound.Witness.Kind()
	}
	for _, r := range ev.rows {
		bar := chart.Bar{Name: r.method, Value: inSeconds(r.makespan)}
		switch optimal := r.optimal(); {
		case optimal != "":
			bar.Note = "optimal (" + optimal + ")"
		case ev.bound != nil:
			bar.Note = fmt.Sprintf("%.1f %% above", 100*gapOf(r.makespan, ev.bound.Bound))
		}
		if r.outcome() != verify.Proved {
			bar.Pale, bar.Note = true, r.outcome().String()
		}
		b.Bars = append(b.Bars, bar)
	}
	format, err := chart.Format(name)
	if err != nil {
		return err
	}
	return writeFile(name, func(w io.Writer) error { return b.Write(w, format) })
}

// inSeconds returns a time in seconds.
func inSeconds(t model.Time) float64 { return float64(t) / float64(model.Second) }
