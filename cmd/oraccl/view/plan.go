package view

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/course"
)

// PlanPicture is an execution plan with what was found of it.
type PlanPicture struct {
	Title   string // the name of the file
	Verdict Verdict
	Course  *course.Course // one execution, until it ended or got stuck
	Notes   []string
	Place   func(course.Place) string // names an operation as the findings do; nil: as plans do
}

// place names an operation as the findings do.
func (p *PlanPicture) place(at course.Place) string {
	if p.Place != nil {
		return p.Place(at)
	}
	return p.Course.Plan.Blocks[at.Block].Place(at.Op)
}

// maxPlanOps is how many operations a picture of a plan shows: ranks of which something is wrong first.
const maxPlanOps = 12000

// The picture of a plan, in pixels.
const (
	planLane   = 30  // height of a threadblock's row
	planBox    = 96  // width of an operation
	planNop    = 12  // and of one that only joins threads
	planLeft   = 110 // for the names of threadblocks
	planHead   = 26.0
	planGap    = 30 // between operations of which one waits for the other
	planLetter = 15 // runes in an operation
)

// planInk is the colour of an operation.
func planInk(o *model.PlanOp) string {
	switch o.Verb {
	case model.PlanJoin, model.PlanBarrier:
		return "#9aa5b1"
	case model.PlanSignal, model.PlanRelease:
		return "#fdd49e"
	case model.PlanWait, model.PlanAcquire:
		return "#fdbb84"
	case model.PlanRequest:
		return "#b3cde3"
	case model.PlanFlush:
		return "#d9d9d9"
	}
	for _, m := range o.Moves {
		if len(m.Srcs) > 1 {
			return "#bae4b3"
		}
	}
	return "#c6dbef"
}

// planCSS is the style of a page without a script, which follows the theme of the browser. Its
// picture is scrolled by itself where it is wider than the page.
func planCSS() string {
	dark, _, _ := strings.Cut(pageCSS[strings.Index(pageCSS, darkTheme)+len(darkTheme):], "\n")
	const picture = "main svg { filter: invert(0.9) hue-rotate(180deg); }" // drawn for paper: dark becomes light, and hues stay
	return pageCSS + "@media (prefers-color-scheme: dark) { :root" + dark + " " + picture + " }\nmain { overflow-x: auto; }\n"
}

// darkTheme begins the line of the style of pages that has the colours of their dark theme.
const darkTheme = ":root[data-theme=dark]"

// PlanHTML writes a page with the picture of a plan. It has no script.
func PlanHTML(w io.Writer, p *PlanPicture) error {
	b := bufio.NewWriter(w)
	e := html.EscapeString
	fmt.Fprintf(b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src %s; base-uri 'none'; form-action 'none'">
<meta name="generator" content="oraccl view">
<title>%s - oraccl</title>
<style>%s</style>
</head>
<body>
<header>
  <div class="line"><span id="verdict" class="badge %s">%s</span><h1 id="title">%s</h1></div>
  <p id="claim">%s</p>
`, source(planCSS()), e(p.Title), planCSS(), e(p.Verdict.Outcome), e(p.Verdict.Outcome), e(p.Title), e(p.Verdict.Claim))
	if p.Verdict.Reason != "" {
		fmt.Fprintf(b, "  <p>%s</p>\n", e(p.Verdict.Reason))
	}
	if len(p.Verdict.Violations) > 0 {
		b.WriteString("  <ol>\n")
		for _, v := range p.Verdict.Violations {
			fmt.Fprintf(b, "    <li>%s: %s: %s</li>\n", e(v.Code), e(v.Where), e(v.Message))
		}
		b.WriteString("  </ol>\n")
	}
	l := p.layout()
	b.WriteString("  <ul id=\"notes\">\n")
	for _, n := range slices.Concat(p.Notes, l.notes) {
		fmt.Fprintf(b, "    <li>%s</li>\n", e(n))
	}
	b.WriteString("  </ul>\n</header>\n<main>\n")
	l.draw(b, 0)
	b.WriteString("</main>\n</body>\n</html>\n")
	return b.Flush()
}

// PlanSVG writes the picture of a plan.
func PlanSVG(w io.Writer, p *PlanPicture) error {
	b := bufio.NewWriter(w)
	l := p.layout()
	text := []string{strings.ToUpper(p.Verdict.Outcome) + " " + p.Verdict.Claim}
	if p.Verdict.Reason != "" {
		text = append(text, p.Verdict.Reason)
	}
	for _, v := range p.Verdict.Violations {
		text = append(text, v.Code+": "+v.Where+": "+v.Message)
	}
	l.head = slices.Concat(text, p.Notes, l.notes)
	l.draw(b, svgLine*float64(len(l.head)+1))
	return b.Flush()
}

// planLayout is where operations stand.
type planLayout struct {
	p      *PlanPicture
	blocks []int // the threadblocks that are drawn, in the order of rows
	row    map[int]int
	x      [][]float64 // of each operation of each threadblock
	ended  [][]bool
	width  float64
	blame  map[course.Place]int // operations that are to blame, and by which finding, from 1
	pairs  [][2]course.Place    // of findings about two operations
	cycle  []course.Waiting
	notes  []string
	head   []string
}

func (p *PlanPicture) layout() *planLayout {
	c := p.Course
	l := &planLayout{p: p, row: map[int]int{}, blame: map[course.Place]int{}, cycle: c.Cycle()}
	l.find()
	l.choose()
	l.place()
	l.say()
	return l
}

// find finds the operations that findings name.
func (l *planLayout) find() {
	if len(l.p.Verdict.Violations) == 0 {
		return
	}
	named := map[string]course.Place{}
	blocks := l.p.Course.Plan.Blocks
	for b := range blocks {
		for i := range blocks[b].Ops {
			name := l.p.place(course.Place{Block: b, Op: i})
			if _, ok := named[name]; !ok { // an operation may be carried out in parts, of which the first stands for all
				named[name] = course.Place{Block: b, Op: i}
			}
		}
	}
	for n, v := range l.p.Verdict.Violations {
		var found []course.Place
		for rest := v.Where + " " + v.Message; ; {
			i := strings.Index(rest, "gpu ")
			if i < 0 {
				break
			}
			rest = rest[i:]
			if j := strings.Index(rest, ")"); j >= 0 {
				if at, ok := named[rest[:j+1]]; ok && !slices.Contains(found, at) {
					found = append(found, at)
				}
			}
			rest = rest[1:]
		}
		for _, at := range found {
			if l.blame[at] == 0 {
				l.blame[at] = n + 1
			}
		}
		if len(found) == 2 {
			l.pairs = append(l.pairs, [2]course.Place{found[0], found[1]})
		}
	}
}

// choose chooses the threadblocks that are drawn: those of ranks of which something is wrong, and then all others
// from rank 0 on, up to maxPlanOps operations.
func (l *planLayout) choose() {
	blocks := l.p.Course.Plan.Blocks
	first := make([]bool, l.p.Course.Plan.Ranks)
	for at := range l.blame {
		first[blocks[at.Block].Rank] = true
	}
	for _, w := range l.cycle {
		first[blocks[w.Block].Rank] = true
	}
	ops := 0
	for _, wrong := range []bool{true, false} {
		for b := range blocks {
			if n := len(blocks[b].Ops); first[blocks[b].Rank] == wrong && (ops == 0 || ops+n <= maxPlanOps) {
				ops += n
				l.blocks = append(l.blocks, b)
			}
		}
	}
	slices.SortStableFunc(l.blocks, func(a, b int) int { return blocks[a].Rank - blocks[b].Rank })
	for i, b := range l.blocks {
		l.row[b] = i
	}
	if n := len(blocks) - len(l.blocks); n > 0 {
		l.notes = append(l.notes, fmt.Sprintf("%d of %d threadblocks are drawn, those of ranks of which something is wrong first.", len(l.blocks), len(blocks)))
	}
}

func planWidth(o *model.PlanOp) float64 {
	if o.Verb == model.PlanJoin {
		return planNop
	}
	return planBox
}

// place gives each operation a place after what it waits for, and after those before it in its threadblock.
func (l *planLayout) place() {
	c := l.p.Course
	blocks := c.Plan.Blocks
	l.x, l.ended = make([][]float64, len(blocks)), make([][]bool, len(blocks))
	for b := range blocks {
		l.x[b], l.ended[b] = make([]float64, len(blocks[b].Ops)), make([]bool, len(blocks[b].Ops))
	}
	right := make([]float64, len(c.Events)) // where an event ends
	for i := range c.Events {
		e := &c.Events[i]
		x := 0.0
		if e.Op > 0 {
			x = l.x[e.Block][e.Op-1] + planWidth(&blocks[e.Block].Ops[e.Op-1]) + 4
		}
		for _, j := range e.Before {
			if d := &c.Events[j]; d.Block != e.Block {
				x = max(x, right[j]+planGap)
			}
		}
		if x > l.x[e.Block][e.Op] {
			l.x[e.Block][e.Op] = x
		}
		l.ended[e.Block][e.Op] = true
		right[i] = l.x[e.Block][e.Op] + planWidth(&blocks[e.Block].Ops[e.Op])
	}
	for _, w := range c.Stuck {
		l.ended[w.Block][w.Op] = false
	}
	for b := range blocks { // in order, and without overlaps
		at := 0.0
		for i := range blocks[b].Ops {
			l.x[b][i] = max(l.x[b][i], at)
			at = l.x[b][i] + planWidth(&blocks[b].Ops[i]) + 4
			if l.inCycle(course.Place{Block: b, Op: i}) { // from which an arrow goes to what it waits for
				at += planGap
			}
		}
		if _, ok := l.row[b]; ok {
			l.width = max(l.width, at)
		}
	}
}

// inCycle reports whether an operation waits for itself in the end.
func (l *planLayout) inCycle(at course.Place) bool {
	return slices.ContainsFunc(l.cycle, func(w course.Waiting) bool { return w.Place == at })
}

// say describes a deadlock in words.
func (l *planLayout) say() {
	c := l.p.Course
	if len(c.Stuck) == 0 {
		return
	}
	at := l.p.place
	for i, w := range l.cycle {
		next := l.cycle[(i+1)%len(l.cycle)]
		for _, f := range w.For {
			if f.Block != next.Block {
				continue
			}
			if f == next.Place {
				l.notes = append(l.notes, fmt.Sprintf("%s waits for %s, which comes with %s, which waits itself.", at(w.Place), w.What, at(f)))
			} else {
				l.notes = append(l.notes, fmt.Sprintf("%s waits for %s, which comes with %s, and that after %s, which waits itself.", at(w.Place), w.What, at(f), at(next.Place)))
			}
			break
		}
	}
	if len(l.cycle) == 0 {
		for _, w := range c.Stuck {
			if len(w.For) == 0 {
				l.notes = append(l.notes, fmt.Sprintf("%s waits for %s, which no operation that is left brings.", at(w.Place), w.What))
				break
			}
		}
	}
	l.notes = append(l.notes, "What is pale was not reached in this execution.")
}

// draw writes the picture, below some room for text.
func (l *planLayout) draw(b *bufio.Writer, top float64) {
	d := drawing{b}
	c := l.p.Course
	blocks := c.Plan.Blocks
	width := max(planLeft+l.width+20, 900)
	for _, text := range l.head {
		width = max(width, 7*float64(len([]rune(short(text, 2*svgMessage))))+2*svgMargin)
	}
	y := make([]float64, len(l.blocks))
	at := top + planHead
	for i, b := range l.blocks {
		if i > 0 && blocks[b].Rank != blocks[l.blocks[i-1]].Rank {
			at += 10
		}
		y[i] = at
		at += planLane
	}
	height := at + 30
	d.open("svg", "xmlns", "http"+"://www.w3.org/2000/svg", "width", width, "height", height, "viewBox", fmt.Sprintf("0 0 %s %s", number(width), number(height)),
		"font-family", "sans-serif", "font-size", 11, "fill", inkText)
	d.WriteString(">\n")
	d.tag("title", func() { d.escape(l.p.Title) })
	d.tag("defs", func() {
		for _, ink := range []string{inkDim, inkBad, inkOdd} {
			d.tag("marker", func() { d.tag("path", nil, "d", "M0 0 8 4 0 8z", "fill", ink) },
				"id", "to"+ink[1:], "viewBox", "0 0 8 8", "refX", 8, "refY", 4, "markerWidth", 8, "markerHeight", 8, "markerUnits", "userSpaceOnUse", "orient", "auto")
		}
	})
	d.rect(0, 0, width, height, "fill", "#ffffff")
	for i, text := range l.head {
		d.text(svgMargin, svgLine*float64(i+1), short(text, 2*svgMessage))
	}
	d.text(svgMargin, top+16, "one row for each threadblock; bars join its threads; grey arrows: signals, semaphores, barriers; brown: packets; red: what is wrong", "fill", inkDim)
	for i, b := range l.blocks {
		x := &blocks[b]
		d.text(svgMargin, y[i]+18, fmt.Sprintf("gpu %d tb %d", x.Rank, x.ID))
		d.line(planLeft, y[i]+planLane-3, width-10, y[i]+planLane-3, "stroke", inkLine)
		for k := range x.Ops {
			l.op(d, b, k, y[i])
		}
	}
	l.arrows(d, y)
	d.text(svgMargin, height-8, "left to right: what each operation waits for in one execution, not time", "fill", inkDim)
	d.WriteString("</svg>\n")
}

// op draws an operation.
func (l *planLayout) op(d drawing, b, i int, y float64) {
	x := &l.p.Course.Plan.Blocks[b]
	o := &x.Ops[i]
	left, w := planLeft+l.x[b][i], planWidth(o)
	stroke, thick, opacity := "#ffffff", 0.5, 1.0
	wrong := l.blame[course.Place{Block: b, Op: i}] > 0
	wrong = wrong || l.inCycle(course.Place{Block: b, Op: i})
	if !l.ended[b][i] {
		opacity = 0.4
	}
	if wrong {
		stroke, thick, opacity = inkBad, 2.5, 1
	}
	d.tag("g", func() {
		d.tag("title", func() { d.escape(l.detail(x, i)) })
		d.rect(left, y+2, w, planLane-8, "rx", 2, "fill", planInk(o), "stroke", stroke, "stroke-width", thick)
		if w == planBox {
			d.text(left+3, y+12, short(o.Name+" "+fmt.Sprint(o.Label)+inner(o), planLetter))
			d.text(left+3, y+21, short(l.where(x, o), planLetter+5), "font-size", 8, "fill", inkDim)
		}
	}, "opacity", opacity)
}

func inner(o *model.PlanOp) string {
	if o.Inner == 0 {
		return ""
	}
	return fmt.Sprintf(".%d/%d", o.Inner-1, o.Round)
}

// where is what an operation uses, in short.
func (l *planLayout) where(x *model.PlanBlock, o *model.PlanOp) string {
	p := l.p.Course.Plan
	var all []string
	add := func(s string) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	switch o.Verb {
	case model.PlanSignal:
		for _, id := range o.IDs {
			add(fmt.Sprintf("gpu %d", p.Counters[id].To))
		}
		return "to " + strings.Join(all, ", ")
	case model.PlanWait:
		for _, id := range o.IDs {
			add(fmt.Sprintf("gpu %d", p.Counters[id].From))
		}
		return "for " + strings.Join(all, ", ")
	case model.PlanBarrier:
		return fmt.Sprintf("%d, %d threadblocks", o.Barrier, o.Blocks)
	case model.PlanAcquire, model.PlanRelease:
		return fmt.Sprintf("semaphores %v", o.IDs)
	}
	name := func(s model.PlanSpan) string {
		b := &p.Buffers[s.Buffer]
		t := b.Name
		if s.Packet {
			t += " packets"
		}
		if b.Rank != x.Rank {
			t += fmt.Sprintf(" of %d", b.Rank)
		}
		return t
	}
	var srcs, dsts []string
	for _, m := range o.Moves {
		for _, s := range m.Srcs {
			if t := name(s); !slices.Contains(srcs, t) {
				srcs = append(srcs, t)
			}
		}
		for _, s := range m.Dsts {
			if t := name(s); !slices.Contains(dsts, t) {
				dsts = append(dsts, t)
			}
		}
	}
	if len(o.Moves) == 0 {
		return ""
	}
	return strings.Join(srcs, "+") + " → " + strings.Join(dsts, ", ")
}

// maxDetail is how many moves of an operation its description has.
const maxDetail = 8

// detail describes an operation: where it is in the file, and what it moves.
func (l *planLayout) detail(x *model.PlanBlock, i int) string {
	p, o := l.p.Course.Plan, &x.Ops[i]
	text := fmt.Sprintf("%s, line %d", x.Place(i), o.Line)
	for _, id := range o.IDs {
		if o.Verb == model.PlanAcquire || o.Verb == model.PlanRelease {
			text += fmt.Sprintf("\nsemaphore %d", id)
		} else {
			text += "\n" + p.Counters[id].Name
		}
	}
	span := func(s model.PlanSpan) string {
		b := &p.Buffers[s.Buffer]
		kind := "bytes"
		if s.Packet {
			kind = "packets"
		}
		return fmt.Sprintf("%s of gpu %d, %s %d to %d", b.Name, b.Rank, kind, s.Start, s.Start+s.Size-1)
	}
	for k, m := range o.Moves {
		if k == maxDetail {
			return text + fmt.Sprintf("\nand %d more", len(o.Moves)-k)
		}
		var srcs, dsts []string
		for _, s := range m.Srcs {
			srcs = append(srcs, span(s))
		}
		for _, s := range m.Dsts {
			dsts = append(dsts, span(s))
		}
		text += "\n" + strings.Join(srcs, " + ") + " → " + strings.Join(dsts, "; ")
	}
	return text
}

// arrows draws what threadblocks wait for of each other, and what is wrong.
func (l *planLayout) arrows(d drawing, y []float64) {
	c := l.p.Course
	blocks := c.Plan.Blocks
	drawn := map[[2]course.Place]bool{}
	arrow := func(from, to course.Place, ink string, wide float64, dashes string) {
		a, ok := l.row[from.Block]
		b, also := l.row[to.Block]
		if !ok || !also || drawn[[2]course.Place{from, to}] {
			return
		}
		drawn[[2]course.Place{from, to}] = true
		x0 := planLeft + l.x[from.Block][from.Op] + planWidth(&blocks[from.Block].Ops[from.Op])
		x1 := planLeft + l.x[to.Block][to.Op]
		y0, y1 := y[a]+planLane/2-2, y[b]+planLane/2-2
		if a == b && ink == inkBad { // in one row: an arc from the lower edge of one box to that of the other
			x0, x1 = (x0+planLeft+l.x[from.Block][from.Op])/2, x1+planWidth(&blocks[to.Block].Ops[to.Op])/2
			d.tag("path", nil, "d", fmt.Sprintf("M%s %s C%s %s %s %s %s %s", number(x0), number(y0+11), number(x0), number(y0+24), number(x1), number(y0+24), number(x1), number(y0+11)),
				"fill", "none", "stroke", ink, "stroke-width", wide, "stroke-dasharray", dashes, "marker-end", "url(#to"+ink[1:]+")")
			return
		}
		d.tag("path", nil, "d", fmt.Sprintf("M%s %s C%s %s %s %s %s %s", number(x0), number(y0), number(x0+14), number(y0), number(x1-14), number(y1), number(x1), number(y1)),
			"fill", "none", "stroke", ink, "stroke-width", wide, "stroke-dasharray", dashes, "marker-end", "url(#to"+ink[1:]+")")
	}
	for _, pair := range l.pairs {
		if l.inCycle(pair[0]) && l.inCycle(pair[1]) {
			continue // the arrows of the cycle tell more
		}
		arrow(pair[0], pair[1], inkBad, 2.5, "none")
	}
	for i, w := range l.cycle {
		next := l.cycle[(i+1)%len(l.cycle)]
		for _, f := range w.For {
			if f.Block == next.Block {
				arrow(w.Place, f, inkBad, 2.5, "6 3")
				break
			}
		}
	}
	for i := range c.Events {
		e := &c.Events[i]
		for _, j := range e.Before {
			from := &c.Events[j]
			if from.Block == e.Block {
				continue
			}
			ink := inkDim
			if e.Move != nil {
				ink = inkOdd
			}
			arrow(from.Place, e.Place, ink, 1, "none")
		}
	}
}
