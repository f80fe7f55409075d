package forest

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/broadcast"
)

// flatter returns those of the packings of a broadcast that may be the best: flattened ones of the largest rate, and one of
// shallower ones that are slower.
func flatter(p *model.Problem, g broadcast.Packings) (flows []flow) {
	f, whole := g.Flat, g.Whole
	busy, _ := f.Fluid(p)
	late, soon := busy+last(p, whole), busy*(1+waiting)+last(p, f)
	if whole == f || soon < late {
		flows = append(flows, forestOf(p, f))
	}
	if whole != f && late < soon*(1+waiting) {
		flows = append(flows, forestOf(p, whole))
	}
	if other := promising(p, f, g.Shallower); other != nil {
		flows = append(flows, forestOf(p, other))
	}
	return flows
}

// forestOf returns the trees of a broadcast as a flow.
func forestOf(p *model.Problem, g *broadcast.Forest) *forest {
	busy, _ := g.Fluid(p)
	return &forest{blocks: 1, down: [][]arborescence.Tree{g.Trees}, fits: g.Fits, speed: 1 / busy}
}

// waiting is by which part of their time trees that share links are later than in the fluid limit, about.
const waiting = 0.12

// promising returns that of other forests of a broadcast, if any, that ends before one and before the others in the
// fluid limit, about.
func promising(p *model.Problem, f *broadcast.Forest, others []*broadcast.Forest) (best *broadcast.Forest) {
	busy, last := f.Fluid(p)
	least := busy + last
	for _, g := range others {
		if busy, last := g.Fluid(p); busy+last < least {
			best, least = g, busy+last
		}
	}
	return best
}

// last returns after how many seconds the last rank has the first chunk of a broadcast, if there are as many as can be
// placed.
func last(p *model.Problem, f *broadcast.Forest) (latest float64) {
	size := arborescence.Scale(p.Space(), int64(len(p.Members())-1), int64(forestOf(p, f).most()))
	for _, t := range f.Trees {
		at := map[int]float64{}
		for _, a := range t.Arcs {
			at[a.To] = at[a.From] + arborescence.Seconds(p.Topology, a.Route, size)
			latest = max(latest, at[a.To])
		}
	}
	return latest
}
