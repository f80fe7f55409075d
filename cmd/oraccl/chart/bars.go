package chart

import (
	"errors"
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bar is a value with a name, and what is written beside it.
type Bar struct {
	Name   string
	Value  float64
	Note   string
	Detail string // a second line below the note
	Pale   bool   // not to be relied on: hollow
}

// Bars is some values below one another, beside a bound that none can be less than.
type Bars struct {
	Title     string
	ValueName string
	Unit      Unit
	Bars      []Bar
	Bound     float64 // 0: none
	BoundName string  // what the legend says of it
}

// Write writes the bars. None, or one that cannot be placed, is an error that names it.
func (b *Bars) Write(w io.Writer, format string) error {
	s, err := b.sheet()
	if err != nil {
		return fmt.Errorf("chart %q: %w", b.Title, err)
	}
	return s.write(w, format)
}

// noteWidth is the part of the axis that is left for notes beside the longest bar, wideNote
// that for notes of two lines, which get a wider plot, and detailHeight how much higher the
// place of such a bar is, in points.
const (
	noteWidth    = 0.3
	wideNote     = 0.5
	widePlot     = 1.3 * plotWidth
	detailHeight = 9
)

func (b *Bars) sheet() (*sheet, error) {
	if len(b.Bars) == 0 {
		return nil, errors.New("no bars")
	}
	c := Chart{}
	longest := b.Bound
	part, width, height := noteWidth, float64(plotWidth), placeHeight
	for _, r := range b.Bars {
		if bad(r.Value) || r.Value < 0 {
			return nil, fmt.Errorf("bar %q: no place for %v", r.Name, r.Value)
		}
		c.Places = append(c.Places, r.Name)
		longest = max(longest, r.Value)
		if r.Detail != "" {
			part, width, height = wideNote, widePlot, placeHeight+detailHeight
		}
	}
	if bad(b.Bound) || b.Bound < 0 {
		return nil, fmt.Errorf("no place for a bound of %v", b.Bound)
	}
	if longest == 0 {
		longest = 1
	}
	y := c.placesAxis()
	s := newSheet(b.Title, newAxis(b.ValueName, b.Unit, false, 0, longest*(1+part)), y)
	s.width, s.height = vg.Points(width), vg.Points(float64(50+height*len(b.Bars)))
	s.plot.Y.Tick.Length = 0
	for i, r := range b.Bars {
		at := c.place(float64(i))
		const half = .32
		box, err := plotter.NewPolygon(plotter.XYs{{X: 0, Y: at - half}, {X: r.Value, Y: at - half}, {X: r.Value, Y: at + half}, {X: 0, Y: at + half}})
		if err != nil {
			return nil, err
		}
		box.LineStyle = draw.LineStyle{Color: colours[0], Width: vg.Points(.8)}
		if !r.Pale {
			box.Color = colours[0]
		}
		s.plot.Add(box)
		lines, up := []string{r.Note}, 0.0
		if r.Detail != "" {
			lines, up = []string{r.Note, r.Detail}, .5
		}
		for n, line := range lines {
			note, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: r.Value, Y: at}}, Labels: []string{named(line, width*part)}})
			if err != nil {
				return nil, err
			}
			note.TextStyle[0].Font = style(nameSize).Font
			note.TextStyle[0].YAlign = draw.YCenter
			note.Offset = vg.Point{X: vg.Points(4), Y: vg.Points((up - float64(n)) * (nameSize + 1))}
			s.plot.Add(note)
		}
	}
	if b.Bound > 0 {
		line, err := plotter.NewLine(plotter.XYs{{X: b.Bound, Y: y.low}, {X: b.Bound, Y: y.high}})
		if err != nil {
			return nil, err
		}
		line.LineStyle = draw.LineStyle{Color: color.Black, Width: vg.Points(1.2), Dashes: dashes}
		s.plot.Add(line)
		s.entry(b.BoundName, line)
	}
	return s, nil
}
