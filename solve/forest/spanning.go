package forest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// edge is a way between two ranks in both directions, with room for this many trees.
type edge struct {
	u, v        int
	room        float64
	there, back []int // links from u to v, and those from v to u that mirror them
}

// spanning packs spanning trees of a network that is the same in both directions, for
// allreduce: what goes up a tree over one direction of its edges goes down over the other.
//
// In the fluid limit nothing is better. By the theorem of Tutte and Nash-Williams ("On the
// problem of decomposing a graph into n connected factors" and "Edge-disjoint spanning
// trees of finite graphs", 1961) trees can be packed up to the least room between the parts
// of a partition, over the number of parts less one; and whatever the algorithm, twice that
// number of transfers has to pass between the parts for each byte (verify/cert, partition).
//
// The trees are found by generating columns: a linear program weighs those that there are,
// and the cheapest ones by its prices are added, until they are not cheaper than 1. Trees
// that are less deep are slower, but sooner under way: there is a forest for each
// limit of the depth that makes a difference, the flattest last.
//
// There is none where there are too many edges, or where links lack a mirror image. p is
// the allgather of the same members.
func spanning(ctx context.Context, p *model.Problem) ([]flow, error) {
	mirror, ok := mirrored(p.Topology)
	if !ok {
		return nil, nil
	}
	limit, err := fluid.Rate(ctx, p)
	if err != nil {
		return nil, err
	}
	w, _, err := arborescence.Bypassed(ctx, p, limit, 1)
	if err != nil {
		return nil, err
	}
	edges := edgesOf(w, mirror)
	if len(edges) > maxEdges {
		return nil, nil
	}
	g := &packing{Network: w, edges: edges, at: make([][]int, w.Topology.Nodes()), known: map[string]bool{}}
	for i, e := range edges {
		g.at[e.u] = append(g.at[e.u], i)
		g.at[e.v] = append(g.at[e.v], i)
	}
	g.flattest()
	rate, err := g.generate(ctx)
	if err != nil {
		return nil, err
	}
	var forests []flow
	for deepest := math.MaxInt; ; deepest-- {
		f, depth, err := g.flat(ctx, deepest, rate)
		if f == nil || err != nil {
			return forests, err
		}
		f.mirror = mirror
		forests = append(forests, f)
		deepest = depth
		if len(forests) > 1 || slices.ContainsFunc(edges, func(e edge) bool { return len(e.there) > 1 }) {
			continue
		}
		if f, err = g.balanced(ctx, depth); err != nil {
			return nil, err
		}
		if f != nil {
			f.mirror = mirror
			forests = append(forests, f)
		}
	}
}

const (
	maxEdges = 1000
	// seeds is how many of the flattest trees there are from each root, at first.
	seeds = 4
	// unplanted is after how many steps of the linear program trees are planted.
	unplanted = 16
	// tolerance is which part of the rate is given away for fewer steps of the linear
	// program, and again for trees that are less deep.
	tolerance = 1e-3
	// plantings is how many trees are grown at each rate of exchange, and steep the power of what a link carries that is
	// its price.
	plantings, steep = 200, 12
	// estimated is into how many chunks the buffer is thought to be cut when the time to a rank is estimated.
	estimated = 512
)

// packing is the linear program, with trees as columns.
type packing struct {
	*arborescence.Network
	edges []edge
	at    [][]int // by node: the edges there
	trees []column
	known map[string]bool
}

// column is a tree by the indices of its edges, ascending.
type column struct {
	edges []int
	tree  arborescence.Tree // from the root from which it is the least deep
	depth int
}

// add adds a tree, and reports whether it is new.
func (g *packing) add(edges []int) bool {
	slices.Sort(edges)
	key := fmt.Sprint(edges)
	if g.known[key] {
		return false
	}
	g.known[key] = true
	c := column{edges: edges}
	c.tree, c.depth = g.middle(edges)
	g.trees = append(g.trees, c)
	return true
}

// flattest adds trees of shortest ways from each root, over edges that those before have
// used the least.
func (g *packing) flattest() {
	load := make([]float64, len(g.edges))
	for range seeds {
		for _, root := range g.Sinks {
			t, _ := g.prim(root, load, true)
			for _, i := range t {
				load[i] += 1 / g.edges[i].room
			}
			g.add(t)
		}
	}
}

// plant adds trees that share the edges evenly: one after the other, cheapest by prices that grow
// steeply with what those before carry, as those of shallow do.
func (g *packing) plant() {
	load, prices := make([]float64, len(g.edges)), make([]float64, len(g.edges))
	for n := range plantings {
		most := max(slices.Max(load), 1)
		for i, e := range g.edges {
			prices[i] = (math.Pow(load[i]/most, steep) + 1e-9) / e.room
		}
		t, _ := g.prim(g.Sinks[n%len(g.Sinks)], prices, false)
		for _, i := range t {
			load[i] += 1 / g.edges[i].room
		}
		g.add(t)
	}
}

// generate adds trees until the largest rate is reached, except for the tolerance, and returns
// the rate. On large networks the prices of a linear program with few columns say little: there
// trees are planted.
func (g *packing) generate(ctx context.Context) (float64, error) {
	for step := 0; ; step++ {
		if step == unplanted {
			g.plant()
		}
		rate, prices, err := g.weigh(ctx)
		if err != nil {
			return 0, err
		}
		worth := 0.0
		for i, e := range g.edges {
			prices[i] = max(prices[i], 0)
			worth += prices[i] * e.room
		}
		added, cheapest := false, 0.0
		for _, root := range g.Sinks {
			t, price := g.prim(root, prices, false)
			cheapest = price // the same from all
			if g.add(t) {
				added = true
			}
		}
		// By duality no packing has a rate above worth/cheapest.
		if !added || rate*cheapest >= worth*(1-tolerance) {
			return rate, nil
		}
	}
}

// prim returns the edges of a tree from a root, and its price: by Prim's way a cheapest one,
// flat where prices leave a choice; or, flat first, one of shortest ways, cheap where
// as these leave a choice.
func (g *packing) prim(root int, prices []float64, flat bool) (t []int, price float64) {
	equal := slices.Max(prices) * 1e-9
	depth := make([]int, g.Topology.Nodes())
	for v := range depth {
		depth[v] = -1
	}
	depth[root] = 0
	for range len(g.Sinks) - 1 {
		best, from, to := -1, 0, 0
		for u, d := range depth {
			if d < 0 {
				continue
			}
			for _, i := range g.at[u] {
				v := g.edges[i].u + g.edges[i].v - u
				if depth[v] >= 0 {
					continue
				}
				better := best < 0
				if !better {
					dearer := 0
					switch c := prices[i] - prices[best]; {
					case c > equal:
						dearer = 1
					case c < -equal:
						dearer = -1
					}
					deeper := cmp.Compare(d, depth[from])
					if flat {
						better = cmp.Or(deeper, dearer) < 0
					} else {
						better = cmp.Or(dearer, deeper) < 0
					}
				}
				if better {
					best, from, to = i, u, v
				}
			}
		}
		depth[to] = depth[from] + 1
		t = append(t, best)
		price += prices[best]
	}
	return t, price
}

// weigh returns the largest rate at which the trees can be packed, and the prices of the
// edges.
func (g *packing) weigh(ctx context.Context) (rate float64, prices []float64, err error) {
	m := &lp.Model{Sense: lp.Maximise}
	g.columns(m, func(int) lp.Rat { return lp.Int(1) })
	r, err := highs.Simplex(ctx, m)
	return r.Objective, r.RowDuals, err
}

// columns adds a column for each tree to m, and a row for each edge.
func (g *packing) columns(m *lp.Model, cost func(tree int) lp.Rat) (all []lp.Term) {
	rows := make([][]lp.Term, len(g.edges))
	for j, t := range g.trees {
		c := m.AddNonNegative("", cost(j))
		all = append(all, lp.T(c, 1))
		for _, i := range t.edges {
			rows[i] = append(rows[i], lp.T(c, 1))
		}
	}
	for i, terms := range rows {
		m.AddLE("", float(g.edges[i].room), terms...)
	}
	return all
}

// flat returns the packing of almost the largest rate, among trees that are at most so deep,
// with the least depth on average, and how deep the deepest tree is; nil if the rate is less
// than a fraction of the largest.
func (g *packing) flat(ctx context.Context, deepest int, largest float64) (*forest, int, error) {
	all := g.trees
	g.trees = slices.DeleteFunc(slices.Clone(all), func(c column) bool { return c.depth > deepest })
	defer func() { g.trees = all }()
	if len(g.trees) == 0 {
		return nil, 0, nil
	}
	rate, _, err := g.weigh(ctx)
	if err != nil || rate < largest*slowest {
		return nil, 0, err
	}
	m := &lp.Model{Sense: lp.Minimise}
	every := g.columns(m, func(j int) lp.Rat { return lp.Int(int64(g.trees[j].depth)) })
	m.AddGE("", float(rate*(1-tolerance)), every...)
	r, err := highs.Simplex(ctx, m)
	if err != nil {
		return nil, 0, err
	}
	var trees []arborescence.Tree
	depth := 0
	for j, y := range r.Values {
		t := g.trees[j].tree
		if t.Weight = int64(math.Round(y / rate * wholeTrees)); t.Weight > 0 {
			trees = append(trees, t)
			depth = max(depth, g.trees[j].depth)
		}
	}
	slices.SortStableFunc(trees, func(a, b arborescence.Tree) int { return cmp.Compare(b.Weight, a.Weight) })
	return &forest{blocks: 1, down: [][]arborescence.Tree{trees}, speed: rate}, depth, nil
}

// slowest is at which fraction of the largest rate flat trees are not worth a try.
const slowest = 0.7

// wholeTrees is how many equal parts the rate is rounded to.
const wholeTrees = 1 << 20

// middle returns a spanning tree from the root from which it is the least deep, and how
// deep that is.
func (g *packing) middle(edges []int) (best arborescence.Tree, depth int) {
	depth = math.MaxInt
	for _, root := range g.Sinks {
		if t, d := g.from(root, edges, depth-1); d < depth {
			best, depth = t, d
		}
	}
	return best, depth
}

// from returns a spanning tree from a root, and how deep it is; only part of it if it is deeper than a limit.
func (g *packing) from(root int, edges []int, deepest int) (t arborescence.Tree, depth int) {
	near := make([][]int, g.Topology.Nodes())
	for _, i := range edges {
		near[g.edges[i].u] = append(near[g.edges[i].u], i)
		near[g.edges[i].v] = append(near[g.edges[i].v], i)
	}
	level := slices.Repeat([]int{-1}, g.Topology.Nodes())
	level[root] = 0
	t.Root = root
	for queue := []int{root}; len(queue) > 0 && depth <= deepest; queue = queue[1:] {
		u := queue[0]
		for _, i := range near[u] {
			e := g.edges[i]
			v, route := e.v, e.there
			if v == u {
				v, route = e.u, e.back
			}
			if level[v] >= 0 {
				continue
			}
			level[v] = level[u] + 1
			depth = max(depth, level[v])
			t.Arcs = append(t.Arcs, arborescence.Arc{From: u, To: v, Route: route})
			queue = append(queue, v)
		}
	}
	return t, depth
}

// edgesOf returns the ways of w as edges. What an edge has room for is what its two directions
// have on average: what fits into w also fits into its mirror image, and then so does the
// mean of both.
func edgesOf(w *arborescence.Network, mirror func(link int) int) []edge {
	var edges []edge
	most := 0.0
	at := map[string]int{}
	for _, a := range w.Arcs {
		back := make([]int, len(a.Route))
		for i, l := range a.Route {
			back[len(back)-1-i] = mirror(l)
		}
		e := edge{u: a.From, v: a.To, room: float64(a.Room), there: a.Route, back: back}
		if e.u > e.v {
			e.u, e.v, e.there, e.back = e.v, e.u, e.back, e.there
		}
		key := fmt.Sprint(e.there)
		i, known := at[key]
		if !known {
			i = len(edges)
			at[key] = i
			edges = append(edges, edge{u: e.u, v: e.v, there: e.there, back: e.back})
		}
		edges[i].room += e.room / 2
		most = max(most, edges[i].room)
	}
	for i := range edges {
		edges[i].room /= most
	}
	return edges
}

// mirrored returns for each link one of the same bandwidth in the opposite direction, each for
// one other, and whether there are such.
func mirrored(t *model.Topology) (mirror func(link int) int, ok bool) {
	type way struct {
		from, to  int
		bandwidth int64
	}
	waiting := map[way][]int{}
	twin := make([]int, len(t.Links))
	left := 0
	for i, l := range t.Links {
		opposite := way{l.Dst, l.Src, l.Bandwidth}
		if others := waiting[opposite]; len(others) > 0 {
			twin[i], twin[others[0]] = others[0], i
			waiting[opposite] = others[1:]
			left--
			continue
		}
		this := way{l.Src, l.Dst, l.Bandwidth}
		waiting[this] = append(waiting[this], i)
		left++
	}
	return func(link int) int { return twin[link] }, left == 0
}

// float returns the exact value of x, 0 if it has none.
func float(x float64) lp.Rat {
	r, _ := lp.Float(x)
	return r
}
