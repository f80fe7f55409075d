package overtime

import (
	"context"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// dearest is the largest price without slack, which is what links out of ranks cost more than the
// program says: rounding asks for that.
const (
	dearest = 1 << 36
	slack   = 1 << 11
)

// witness returns prices and costs in whole numbers. Backwards, they end at what should be the bound.
func (x *split) witness(ctx context.Context, end model.Time) *model.TimedPotentials {
	windows := len(x.cuts) - 1
	most := 0.0
	for _, rows := range x.capacity {
		for _, row := range rows {
			if row >= 0 {
				most = max(most, math.Abs(x.duals[row]))
			}
		}
	}
	if most == 0 {
		return nil
	}
	unit := dearest / most
	w := &model.TimedPotentials{Horizon: end}
	if !x.mirror {
		w.Horizon = x.cuts[windows]
	}
	first := map[int]bool{} // classes of arcs that leave ranks, in the direction of the program
	for i := range x.arcs {
		if x.p.Topology.IsRank(x.arcs[i].src) {
			first[x.arcs[i].class] = true
		}
	}
	for c, rows := range x.capacity {
		class := model.PriceClass{}
		alpha := model.Time(0)
		for _, a := range x.arcs {
			if a.class == c {
				alpha = a.alpha
				class.Links = append(class.Links, a.links...)
			}
		}
		for k := range windows {
			from, to := x.cuts[k], x.cuts[k+1]
			if x.mirror { // what passes at t passes there α before the end less t
				k = windows - 1 - k
				from, to = max(0, end-alpha-x.cuts[k+1]), max(0, end-alpha-x.cuts[k])
			}
			price := int64(0)
			if rows[k] >= 0 {
				price = int64(math.Ceil(math.Abs(x.duals[rows[k]]) * unit))
			}
			if first[c] && !x.unpriced[c] {
				price += slack
			}
			if last := len(class.Pieces) - 1; last >= 0 && class.Pieces[last].To == from && class.Pieces[last].Price == price {
				class.Pieces[last].To = to
			} else if price > 0 && from < to {
				class.Pieces = append(class.Pieces, model.PricePiece{From: from, To: to, Price: price})
			}
		}
		if len(class.Pieces) > 0 {
			slices.Sort(class.Links)
			w.Classes = append(w.Classes, class)
		}
	}
	number := map[string]int{}
	costs := make([][]map[uint64]int, len(x.roots)) // by root, destination, colour
	for i := range x.roots {
		r := &x.roots[i]
		for k := range r.ends {
			e := &r.ends[k]
			costs[i] = append(costs[i], map[uint64]int{})
			at := x.least(r, e, x.flows[i][k], unit)
			for v := range x.p.Topology.Ranks {
				if c := e.colour[v]; e.nodes[c] == v {
					costs[i][k][c] = x.cost(w, number, at[c], at[e.colour[e.rank]])
				}
			}
		}
	}
	return x.ways(ctx, w, costs)
}

// never is the cost of being where nothing can be.
const never = math.MaxInt64

// least returns what it costs at least to be at ranks of each colour by each window.
func (x *split) least(r *root, e *ending, flows map[uint64]*flowing, unit float64) map[uint64][]int64 {
	windows := len(x.cuts) - 1
	at := map[uint64][]int64{}
	for c := range e.nodes {
		at[c] = slices.Repeat([]int64{never}, windows)
	}
	at[e.colour[r.rank]] = make([]int64, windows)
	var list []*flowing
	for _, f := range flows {
		list = append(list, f)
	}
	next := make([]int, len(list)) // passing
	for w := range windows {
		for c := range at {
			if w > 0 {
				at[c][w] = min(at[c][w], at[c][w-1])
			}
		}
		for again := true; again; {
			again = false
			for n, f := range list {
				for i := next[n]; i < len(f.rows); i++ {
					from := f.passed[i].from
					if f.passed[i].to > w {
						break
					}
					if at[f.src][from] == never {
						continue
					}
					share := int64(0)
					if row := f.rows[i]; row >= 0 {
						share = int64(math.Abs(x.duals[row]) / float64(f.count*e.alike*r.alike) * unit)
					}
					if sum := at[f.src][from] + share; sum < at[f.dst][w] {
						at[f.dst][w], again = sum, true
					}
				}
			}
		}
		for n, f := range list {
			for next[n] < len(f.rows) && f.passed[next[n]].to <= w {
				next[n]++
			}
		}
	}
	return at
}

// cost adds a cost to a witness, if it does not have it, and returns its place. It is no more than
// what the destination costs at the end; backwards it is what is left until then.
func (x *split) cost(w *model.TimedPotentials, number map[string]int, list, whole []int64) int {
	windows := len(x.cuts) - 1
	var c model.TimedCost
	for k := range windows {
		from, cost := x.cuts[k], min(list[k], whole[windows-1])
		if x.mirror {
			k = windows - 1 - k
			if x.cuts[k] >= w.Horizon {
				continue
			}
			last := k // the window of the end
			for last+1 < windows && x.cuts[last+1] < w.Horizon {
				last++
			}
			from, cost = max(0, w.Horizon-x.cuts[k+1]), max(0, whole[last]-list[k]) // 0 where it is never
		}
		if n := len(c.Steps); n == 0 || c.Steps[n-1].Cost > cost {
			c.Steps = append(c.Steps, model.CostStep{From: from, Cost: cost})
		}
	}
	var key []byte
	for _, s := range c.Steps {
		key = appendNumbers(key, int64(s.From), s.Cost)
	}
	i, known := number[string(key)]
	if !known {
		i = len(w.Costs)
		number[string(key)] = i
		w.Costs = append(w.Costs, c)
	}
	return i
}

func appendNumbers(key []byte, list ...int64) []byte {
	for _, x := range list {
		for i := range 8 {
			key = append(key, byte(x>>(8*i)))
		}
	}
	return key
}

// ways adds the ways between all ranks, by what they look like.
func (x *split) ways(ctx context.Context, w *model.TimedPotentials, costs [][]map[uint64]int) *model.TimedPotentials {
	members, alike := x.p.Members(), x.every.colour
	sources := members
	if x.p.Collective.Kind.Rooted() {
		sources = []int{x.p.Collective.Root}
	}
	for _, h := range sources {
		i := slices.IndexFunc(x.roots, func(r root) bool { return alike[r.rank] == alike[h] })
		seen := x.seen(h)
		for n, d := range slices.DeleteFunc(slices.Clone(members), func(d int) bool { return d == h }) {
			if ctx.Err() != nil {
				return nil
			}
			k := slices.IndexFunc(x.roots[i].ends, func(e ending) bool { return x.roots[i].colour[e.rank] == seen[d] })
			if k < 0 {
				return nil
			}
			way := model.CostlyWay{Source: h, Dest: d}
			if x.mirror {
				way.Source, way.Dest = d, h
			}
			var colour []uint64
			if h == x.roots[i].rank {
				colour = x.roots[i].to[n]
			} else {
				colour = x.seen(h, d)
			}
			for _, c := range colour[:x.p.Topology.Ranks] {
				place, known := costs[i][k][c]
				if !known {
					return nil
				}
				way.Costs = append(way.Costs, place)
			}
			w.Ways = append(w.Ways, way)
		}
	}
	return w
}
