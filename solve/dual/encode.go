package dual

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/lp"
)

// encoding is the program of a grid. With x[d,a,s] >= 0 the part of demand d that starts
// over arc a with point s, h[d,r,t] >= 0 the part that waits at rank r from point t to the
// next, o[g,b,i] >= 0 the part of bundle b that a chunk of group g occupies at instant i:
//
//	minimise z
//	begin    Σ x of d out of ranks that have it at the start = 1
//	flow     what comes to r at t leaves it, for ranks r between
//	share    Σ x of d that occupies b at i <= o[g,b,i]                 for every demand d of g
//	link     Σ over groups of chunks·o[g,b,i] <= z·links of b
//	port     Σ over groups and bundles of it of chunks·o[g,b,i] <= z·capacity
//
// A group with one demand needs no o. The duals of share, divided by the chunks of the
// group, are shares; those of link and port are prices.
type encoding struct {
	*grid
	lp.Model
	z         int
	usage     [][][]lp.Term // by bundle, instant: what occupies it, times chunks
	shareRows []shareRow
	linkRows  []priceRow
	portRows  []priceRow
}

type shareRow struct{ row, group, demand, bundle, instant int }

type priceRow struct{ row, of, instant int }

func (g *grid) encode() *encoding {
	e := &encoding{grid: g}
	e.Name = "least excess"
	e.z = e.AddNonNegative("z", lp.Int(1))
	e.usage = make([][][]lp.Term, len(g.bundles))
	for b := range e.usage {
		e.usage[b] = make([][]lp.Term, len(g.points))
	}
	var occupied [][]int // by bundle, instant: the column o of the group, 0 for none yet
	for i := range g.tasks {
		t := &g.tasks[i]
		if t.index == 0 && len(g.groups[t.group].demands) > 1 {
			occupied = make([][]int, len(g.bundles))
			for b := range occupied {
				occupied[b] = make([]int, len(g.points))
			}
		}
		e.flow(t, occupied)
	}
	e.capacities()
	return e
}

// flow adds the flow of one demand.
func (e *encoding) flow(t *task, occupied [][]int) {
	n := len(e.points)
	balance := make([][]lp.Term, e.p.Topology.Ranks*n) // by rank, point
	uses := make([][]lp.Term, len(e.bundles)*n)        // by bundle, instant
	var begin []lp.Term
	for r := range e.p.Topology.Ranks {
		first, last := e.waits(t, r)
		for i := first; i < last; i++ {
			h := e.AddNonNegative("", lp.Int(0))
			balance[r*n+i] = append(balance[r*n+i], lp.T(h, -1))
			balance[r*n+i+1] = append(balance[r*n+i+1], lp.T(h, 1))
		}
	}
	for a := range e.arcs {
		u, v := e.arcs[a].Src, e.arcs[a].Dst
		e.starts(t, a, func(s start) {
			x := e.AddNonNegative("", lp.Int(0))
			if t.source[u] {
				begin = append(begin, lp.T(x, 1))
			} else {
				balance[u*n+s.from] = append(balance[u*n+s.from], lp.T(x, -1))
			}
			if v != t.dest {
				balance[v*n+s.to] = append(balance[v*n+s.to], lp.T(x, 1))
			}
			for k, b := range e.arcs[a].Bundles {
				first, last := e.occupies(t, a, k, s)
				for i := first; i <= last; i++ {
					uses[b*n+i] = append(uses[b*n+i], lp.T(x, 1))
				}
			}
		})
	}
	e.AddEQ("", lp.Int(1), begin...)
	for _, terms := range balance {
		if len(terms) > 0 {
			e.AddEQ("", lp.Int(0), terms...)
		}
	}
	g := &e.groups[t.group]
	chunks := int64(len(g.chunks))
	for k, terms := range uses {
		b, i := k/n, k%n
		switch {
		case len(terms) == 0:
		case len(g.demands) == 1:
			for _, x := range terms {
				e.usage[b][i] = append(e.usage[b][i], lp.T(x.Col, chunks))
			}
		default:
			if occupied[b][i] == 0 {
				occupied[b][i] = e.AddNonNegative("", lp.Int(0))
				e.usage[b][i] = append(e.usage[b][i], lp.T(occupied[b][i], chunks))
			}
			row := e.AddLE("", lp.Int(0), append(terms, lp.T(occupied[b][i], -1))...)
			e.shareRows = append(e.shareRows, shareRow{row, t.group, t.index, b, i})
		}
	}
}

// capacities adds the rows link and port.
func (e *encoding) capacities() {
	add := func(terms []lp.Term, capacity int) int {
		return e.AddLE("", lp.Int(0), append(append([]lp.Term{}, terms...), lp.T(e.z, -int64(capacity)))...)
	}
	for b, byInstant := range e.usage {
		for i, terms := range byInstant {
			if len(terms) > 0 {
				e.linkRows = append(e.linkRows, priceRow{add(terms, len(e.bundles[b].Links)), b, i})
			}
		}
	}
	for r := range e.resources {
		for i := range e.points {
			var terms []lp.Term
			for _, b := range e.resources[r].bundles {
				terms = append(terms, e.usage[b][i]...)
			}
			if len(terms) > 0 {
				e.portRows = append(e.portRows, priceRow{add(terms, e.resources[r].capacity), r, i})
			}
		}
	}
}

// instant returns the i-th time at which a bundle is looked at.
func (e *encoding) instant(b, i int) model.Time { return e.look(i) + e.offset[b] }
