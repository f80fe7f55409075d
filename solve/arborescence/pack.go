package arborescence

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// tree is a number of equal trees over all sinks: weight of them.
type Tree struct {
	Root   int
	Weight int64
	Arcs   []Arc // parents before children; their room means nothing
	Uses   []int // the links that it keeps busy, some more than once; nil: those of its arcs
}

// links returns the links that t keeps busy, each as often as it does.
func (t *Tree) Links() []int {
	if t.Uses != nil {
		return t.Uses
	}
	var links []int
	for _, a := range t.Arcs {
		links = append(links, a.Route...)
	}
	return links
}

// growing is a tree that does not reach all sinks yet.
type growing struct {
	Tree
	depth []int // by node: how many arcs below the root; -1: not reached
	left  int   // sinks that are not reached
}

// pack returns the trees of all sources over all sinks, in which no arc occurs more
// often than it has room. It uses w up. There must be no nodes but the sinks.
//
// It is the proof of Edmonds' theorem by Lovász ("On two minimax theorems in graph", 1976)
// with trees that are alike kept as one (Bérczi and Frank, "Packing arborescences", 2010;
// so does ForestColl): a tree grows by an arc as often as every set of nodes keeps as much
// room to enter it as there are trees that have yet to. Arcs close to the root come first.
func (w *Network) Pack(ctx context.Context) ([]Tree, error) {
	var queue []*growing
	for i, s := range w.sources {
		g := &growing{Tree: Tree{Root: s, Weight: w.Trees * w.weights[i]}, depth: make([]int, w.Topology.Nodes()), left: len(w.Sinks) - 1}
		for v := range g.depth {
			g.depth[v] = -1
		}
		g.depth[s] = 0
		queue = append(queue, g)
	}
	var done []Tree
	for len(queue) > 0 {
		g := queue[0]
		queue = queue[1:]
		for g.left > 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			i, times := w.grow(g, queue)
			if times == 0 {
				return nil, errors.New("arborescence: no arc can be added to a tree, against Edmonds' theorem: this is a defect")
			}
			if times < g.Weight {
				rest := *g
				rest.Weight -= times
				rest.Arcs, rest.depth = slices.Clone(g.Arcs), slices.Clone(g.depth)
				queue = append(queue, &rest)
				g.Weight = times
			}
			a := &w.Arcs[i]
			a.Room -= times
			g.Arcs = append(g.Arcs, *a)
			g.depth[a.To] = g.depth[a.From] + 1
			g.left--
		}
		done = append(done, g.Tree)
	}
	return done, nil
}

// grow returns an arc that leaves g, and how often g can have it: as close to the root as
// there is one, and there as often as possible.
func (w *Network) grow(g *growing, others []*growing) (best int, times int64) {
	var leaving []int
	for i, a := range w.Arcs {
		if a.Room > 0 && g.depth[a.From] >= 0 && g.depth[a.To] < 0 {
			leaving = append(leaving, i)
		}
	}
	slices.SortStableFunc(leaving, func(i, j int) int {
		a, b := w.Arcs[i], w.Arcs[j]
		return cmp.Or(cmp.Compare(g.depth[a.From], g.depth[b.From]), cmp.Compare(len(a.Route), len(b.Route)), cmp.Compare(b.Room, a.Room))
	})
	best = -1
	for _, i := range leaving {
		if best >= 0 && g.depth[w.Arcs[i].From] > g.depth[w.Arcs[best].From] {
			break
		}
		if n := w.often(g, i, others); n > times {
			best, times = i, n
		}
		if times == g.Weight {
			break
		}
	}
	return best, times
}

// often returns how often g can have arc i. A set with the arc's head and without its tail
// loses room by it, and needs it for each of the other trees that it does not touch; the
// least that is left is a minimum cut, where another tree is a node that the tail feeds
// with as many and that leads to all that it reached.
func (w *Network) often(g *growing, i int, others []*growing) int64 {
	a, promised, n := w.Arcs[i], int64(0), w.Topology.Nodes()
	most := min(a.Room, g.Weight)
	if len(others) == 0 {
		return most // over the arc itself
	}
	f, source := &w.flows, n+len(others)
	f.Clear(source + 1)
	for _, a := range w.Arcs {
		if a.Room > 0 {
			f.Add(a.From, a.To, a.Room)
		}
	}
	for j, o := range others {
		f.Add(a.From, n+j, o.Weight)
		for v, d := range o.depth {
			if d >= 0 {
				f.Add(n+j, v, o.Weight)
			}
		}
		promised += o.Weight
	}
	f.Add(source, a.From, promised+most) // more is not asked for
	return f.MaxFlow(source, a.To) - promised
}
