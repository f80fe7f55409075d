// Package chart states what a figure shows, and has it drawn by gonum/plot: lines, marks, steps
// and fitted power laws over common axes, or bars beside a bound. It decides nothing.
//
// A figure is described in base units (seconds, bytes, bytes per second, shares of one); the
// axes choose the prefixes. Equal figures give equal files, in every format: colours, marks
// and fonts (Liberation, which gonum/plot carries) do not depend on the system.
package chart

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is some points, joined by a line in their order unless the chart has named places.
type Series struct {
	// Name is what the legend says. Series of the same name look the same and are there
	// once: a line with gaps.
	Name   string
	X, Y   []float64
	Dashed bool // without dots it is black: a bound
	Dots   bool // mark the points
	// Fit draws c·x^e as fitted by PowerLaw, not the lines between the points, and adds
	// the exponent to the name. Where nothing can be fitted there are only the points.
	Fit bool
	// Steps has y stay as it is up to the next x: the best that is to be had up to x.
	Steps bool
	// Style is which colour and mark the series has, from 1; 0: as is its turn.
	Style int
}

// Chart is some series over common axes.
type Chart struct {
	Title        string
	XName, YName string
	XUnit, YUnit Unit
	LogX, LogY   bool // as long a way for every doubling
	// Places are names of x = 0, 1, ...: one below the other then, each with its dots, the
	// values to the right, and no lines between them.
	Places []string
	Series []Series
}

// colours are told apart by those who do not tell red from green, too (Okabe and Ito,
// without black, which is for bounds, and without yellow, which is hard to see on white).
var colours = []color.Color{
	color.RGBA{0x00, 0x72, 0xB2, 255}, color.RGBA{0xD5, 0x5E, 0x00, 255}, color.RGBA{0x00, 0x9E, 0x73, 255},
	color.RGBA{0xCC, 0x79, 0xA7, 255}, color.RGBA{0xE6, 0x9F, 0x00, 255}, color.RGBA{0x56, 0xB4, 0xE9, 255}, color.RGBA{0x77, 0x77, 0x77, 255},
}

// marks are as many as leave no common divisor with the colours: 42 series look different.
var marks = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, hollow{draw.CircleGlyph{}}, hollow{draw.BoxGlyph{}}, hollow{draw.PyramidGlyph{}}}

// hollow is a mark with a white middle.
type hollow struct{ draw.GlyphDrawer }

func (h hollow) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	h.GlyphDrawer.DrawGlyph(c, s, at)
	s.Radius /= 2
	c.SetColor(color.White)
	h.GlyphDrawer.DrawGlyph(c, s, at)
}

var dashes = []vg.Length{vg.Points(5), vg.Points(3)}

// styles returns the style of each series, from 0.
func (c *Chart) styles() []int {
	var names []string
	styles := make([]int, len(c.Series))
	for i, s := range c.Series {
		if s.Style > 0 {
			styles[i] = s.Style - 1
			continue
		}
		if s.bound() {
			continue
		}
		k := slices.Index(names, s.Name)
		if k < 0 {
			k, names = len(names), append(names, s.Name)
		}
		styles[i] = k
	}
	return styles
}

// bound reports whether the series is a line to compare with, rather than something found.
func (s *Series) bound() bool { return s.Dashed && !s.Dots && !s.Fit }

func (s *Series) line(style int) draw.LineStyle {
	l := draw.LineStyle{Color: colours[style%len(colours)], Width: vg.Points(1.4)}
	if s.bound() {
		l.Color = color.Black
	}
	if s.Dashed {
		l.Dashes = dashes
	}
	return l
}

func mark(style int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: colours[style%len(colours)], Radius: vg.Points(2.8), Shape: marks[style%len(marks)]}
}

// points are the places of a series, turned where the chart has named places.
func (c *Chart) points(s *Series) plotter.XYs {
	all := make(plotter.XYs, len(s.X))
	for i := range s.X {
		all[i] = plotter.XY{X: s.X[i], Y: s.Y[i]}
		if c.Places != nil {
			all[i] = plotter.XY{X: s.Y[i], Y: c.place(s.X[i])}
		}
	}
	return all
}

// place is how far up the place of a number is drawn: the first is uppermost.
func (c *Chart) place(i float64) float64 { return float64(len(c.Places)-1) - i }

// check returns an error if there is nothing to draw or something cannot be placed.
func (c *Chart) check() error {
	if len(c.Series) == 0 {
		return errors.New("no series")
	}
	for _, s := range c.Series {
		if len(s.X) != len(s.Y) || len(s.X) == 0 {
			return fmt.Errorf("series %q: %d and %d values, want as many of both", s.Name, len(s.X), len(s.Y))
		}
		for i := range s.X {
			if bad(s.X[i]) || bad(s.Y[i]) || c.LogX && c.Places == nil && s.X[i] <= 0 || c.LogY && s.Y[i] <= 0 {
				return fmt.Errorf("series %q: no place for %v, %v", s.Name, s.X[i], s.Y[i])
			}
			if at := s.X[i]; c.Places != nil && (at < 0 || at != math.Trunc(at) || at >= float64(len(c.Places))) {
				return fmt.Errorf("series %q: no place for %v of %d", s.Name, at, len(c.Places))
			}
		}
	}
	return nil
}

// bad reports whether v is no number, or one that no measurement has.
func bad(v float64) bool { return math.IsNaN(v) || math.Abs(v) > 1e24 || v != 0 && math.Abs(v) < 1e-24 }

// axes are the horizontal and the vertical axis around all points.
func (c *Chart) axes() (x, y *axis) {
	var xs, ys []float64
	for _, s := range c.Series {
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
	}
	if c.Places == nil {
		return newAxis(c.XName, c.XUnit, c.LogX, slices.Min(xs), slices.Max(xs)), newAxis(c.YName, c.YUnit, c.LogY, from0(c.LogY, ys), slices.Max(ys))
	}
	return newAxis(c.YName, c.YUnit, c.LogY, from0(c.LogY, ys), slices.Max(ys)), c.placesAxis()
}

// from0 is the least value, or 0 where that is less and can be drawn.
func from0(log bool, values []float64) float64 {
	if log {
		return slices.Min(values)
	}
	return min(0, slices.Min(values))
}
