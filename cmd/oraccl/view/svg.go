package view

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// The drawing, in pixels: the head, below it the network at the left and the timeline at
// the right, and at the bottom what the marks mean.
const (
	svgWidth   = 1000
	svgMargin  = 16
	netSize    = 280 // of the network, its width and its greatest height
	svgLeft    = svgMargin + netSize + 24
	svgGutter  = 84 // for the names of links
	svgTimes   = svgLeft + svgGutter
	svgRight   = svgWidth - 34
	svgLine    = 15
	svgMessage = 140 // runes of a line of text
)

// The colours of marks.
const (
	inkText  = "#1b1f24"
	inkDim   = "#667788"
	inkLine  = "#d4d8de"
	inkPath  = "#111111"
	inkBad   = "#c2201f"
	inkGood  = "#16773a"
	inkOdd   = "#8a6100"
	inkBound = "#0b62c4"
	inkBusy  = "#08519c"
)

// drawing writes SVG. Numbers have two digits after the point, text is escaped.
type drawing struct{ *bufio.Writer }

func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// tag writes an element; attributes come in pairs. A nil body closes it at once.
func (d drawing) tag(name string, body func(), attributes ...any) {
	d.open(name, attributes...)
	if body == nil {
		d.WriteString("/>\n")
		return
	}
	d.WriteString(">")
	body()
	fmt.Fprintf(d, "</%s>\n", name)
}

func (d drawing) open(name string, attributes ...any) {
	fmt.Fprintf(d, "<%s", name)
	for i := 0; i+1 < len(attributes); i += 2 {
		value := ""
		switch v := attributes[i+1].(type) {
		case float64:
			value = number(v)
		default:
			value = fmt.Sprint(v)
		}
		fmt.Fprintf(d, ` %s="`, attributes[i])
		d.escape(value)
		d.WriteString(`"`)
	}
}

// escape writes text as text: what XML has no place for becomes U+FFFD.
func (d drawing) escape(s string) {
	_ = xml.EscapeText(d, []byte(s)) // errors of a bufio.Writer come with Flush
}

func (d drawing) text(x, y float64, s string, attributes ...any) {
	d.tag("text", func() { d.escape(s) }, append([]any{"x", x, "y", y}, attributes...)...)
}

func (d drawing) rect(x, y, w, h float64, attributes ...any) {
	d.tag("rect", nil, append([]any{"x", x, "y", y, "width", w, "height", h}, attributes...)...)
}

func (d drawing) line(x0, y0, x1, y1 float64, attributes ...any) {
	d.tag("line", nil, append([]any{"x1", x0, "y1", y0, "x2", x1, "y2", y1}, attributes...)...)
}

// shortName is what pictures call a node, as in core.js: a rank by its number, a switch by its name,
// or as the rest of the program calls it if it has none.
func shortName(t *model.Topology, v int) string {
	switch {
	case t.IsRank(v):
		return strconv.Itoa(v)
	case t.Switches[v-t.Ranks].Name != "":
		return t.Switches[v-t.Ranks].Name
	}
	return t.NodeName(v)
}

// short cuts text that is longer than this many runes.
func short(s string, runes int) string {
	r := []rune(s)
	if len(r) <= runes {
		return s
	}
	return string(r[:runes-1]) + "…"
}

// begin writes the root element.
func (d drawing) begin(height float64, title string) {
	d.open("svg", "xmlns", "http"+"://www.w3.org/2000/svg", "width", svgWidth, "height", height, "viewBox", fmt.Sprintf("0 0 %d %s", svgWidth, number(height)),
		"font-family", "sans-serif", "font-size", 11, "fill", inkText)
	d.WriteString(">\n")
	d.tag("title", func() { d.escape(title) })
	d.rect(0, 0, svgWidth, height, "fill", "#ffffff")
}

// SVG writes the schedule as one drawing for a paper: the network, and a timeline with a
// row a link. Where there are more than a few thousand transfers, it shows instead how
// busy links are, and says so. Equal pictures give equal files. It takes O(n log n) time
// for n transfers.
func SVG(w io.Writer, p *Picture) error {
	m, err := when(p.Problem, p.Schedule)
	if err != nil {
		return err
	}
	l := arrange(p.Problem.Topology)
	h := p.head(m, l)
	g := newGantt(p, m, critical(p.Problem, p.Schedule, m))
	d := drawing{bufio.NewWriter(w)}

	complaints := p.complaints()
	top := float64(svgMargin + 2*svgLine + 12 + svgLine*len(complaints))
	body := max(g.height()+24, netSize*min(1, 1/l.aspect)+24)
	remarks := append(g.remarks(), netRemarks(p.Problem.Topology)...)
	remarks = append(remarks, h.Notes...)
	legend := top + body + 18
	lines := g.legend(drawing{bufio.NewWriter(io.Discard)}, 0) // it is known before the height is written
	height := legend + lines + svgLine + float64(svgLine*len(remarks)) + svgMargin/2

	d.begin(height, p.Title)
	d.header(h, complaints)
	d.network(p, l, g.path, svgMargin, top+24)
	g.draw(d, top)
	legend = g.legend(d, legend)
	for i, r := range remarks {
		d.text(svgMargin, legend+float64(svgLine*(i+1)), short(r, svgMessage+30), "fill", inkDim, "font-size", 10)
	}
	d.WriteString("</svg>\n")
	return d.Flush()
}

// FailureSVG writes a drawing that explains why there is nothing to see.
func FailureSVG(w io.Writer, title string, why error) error {
	d := drawing{bufio.NewWriter(w)}
	lines := strings.Split("There is nothing to see: "+why.Error(), "\n")
	d.begin(float64(60+svgLine*len(lines)), title)
	d.text(svgMargin, 28, short(title, svgMessage), "font-size", 15, "font-weight", "bold")
	for i, l := range lines {
		d.text(svgMargin, float64(52+svgLine*i), short(l, svgMessage+20), "fill", inkBad)
	}
	d.WriteString("</svg>\n")
	return d.Flush()
}

// complaints are the first violations, in words.
func (p *Picture) complaints() []string {
	var list []string
	for i, v := range p.Verdict.Violations {
		if i == 3 {
			list = append(list, fmt.Sprintf("and %d more", len(p.Verdict.Violations)-i))
			break
		}
		list = append(list, short(strings.Join([]string{v.Code, v.Where, v.Message}, ": "), svgMessage+20))
	}
	if len(list) == 0 && p.Verdict.Outcome != "proved" && p.Verdict.Reason != "" {
		list = append(list, short(p.Verdict.Reason, svgMessage+20))
	}
	return list
}

// header writes the title, the verdict and the numbers, and what is wrong.
func (d drawing) header(h *head, complaints []string) {
	y := float64(svgMargin + 10)
	ink := map[string]string{"proved": inkGood, "refuted": inkBad}[h.Verdict]
	if ink == "" {
		ink = inkOdd
	}
	d.text(svgMargin, y, short(h.Title, 60), "font-size", 15, "font-weight", "bold")
	d.text(svgRight, y, strings.ToUpper(h.Verdict), "font-size", 13, "font-weight", "bold", "fill", ink, "text-anchor", "end")
	y += svgLine + 3
	d.text(svgMargin, y, short(h.Claim, 105))
	numbers := fmt.Sprintf("%d transfers", h.Transfers)
	if h.Streams != "" {
		numbers += " in " + h.Streams
	}
	if h.Makespan != "" {
		numbers += ", makespan " + h.Makespan
	}
	if h.Bound != "" {
		numbers += ", bound " + h.Bound
	}
	if h.Gap != "" {
		numbers += ", gap " + h.Gap
		if h.BoundHolds != "" {
			numbers += " " + h.BoundHolds
		}
	}
	d.text(svgRight, y, short(numbers, 90), "text-anchor", "end", "fill", inkDim)
	for _, c := range complaints {
		y += svgLine
		d.text(svgMargin, y, c, "fill", ink)
	}
}

// inks are told apart by those who do not tell red from green, too (Okabe and Ito, without
// black, and with their vermilion last).
var inks = []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442", "#a0522d", "#d55e00"}

// inkOf returns the colour of one of n things.
func inkOf(i, n int) string {
	if n <= len(inks) {
		return inks[i]
	}
	hue := math.Mod(210+float64(i)*137.508, 360)
	return hex(hue, 0.5+0.07*float64(i%5), 0.45+0.06*float64(i%4))
}

// hex returns a colour of HSL, the hue in degrees.
func hex(hue, saturation, lightness float64) string {
	a := saturation * min(lightness, 1-lightness)
	part := func(n float64) int {
		k := math.Mod(n+hue/30, 12)
		return int(math.Round(255 * (lightness - a*max(-1, min(k-3, 9-k, 1)))))
	}
	return fmt.Sprintf("#%02x%02x%02x", part(0), part(8), part(4))
}

// dark reports whether white text is easier to read than black on a colour.
func dark(ink string) bool {
	v, err := strconv.ParseUint(ink[1:], 16, 32)
	if err != nil {
		return false
	}
	return 299*(v>>16)+587*(v>>8&255)+114*(v&255) < 140_000
}

// colouring states what colours mean: the owner of a chunk where it has one, else the chunk.
func colouring(p *model.Problem) (meaning string, of func(chunk int) string) {
	switch from, to := p.Owner(0); {
	case from >= 0:
		return "colour: the rank that the chunk is from", func(c int) string { f, _ := p.Owner(c); return inkOf(f, p.Topology.Ranks) }
	case to >= 0:
		return "colour: the rank that the chunk is for", func(c int) string { _, t := p.Owner(c); return inkOf(t, p.Topology.Ranks) }
	}
	return "colour: the chunk", func(c int) string { return inkOf(c, len(p.Chunks)) }
}
