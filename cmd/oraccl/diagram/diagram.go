// Package diagram draws a topology as SVG: machines as boxes with their ranks and switches, and the
// switches outside machines above them, the further out the higher.
package diagram

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/machines"
)

// The measures of a drawing, in pixels.
const (
	cell    = 54  // from one node of a row to the next
	row     = 58  // from one row to the next
	inset   = 14  // from a box to what is in it
	apart   = 22  // from one box to the next
	abreast = 8   // machines, or ranks of a machine, in a row
	nodeW   = 44  // of a node
	nodeH   = 26  //
	titleH  = 18  // of a machine's name
	legendH = 64  // of what stands at the top
	minimum = 520 // the width of a drawing at least
)

// MaxNodes is how many nodes are drawn at most.
const MaxNodes = 2048

// point is the middle of a node.
type point struct{ x, y int }

// box is a machine.
type box struct {
	x, y, w, h int
	name       string
}

// layout is where everything is.
type layout struct {
	t             *model.Topology
	at            []point
	boxes         []box
	width, height int
}

// SVG draws t. It is an error if t has more than MaxNodes nodes.
func SVG(w io.Writer, t *model.Topology) error {
	if t.Nodes() > MaxNodes {
		return fmt.Errorf("%s has %d nodes, want at most %d for a picture", t.Name, t.Nodes(), MaxNodes)
	}
	l := arrange(t)
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", l.width, l.height, l.width, l.height)
	fmt.Fprintf(out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", l.width, l.height)
	fmt.Fprintf(out, `<text x="%d" y="22" font-size="14" font-weight="bold">%s</text>`+"\n", inset, html.EscapeString(t.Name))
	fmt.Fprintf(out, `<text x="%d" y="40" fill="#555555">%s, %s, %s; a line is a link both ways, the thicker the faster</text>`+"\n", inset,
		model.Count(t.Ranks, "rank"), switches(len(t.Switches)), model.Count(len(t.Links), "link"))
	for _, b := range l.boxes {
		fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#f4f6f8" stroke="#8a949e"/>`+"\n", b.x, b.y, b.w, b.h)
		fmt.Fprintf(out, `<text x="%d" y="%d" fill="#555555">%s</text>`+"\n", b.x+inset/2, b.y+13, html.EscapeString(b.name))
	}
	l.links(out)
	for v := range t.Nodes() {
		l.node(out, v)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

func switches(n int) string {
	if n == 1 {
		return "1 switch"
	}
	return fmt.Sprintf("%d switches", n)
}

// arrange places boxes in rows, their nodes in them by level, and what is outside above.
func arrange(t *model.Topology) *layout {
	l := &layout{t: t, at: make([]point, t.Nodes()), width: minimum}
	var above [2][]int // outside, spines
	for v := range t.Nodes() {
		if at := machines.LevelOf(t, v); at >= machines.Outside {
			above[at-machines.Outside] = append(above[at-machines.Outside], v)
		}
	}
	top := legendH
	for _, list := range [][]int{above[1], above[0]} {
		if len(list) > 0 {
			top += row
		}
	}
	all := machines.Of(t)
	x, y, tallest := inset, top, 0
	for i, nodes := range all {
		rows := levels(t, nodes)
		most := 0
		for _, r := range rows {
			most = max(most, len(r))
		}
		b := box{x: x, y: y, w: most*cell + inset, h: len(rows)*row + titleH, name: fmt.Sprintf("machine %d", i)}
		if len(all) == 1 {
			b.name = "one machine"
		}
		if i > 0 && i%abreast == 0 {
			x, y, tallest = inset, y+tallest+apart, 0
			b.x, b.y = x, y
		}
		for j, r := range rows {
			for k, v := range r {
				l.at[v] = point{b.x + (b.w-len(r)*cell)/2 + k*cell + cell/2, b.y + titleH + j*row + row/2}
			}
		}
		l.boxes = append(l.boxes, b)
		x, tallest = x+b.w+apart, max(tallest, b.h)
		l.width = max(l.width, x)
	}
	l.height = y + tallest + apart
	for _, list := range above {
		l.width = max(l.width, len(list)*cell+2*inset)
	}
	h := legendH + row/2
	for _, list := range [][]int{above[1], above[0]} {
		for k, v := range list {
			l.at[v] = point{l.width * (2*k + 1) / (2 * len(list)), h}
		}
		if len(list) > 0 {
			h += row
		}
	}
	return l
}

// levels returns the nodes of a machine in rows, those that are furthest out first, and of ranks
// a few in a row.
func levels(t *model.Topology, nodes []int) (rows [][]int) {
	for at := machines.AtNIC; at >= machines.AtRank; at-- {
		var list []int
		for _, v := range nodes {
			if machines.LevelOf(t, v) == at {
				list = append(list, v)
			}
		}
		for len(list) > abreast {
			rows, list = append(rows, list[:abreast]), list[abreast:]
		}
		if len(list) > 0 {
			rows = append(rows, list)
		}
	}
	return rows
}

// links draws a line for each pair of nodes with a link, with the bandwidth of all of them one
// way as its title.
func (l *layout) links(out io.Writer) {
	type pair struct{ u, v int }
	sum, fastest := map[pair]float64{}, 0.0
	var order []pair
	for _, k := range l.t.Links {
		p := pair{min(k.Src, k.Dst), max(k.Src, k.Dst)}
		if sum[p] == 0 {
			order = append(order, p)
		}
		if sum[p] += float64(k.Bandwidth) / 2; sum[p] > fastest {
			fastest = sum[p]
		}
	}
	for _, p := range order {
		a, b := l.at[p.u], l.at[p.v]
		width := 0.6 + 3*math.Sqrt(sum[p]/fastest)
		colour := "#7a8ea3"
		if max(machines.LevelOf(l.t, p.u), machines.LevelOf(l.t, p.v)) >= machines.Outside {
			colour = "#b5651d"
		}
		path := fmt.Sprintf("M%d %dL%d %d", a.x, a.y, b.x, b.y)
		if a.y == b.y && abs(a.x-b.x) > cell { // around what is between
			path = fmt.Sprintf("M%d %dQ%d %d %d %d", a.x, a.y, (a.x+b.x)/2, a.y-row/2+4, b.x, b.y)
		}
		fmt.Fprintf(out, `<path d="%s" stroke="%s" stroke-opacity="0.6" fill="none" stroke-width="%.1f"><title>%s - %s: %.3f GB/s each way</title></path>`+"\n", path, colour, width,
			html.EscapeString(l.t.NodeName(p.u)), html.EscapeString(l.t.NodeName(p.v)), sum[p]/1e9)
	}
}

func abs(x int) int { return max(x, -x) }

// node draws a rank as a box with its number, and a switch with its name, cut where it is long.
func (l *layout) node(out io.Writer, v int) {
	at, name, fill := l.at[v], fmt.Sprint(v), "#cfe3f5"
	if !l.t.IsRank(v) {
		name, fill = short(l.t.Switches[v-l.t.Ranks].Name, v-l.t.Ranks), "#f6e3c5"
	}
	fmt.Fprintf(out, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="%s" stroke="#444444"/><text x="%d" y="%d" font-size="9" text-anchor="middle">%s</text></g>`+"\n",
		html.EscapeString(l.t.NodeName(v)), at.x-nodeW/2, at.y-nodeH/2, nodeW, nodeH, fill, at.x, at.y+4, html.EscapeString(name))
}

// short returns the last eight letters of a switch's name, which tell it from others, or its number.
func short(name string, number int) string {
	letters := []rune(name)
	switch {
	case name == "":
		return fmt.Sprintf("s%d", number)
	case len(letters) > 8:
		return "…" + string(letters[len(letters)-7:])
	}
	return name
}
