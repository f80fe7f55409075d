package view

import (
	"fmt"
	"math"

	"github.com/oraccl/oraccl/model"
)

// What a drawing of a network has room for.
const (
	maxDrawnLinks = 6000
	maxNamed      = 256 // nodes with a number
)

// netRemarks states what a drawing leaves out of a network.
func netRemarks(t *model.Topology) []string {
	if step := skip(t); step > 1 {
		return []string{fmt.Sprintf("Of %d links one in %d is drawn in the network.", len(t.Links), step)}
	}
	return nil
}

func skip(t *model.Topology) int { return max(1, (len(t.Links)+maxDrawnLinks-1)/maxDrawnLinks) }

// network draws nodes and links from a corner. Links bow, so that the two ways are apart;
// those of the critical path are dark, those of marked transfers red.
func (d drawing) network(p *Picture, l *layout, path []hop, left, top float64) {
	t := p.Problem.Topology
	width, height := float64(netSize), float64(netSize)
	if l.aspect >= 1 {
		height /= l.aspect
	} else {
		width *= l.aspect
	}
	x := func(v int) float64 { return left + 8 + l.x[v]*(width-16) }
	y := func(v int) float64 { return top + 8 + l.y[v]*(height-16) }
	d.text(left, top-12, short(fmt.Sprintf("%s: %d ranks, %d links", t.Name, t.Ranks, len(t.Links)), 46), "fill", inkDim)

	radius := 11.0
	for v := range l.x { // beside its nearest neighbours, in drawing order and by links
		if v > 0 {
			radius = nearer(radius, x(v)-x(v-1), y(v)-y(v-1))
		}
	}
	for _, k := range t.Links {
		if k.Src != k.Dst {
			radius = nearer(radius, x(k.Src)-x(k.Dst), y(k.Src)-y(k.Dst))
		}
	}

	for _, list := range l.sets {
		x0, y0, x1, y1 := x(list[0]), y(list[0]), x(list[0]), y(list[0])
		for _, v := range list {
			x0, y0, x1, y1 = min(x0, x(v)), min(y0, y(v)), max(x1, x(v)), max(y1, y(v))
		}
		by := radius + min(5, 0.4*radius)
		d.rect(x0-by, y0-by, x1-x0+2*by, y1-y0+2*by, "fill", "#f5f6f8", "stroke", inkLine, "stroke-width", 0.8)
	}

	inkOfLink := map[int]string{}
	s := p.Schedule
	for _, h := range path {
		for _, k := range s.Routes[s.Transfers[h.transfer].Route] {
			inkOfLink[k] = inkPath
		}
	}
	for _, v := range p.Verdict.Violations {
		if v.Transfer >= 0 && v.Transfer < len(s.Transfers) {
			for _, k := range s.Routes[s.Transfers[v.Transfer].Route] {
				inkOfLink[k] = inkBad
			}
		}
	}
	parallel := map[[2]int]int{}
	step := skip(t)
	bow := func(i int) string {
		k := t.Links[i]
		n := parallel[[2]int{k.Src, k.Dst}]
		parallel[[2]int{k.Src, k.Dst}]++
		x0, y0, x1, y1 := x(k.Src), y(k.Src), x(k.Dst), y(k.Dst)
		far := max(1, math.Hypot(x1-x0, y1-y0))
		off := min(4+4*float64(min(n, 4)), far/4)
		if l.kind == "grid" || (l.kind == "levels" || l.kind == "machines") && y0 == y1 {
			off += max(0, far*0.1-6)
		}
		return fmt.Sprintf("M%s %sQ%s %s %s %s", number(x0), number(y0), number((x0+x1)/2-(y1-y0)/far*off), number((y0+y1)/2+(x1-x0)/far*off), number(x1), number(y1))
	}
	marked := map[string]string{}
	d.open("path", "fill", "none", "stroke", inkDim, "stroke-width", 0.6, "stroke-opacity", max(0.15, min(0.7, 400/float64(len(t.Links)+1))))
	d.WriteString(` d="`)
	for i := range t.Links {
		switch ink, ok := inkOfLink[i]; {
		case ok:
			marked[ink] += bow(i)
		case i%step == 0:
			d.WriteString(bow(i))
		}
	}
	d.WriteString("\"/>\n")
	heavy := 1.6
	if len(inkOfLink) > 32 {
		heavy = 0.8
	}
	for _, ink := range []string{inkPath, inkBad} {
		if marked[ink] != "" {
			d.tag("path", nil, "d", marked[ink], "fill", "none", "stroke", ink, "stroke-width", heavy)
		}
	}
	for v := range t.Nodes() {
		half := radius
		if t.IsRank(v) {
			d.tag("circle", nil, "cx", x(v), "cy", y(v), "r", radius, "fill", "#ffffff", "stroke", inkText, "stroke-width", min(1, radius/5))
		} else {
			half = max(radius, min(2.7*float64(len([]rune(shortName(t, v))))+4, roomAt(t, v, radius, x, y)))
			d.rect(x(v)-half, y(v)-0.7*radius, 2*half, 1.4*radius, "fill", "#eef1f5", "stroke", inkText, "stroke-width", min(1, radius/5))
		}
		if t.Nodes() <= maxNamed && radius >= 4.5 {
			d.text(x(v), y(v)+radius*0.32, short(shortName(t, v), max(2, int(2*half/4.6))), "text-anchor", "middle", "font-size", min(10, radius))
		}
	}
}

// roomAt is half of how wide a switch may be drawn so that it touches no other node.
func roomAt(t *model.Topology, v int, radius float64, x, y func(v int) float64) float64 {
	if t.Nodes() > maxNamed {
		return radius
	}
	room := netSize / 2.0
	for u := range t.Nodes() {
		if far := math.Abs(x(u) - x(v)); u != v && math.Abs(y(u)-y(v)) < 1.8*radius {
			if t.IsRank(u) {
				room = min(room, far-radius-2)
			} else {
				room = min(room, 0.47*far)
			}
		}
	}
	return max(radius, room)
}

// nearer is a radius with which two nodes that far apart do not touch.
func nearer(radius, x, y float64) float64 { return max(1, min(radius, 0.42*math.Hypot(x, y))) }
