package chart

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a map of values by rows and columns: the larger a value, the darker its field.
type Heat struct {
	Title string
	Unit  Unit
	Most  float64 // values from here on have the darkest colour
	rows  []string
	cols  []string
	value map[[2]int]float64
}

// Set gives a field its value. Rows and columns are in the order in which they are first
// named.
func (h *Heat) Set(row, column string, value float64) {
	if h.value == nil {
		h.value = map[[2]int]float64{}
	}
	h.value[[2]int{index(&h.rows, row), index(&h.cols, column)}] = value
}

// index returns where a name is in a list, at the end of which it is put if need be.
func index(list *[]string, name string) int {
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

// fieldWidth is how wide a column is, in points.
const fieldWidth = 46

func (h *Heat) sheet() (*sheet, error) {
	if len(h.value) == 0 || h.Most <= 0 {
		return nil, errors.New("no fields, or no value for the darkest colour")
	}
	c := Chart{Places: h.rows}
	x := &axis{low: -.5, high: float64(len(h.cols)) - .5}
	for i, name := range h.cols {
		x.ticks = append(x.ticks, plot.Tick{Value: float64(i), Label: named(name, 1.5*fieldWidth)})
	}
	s := newSheet(h.Title, x, c.placesAxis())
	s.width, s.height = vg.Points(max(plotWidth/2, float64(120+fieldWidth*len(h.cols)))), vg.Points(float64(60+placeHeight*len(h.rows)))
	s.plot.X.Tick.Length, s.plot.Y.Tick.Length = 0, 0
	for i := range h.rows {
		for j := range h.cols {
			v, ok := h.value[[2]int{i, j}]
			if !ok {
				continue
			}
			if bad(v) || v < 0 {
				return nil, fmt.Errorf("field %s, %s: no colour for %v", h.rows[i], h.cols[j], v)
			}
			if err := s.field(float64(j), c.place(float64(i)), min(1, v/h.Most), h.Unit.Format(v)); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// field draws a field, from light to dark as the share goes from 0 to 1, with its value.
func (s *sheet) field(x, y, share float64, value string) error {
	box, err := plotter.NewPolygon(plotter.XYs{{X: x - .5, Y: y - .5}, {X: x + .5, Y: y - .5}, {X: x + .5, Y: y + .5}, {X: x - .5, Y: y + .5}})
	if err != nil {
		return err
	}
	dark := colours[0].(color.RGBA)
	shade := func(to uint8) uint8 { return uint8(0xFF - share*float64(0xFF-to)) }
	box.Color = color.RGBA{R: shade(dark.R), G: shade(dark.G), B: shade(dark.B), A: 0xFF}
	box.LineStyle = draw.LineStyle{Color: color.White, Width: vg.Points(.8)}
	s.plot.Add(box)
	text, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{value}})
	if err != nil {
		return err
	}
	text.TextStyle[0].Font = style(nameSize).Font
	text.TextStyle[0].XAlign, text.TextStyle[0].YAlign = draw.XCenter, draw.YCenter
	if share > .6 {
		text.TextStyle[0].Color = color.White
	}
	s.plot.Add(text)
	return nil
}
