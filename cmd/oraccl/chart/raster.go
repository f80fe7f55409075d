package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// mostDots is how many dots a picture may have: 400 MB while it is drawn.
const mostDots = 100_000_000

// PNG writes a drawing of ours in SVG as dots, two for each of its pixels. It knows what package view writes:
// rectangles, circles, lines, paths, texts and groups, with their colours and dashes, and no markers.
// What it does not know is an error. Text is in Liberation Sans.
func PNG(w io.Writer, svg []byte) error {
	r := &raster{}
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch x := token.(type) {
		case xml.StartElement:
			r.open = append(r.open, x)
			err = r.element(x)
		case xml.EndElement:
			if x.Name.Local == "text" {
				err = r.words()
			}
			r.open = r.open[:len(r.open)-1]
		case xml.CharData:
			r.text = string(x)
		}
		if err != nil {
			return fmt.Errorf("drawing: line %d: %w", lineOf(d), err)
		}
	}
	if r.canvas == nil {
		return errors.New("drawing: no svg in it")
	}
	_, err := vgimg.PngCanvas{Canvas: r.canvas}.WriteTo(w)
	return err
}

func lineOf(d *xml.Decoder) int { line, _ := d.InputPos(); return line }

type raster struct {
	canvas *vgimg.Canvas
	height float64
	open   []xml.StartElement
	text   string
}

// value returns an attribute of an element or, if it is inherited, of what it stands in.
func (r *raster) value(name string) string {
	for i := len(r.open) - 1; i >= 0; i-- {
		for _, a := range r.open[i].Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
	}
	return ""
}

// number is an attribute of the element at hand as a number, or another number where there is none.
func (r *raster) number(name string, or float64) float64 {
	for _, a := range r.open[len(r.open)-1].Attr {
		if v, err := strconv.ParseFloat(a.Value, 64); a.Name.Local == name && err == nil {
			return v
		}
	}
	return or
}

// ink returns the colour of a fill or stroke; ok is false where there is none.
func (r *raster) ink(name string) (c color.NRGBA, ok bool) {
	v, err := strconv.ParseUint(strings.TrimPrefix(r.value(name), "#"), 16, 32)
	if err != nil || len(r.value(name)) != 7 {
		return c, false
	}
	opaque := 1.0
	for _, a := range []string{name + "-opacity", "opacity"} {
		if part, err := strconv.ParseFloat(r.value(a), 64); err == nil {
			opaque *= part
		}
	}
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), uint8(math.Round(255 * max(0, min(1, opaque))))}, true
}

func (r *raster) at(x, y float64) vg.Point {
	return vg.Point{X: vg.Points(x), Y: vg.Points(r.height - y)}
}

// element draws what an element is, a text when it ends.
func (r *raster) element(e xml.StartElement) error {
	for _, x := range r.open {
		if x.Name.Local == "defs" || x.Name.Local == "title" {
			return nil
		}
	}
	if r.canvas == nil && e.Name.Local != "svg" {
		return fmt.Errorf("<%s> is outside of <svg>", e.Name.Local)
	}
	var p vg.Path
	switch e.Name.Local {
	case "svg":
		wide := r.number("width", 0)
		if r.height = r.number("height", 0); !(wide >= 1 && r.height >= 1) || 4*wide*r.height > mostDots {
			return fmt.Errorf("%v by %v pixels, want at least one and at most %d dots, four a pixel: write .svg", wide, r.height, mostDots)
		}
		r.canvas = vgimg.NewWith(vgimg.UseWH(vg.Points(wide), vg.Points(r.height)), vgimg.UseDPI(144))
		return nil
	case "g", "text":
		return nil
	case "rect":
		x, y, w, h := r.number("x", 0), r.number("y", 0), r.number("width", 0), r.number("height", 0)
		p.Move(r.at(x, y))
		p.Line(r.at(x+w, y))
		p.Line(r.at(x+w, y+h))
		p.Line(r.at(x, y+h))
		p.Close()
	case "circle":
		x, y, radius := r.number("cx", 0), r.number("cy", 0), r.number("r", 0)
		p.Move(r.at(x+radius, y))
		p.Arc(r.at(x, y), vg.Points(radius), 0, 2*math.Pi)
		p.Close()
	case "line":
		p.Move(r.at(r.number("x1", 0), r.number("y1", 0)))
		p.Line(r.at(r.number("x2", 0), r.number("y2", 0)))
	case "path":
		if err := r.path(&p, r.value("d")); err != nil {
			return err
		}
	default:
		return fmt.Errorf("<%s> is not known here", e.Name.Local)
	}
	if c, ok := r.ink("fill"); ok && e.Name.Local != "line" {
		r.canvas.SetColor(c)
		r.canvas.Fill(p)
	}
	if c, ok := r.ink("stroke"); ok {
		r.canvas.SetColor(c)
		r.canvas.SetLineWidth(vg.Points(r.number("stroke-width", 1)))
		var dashes []vg.Length
		for _, word := range strings.Fields(r.value("stroke-dasharray")) {
			if v, err := strconv.ParseFloat(word, 64); err == nil {
				dashes = append(dashes, vg.Points(v))
			}
		}
		r.canvas.SetLineDash(dashes, 0)
		r.canvas.Stroke(p)
	}
	return nil
}

// path reads the steps of a path.
func (r *raster) path(p *vg.Path, d string) error {
	var x, y, x0, y0 float64
	for len(d) > 0 {
		verb := d[0]
		end := 1
		for end < len(d) && !strings.ContainsRune("MLlhvzQC", rune(d[end])) {
			end++
		}
		var n []float64
		for _, word := range strings.Fields(strings.ReplaceAll(strings.ReplaceAll(d[1:end], ",", " "), "-", " -")) {
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return fmt.Errorf("path: %q", word)
			}
			n = append(n, v)
		}
		d = d[end:]
		size := map[byte]int{'M': 2, 'L': 2, 'l': 2, 'h': 1, 'v': 1, 'Q': 4, 'C': 6}[verb]
		if verb == 'z' {
			p.Close()
			x, y = x0, y0
			continue
		}
		if size == 0 || len(n) == 0 || len(n)%size != 0 {
			return fmt.Errorf("path: %q with %d numbers", verb, len(n))
		}
		for ; len(n) > 0; n = n[size:] {
			switch verb {
			case 'M':
				x, y = n[0], n[1]
				x0, y0 = x, y
				p.Move(r.at(x, y))
				verb = 'L'
				continue
			case 'L':
				x, y = n[0], n[1]
			case 'l':
				x, y = x+n[0], y+n[1]
			case 'h':
				x += n[0]
			case 'v':
				y += n[0]
			case 'Q':
				x, y = n[2], n[3]
				p.QuadTo(r.at(n[0], n[1]), r.at(x, y))
				continue
			case 'C':
				x, y = n[4], n[5]
				p.CubeTo(r.at(n[0], n[1]), r.at(n[2], n[3]), r.at(x, y))
				continue
			}
			p.Line(r.at(x, y))
		}
	}
	return nil
}

// words draws a text.
func (r *raster) words() error {
	size, err := strconv.ParseFloat(r.value("font-size"), 64)
	if err != nil {
		size = 11
	}
	s := style(size)
	if r.value("font-weight") == "bold" {
		s.Font.Weight = 3 // bold, in the terms of golang.org/x/image/font
	}
	c, ok := r.ink("fill")
	if text := clean(r.text); ok && r.canvas != nil && text != "" {
		wide := s.Width(text)
		shift := map[string]vg.Length{"middle": wide / 2, "end": wide}[r.value("text-anchor")]
		r.canvas.SetColor(c)
		r.canvas.Push()
		if t := r.value("transform"); strings.HasPrefix(t, "translate(") {
			var x, y, angle float64
			if _, err := fmt.Sscanf(t, "translate(%f %f) rotate(%f)", &x, &y, &angle); err != nil {
				return fmt.Errorf("transform %q: %w", t, err)
			}
			r.canvas.Translate(r.at(x, y))
			r.canvas.Rotate(-angle * math.Pi / 180)
			r.canvas.FillString(font.DefaultCache.Lookup(s.Font, s.Font.Size), vg.Point{X: -shift}, text)
		} else {
			at := r.at(r.number("x", 0), r.number("y", 0))
			r.canvas.FillString(font.DefaultCache.Lookup(s.Font, s.Font.Size), vg.Point{X: at.X - shift, Y: at.Y}, text)
		}
		r.canvas.Pop()
	}
	r.text = ""
	return nil
}
