// Package chart draws lines through points as SVG: axes with round numbers, a legend, and
// no more. Equal charts give equal files. It decides nothing.
package chart

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Series is a line through points, in their order.
type Series struct {
	Name   string
	X, Y   []float64
	Dashed bool
	Dots   bool // mark the points
}

// Chart is some series over common axes.
type Chart struct {
	Title  string
	XName  string
	YName  string
	LogX   bool     // doublings of x are equally far apart
	LogY   bool     // so are those of y
	Places []string // names of x = 0, 1, ...: there are dots then, and no lines between them
	Series []Series
}

// The size of the drawing, in pixels, and of what is around the axes.
const (
	width, height = 800, 480
	left, right   = 70, 230
	top           = 40
)

// bottom is the room below the axes.
func (c *Chart) bottom() int {
	if c.Places != nil {
		return 160
	}
	return 50
}

// colours are told apart by those who do not tell red from green, too (Okabe and Ito).
var colours = []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#999999"}

// WriteSVG writes the chart. A chart without points, or with one that cannot be placed, is
// an error.
func (c *Chart) WriteSVG(w io.Writer) error {
	x, y, err := c.axes()
	if err != nil {
		return fmt.Errorf("chart %q: %w", c.Title, err)
	}
	bottom := c.bottom()
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<svg xmlns="http`+`://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	text(b, width/2, 22, "middle", "bold", c.Title)
	text(b, (left+width-right)/2, height-12, "middle", "normal", c.XName)
	fmt.Fprintf(b, `<g transform="translate(18,%d) rotate(-90)">`, (top+height-bottom)/2)
	text(b, 0, 0, "middle", "normal", c.YName)
	fmt.Fprintln(b, `</g>`)
	for _, t := range x.ticks {
		at := x.place(t)
		fmt.Fprintf(b, `<path d="M%s %dV%d" stroke="#dddddd"/>`+"\n", number(at), top, height-bottom)
		if c.Places == nil {
			text(b, at, float64(height-bottom+16), "middle", "normal", label(t))
			continue
		}
		fmt.Fprintf(b, `<g transform="translate(%s,%d) rotate(-50)">`, number(at+4), height-bottom+14)
		text(b, 0, 0, "end", "normal", c.Places[int(t)])
		fmt.Fprintln(b, `</g>`)
	}
	for _, t := range y.ticks {
		at := y.place(t)
		fmt.Fprintf(b, `<path d="M%d %sH%d" stroke="#dddddd"/>`+"\n", left, number(at), width-right)
		text(b, left-6, at+4, "end", "normal", label(t))
	}
	fmt.Fprintf(b, `<path d="M%d %dV%dH%d" fill="none" stroke="black"/>`+"\n", left, top, height-bottom, width-right)
	for i, s := range c.Series {
		colour := colours[i%len(colours)]
		dash := ""
		if s.Dashed {
			dash = ` stroke-dasharray="6 4"`
		}
		var path strings.Builder
		for k := range s.X {
			path.WriteString(map[bool]string{true: "M", false: "L"}[k == 0] + number(x.place(s.X[k])) + " " + number(y.place(s.Y[k])))
		}
		if c.Places == nil {
			fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", path.String(), colour, dash)
		}
		for k := range s.X {
			if s.Dots || c.Places != nil {
				fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="3" fill="%s"/>`+"\n", number(x.place(s.X[k])), number(y.place(s.Y[k])), colour)
			}
		}
		at := top + 10 + 20*i
		fmt.Fprintf(b, `<path d="M%d %dh26" stroke="%s" stroke-width="2"%s/>`+"\n", width-right+14, at, colour, dash)
		text(b, width-right+46, float64(at+4), "start", "normal", s.Name)
	}
	fmt.Fprintln(b, `</svg>`)
	return b.Flush()
}

// axis is a range of values, with where it is drawn.
type axis struct {
	low, high float64
	from, to  float64 // pixels
	log       bool
	ticks     []float64
}

func (a *axis) place(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		v, low, high = math.Log2(v), math.Log2(low), math.Log2(high)
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

func (c *Chart) axes() (x, y *axis, err error) {
	x = &axis{low: math.Inf(1), high: math.Inf(-1), from: left, to: width - right, log: c.LogX}
	y = &axis{low: 0, high: math.Inf(-1), from: float64(height - c.bottom()), to: top, log: c.LogY}
	if c.LogY {
		y.low = math.Inf(1)
	}
	for _, s := range c.Series {
		if len(s.X) != len(s.Y) || len(s.X) == 0 {
			return nil, nil, fmt.Errorf("series %q: %d and %d values, want as many of both", s.Name, len(s.X), len(s.Y))
		}
		for i := range s.X {
			if bad(s.X[i]) || bad(s.Y[i]) || c.LogX && s.X[i] <= 0 || c.LogY && s.Y[i] <= 0 {
				return nil, nil, fmt.Errorf("series %q: no place for %v, %v", s.Name, s.X[i], s.Y[i])
			}
			if at := s.X[i]; c.Places != nil && (at < 0 || at != math.Trunc(at) || at >= float64(len(c.Places))) {
				return nil, nil, fmt.Errorf("series %q: no place for %v of %d", s.Name, at, len(c.Places))
			}
			x.low, x.high = min(x.low, s.X[i]), max(x.high, s.X[i])
			y.low, y.high = min(y.low, s.Y[i]), max(y.high, s.Y[i])
		}
	}
	if len(c.Series) == 0 {
		return nil, nil, errors.New("no series")
	}
	y.round()
	if c.Places == nil {
		x.round()
		return x, y, nil
	}
	for i := range c.Places {
		x.ticks = append(x.ticks, float64(i))
	}
	x.low, x.high = -.5, float64(len(c.Places))-.5
	return x, y, nil
}

func bad(v float64) bool { return math.IsNaN(v) || math.Abs(v) > 1e15 }

// doublings is how many powers of two an axis has room for; a longer one has powers of ten.
const doublings = 12

// round chooses ticks, 1, 2 or 5 times a power of ten apart, or powers of two or of ten,
// and lets the axis end at the first beyond its values.
func (a *axis) round() {
	if a.log {
		base := 2.0
		if math.Log2(a.high/a.low) > doublings {
			base = 10
		}
		first := math.Floor(math.Log2(a.low)/math.Log2(base) + 1e-9)
		for k := first; ; k++ {
			v := math.Pow(base, k)
			a.ticks = append(a.ticks, v)
			if v >= a.high && len(a.ticks) > 1 {
				break
			}
		}
		a.low, a.high = a.ticks[0], a.ticks[len(a.ticks)-1]
		return
	}
	if a.high == a.low {
		a.high = a.low + 1
	}
	step := math.Pow(10, math.Floor(math.Log10((a.high-a.low)/4)))
	for _, f := range []float64{1, 2, 5, 10} {
		if (a.high-a.low)/(step*f) <= 8 {
			step *= f
			break
		}
	}
	first, last := math.Floor(a.low/step+1e-9), math.Ceil(a.high/step-1e-9)
	for k := first; k <= last; k++ {
		a.ticks = append(a.ticks, k*step)
	}
	a.low, a.high = first*step, last*step
}

func text(w io.Writer, x, y float64, anchor, weight, s string) {
	fmt.Fprintf(w, `<text x="%s" y="%s" text-anchor="%s" font-weight="%s">`, number(x), number(y), anchor, weight)
	xml.EscapeText(w, []byte(s)) // a bufio.Writer keeps its first error
	fmt.Fprintln(w, `</text>`)
}

// number writes a pixel with two decimals at most.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// label writes the value of a tick.
func label(v float64) string { return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'g', 6, 64) }
