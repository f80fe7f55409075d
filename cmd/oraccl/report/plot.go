//go:build !js

package report

import (
	"bytes"
	"fmt"
	"io"

	"github.com/oraccl/oraccl/cmd/oraccl/calibrate"
	"github.com/oraccl/oraccl/cmd/oraccl/chart"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/format/trace"
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

// DrawFit draws measurements and lines.
func DrawFit(r *calibrate.Result, name string) error {
	c := &chart.Chart{Title: r.Topology.Name, XName: "bytes over the link", YName: "time", XUnit: chart.Bytes, YUnit: chart.Seconds, LogX: true, LogY: true}
	for i := range r.Groups {
		f := r.Groups[i].Fit
		if f == nil {
			continue
		}
		var x, y, at []float64
		for _, p := range f.Kept {
			l := &f.Line
			if f.Small != nil && p.Bytes < f.Knee {
				l = f.Small
			}
			x, y, at = append(x, p.Bytes), append(y, p.Seconds), append(at, l.At(p.Bytes))
		}
		c.Series = append(c.Series, chart.Series{Name: "measured: " + r.Groups[i].Route, X: x, Y: y, Dots: true}, chart.Series{Name: "α + β·bytes", X: x, Y: at})
	}
	if len(c.Series) == 0 {
		return fmt.Errorf("--plot %s: no line was fitted, the measurements are of bandwidths", name)
	}
	format, err := chart.Format(name)
	if err != nil {
		return err
	}
	return files.Write(name, func(w io.Writer) error { return c.Write(w, format) })
}

// DrawTraces draws the times of jobs, one beside the other.
func DrawTraces(jobs []trace.Job, name string) error {
	b := &chart.Bars{Title: "Training jobs", ValueName: "median of an iteration", Unit: chart.Seconds}
	for i := range jobs {
		x := &jobs[i]
		for _, part := range []struct {
			name string
			t    *model.Time
		}{{"period", x.Period}, {"compute", x.Compute}, {"communication", x.Comm}, {"exposed", x.Exposed}} {
			if part.t == nil {
				continue
			}
			bar := chart.Bar{Name: part.name, Value: InSeconds(*part.t)}
			if len(jobs) > 1 {
				bar.Name = x.Name + ", " + part.name
			}
			b.Bars = append(b.Bars, bar)
		}
		for k, u := range x.Buckets {
			if u.Offset != nil && len(jobs) == 1 {
				b.Bars = append(b.Bars, chart.Bar{Name: fmt.Sprintf("bucket %d ready", k), Value: InSeconds(*u.Offset), Note: fmt.Sprintf("%d bytes", u.Bytes)})
			}
		}
	}
	if len(b.Bars) == 0 {
		return fmt.Errorf("--plot %s: no job has times", name)
	}
	format, err := chart.Format(name)
	if err != nil {
		return err
	}
	return files.Write(name, func(w io.Writer) error { return b.Write(w, format) })
}

// DotsOf returns what writes a drawing as a picture of dots, from what writes it as SVG.
func DotsOf[T any](draw func(io.Writer, T) error) func(io.Writer, T) error {
	return func(w io.Writer, drawn T) error {
		var b bytes.Buffer
		if err := draw(&b, drawn); err != nil {
			return err
		}
		return chart.PNG(w, b.Bytes())
	}
}
