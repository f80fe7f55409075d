package chart

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a map of values by rows and columns: the larger a value, the darker its field. A field
// without one is grey.
type Heat struct {
	Title string
	Unit  Unit
	Most  float64 // values from here on have the darkest colour
	Plain bool    // fields are narrow, and their values are not written
	rows  []string
	cols  []column
	value map[[2]int]float64
}

// column is the name of a column, in a group of that name or in none.
type column struct{ group, name string }

// Set gives a field its value. Rows and columns are in the order in which they are first
// named; a group of columns should be named as a whole before the next one.
func (h *Heat) Set(row, group, name string, value float64) {
	if h.value == nil {
		h.value = map[[2]int]float64{}
	}
	h.value[[2]int{index(&h.rows, row), index(&h.cols, column{group, name})}] = value
}

// groupGap is how far apart two groups of columns are, in columns.
const groupGap = .4

// places returns where the columns are, and the ticks below them, with the names of groups.
func (h *Heat) places() (at []float64, ticks []plot.Tick) {
	x, first := 0.0, 0
	for i, c := range h.cols {
		if i > 0 && c.group != h.cols[i-1].group {
			x, first = x+groupGap, i
		}
		at = append(at, x)
		ticks = append(ticks, plot.Tick{Value: x, Label: named(c.name, 1.5*h.width())})
		if last := i+1 == len(h.cols) || h.cols[i+1].group != c.group; last && c.group != "" {
			columns := float64(i - first + 1)
			ticks = append(ticks, plot.Tick{Value: (at[first] + x) / 2, Label: "\n" + named(c.group, columns*h.width())})
		}
		x++
	}
	return at, ticks
}

// index returns where a name is in a list, at the end of which it is put if need be.
func index[T comparable](list *[]T, name T) int {
	i := slices.Index(*list, name)
	if i < 0 {
		i = len(*list)
		*list = append(*list, name)
	}
	return i
}

// Write writes the map. One without fields, or with a value below zero, is an error.
func (h *Heat) Write(w io.Writer, format string) error {
	s, err := h.sheet()
	if err != nil {
		return fmt.Errorf("chart %q: %w", h.Title, err)
	}
	return s.write(w, format)
}

// width returns how wide a column is, in points.
func (h *Heat) width() float64 {
	if h.Plain {
		return 27
	}
	return 46
}

func (h *Heat) sheet() (*sheet, error) {
	if len(h.value) == 0 || h.Most <= 0 {
		return nil, errors.New("no fields, or no value for the darkest colour")
	}
	c := Chart{Places: h.rows}
	at, ticks := h.places()
	high := at[len(at)-1] + .5
	x := &axis{low: -.5, high: high, ticks: ticks}
	s := newSheet(h.Title, x, c.placesAxis())
	s.width, s.height = vg.Points(max(plotWidth/2, 120+h.width()*(high+.5))), vg.Points(float64(60+placeHeight*len(h.rows)))
	s.plot.X.Tick.Length, s.plot.Y.Tick.Length = 0, 0
	for i := range h.rows {
		for j := range h.cols {
			v, ok := h.value[[2]int{i, j}]
			if bad(v) || v < 0 {
				return nil, fmt.Errorf("field %s, %s: no colour for %v", h.rows[i], strings.TrimSpace(h.cols[j].group+" "+h.cols[j].name), v)
			}
			text, share := "", min(1, v/h.Most)
			if ok && !h.Plain {
				text = h.Unit.Format(v)
			}
			back := shade(share)
			if !ok {
				back = unknown
			}
			if err := s.field(at[j], c.place(float64(i)), back, share > .6, text); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// unknown is the colour of a field without a value.
var unknown = color.RGBA{R: 0xB0, G: 0xB0, B: 0xB0, A: 0xFF}

// shade returns a colour from light to dark as the share goes from 0 to 1.
func shade(share float64) color.RGBA {
	dark := colours[0].(color.RGBA)
	to := func(c uint8) uint8 { return uint8(0xFF - share*float64(0xFF-c)) }
	return color.RGBA{R: to(dark.R), G: to(dark.G), B: to(dark.B), A: 0xFF}
}

// field draws a field of a colour, which may be dark, with a text.
func (s *sheet) field(x, y float64, back color.RGBA, dark bool, value string) error {
	box, err := plotter.NewPolygon(plotter.XYs{{X: x - .5, Y: y - .5}, {X: x + .5, Y: y - .5}, {X: x + .5, Y: y + .5}, {X: x - .5, Y: y + .5}})
	if err != nil {
		return err
	}
	box.Color = back
	box.LineStyle = draw.LineStyle{Color: color.White, Width: vg.Points(.8)}
	s.plot.Add(box)
	if value == "" {
		return nil
	}
	text, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{value}})
	if err != nil {
		return err
	}
	text.TextStyle[0].Font = style(nameSize).Font
	text.TextStyle[0].XAlign, text.TextStyle[0].YAlign = draw.XCenter, draw.YCenter
	if dark {
		text.TextStyle[0].Color = color.White
	}
	s.plot.Add(text)
	return nil
}
