package overtime

import (
	"maps"
	"slices"

	"github.com/oraccl/oraccl/solve/maxflow"
)

// stage is a network over time, in which what goes from a source to one of its destinations flows: its nodes are ranks of a
// colour in a window.
type stage struct {
	nodes, windows int
	source, sink   int
	ways           []timedWay
}

// timedWay is all flows between ranks of two colours from one window to another: what is sent there limits them.
type timedWay struct {
	from, to int
	number   int       // of its dual, -1 where nothing limits it
	count    float64   // pairs of ranks
	rows     []int32   // what is sent there
	parts    []float64 // of it
}

// cut is the nodes of a stage on the side of the source, and what is sent over it: the part of each row.
type cut struct {
	of    *stage
	side  []bool
	rows  []int32
	parts []float64
}

// Flows in whole numbers.
const (
	flowUnit = 1 << 36 // all bytes
	endless  = 1 << 44 // what no flow reaches
)

// stage returns the network of what flows from a root to a destination.
func (x *split) stage(r *root, e *ending, flows map[uint64]*flowing) *stage {
	windows := len(x.cuts) - 1
	first := map[uint64]int{} // node of a colour
	for i, c := range slices.Sorted(maps.Keys(e.nodes)) {
		first[c] = i * windows
	}
	s := &stage{nodes: len(first) * windows, windows: windows, source: first[e.colour[r.rank]], sink: first[e.colour[e.rank]] + windows - 1}
	for _, key := range slices.Sorted(maps.Keys(flows)) {
		f := flows[key]
		for i, at := range f.passed {
			if f.columns[i] < 0 {
				continue
			}
			w := timedWay{from: first[f.src] + at.from, to: first[f.dst] + at.to, number: f.rows[i], count: float64(f.count)}
			for _, p := range f.of {
				for _, n := range p.kind.within[at] {
					if w.number >= 0 {
						w.rows = append(w.rows, int32(p.kind.columns[n]))
						w.parts = append(w.parts, float64(f.count*p.count)/float64(p.kind.count))
					}
				}
			}
			s.ways = append(s.ways, w)
		}
	}
	return s
}

// arrives returns how much of what is sent can arrive.
func (s *stage) arrives(g *maxflow.Network, sent []float64) float64 {
	g.Clear(s.nodes)
	for v := range s.nodes {
		if (v+1)%s.windows != 0 {
			g.Add(v, v+1, endless)
		}
	}
	for i := range s.ways {
		w := &s.ways[i]
		most := int64(endless)
		if w.number >= 0 {
			sum := 0.0
			for k, row := range w.rows {
				sum += w.parts[k] * sent[row]
			}
			most = int64(min(max(sum, 0)*flowUnit, endless))
		}
		if most > 0 {
			g.Add(w.from, w.to, most)
		}
	}
	return float64(g.MaxFlow(s.source, s.sink)) / flowUnit
}

// cut returns the cut of some nodes, of a number of rows.
func (s *stage) cut(side []bool, rows int) cut {
	k := cut{of: s, side: side}
	parts := make([]float64, rows)
	for i := range s.ways {
		if w := &s.ways[i]; k.crossed(w) {
			for n, row := range w.rows {
				parts[row] += w.parts[n]
			}
		}
	}
	for row, part := range parts {
		if part > 0 {
			k.rows, k.parts = append(k.rows, int32(row)), append(k.parts, part)
		}
	}
	return k
}

// crossed reports whether what flows there crosses the cut.
func (k *cut) crossed(w *timedWay) bool { return k.side[w.from] && !k.side[w.to] }
