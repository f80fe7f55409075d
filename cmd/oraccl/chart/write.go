package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a chart or bars.
type Figure interface {
	// Write writes the figure in a format that Format returns.
	Write(w io.Writer, format string) error
}

var formats = []string{"svg", "png", "pdf"}

// Format returns the format that a file's name asks for: svg, png or pdf.
func Format(name string) (string, error) {
	f := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))
	if !slices.Contains(formats, f) {
		return "", fmt.Errorf("%s: no figure is written as %q, want a name that ends in .%s", name, filepath.Ext(name), strings.Join(formats, ", ."))
	}
	return f, nil
}

// Write writes the chart. A chart without points, or with one that cannot be placed, is an
// error that names the series.
func (c *Chart) Write(w io.Writer, format string) error {
	s, err := c.sheet()
	if err != nil {
		return err
	}
	return s.write(w, format)
}

// WriteSVG writes the chart as SVG.
func (c *Chart) WriteSVG(w io.Writer) error { return c.Write(w, "svg") }

// dotsPerInch is how fine pictures of dots are.
const dotsPerInch = 192

func (s *sheet) write(w io.Writer, format string) error {
	width, height := s.size()
	var b bytes.Buffer
	var err error
	switch format {
	case "svg":
		c := vgsvg.New(width, height)
		s.draw(draw.New(c))
		if _, err = c.WriteTo(&b); err == nil {
			_, err = w.Write(s.svg(b.Bytes()))
		}
	case "png":
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerInch))}
		s.draw(draw.New(c))
		_, err = c.WriteTo(w)
	case "pdf":
		c := vgpdf.New(width, height)
		s.draw(draw.NewCanvas(c, width, height))
		if _, err = c.WriteTo(&b); err == nil {
			_, err = w.Write(undated(b.Bytes()))
		}
	default:
		err = fmt.Errorf("format %q: want one of %s", format, strings.Join(formats, ", "))
	}
	return err
}

// family is what vgsvg says of the typeface; families names others as wide for systems that
// lack it.
const (
	family   = "font-family:Liberation Sans;"
	families = "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"
)

// words is a text as vgsvg writes it: its style, the size of its letters and what it says.
var words = regexp.MustCompile(`(<text x="[^"]*" y="[^"]*" transform="scale\(1, -1\)")\n\t(style="[^"]*font-size:([0-9.]+)px[^"]*")>([^<]*)</text>`)

// svg names the figure for who cannot see it, and has every text as wide as it was measured,
// whatever the typeface that a system has in the place of ours.
func (s *sheet) svg(b []byte) []byte {
	b = words.ReplaceAllFunc(b, func(t []byte) []byte {
		part := words.FindSubmatch(t)
		size, err := strconv.ParseFloat(string(part[3]), 64)
		if err != nil {
			return t
		}
		wide := style(size).Width(html.UnescapeString(string(part[4]))).Points()
		st := bytes.Replace(part[2], []byte(family), []byte(families), 1)
		return fmt.Appendf(nil, "%s\n\t%s textLength=\"%.5g\" lengthAdjust=\"spacingAndGlyphs\">%s</text>", part[1], st, wide, part[4])
	})
	const head = "xmlns:xlink=\"http" + "://www.w3.org/1999/xlink\">\n"
	var title bytes.Buffer
	title.WriteString("<title>")
	xml.EscapeText(&title, []byte(s.title)) // a bytes.Buffer fails never
	title.WriteString("</title>\n")
	return bytes.Replace(b, []byte(head), append([]byte(head), title.Bytes()...), 1)
}

// date is where a PDF says when it was written.
var date = regexp.MustCompile(`(?m)^/(?:CreationDate|ModDate) \(D:(\d{14})\)$`)

// undated has a PDF written at the beginning of 2000, so that equal figures give equal files;
// not a byte is moved.
func undated(b []byte) []byte {
	for _, at := range date.FindAllSubmatchIndex(b, -1) {
		copy(b[at[2]:at[3]], "20000101000000")
	}
	return b
}
