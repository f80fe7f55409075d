package forest

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

const (
	// maxBalanced is how many trees with a root the linear program of balanced has at most.
	maxBalanced = 4000
	// unequal is what it costs, in parts of the time, if all edges carried nothing but sums in one direction.
	unequal = 0.1
	// perLevel is what a level costs, likewise.
	perLevel = 1e-3
)

// balanced returns a packing of trees of almost the largest rate, at most so deep, whose roots are such that both
// directions of an edge carry as many sums as copies, or nearly: then sums can fill the links for half of the time, and
// copies for the other half, and nothing waits for chunks to go all the way up and down except what is in the middle. A
// tree with another root is the same edges, turned round between the two. It returns nil if there are too many trees.
func (g *packing) balanced(ctx context.Context, deepest int) (*forest, error) {
	m := &lp.Model{Sense: lp.Minimise}
	ends := m.AddNonNegative("", lp.Int(1))
	side, room := g.sides()
	carries, sums := make([][]lp.Term, len(room)), make([][]lp.Term, len(room))
	var trees []arborescence.Tree
	var whole []lp.Term
	first := 1
	for _, c := range g.trees {
		for _, root := range g.Sinks {
			t, depth := g.from(root, c.edges, deepest)
			if depth > deepest {
				continue
			}
			if len(trees) == maxBalanced {
				return nil, nil
			}
			x := m.AddNonNegative("", float(perLevel*float64(depth)))
			trees, whole = append(trees, t), append(whole, lp.T(x, 1))
			for _, a := range t.Arcs {
				s := side[a.Route[0]]
				carries[s/2] = append(carries[s/2], lp.T(x, 1))
				sums[s^1] = append(sums[s^1], lp.T(x, 1))
			}
		}
	}
	if len(trees) == 0 {
		return nil, nil
	}
	m.AddEQ("", lp.Int(1), whole...)
	for s := range room {
		over := m.AddNonNegative("", float(unequal/float64(len(room))))
		most := lp.Term{Col: ends, Coef: float(-room[s])}
		if s%2 == 0 {
			m.AddLE("", lp.Int(0), append(carries[s/2], most)...)
		}
		most.Coef = float(-room[s] / 2)
		m.AddLE("", lp.Int(0), append(sums[s], most, lp.Term{Col: over, Coef: float(-room[s])})...)
	}
	r, err := highs.Simplex(ctx, m)
	if err != nil {
		return nil, err
	}
	var kept []arborescence.Tree
	for j, t := range trees {
		if t.Weight = int64(math.Round(r.Values[first+j] * wholeTrees)); t.Weight > 0 {
			kept = append(kept, t)
		}
	}
	slices.SortStableFunc(kept, func(a, b arborescence.Tree) int { return cmp.Compare(b.Weight, a.Weight) })
	return &forest{blocks: 1, down: [][]arborescence.Tree{kept}, speed: 1 / r.Values[ends]}, nil
}

// sides numbers the directions of edges by the first links of their routes, those of an edge 2i and 2i+1, and returns the
// room of each. Edges over links that are twins count as one.
func (g *packing) sides() (side map[int]int, room []float64) {
	same := twinsOf(g.Topology)
	side = map[int]int{}
	for _, e := range g.edges {
		s, known := side[same.of[e.there[0]][0]]
		if !known || len(e.there) > 1 {
			s = len(room)
			room = append(room, 0, 0)
		}
		side[e.there[0]], side[e.back[0]] = s, s^1
		room[s] += e.room
		room[s^1] += e.room
	}
	return side, room
}
