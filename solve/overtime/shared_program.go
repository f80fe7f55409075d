package overtime

import (
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// sent is hops that look alike from a root: what is sent on each of them, and how many there are.
type sent struct {
	columns []int // by window, -1 where nothing is
	count   int
	shifts  []int // until each arc, and until the end
	classes []int // of arcs
}

// flowing is hops that look alike from a root and a destination: the part of what is sent that
// flows there.
type flowing struct {
	of       *sent
	src, dst uint64 // colours
	lag      int
	columns  []int // by window, -1 where nothing can be
	rows     []int // that it is part of what is sent
	count    int
}

// split is a program, or its solution.
type split struct {
	*sharing
	lp.Model
	cuts     []model.Time
	step     model.Time
	z        int
	use      [][][]lp.Term // by class of arcs, window
	capacity [][]int       // rows
	most     []float64     // by class of arcs: what passes them in a picosecond, of what a source has
	flows    [][]map[uint64]*flowing

	part  float64
	duals []float64
	odd   bool
}

// solve returns the optimum for an end, a multiple of the unit, or nil if the program is too large, or
// ctx is done before it is solved.
func (s *sharing) solve(ctx context.Context, end model.Time) (*split, error) {
	x := &split{sharing: s}
	if end/s.unit > maxSharedWindows {
		return nil, solve.NotServed("%v is too long for windows of %v", end, s.unit)
	}
	x.cuts, x.step = cut(end, s.unit), s.unit
	x.Sense = lp.Maximise
	x.z = x.AddNonNegative("z", lp.Int(1))
	x.use = make([][][]lp.Term, len(s.classes))
	for c := range x.use {
		x.use[c] = make([][]lp.Term, len(x.cuts)-1)
	}
	for i := range s.roots {
		x.spread(&s.roots[i])
		switch {
		case ctx.Err() != nil:
			return nil, nil
		case x.odd:
			return nil, solve.NotServed("hops that look alike and are not")
		}
		if x.NumColumns() > maxShared || s.looked >= maxSharedArcs {
			return nil, solve.NotServed("a program of more than %d columns", maxShared)
		}
	}
	bandwidth := make([]float64, len(s.classes))
	for i := range s.arcs {
		bandwidth[s.arcs[i].class] = s.arcs[i].bandwidth
	}
	for c, byWindow := range x.use {
		rows := make([]int, len(byWindow))
		x.most = append(x.most, bandwidth[c]*float64(s.classes[c])/s.bytes)
		for k, terms := range byWindow {
			if rows[k] = -1; len(terms) > 0 {
				most, _ := lp.Float(x.most[c] * float64(x.cuts[k+1]-x.cuts[k]))
				rows[k] = x.AddLE("", most, summed(terms)...)
			}
		}
		x.capacity = append(x.capacity, rows)
	}
	options := highs.Options{}
	if x.NumColumns() > smallShared {
		options.Method = "ipm"
	}
	r, err := highs.Solve(ctx, &x.Model, options)
	if err != nil || r.Status != highs.Optimal || r.RowDuals == nil {
		return nil, err
	}
	x.part, x.duals = r.Objective, r.RowDuals
	return x, nil
}

// spread adds what is sent from the sources like a root, and the flows to all destinations.
func (x *split) spread(r *root) {
	windows := len(x.cuts) - 1
	kinds := map[uint64]*sent{}
	stand := map[uint64][]int{} // ranks by colour
	for v := range x.p.Topology.Ranks {
		stand[r.colour[v]] = append(stand[r.colour[v]], v)
	}
	for v := range x.p.Topology.Ranks {
		alike := stand[r.colour[v]]
		if alike[0] != v {
			continue
		}
		for _, h := range x.from(v, false) {
			if h.dst == r.rank {
				continue
			}
			key := x.look(&h, r)
			k := kinds[key]
			if k == nil {
				k = &sent{columns: slices.Repeat([]int{-1}, windows)}
				lag := 0
				for _, i := range h.arcs {
					a := &x.arcs[i]
					k.shifts, k.classes = append(k.shifts, lag), append(k.classes, a.class)
					lag += x.shift(a)
				}
				k.shifts = append(k.shifts, lag)
				kinds[key] = k
			}
			k.count += len(alike)
		}
	}
	var flows []map[uint64]*flowing
	for i := range r.ends {
		flows = append(flows, x.flow(r, &r.ends[i], kinds))
	}
	x.flows = append(x.flows, flows)
	for _, k := range sortedKinds(kinds) {
		for w, column := range k.columns {
			if column < 0 {
				continue
			}
			for i, c := range k.classes {
				x.use[c][w+k.shifts[i]] = append(x.use[c][w+k.shifts[i]], lp.T(column, int64(k.count*r.alike)))
			}
		}
	}
}

// sortedKinds returns kinds in the order of their columns, the same every time.
func sortedKinds(kinds map[uint64]*sent) (list []*sent) {
	for _, k := range kinds {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b *sent) int { return slices.Compare(a.columns, b.columns) })
	return list
}

// shift returns how many windows later what passes an arc arrives: see program.
func (x *split) shift(a *arc) int {
	p := program{cuts: x.cuts, step: x.step}
	return p.shift(a)
}

// flow adds the flow to a destination, and the ones to those that look like it.
func (x *split) flow(r *root, e *ending, kinds map[uint64]*sent) map[uint64]*flowing {
	windows := len(x.cuts) - 1
	ranks := make([]int, 0, len(e.nodes))
	for _, v := range e.nodes {
		ranks = append(ranks, v)
	}
	slices.Sort(ranks)
	size := map[uint64]int{}
	for v := range x.p.Topology.Ranks {
		size[e.colour[v]]++
	}
	flows := map[uint64]*flowing{}
	var order []*flowing
	in, out := map[int]map[*flowing]int{}, map[int]map[*flowing]int{} // by rank: how many of its hops
	for _, v := range ranks {
		in[v], out[v] = map[*flowing]int{}, map[*flowing]int{}
		for _, back := range []bool{false, true} {
			for _, h := range x.from(v, back) {
				if h.dst == r.rank || h.src == e.rank {
					continue
				}
				look := x.look(&h, r)
				key := join(x.key(&h, e.colour), look)
				f := flows[key]
				if f == nil {
					k := kinds[look]
					if k == nil {
						x.odd = true // hops that look alike are not
						return nil
					}
					f = &flowing{of: k, src: e.colour[h.src], dst: e.colour[h.dst], lag: k.shifts[len(k.shifts)-1]}
					flows[key] = f
					order = append(order, f)
				}
				if back {
					in[v][f]++
				} else {
					out[v][f]++
				}
			}
		}
		for f, n := range out[v] {
			f.count = n * size[e.colour[v]]
		}
	}
	soonest, left := distances(order, e.colour[r.rank], false), distances(order, e.colour[e.rank], true)
	for _, f := range order {
		f.columns, f.rows = slices.Repeat([]int{-1}, windows), slices.Repeat([]int{-1}, windows)
		begin, there := soonest[f.src]
		after, leads := left[f.dst]
		for w := begin; there && leads && w+f.lag+after < windows; w++ {
			if f.of.columns[w] < 0 {
				f.of.columns[w] = x.AddNonNegative("", lp.Int(0))
			}
			f.columns[w] = x.AddNonNegative("", lp.Int(0))
			f.rows[w] = x.AddLE("", lp.Int(0), lp.T(f.columns[w], 1), lp.T(f.of.columns[w], -1))
		}
	}
	for _, v := range ranks {
		if v != r.rank {
			x.balance(v, e, order, in[v], out[v], windows)
		}
	}
	return flows
}

// distances returns how many windows it takes at least from a colour to each, or from each to it.
func distances(flows []*flowing, from uint64, back bool) map[uint64]int {
	least := map[uint64]int{from: 0}
	for again := true; again; {
		again = false
		for _, f := range flows {
			u, v := f.src, f.dst
			if back {
				u, v = v, u
			}
			at, known := least[u]
			if !known {
				continue
			}
			if old, known := least[v]; !known || at+f.lag < old {
				least[v], again = at+f.lag, true
			}
		}
	}
	return least
}

// balance adds what waits at a rank between windows, or what has come to the destination in all.
func (x *split) balance(v int, e *ending, order []*flowing, in, out map[*flowing]int, windows int) {
	rows := make([][]lp.Term, windows)
	for _, f := range order {
		for w, c := range f.columns {
			if c < 0 {
				continue
			}
			if n := in[f]; n > 0 {
				rows[w+f.lag] = append(rows[w+f.lag], lp.T(c, int64(n)))
			}
			if n := out[f]; n > 0 {
				rows[w] = append(rows[w], lp.T(c, int64(-n)))
			}
		}
	}
	if v == e.rank {
		x.AddEQ("", lp.Int(0), summed(append(slices.Concat(rows...), lp.T(x.z, -1)))...)
		return
	}
	before := -1
	for _, terms := range rows {
		if before >= 0 {
			terms = append(terms, lp.T(before, 1))
		} else if len(terms) == 0 {
			continue
		}
		before = x.AddNonNegative("", lp.Int(0)) // after the last window it is of no use
		x.AddEQ("", lp.Int(0), summed(append(terms, lp.T(before, -1)))...)
	}
}
