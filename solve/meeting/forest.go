//go:build cgo

package meeting

import (
	"math"
	"slices"
)

// forest is how what some ranks have comes to all: trees of copies with times.
type forest struct {
	by    []arc   // by rank
	in    []bool  // by rank: whether it is reached by an arc
	start []int32 // by rank: the bin in which that begins
	at    []int32 // by rank: the bin from which on it can send
}

// grow returns a forest from some ranks on, which have it from a bin on: one rank after the other joins it, that which costs least with the
// time at which it is reached (see hurry). It returns nil if some member is not reached in time.
func (g *Program) grow(from []int32, bin int32) *forest {
	n := g.Shop.Ranks
	f := &forest{by: make([]arc, n), in: make([]bool, n), start: make([]int32, n), at: make([]int32, n)}
	least, done, open := slices.Repeat([]float64{math.Inf(1)}, n), make([]bool, n), g.ranks
	join := func(u int32) {
		done[u] = true
		open--
		for _, a := range g.out[u] {
			if done[a.to] || int(f.at[u]) >= len(g.best[a.class]) {
				continue
			}
			if cost := g.best[a.class][f.at[u]]; cost < least[a.to] {
				least[a.to], f.by[a.to], f.start[a.to], f.in[a.to] = cost, a, g.bestBin[a.class][f.at[u]], true
			}
		}
	}
	for _, u := range from {
		f.at[u] = bin
		done[u] = true
	}
	for _, u := range from {
		join(u)
		f.in[u] = false
	}
	for open > 0 {
		next := -1
		for v := range least {
			if !done[v] && f.in[v] && (next < 0 || least[v] < least[next]) {
				next = v
			}
		}
		if next < 0 {
			return nil
		}
		f.at[next] = f.start[next] + f.by[next].lag
		join(int32(next))
	}
	return f
}

// value returns what a forest costs.
func (g *Program) value(f *forest) (sum float64) {
	for v, in := range f.in {
		if in {
			sum += g.table[f.by[v].class][f.start[v]]
		}
	}
	return sum
}

// rehang moves each rank, with all below it, to the arc and the bin that cost least and are in time for what it sends, until that gains nothing,
// at most a few times.
func (g *Program) rehang(f *forest) {
	n := g.Shop.Ranks
	kids := make([][]int32, n)
	var order []int32
	for v, in := range f.in {
		if in {
			kids[f.by[v].from] = append(kids[f.by[v].from], int32(v))
			order = append(order, int32(v))
		}
	}
	below := func(v, u int32) bool {
		for u != v && f.in[u] {
			u = f.by[u].from
		}
		return u == v
	}
	g.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for changed, pass := true, 0; changed && pass < rehangings; pass++ {
		changed = false
		for _, v := range order {
			need := int32(math.MaxInt32)
			for _, w := range kids[v] {
				need = min(need, f.start[w])
			}
			least, found, start := g.table[f.by[v].class][f.start[v]]-1e-12, -1, int32(0)
			for i, a := range g.into[v] {
				table := g.table[a.class]
				last := min(need-a.lag, int32(len(table)-1))
				if f.at[a.from] > last || g.tail[a.class][f.at[a.from]] >= least || below(v, a.from) {
					continue
				}
				for b := f.at[a.from]; b <= last; b++ {
					if table[b] < least {
						least, found, start = table[b], i, b
					}
				}
			}
			if found < 0 {
				continue
			}
			old := f.by[v].from
			k := slices.Index(kids[old], v)
			kids[old] = slices.Delete(kids[old], k, k+1)
			a := g.into[v][found]
			kids[a.from] = append(kids[a.from], v)
			f.by[v], f.start[v], f.at[v] = a, start, start+a.lag
			changed = true
		}
	}
}

// rehangings is how often each rank is moved at most.
const rehangings = 4
