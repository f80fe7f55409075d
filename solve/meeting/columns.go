//go:build cgo

package meeting

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// worths are what all of the time costs, in parts of what a pattern is worth. At the last one all are reached as soon as they can be.
var worths = []float64{0, 1e-4, 1e-3, 4e-3, 0.016, 0.06, 0.25, 1, 1e6}

const (
	sowings    = 16   // rounds before the first program
	remembered = 0.9  // of what patterns carried in the rounds before
	sownMeets  = 3    // bins in which they meet at most
	sown       = 1.02 // times the least cost is what patterns cost at most that are found then
	smoothing  = 0.8  // the part that prices of the rounds before have
	perCore    = 3    // patterns of a core that are added in a round at most, those that cost least
	gainful    = 1e-4 // by which part a pattern costs less than it is worth that is added
	exact      = 4    // one round of as many is at the program's own prices
	patience   = 3    // rounds of those in turn that find nothing
	// mostRounds is how many rounds there are at most.
	mostRounds = 200
)

// sow finds first patterns: of one root after the other, with each twin, those that cost least at prices that are the eighth power of what those before
// carry (Plotkin, Shmoys and Tardos, "Fast approximation algorithms for fractional packing and covering problems", Mathematics of
// Operations Research 20, 1995).
func (g *Program) sow(ctx context.Context) {
	carried, least := make([]float64, len(g.room)), math.Inf(1)
	for range sowings {
		for i := range carried {
			carried[i] *= remembered
		}
		before := least
		least = math.Inf(1)
		for _, c := range g.cores {
			most := 1e-9
			for i := range carried {
				most = max(most, carried[i]/g.room[i])
			}
			for i := range carried {
				x := carried[i] / g.room[i] / most
				x *= x * x * x
				g.prices[i] = (x*x + 1e-3) / g.room[i]
			}
			g.tabulate()
			list, costs := g.meet(ctx, c, 1)
			best := -1
			for i := range list {
				if best < 0 || costs[i] < costs[best] {
					best = i
				}
			}
			if best < 0 {
				continue
			}
			least = min(least, costs[best])
			added := 0
			for _, i := range g.rng.Perm(len(list)) {
				if i == best || costs[i] < sown*costs[best] && added < sownMeets {
					g.add(list[i])
					added++
				}
			}
			if costs[best] > sown*min(before, least) {
				continue
			}
			rows, loads := g.loads(&list[best])
			for i, row := range rows {
				carried[row] += loads[i]
			}
		}
	}
}

// round solves the program, and adds patterns that are worth more than they cost. They are looked for at prices between those of the program and
// those of the rounds before (Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming", International
// Transactions in Operational Research 4, 1997), most of the time multiplied by random numbers: how trees are grown is no exact search, and other
// prices lead to other trees.
func (g *Program) round(ctx context.Context) {
	r, err := g.lp.Maximise(ctx)
	if err != nil {
		g.err = err
		return
	}
	g.shares, g.whole, g.own = r.Values, r.Objective, r.RowDuals
	for i, y := range g.own {
		g.own[i] = max(0, y)
		if g.rounds == 0 {
			g.centre[i] = g.own[i]
		}
		g.centre[i] = smoothing*g.centre[i] + (1-smoothing)*g.own[i]
		if g.prices[i] = g.centre[i]; g.rounds%3 != 0 {
			g.prices[i] *= (1 + g.rng.ExpFloat64()) / 2
		}
	}
	last := g.rounds%exact == exact-1
	if last {
		copy(g.prices, g.own)
	}
	before := len(g.columns)
	least := min(g.price(ctx), g.rehangUsed(ctx))
	if ctx.Err() == nil && least > 0 {
		room := 0.0
		for i, y := range g.prices {
			room += y * g.room[i]
		}
		g.most = min(g.most, room/least)
	}
	g.rounds++
	switch {
	case len(g.columns) > before:
		g.idle = 0
	case last:
		g.idle++
	}
	g.over = g.idle == patience || g.rounds == mostRounds
}

// core is where a pattern meets: at a root, or at two ranks between which an arc leads.
type core struct {
	root int32
	twin *arc
}

// allCores returns the roots, and each of them with one twin of each class.
func (g *Program) allCores() (list []core) {
	for i, root := range g.Roots {
		list = append(list, core{root, nil})
		twins := map[[2]int32]bool{} // by class, and over which way
		for k := range g.out[root] {
			a := &g.out[root][k]
			key := [2]int32{g.Class[a.to], a.class}
			if g.Class[a.to] < int32(i) || twins[key] || g.leads(a.to, root) < 0 {
				continue
			}
			twins[key] = true
			list = append(list, core{root, a})
		}
	}
	return list
}

// price adds patterns of each core, those that meet in each bin, if they are worth more than they cost. It returns what the cheapest one costs.
func (g *Program) price(ctx context.Context) float64 {
	g.tabulate()
	least := math.Inf(1)
	for _, c := range g.cores {
		list, costs := g.meet(ctx, c, len(worths))
		order := make([]int, len(list))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(costs[i], costs[j]) })
		if len(order) > 0 {
			least = min(least, costs[order[0]])
		}
		added := len(g.columns) + perCore
		for _, i := range order {
			if g.add(list[i]); len(g.columns) == added {
				break
			}
		}
	}
	return least
}

// rehangUsed adds patterns that are like those which carry some of the buffer, with ranks moved, if they are worth more than they cost. It returns what
// the cheapest one costs.
func (g *Program) rehangUsed(ctx context.Context) float64 {
	least := math.Inf(1)
	for j, share := range g.shares {
		if ctx.Err() != nil {
			break
		}
		if share <= usedShare {
			continue
		}
		p, cost := g.columns[j], 0.0
		out, in := g.forest(&p, 0), g.forest(&p, 1)
		for dir, f := range []*forest{out, in} {
			g.rehang(f)
			cost += g.value(f)
			hops := f.hops()
			if p.Twin >= 0 {
				first := p.Hops[dir][0]
				cost += g.table[g.into[first.Rank][first.By].class][first.Bin]
				hops = slices.Insert(hops, 0, first)
			}
			p.Hops[dir] = hops
		}
		least = min(least, cost)
		g.add(p)
	}
	return least
}

// forest returns the trees of a pattern in one direction, without the hop between its root and its twin.
func (g *Program) forest(p *Pattern, dir int) *forest {
	n := g.Shop.Ranks
	f := &forest{by: make([]arc, n), in: make([]bool, n), start: make([]int32, n), at: make([]int32, n)}
	f.at[p.Root] = int32(p.Meets)
	if dir == 1 {
		f.at[p.Root] = int32(g.Bins - 1 - p.Meets)
	}
	hops := p.Hops[dir]
	if p.Twin >= 0 {
		if dir == 0 {
			f.at[p.Root] += g.into[p.Twin][hops[0].By].lag
		}
		f.at[p.Twin] = f.at[p.Root]
		hops = hops[1:]
	}
	for _, h := range hops {
		a := g.into[h.Rank][h.By]
		f.by[h.Rank], f.in[h.Rank], f.start[h.Rank], f.at[h.Rank] = a, true, h.Bin, h.Bin+a.lag
	}
	return f
}

// leads returns the number of an arc of copies from one rank to another among those that lead there, -1 if there is none.
func (g *Program) leads(from, to int32) int {
	return slices.IndexFunc(g.into[to], func(a arc) bool { return a.from == from })
}

// meet returns a pattern of a core for each bin in which it may meet, with what it costs: the cheapest forests found that begin then and, read
// backwards, end then. They are grown at some of the worths.
func (g *Program) meet(ctx context.Context, c core, grown int) (list []Pattern, costs []float64) {
	from, lag := []int32{c.root}, int32(0)
	if c.twin != nil {
		from, lag = append(from, c.twin.to), c.twin.lag
	}
	found, value := make([]*forest, g.Bins), slices.Repeat([]float64{math.Inf(1)}, g.Bins) // by the bin in which it begins
	for i := range grown {
		worth := worths[i]
		if grown < len(worths) {
			worth = worths[g.rng.IntN(len(worths))]
		}
		g.hurry(worth / float64(g.Bins))
		for bin := range g.Bins {
			if ctx.Err() != nil {
				return nil, nil
			}
			f := g.grow(from, int32(bin))
			if f == nil {
				break
			}
			g.rehang(f)
			if v := g.value(f); v < value[bin] {
				found[bin], value[bin] = f, v
			}
		}
	}
	for meets := range g.Bins - int(lag) {
		out, in := meets+int(lag), g.Bins-1-meets
		if found[out] == nil || found[in] == nil {
			continue
		}
		p, cost := Pattern{Root: c.root, Twin: -1, Meets: meets}, value[out]+value[in]
		if c.twin != nil {
			p.Twin = c.twin.to
			back := int32(in) - lag
			p.Hops[0] = append(p.Hops[0], Hop{p.Twin, c.twin.by, int32(meets)})
			p.Hops[1] = append(p.Hops[1], Hop{p.Twin, c.twin.by, back})
			cost += g.table[c.twin.class][meets] + g.table[c.twin.class][back]
		}
		p.Hops[0], p.Hops[1] = append(p.Hops[0], found[out].hops()...), append(p.Hops[1], found[in].hops()...)
		list, costs = append(list, p), append(costs, cost)
	}
	return list, costs
}

// hops returns the hops of a forest in the order of time, parents before children.
func (f *forest) hops() (list []Hop) {
	deep := make([]int, len(f.in)) // by rank: hops from where it comes from
	for v := range f.in {
		for u := v; f.in[u]; u = int(f.by[u].from) {
			deep[v]++
		}
	}
	for v, in := range f.in {
		if in {
			list = append(list, Hop{int32(v), f.by[v].by, f.start[v]})
		}
	}
	slices.SortFunc(list, func(a, b Hop) int {
		return cmp.Or(cmp.Compare(a.Bin, b.Bin), cmp.Compare(deep[a.Rank], deep[b.Rank]), cmp.Compare(a.Rank, b.Rank))
	})
	return list
}

// loads returns the rows that a pattern loads, ascending, and by how much, if the buffer takes it. Its sums are over arcs of copies still.
func (g *Program) loads(p *Pattern) (rows []int32, loads []float64) {
	for dir := range p.Hops {
		for _, h := range p.Hops[dir] {
			c := &g.classes[g.Shop.Arcs[0][h.Rank][h.By].Way]
			for i, m := range c.machine {
				row := g.row[int(m)*g.Bins+int(h.Bin+c.off[i])]
				if g.load[row] == 0 {
					rows = append(rows, row)
				}
				g.load[row] += c.width[i]
			}
		}
	}
	slices.Sort(rows)
	for _, row := range rows {
		loads = append(loads, g.load[row])
		g.load[row] = 0
	}
	return rows, loads
}

// add adds a pattern, if it costs less at the program's own prices than it is worth.
func (g *Program) add(p Pattern) {
	rows, loads := g.loads(&p)
	if g.own != nil {
		cost := 0.0
		for i, row := range rows {
			cost += loads[i] * g.own[row]
		}
		if cost > 1-gainful {
			return
		}
	}
	if err := g.lp.Add(1, rows, loads); err != nil {
		g.err = err
		return
	}
	g.columns = append(g.columns, p)
}
