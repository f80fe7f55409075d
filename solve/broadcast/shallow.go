package broadcast

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// shallow packs trees from the root of a broadcast that are soon under way: among trees whose
// last rank is reached within a limit, those that together are the fastest, for each limit that
// makes a difference. Edmonds' trees (pack) are as fast as trees can be, but as deep as it
// happens, since switches are bypassed before trees are grown: what a rank sends round a switch
// goes to one neighbour, where each link could feed several.
//
// Trees are grown one after the other over links whose prices grow steeply with what they carry
// (Plotkin, Shmoys and Tardos, "Fast approximation algorithms for fractional packing and covering
// problems", Mathematics of Operations Research 20, 1995), at several rates of exchange between
// the price of a link and the time that it takes. Then they are columns of a linear program whose
// rows are links. Nothing says that there are no better trees.
//
// There is a forest for each limit, and none without a solver, where hops are too many, or where
// the root does not reach all members over members. What others passed on might, read backwards,
// be added up there by two at a time.
func shallow(ctx context.Context, p *model.Problem) ([]*Forest, error) {
	if highs.Available() != nil {
		return nil, nil
	}
	g := newGarden(p)
	if len(g.hops) > maxHops {
		return nil, nil
	}
	if err := g.generate(ctx); err != nil {
		return nil, err
	}
	return g.forests(ctx)
}

const (
	maxHops = 1 << 12
	// plantings is how many trees are grown at each rate of exchange.
	plantings = 200
	// steep is the power of what a link carries that is its price.
	steep = 12
	// maxLimits is about how many limits are weighed.
	maxLimits = 24
	// wholeParts is how many equal parts the rate is rounded to.
	wholeParts = 1 << 20
)

// garden is the linear program, with trees as columns.
type garden struct {
	p       *model.Problem
	hops    []way
	out     [][]int32 // by rank: indices of hops
	members []bool    // by rank: only these pass anything on
	room    []float64 // by link: bandwidth, where the largest is 1
	most    float64   // the largest bandwidth, in bytes per second
	plants  []plant
	known   map[string]bool
}

// way is a hop over one route, with the seconds that a chunk takes over it.
type way struct {
	from, to int
	route    []int
	lasts    float64
}

// plant is a tree with the links that it uses, ascending, and the seconds to its last rank.
type plant struct {
	tree  arborescence.Tree
	links []int
	times []int64 // how often it uses each of them
	depth float64
}

// exchange is what the time to a rank counts beside the prices of the hops before it, when the
// time to the farthest rank is 1 and the prices of all hops of a fast tree add up to 1.
var exchange = []float64{0, 1. / 16, 1. / 4, 1. / 2, 1, 2, 4, 16}

func newGarden(p *model.Problem) *garden {
	t := p.Topology
	g := &garden{p: p, out: make([][]int32, t.Ranks), members: make([]bool, t.Ranks), room: make([]float64, len(t.Links)), known: map[string]bool{}}
	for _, v := range p.Members() {
		g.members[v] = true
	}
	for _, l := range t.Links {
		g.most = max(g.most, float64(l.Bandwidth))
	}
	for i, l := range t.Links {
		g.room[i] = float64(l.Bandwidth) / g.most
	}
	for _, h := range hop.All(t) {
		if !g.members[h.Src] || !g.members[h.Dst] {
			continue
		}
		for _, route := range h.Routes {
			g.out[h.Src] = append(g.out[h.Src], int32(len(g.hops)))
			g.hops = append(g.hops, way{h.Src, h.Dst, route, arborescence.Seconds(t, route, p.Space()/estimated)})
		}
	}
	return g
}

// generate adds trees: at each rate of exchange one after the other, where what a link costs
// grows steeply with what those before carry over it.
func (g *garden) generate(ctx context.Context) error {
	prices := make([]float64, len(g.room))
	quickest := g.grow(prices, 1)
	if quickest == nil {
		return nil
	}
	g.add(quickest)
	depth := max(quickest.depth, 1e-15) // 0 where links have no latency and chunks no bytes
	for _, rate := range exchange {
		load, paid := make([]float64, len(g.room)), 1.0
		for range plantings {
			if err := ctx.Err(); err != nil {
				return err
			}
			most := max(slices.Max(load), 1)
			for l, room := range g.room {
				prices[l] = (math.Pow(load[l]/most, steep) + 1e-9) / (room * paid)
			}
			t := g.grow(prices, rate/depth)
			paid *= max(g.price(t, prices), 1e-3)
			g.add(t)
			for i, l := range t.links {
				load[l] += float64(t.times[i]) / g.room[l]
			}
		}
	}
	return nil
}

// price returns what the links of a tree cost.
func (g *garden) price(t *plant, prices []float64) (sum float64) {
	for i, l := range t.links {
		sum += prices[l] * float64(t.times[i])
	}
	return sum
}

// add adds a tree, and reports whether it is new.
func (g *garden) add(t *plant) bool {
	key := fmt.Sprint(t.tree.Arcs)
	if g.known[key] {
		return false
	}
	g.known[key] = true
	g.plants = append(g.plants, *t)
	return true
}

// grow returns a tree from the root to all members: one rank after the other joins it, that
// with the least sum of the price of its hop and the time at which it is reached, times worth. It
// returns nil if some member is not reached.
func (g *garden) grow(prices []float64, worth float64) *plant {
	ranks, root := g.p.Topology.Ranks, g.p.Collective.Root
	by, best, reached := make([]int32, ranks), make([]float64, ranks), make([]float64, ranks)
	for v := range by {
		by[v], best[v], reached[v] = -1, math.Inf(1), -1
	}
	t := &plant{tree: arborescence.Tree{Root: root}}
	reached[root] = 0
	join := func(v int) {
		for _, h := range g.out[v] {
			w := &g.hops[h]
			cost := worth * (reached[v] + w.lasts)
			for _, l := range w.route {
				cost += prices[l]
			}
			if reached[w.to] < 0 && cost < best[w.to] {
				best[w.to], by[w.to] = cost, h
			}
		}
	}
	uses := map[int]int64{}
	for next, left := root, len(g.p.Members())-1; ; left-- {
		if join(next); left == 0 {
			break
		}
		next = -1
		for v := range ranks {
			if reached[v] < 0 && by[v] >= 0 && (next < 0 || best[v] < best[next]) {
				next = v
			}
		}
		if next < 0 {
			return nil
		}
		w := &g.hops[by[next]]
		reached[next] = reached[w.from] + w.lasts
		t.depth = max(t.depth, reached[next])
		t.tree.Arcs = append(t.tree.Arcs, arborescence.Arc{From: w.from, To: w.to, Route: w.route})
		for _, l := range w.route {
			uses[l]++
		}
	}
	for l := range uses {
		t.links = append(t.links, l)
	}
	slices.Sort(t.links)
	for _, l := range t.links {
		t.times = append(t.times, uses[l])
	}
	return t
}

// weigh returns the largest rate of trees that are not deeper than a limit, where 1 is the largest
// bandwidth, and the part in it of each of all trees.
func (g *garden) weigh(ctx context.Context, limit float64) (rate float64, parts []float64, err error) {
	m := &lp.Model{Sense: lp.Maximise}
	rows, parts := make([][]lp.Term, len(g.room)), make([]float64, len(g.plants))
	var of []int // trees by column
	for j := range g.plants {
		t := &g.plants[j]
		if t.depth > limit {
			continue
		}
		c := m.AddNonNegative("", lp.Int(1))
		of = append(of, j)
		for i, l := range t.links {
			rows[l] = append(rows[l], lp.T(c, t.times[i]))
		}
	}
	for l, terms := range rows {
		m.AddLE("", float(g.room[l]), terms...)
	}
	r, err := highs.Simplex(ctx, m)
	if err != nil {
		return 0, nil, err
	}
	for i, y := range r.Values {
		parts[of[i]] = max(0, y/r.Objective)
	}
	return r.Objective, parts, nil
}

// forests returns a forest for each limit of the depth that makes a difference.
func (g *garden) forests(ctx context.Context) (all []*Forest, err error) {
	var limits []float64
	for _, t := range g.plants {
		limits = append(limits, t.depth)
	}
	slices.Sort(limits)
	limits = slices.Compact(limits)
	fastest := 0.0
	for i := 0; i < len(limits); i += 1 + len(limits)/maxLimits {
		rate, parts, err := g.weigh(ctx, limits[i])
		if err != nil {
			return nil, err
		}
		if rate <= fastest*(1+alike) {
			continue
		}
		fastest = rate
		var trees []arborescence.Tree
		for j, part := range parts {
			t := g.plants[j].tree
			if t.Weight = int64(math.Round(part * wholeParts)); t.Weight > 0 {
				trees = append(trees, t)
			}
		}
		slices.SortStableFunc(trees, func(a, b arborescence.Tree) int { return cmp.Compare(b.Weight, a.Weight) })
		all = append(all, &Forest{Trees: trees})
	}
	return all, nil
}

// float returns the exact value of x, 0 if it has none.
func float(x float64) lp.Rat {
	r, _ := lp.Float(x)
	return r
}
