package forest

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// tree is a number of equal trees over all sinks: weight of them.
type tree struct {
	root   int
	weight int64
	arcs   []arc // parents before children; their room means nothing
	uses   []int // the links that it keeps busy, some more than once; nil: those of its arcs
}

// links returns the links that t keeps busy, each as often as it does.
func (t *tree) links() []int {
	if t.uses != nil {
		return t.uses
	}
	var links []int
	for _, a := range t.arcs {
		links = append(links, a.route...)
	}
	return links
}

// growing is a tree that does not reach all sinks yet.
type growing struct {
	tree
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
func (w *network) pack(ctx context.Context) ([]tree, error) {
	var queue []*growing
	for i, s := range w.sources {
		g := &growing{tree: tree{root: s, weight: w.trees * w.weights[i]}, depth: make([]int, w.t.Nodes()), left: len(w.sinks) - 1}
		for v := range g.depth {
			g.depth[v] = -1
		}
		g.depth[s] = 0
		queue = append(queue, g)
	}
	var done []tree
	for len(queue) > 0 {
		g := queue[0]
		queue = queue[1:]
		for g.left > 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			i, times := w.grow(g, queue)
			if times == 0 {
				return nil, errors.New("forest: no arc can be added to a tree, against Edmonds' theorem: this is a defect")
			}
			if times < g.weight {
				rest := *g
				rest.weight -= times
				rest.arcs, rest.depth = slices.Clone(g.arcs), slices.Clone(g.depth)
				queue = append(queue, &rest)
				g.weight = times
			}
			a := &w.arcs[i]
			a.room -= times
			g.arcs = append(g.arcs, *a)
			g.depth[a.to] = g.depth[a.from] + 1
			g.left--
		}
		done = append(done, g.tree)
	}
	return done, nil
}

// grow returns an arc that leaves g, and how often g can have it: as close to the root as
// there is one, and there as often as possible.
func (w *network) grow(g *growing, others []*growing) (best int, times int64) {
	var leaving []int
	for i, a := range w.arcs {
		if a.room > 0 && g.depth[a.from] >= 0 && g.depth[a.to] < 0 {
			leaving = append(leaving, i)
		}
	}
	slices.SortStableFunc(leaving, func(i, j int) int {
		a, b := w.arcs[i], w.arcs[j]
		return cmp.Or(cmp.Compare(g.depth[a.from], g.depth[b.from]), cmp.Compare(len(a.route), len(b.route)), cmp.Compare(b.room, a.room))
	})
	best = -1
	for _, i := range leaving {
		if best >= 0 && g.depth[w.arcs[i].from] > g.depth[w.arcs[best].from] {
			break
		}
		if n := w.often(g, i, others); n > times {
			best, times = i, n
		}
		if times == g.weight {
			break
		}
	}
	return best, times
}

// often returns how often g can have arc i. A set with the arc's head and without its tail
// loses room by it, and needs it for each of the other trees that it does not touch; the
// least that is left is a minimum cut, where another tree is a node that the tail feeds
// with as many and that leads to all that it reached.
func (w *network) often(g *growing, i int, others []*growing) int64 {
	a, promised, n := w.arcs[i], int64(0), w.t.Nodes()
	most := min(a.room, g.weight)
	if len(others) == 0 {
		return most // over the arc itself
	}
	f, source := &w.flows, n+len(others)
	f.Clear(source + 1)
	for _, a := range w.arcs {
		if a.room > 0 {
			f.Add(a.from, a.to, a.room)
		}
	}
	for j, o := range others {
		f.Add(a.from, n+j, o.weight)
		for v, d := range o.depth {
			if d >= 0 {
				f.Add(n+j, v, o.weight)
			}
		}
		promised += o.weight
	}
	f.Add(source, a.from, promised+most) // more is not asked for
	return f.MaxFlow(source, a.to) - promised
}
