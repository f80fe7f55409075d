package chart

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The sizes of a figure, in points: what the axes with their names take, what a named place
// takes of the height, the margin, and the text.
const (
	plotWidth, plotHeight = 400, 270
	placeHeight           = 17
	margin                = 8
	titleSize, nameSize   = 11, 9
)

// sheet is a plot with the legend beside it, ready to be drawn at a size.
type sheet struct {
	title         string
	lines         []string // of the title
	xName, yName  string   // of the axes
	plot          *plot.Plot
	legend        plot.Legend
	entries       map[string]bool
	width, height vg.Length
	legendWidth   vg.Length
	rows          int // of the legend
}

// newSheet returns an empty plot over two axes.
func newSheet(title string, x, y *axis) *sheet {
	p := plot.New()
	x.set(&p.X)
	y.set(&p.Y)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Tick.Label.Font = style(nameSize).Font
	}
	g := plotter.NewGrid()
	light := draw.LineStyle{Color: color.Gray{Y: 0xD8}, Width: vg.Points(.5)}
	g.Vertical, g.Horizontal = light, light
	p.Add(g)
	s := &sheet{title: clean(title), xName: named(x.name, plotWidth), yName: named(y.name, plotHeight), plot: p, legend: plot.NewLegend(), entries: map[string]bool{}, width: plotWidth, height: plotHeight}
	s.legend.TextStyle.Font = style(nameSize).Font
	s.legend.Left, s.legend.Top = true, true
	s.legend.Padding = vg.Points(3)
	s.legend.ThumbnailWidth = vg.Points(22)
	return s
}

// entry adds a line to the legend, once for each name.
func (s *sheet) entry(name string, samples ...plot.Thumbnailer) {
	if name = named(name, mostName); s.entries[name] || name == "" {
		return
	}
	s.entries[name] = true
	s.rows++
	s.legend.Add(name, samples...)
	s.legendWidth = max(s.legendWidth, s.legend.ThumbnailWidth+s.legend.TextStyle.Width("  "+name))
}

// size fixes how large everything is together.
func (s *sheet) size() (width, height vg.Length) {
	width = s.width + 2*margin
	if s.rows > 0 {
		width += margin + s.legendWidth
	}
	st := style(titleSize)
	s.lines = wrapped(s.title, st, width-2*margin)
	row := s.legend.TextStyle.Height("x") + s.legend.Padding
	s.height = max(s.height, vg.Length(s.rows)*row+vg.Points(10))
	return width, s.height + 2*margin + s.titleHeight()
}

func (s *sheet) titleHeight() vg.Length {
	if len(s.lines) == 0 {
		return 0
	}
	return vg.Length(len(s.lines))*vg.Points(titleSize*1.3) + vg.Points(5)
}

// draw draws everything on a canvas of the size.
func (s *sheet) draw(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	st := style(titleSize)
	st.Color, st.XAlign, st.YAlign = color.Black, draw.XCenter, draw.YTop
	for i, line := range s.lines {
		c.FillText(st, vg.Point{X: c.Center().X, Y: c.Max.Y - vg.Length(i)*vg.Points(titleSize*1.3)}, line)
	}
	c = draw.Crop(c, 0, 0, 0, -s.titleHeight())
	s.axes(draw.Crop(c, 0, s.width-(c.Max.X-c.Min.X), 0, 0))
	if s.rows > 0 {
		s.legend.Draw(draw.Crop(c, s.width+margin, 0, 0, 0))
	}
}

// axes draws the plot and the names of its axes. gonum/plot would make room for the names as
// if they stood at the middle value, which is not the middle of a logarithmic axis.
func (s *sheet) axes(c draw.Canvas) {
	st := style(nameSize + 1)
	st.Color, st.XAlign = color.Black, draw.XCenter
	high, deep := st.Height("x"), st.FontExtents().Descent
	inner := c
	if s.xName != "" {
		inner.Min.Y += high + vg.Points(3)
	}
	if s.yName != "" {
		inner.Min.X += high + vg.Points(5)
	}
	s.plot.BackgroundColor = nil
	s.plot.Draw(inner)
	data := s.plot.DataCanvas(inner)
	c.FillText(st, vg.Point{X: data.Center().X, Y: c.Min.Y + deep}, s.xName)
	st.Rotation = math.Pi / 2
	c.FillText(st, vg.Point{X: c.Min.X + high - deep, Y: data.Center().Y}, s.yName)
}

// sheet puts the series on their axes.
func (c *Chart) sheet() (*sheet, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("chart %q: %w", c.Title, err)
	}
	x, y := c.axes()
	s := newSheet(c.Title, x, y)
	if c.Places != nil {
		s.height = vg.Points(float64(50 + placeHeight*len(c.Places)))
		s.plot.Y.Tick.Length = 0
	}
	styles := c.styles()
	for i := range c.Series {
		if err := c.add(s, &c.Series[i], styles[i]); err != nil {
			return nil, fmt.Errorf("chart %q: series %q: %w", c.Title, c.Series[i].Name, err)
		}
	}
	return s, nil
}

// add draws one series.
func (c *Chart) add(s *sheet, r *Series, style int) error {
	points := c.points(r)
	name := r.Name
	var samples []plot.Thumbnailer
	if c.Places == nil {
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		if r.Fit {
			factor, exponent, ok := PowerLaw(r.X, r.Y)
			if ok {
				name += fmt.Sprintf(" (exponent %.2f)", exponent)
				line.XYs = c.powerLaw(points, factor, exponent)
			} else {
				line = nil
			}
		}
		if line != nil && (len(points) > 1 || !r.Dots) {
			line.LineStyle = r.line(style)
			if r.Steps {
				line.StepStyle = plotter.PostStep
			}
			s.plot.Add(line)
			samples = append(samples, line)
		}
	}
	if r.Dots || r.Fit || c.Places != nil {
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.GlyphStyle = mark(style)
		s.plot.Add(dots)
		samples = append(samples, dots)
	}
	s.entry(name, samples...)
	return nil
}

// fitted is how many pieces a fitted curve is drawn in: between logarithmic axes one would do.
const fitted = 64

// powerLaw is the part of a fitted curve above the points, within the axes.
func (c *Chart) powerLaw(points plotter.XYs, factor, exponent float64) plotter.XYs {
	_, y := c.axes()
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		low, high = min(low, p.X), max(high, p.X)
	}
	var curve plotter.XYs
	for i := range fitted + 1 {
		x := low * math.Pow(high/low, float64(i)/fitted)
		if v := factor * math.Pow(x, exponent); y.low <= v && v <= y.high {
			curve = append(curve, plotter.XY{X: x, Y: v})
		}
	}
	return curve
}
