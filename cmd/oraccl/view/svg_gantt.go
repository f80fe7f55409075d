package view

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/streams"
)

// What a drawing of a timeline has room for.
const (
	maxBars  = 4000 // bars of single transfers; above, shades say how busy links are
	maxRows  = 256
	cells    = 220 // of a row that is shaded
	shades   = 8
	maxOnWay = 3000 // of the critical path that are outlined
)

// gantt is a timeline with a row for each link that is used, or for several.
type gantt struct {
	p     *Picture
	m     *moments
	path  []hop
	rows  []int // the links, in order, that are used; several make one row
	group int   // how many
	rowOf map[int]int
	tall  float64 // of a row
	clock *clock
	last  float64 // the length of the axis
	dense bool    // no bars: shades

	uses    [][]streams.Use // of each link
	bars    [][]bar         // of each row
	lanesOf []int
}

func newGantt(p *Picture, m *moments, path []hop) *gantt {
	g := &gantt{p: p, m: m, path: path, rowOf: map[int]int{}, clock: clockOf(m), group: 1}
	g.last = g.clock.length()
	g.uses = m.streams.Uses()
	bars := 0
	for l, list := range g.uses {
		if bars += len(list); len(list) > 0 {
			g.rows = append(g.rows, l)
		}
	}
	g.group = max(1, (len(g.rows)+maxRows-1)/maxRows)
	for n, l := range g.rows {
		g.rowOf[l] = n / g.group
	}
	g.dense = bars > maxBars || g.group > 1
	if !g.dense {
		g.bars, g.lanesOf = g.lanes()
	}
	g.tall = max(2.2, min(15, 560/float64(max(1, g.count()))))
	return g
}

func (g *gantt) count() int                     { return (len(g.rows) + g.group - 1) / g.group }
func (g *gantt) height() float64                { return float64(g.count()) * g.tall }
func (g *gantt) x(t model.Time) float64         { return svgTimes + g.clock.at(t)/g.last*(svgRight-svgTimes) }
func (g *gantt) y(row int, top float64) float64 { return top + 24 + float64(row)*g.tall }

// remarks states what the drawing leaves out.
func (g *gantt) remarks() []string {
	if !g.dense {
		return nil
	}
	s := fmt.Sprintf("Too many to draw one by one: the %d transfers are drawn as shades, the share of a cell of %v in which a link is busy", len(g.p.Schedule.Transfers), model.Time(math.Round(g.last/cells)))
	if g.m.steps {
		s = fmt.Sprintf("Too many to draw one by one: the %d transfers are drawn as shades, the share of the time in which a link is busy", len(g.p.Schedule.Transfers))
	}
	if g.group > 1 {
		s += fmt.Sprintf("; a row is the mean of %d links", g.group)
	}
	out := []string{s + "."}
	if len(g.path) > maxOnWay {
		out = append(out, fmt.Sprintf("Of the critical path the first %d of %d transfers are outlined.", maxOnWay, len(g.path)))
	}
	return out
}

// draw draws the axis, the rows, the critical path, what is marked, and the two limits.
func (g *gantt) draw(d drawing, top float64) {
	bottom := top + 24 + g.height()
	g.axis(d, top, bottom)
	g.names(d, top)
	if g.dense {
		g.shade(d, top)
	} else {
		g.each(d, top)
	}
	for i, h := range g.path {
		if i < maxOnWay {
			g.outline(d, top, int(h.transfer), inkPath, 1.4)
		}
	}
	for _, v := range g.p.Verdict.Violations {
		if v.Transfer >= 0 && v.Transfer < len(g.p.Schedule.Transfers) {
			g.outline(d, top, v.Transfer, inkBad, 2)
			x := (g.x(g.m.from[v.Transfer]) + g.x(g.m.to[v.Transfer])) / 2
			d.tag("path", nil, "d", fmt.Sprintf("M%s %sl-4 -7h8z", number(x), number(top+23)), "fill", inkBad)
		}
	}
	if !g.m.steps {
		g.limits(d, top, bottom)
	}
}

// limits draws the makespan and the bound, from top to bottom.
func (g *gantt) limits(d drawing, top, bottom float64) {
	end := g.x(g.m.last)
	b := g.p.Bound
	name := "makespan"
	if b != nil && b.Value == g.m.last {
		name = "makespan = bound"
	}
	d.line(end, top+18, end, bottom+4, "stroke", inkText, "stroke-width", 1.2)
	d.text(min(end, svgRight)+2, bottom+14, name, "text-anchor", "end", "font-size", 10)
	if b == nil || b.Value == g.m.last || b.Value <= 0 || b.Value > g.m.last {
		return
	}
	x := g.x(b.Value)
	d.line(x, top+18, x, bottom+4, "stroke", inkBound, "stroke-width", 1.2, "stroke-dasharray", "4 3")
	anchor, at, y := "middle", x, bottom+14
	if end-x < 110 { // beside the other name
		anchor, at, y = "end", min(x+2, end-64), bottom+14
	}
	d.text(at, y, "bound", "text-anchor", anchor, "font-size", 10, "fill", inkBound)
}

// axis draws times at round numbers.
func (g *gantt) axis(d drawing, top, bottom float64) {
	step := math.Pow(10, math.Floor(math.Log10(max(1, g.last/6))))
	for _, f := range []float64{1, 2, 5, 10} {
		if g.last/(step*f) <= 8 {
			step *= f
			break
		}
	}
	step = max(1, step)
	for _, i := range g.clock.idle {
		from, to := g.x(i.From), g.x(i.To)
		d.rect(from, top+20, to-from, bottom-top-20, "fill", "#eef1f5")
		d.tag("text", func() { d.escape("idle for " + (i.To - i.From).String()) }, "transform", fmt.Sprintf("translate(%s %s) rotate(-90)", number((from+to)/2+3), number(bottom-4)), "font-size", 9, "fill", inkDim)
	}
	for t, end := 0.0, float64(g.m.last); t <= end; t += step {
		if i := slices.IndexFunc(g.clock.idle, func(i model.Interval) bool { return t > float64(i.From) && t < float64(i.To) }); i >= 0 {
			t = math.Ceil(float64(g.clock.idle[i].To)/step)*step - step
			continue
		}
		x := g.x(model.Time(t))
		d.line(x, top+20, x, bottom, "stroke", inkLine, "stroke-width", 0.6)
		name := model.Time(t).String()
		if g.m.steps {
			name = fmt.Sprintf("step %.0f", t)
		}
		d.text(x, top+15, name, "text-anchor", "middle", "font-size", 10, "fill", inkDim)
	}
}

// names writes the ends of links, of as many rows as there is room for.
func (g *gantt) names(d drawing, top float64) {
	t := g.p.Problem.Topology
	each := int(math.Ceil(9 / g.tall))
	for row := 0; row < g.count(); row += each {
		k := t.Links[g.rows[row*g.group]]
		name := short(shortName(t, k.Src), 10) + "→" + short(shortName(t, k.Dst), 10)
		if g.group > 1 {
			name += " …"
		}
		d.text(svgTimes-5, g.y(row, top)+g.tall/2+3, short(name, 20), "text-anchor", "end", "font-size", min(10, max(7, g.tall)))
	}
}

// bar is where a transfer, or a stream, is drawn on a link: what is under way there at one time is
// side by side, in lanes.
type bar struct {
	streams.Use
	lane int
}

// lanes returns the bars of each row, by their starts, and how many lanes each row has.
func (g *gantt) lanes() (rows [][]bar, lanes []int) {
	rows, lanes = make([][]bar, g.count()), make([]int, g.count())
	for r, l := range g.rows {
		var until []model.Time
		for _, u := range g.uses[l] {
			free := slices.IndexFunc(until, func(t model.Time) bool { return t <= u.From })
			if free < 0 {
				free = len(until)
				until = append(until, 0)
			}
			until[free] = u.To
			rows[r] = append(rows[r], bar{u, free})
		}
		lanes[r] = max(1, len(until))
	}
	return rows, lanes
}

// each draws a bar for every link of every transfer or stream, with the number of the chunk where
// there is room, and a line on top where it adds.
func (g *gantt) each(d drawing, top float64) {
	_, ink := colouring(g.p.Problem)
	for r, row := range g.bars {
		high := (g.tall - min(2, g.tall/4)) / float64(g.lanesOf[r])
		for i := range row {
			b := &row[i]
			t := &g.p.Schedule.Transfers[b.Transfers[0]]
			fill := ink(int(t.Chunk))
			x0, x1, y := g.x(b.From), g.x(b.To), g.y(r, top)+float64(b.lane)*high
			wide := max(0.4, x1-x0-min(0.8, (x1-x0)/4))
			d.rect(x0, y, wide, high, "fill", fill)
			if t.Op == model.Reduction {
				d.rect(x0, y, wide, min(1.5, high/3), "fill", inkText)
			}
			name := fmt.Sprint(t.Chunk)
			if long := g.named(b); high >= 8 && wide > 4+6*float64(len([]rune(long))) {
				name = long
			}
			if high >= 8 && wide > 4+6*float64(len([]rune(name))) {
				text := inkText
				if dark(fill) {
					text = "#ffffff"
				}
				d.text(x0+3, y+high/2+3.3, name, "font-size", 9, "fill", text)
			}
		}
	}
}

// named returns what is written on a bar: the chunk and, of a sum or a multicast, from or to how many
// ranks it is: "3 from 7", "3 to 7".
func (g *gantt) named(b *bar) string {
	name := fmt.Sprint(g.p.Schedule.Transfers[b.Transfers[0]].Chunk)
	from, to := g.m.streams.Ends(&b.Use)
	if from > 1 {
		name += fmt.Sprintf(" from %d", from)
	}
	if to > 1 {
		name += fmt.Sprintf(" to %d", to)
	}
	return name
}

// share returns, row by row and cell by cell, how much of the time of a cell the links of
// the row are busy, in links.
func (g *gantt) share() []float64 {
	share := make([]float64, g.count()*cells)
	each := g.last / cells
	for l, list := range g.uses {
		for _, u := range list {
			from, to := g.clock.at(u.From), g.clock.at(u.To)
			row := share[g.rowOf[l]*cells:][:cells]
			for c := int(from / each); c < cells && float64(c)*each < to; c++ {
				row[c] += max(0, min(to, float64(c+1)*each)-max(from, float64(c)*each)) / each
			}
		}
	}
	return share
}

// shade draws, in cells of equal length, what share of them links are busy.
func (g *gantt) shade(d drawing, top float64) {
	share := g.share()
	paths := make([][]byte, shades+1)
	wide, high := (svgRight-svgTimes)/float64(cells), g.tall-min(1, g.tall/4)
	for row := range g.count() {
		links := float64(min(g.group, len(g.rows)-row*g.group))
		level := func(c int) int { return int(math.Ceil(shades * min(1, share[row*cells+c]/links-1e-9))) }
		for c := 0; c < cells; {
			k, from := level(c), c
			for c < cells && level(c) == k {
				c++
			}
			if k > 0 {
				paths[k] = fmt.Appendf(paths[k], "M%s %sh%sv%sh-%sz", number(svgTimes+float64(from)*wide), number(g.y(row, top)), number(float64(c-from)*wide), number(high), number(float64(c-from)*wide))
			}
		}
	}
	for k, path := range paths {
		if len(path) > 0 {
			d.tag("path", nil, "d", string(path), "fill", inkBusy, "fill-opacity", float64(k)/shades)
		}
	}
}

// outline draws a frame around a transfer, on every link of its route.
func (g *gantt) outline(d drawing, top float64, i int, ink string, width float64) {
	busy := g.m.streams.Busy(int32(i), nil)
	for n, l := range g.p.Schedule.Routes[g.p.Schedule.Transfers[i].Route] {
		x0, x1 := g.x(busy[n].From), g.x(busy[n].To)
		if g.dense {
			width = min(width, 1)
		}
		y, high := g.y(g.rowOf[l], top), g.tall-min(2, g.tall/4)
		if !g.dense {
			at := slices.IndexFunc(g.bars[g.rowOf[l]], func(b bar) bool {
				return slices.Contains(b.Transfers, int32(i))
			})
			high /= float64(g.lanesOf[g.rowOf[l]])
			y += high * float64(g.bars[g.rowOf[l]][at].lane)
		}
		d.rect(x0, y, max(0.8, x1-x0), high, "fill", "none", "stroke", ink, "stroke-width", width)
	}
}

// legend states what the marks mean, in lines from a height on, and returns that of the last.
func (g *gantt) legend(d drawing, y float64) float64 {
	x := float64(svgMargin)
	entry := func(name string, mark func(x float64)) {
		wide := 30 + 5.4*float64(len([]rune(name)))
		if x > svgMargin && x+wide > svgRight {
			x, y = svgMargin, y+svgLine
		}
		mark(x)
		d.text(x+20, y, name, "font-size", 10, "fill", inkDim)
		x += wide
	}
	meaning, ink := colouring(g.p.Problem)
	if g.dense {
		entry("a link is busy", func(x float64) { d.rect(x, y-8, 14, 9, "fill", inkBusy) })
	} else {
		entry(meaning, func(x float64) {
			for n, c := range []int{0, len(g.p.Problem.Chunks) / 2, len(g.p.Problem.Chunks) - 1} {
				d.rect(x+5*float64(n), y-8, 5, 9, "fill", ink(c))
			}
		})
		if slices.ContainsFunc(g.p.Schedule.Transfers, func(t model.Transfer) bool { return t.Op == model.Reduction }) {
			entry("adds", func(x float64) { d.rect(x, y-8, 14, 9, "fill", inkLine); d.rect(x, y-8, 14, 2, "fill", inkText) })
		}
	}
	if len(g.path) > 0 {
		entry("critical path", func(x float64) { d.rect(x, y-8, 14, 9, "fill", "none", "stroke", inkPath, "stroke-width", 1.4) })
	}
	if len(g.p.Verdict.Violations) > 0 {
		entry("what is wrong", func(x float64) { d.rect(x, y-8, 14, 9, "fill", "none", "stroke", inkBad, "stroke-width", 2) })
	}
	if b := g.p.Bound; b != nil && !g.m.steps {
		entry(strings.TrimSuffix("lower bound "+b.Holds, " ")+" by "+short(b.Kind, 30), func(x float64) {
			d.line(x, y-3, x+14, y-3, "stroke", inkBound, "stroke-width", 1.2, "stroke-dasharray", "4 3")
		})
	}
	return y
}
