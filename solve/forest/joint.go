package forest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// joint packs, for an allreduce where switches add, trees of sums up to a root and trees of
// multicasts down from it, whose hops may be sums and multicasts of switches: the nodes that
// ForestColl has for what a network does itself. The trees are columns of a linear program with a
// row for each link and one for each root, which as much goes up to as comes down from. They are
// grown by what links cost: those of the beginning by prices that grow with what others carry, as
// those of shallow, and more by the prices of the program, until it gains next to nothing. Trees
// are grown greedily: nothing says that there are no better ones.
//
// There are two forests, the second as fast as the first, almost, but soon under way. There is
// none where no switch adds, where a rank that is not a member would have to pass things on, or
// where there are too many ways.
func joint(ctx context.Context, p *model.Problem) ([]*forest, error) {
	adds := false
	for v := range p.Topology.Nodes() {
		adds = adds || p.Topology.Adds(v, &p.Collective) != model.NoReducing
	}
	if n := p.Topology.Nodes(); !adds || n*n*len(p.Members()) > maxGrowth {
		return nil, nil
	}
	g := &orchard{p: p, room: make([]float64, len(p.Topology.Links)), known: map[string]bool{}}
	for i, l := range p.Topology.Links {
		g.room[i] = float64(l.Bandwidth)
	}
	most := slices.Max(g.room)
	for i := range g.room {
		g.room[i] /= most
	}
	for i := range g.hubs {
		g.hubs[i] = newHubs(p, sumsOf(i))
	}
	if ok, err := g.plant(ctx); !ok || err != nil {
		return nil, err
	}
	rate, err := g.generate(ctx)
	if err != nil {
		return nil, err
	}
	var forests []*forest
	for _, tolerated := range []float64{tolerance, flatness} {
		f, err := g.forest(ctx, rate*(1-tolerated))
		if err != nil {
			return forests, err
		}
		forests = append(forests, f)
	}
	return forests, nil
}

const (
	// maxGrowth limits the members times the square of the nodes: about how long it takes to grow
	// a tree from each member.
	maxGrowth = 1 << 19
	// sown is how many trees are grown from each root before there is a linear program.
	sown = 8
	// maxSteps limits the steps of the linear program, and idleSteps those in a row that gain less
	// than the tolerance.
	maxSteps, idleSteps = 64, 3
	// flatness is which part of the rate is given away for trees that are soon under way.
	flatness = 0.02
)

// The hubs of an orchard, and its trees, are those of sums and those of multicasts.
const (
	ups = iota
	downs
	sides
)

func sumsOf(side int) bool { return side == ups }

// orchard is the linear program, with trees as columns.
type orchard struct {
	p     *model.Problem
	hubs  [sides]*hubs
	room  []float64 // by link: bandwidth, where the largest is 1
	trees [sides][]arborescence.Tree
	known map[string]bool
}

// add grows a cheap tree from a root, adds it, and reports whether it is new; ok is false if there
// is none.
func (g *orchard) add(side, root int, w ways, prices []float64) (t arborescence.Tree, isNew, ok bool) {
	least := math.Inf(1)
	for _, free := range []bool{false, true} {
		grown, reaches := g.hubs[side].grow(root, w, prices, free)
		if !reaches {
			return t, false, false
		}
		cost := 0.0
		for _, l := range grown.Uses {
			cost += prices[l]
		}
		if cost < least {
			t, least = grown, cost
		}
	}
	key := fmt.Sprint(side, root, t.Arcs)
	if g.known[key] {
		return t, false, true
	}
	g.known[key] = true
	g.trees[side] = append(g.trees[side], t)
	return t, true, true
}

// plant adds trees from each root in turn, by prices that grow steeply with what those before
// carry, and reports whether each member can be a root.
func (g *orchard) plant(ctx context.Context) (bool, error) {
	load, prices := make([]float64, len(g.room)), make([]float64, len(g.room))
	for range sown {
		for _, root := range g.p.Members() {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			most := max(slices.Max(load), 1)
			for l, room := range g.room {
				prices[l] = (math.Pow(load[l]/most, steep) + 1e-6) / room
			}
			for side := range sides {
				t, _, ok := g.add(side, root, g.hubs[side].ways(prices), prices)
				if !ok {
					return false, nil
				}
				for _, l := range t.Uses {
					load[l] += 1 / g.room[l]
				}
			}
		}
	}
	return true, nil
}

// generate adds trees until the rate grows no more, about, and returns it.
func (g *orchard) generate(ctx context.Context) (rate float64, err error) {
	for step, idle := 0, 0; step < maxSteps && idle < idleSteps; step++ {
		m := &lp.Model{Sense: lp.Maximise}
		g.columns(m, func(side, _ int) lp.Rat { return lp.Int(int64(side)) }) // what comes down
		r, err := highs.Simplex(ctx, m)
		if err != nil {
			return 0, err
		}
		prices := slices.Clone(r.RowDuals[:len(g.room)])
		for l := range prices {
			prices[l] = max(prices[l], 0) + 1e-9/g.room[l]
		}
		added := false
		for side := range sides {
			w := g.hubs[side].ways(prices)
			for _, root := range g.p.Members() {
				if err := ctx.Err(); err != nil {
					return 0, err
				}
				_, isNew, _ := g.add(side, root, w, prices)
				added = added || isNew
			}
		}
		if idle++; r.Objective > rate*(1+tolerance) {
			idle = 0
		}
		if rate = max(rate, r.Objective); !added {
			break
		}
	}
	return rate, nil
}

// columns adds a column for each tree to m, a row for each link, and one for each root; it returns
// the columns by side.
func (g *orchard) columns(m *lp.Model, cost func(side, tree int) lp.Rat) (all [sides][]int) {
	rows, roots := make([][]lp.Term, len(g.room)), map[int][]lp.Term{}
	for side, sign := range []int64{1, -1} {
		for j, t := range g.trees[side] {
			c := m.AddNonNegative("", cost(side, j))
			all[side] = append(all[side], c)
			roots[t.Root] = append(roots[t.Root], lp.T(c, sign))
			for _, l := range t.Uses {
				rows[l] = append(rows[l], lp.T(c, 1))
			}
		}
	}
	for l, terms := range rows {
		m.AddLE("", float(g.room[l]), terms...)
	}
	for _, root := range g.p.Members() {
		m.AddEQ("", lp.Int(0), roots[root]...)
	}
	return all
}

// forest returns a packing of at least a rate whose trees are, on average, the soonest at their
// last rank.
func (g *orchard) forest(ctx context.Context, rate float64) (*forest, error) {
	m := &lp.Model{Sense: lp.Minimise}
	all := g.columns(m, func(side, j int) lp.Rat { return float(1e6 * g.lasts(&g.trees[side][j])) })
	var down []lp.Term
	for _, c := range all[downs] {
		down = append(down, lp.T(c, 1))
	}
	m.AddGE("", float(rate), down...)
	r, err := highs.Simplex(ctx, m)
	if err != nil {
		return nil, err
	}
	f := &forest{blocks: 1, speed: rate, paired: map[*arborescence.Tree]*arborescence.Tree{}}
	type share struct {
		tree  *arborescence.Tree
		parts float64
	}
	f.down = [][]arborescence.Tree{nil}
	var pairs [][2]*arborescence.Tree
	for _, root := range g.p.Members() {
		var shares [sides][]share
		for side := range sides {
			for j := range g.trees[side] {
				if t := &g.trees[side][j]; t.Root == root && r.Values[all[side][j]] > rate/wholeTrees {
					shares[side] = append(shares[side], share{t, r.Values[all[side][j]]})
				}
			}
			slices.SortStableFunc(shares[side], func(a, b share) int { return cmp.Compare(b.parts, a.parts) })
		}
		for up, down := shares[ups], shares[downs]; len(up) > 0 && len(down) > 0; {
			both := min(up[0].parts, down[0].parts)
			if t := *down[0].tree; both*wholeTrees > rate {
				t.Weight = int64(both / rate * wholeTrees)
				f.down[0] = append(f.down[0], t)
				up := climbing(*up[0].tree, func(link int) int { return link })
				pairs = append(pairs, [2]*arborescence.Tree{nil, &up})
			}
			for _, s := range []*[]share{&up, &down} {
				if (*s)[0].parts -= both; (*s)[0].parts*wholeTrees <= rate {
					*s = (*s)[1:]
				}
			}
		}
	}
	for i, pair := range pairs { // the trees stay where they are now
		f.paired[&f.down[0][i]] = pair[1]
	}
	return f, nil
}

// lasts returns the seconds that a small chunk takes to the last rank of a tree, or from it.
func (g *orchard) lasts(t *arborescence.Tree) (last float64) {
	at := map[int]float64{}
	for _, a := range t.Arcs {
		at[a.To] = at[a.From] + arborescence.Seconds(g.p.Topology, a.Route, g.p.Space()/estimated)
		last = max(last, at[a.To])
	}
	return last
}
