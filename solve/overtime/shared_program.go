package overtime

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// sent is hops that look alike from a root: what is sent on each of them, and how many there are.
type sent struct {
	columns []int // by passing, -1 where nothing is
	count   int
	passed  [][]int            // passings
	within  map[interval][]int // places in passed
	classes []int              // of arcs
	free    bool               // no arc has a price: nothing limits what is sent
	direct  bool               // over as few arcs as can be
}

// flowing is pairs of ranks that look alike from a root and a destination, with hops between them that
// take equally long: the part of what is sent on these that flows there.
type flowing struct {
	of       []part
	src, dst uint64     // colours
	passed   []interval // between the ends of a pair
	columns  []int      // by those, -1 where nothing can be; numbers if it is found by cuts
	rows     []int      // that it is part of what is sent, or its number then; -1 where nothing limits that
	count    int        // pairs
}

// part is how many of the hops of a pair look alike.
type part struct {
	kind  *sent
	count int
}

// interval is the windows in which a hop begins and ends.
type interval struct{ from, to int }

// split is a program, or its solution.
type split struct {
	*sharing
	lp.Model
	cuts        []model.Time
	early, late model.Time // between which windows are long, if that is anything
	z           int
	use         [][][]lp.Term // by class of arcs, window
	capacity    [][]int       // rows
	most        []float64     // by class of arcs: what passes them in a picosecond, of what a source has
	flows       [][]map[uint64]*flowing
	lag         model.Time // of the hop that takes longest
	byCuts      bool       // what flows has no columns: see cutting.go
	passages    int        // where and when something can flow then

	part  float64
	took  time.Duration // to find the optimum
	duals []float64
	odd   bool
}

// solve returns the optimum for an end, or nil if ctx is done before it is solved. Where the program would be too large, it is
// solved by cuts, and what is returned may be less than the optimum; where it is too large for that, too, time is cut into
// fewer windows.
func (s *sharing) solve(ctx context.Context, end model.Time) (*split, error) {
	for ; s.finest >= minSharedWindows; s.finest /= 2 {
		for _, byCuts := range []bool{false, true} {
			x := &split{sharing: s, byCuts: byCuts}
			x.cuts, x.early, x.late = s.windows(end, s.finest)
			fits, err := x.build(ctx)
			if fits {
				err = x.optimise(ctx)
			}
			switch {
			case err != nil:
				return nil, err
			case fits && x.duals != nil:
				return x, nil
			case fits || ctx.Err() != nil: // HiGHS ends a little before ctx, or has failed
				s.stopped = true
				return nil, nil
			}
		}
	}
	return nil, solve.NotServed("a program of more than %d columns, and of %d that is solved by cuts or with more than %d places where something flows", s.columns(), maxSent, maxPassages)
}

// large reports whether a program is too large.
func (x *split) large() bool {
	if x.byCuts {
		return x.NumColumns() > maxSent || x.passages > maxPassages
	}
	return x.NumColumns() > x.columns()
}

// mostParts is how many times all bytes arrive at most.
const mostParts = 16

// build adds what is sent from all roots, and reports whether that is few enough columns.
func (x *split) build(ctx context.Context) (bool, error) {
	x.Sense = lp.Maximise
	x.z = x.AddNonNegative("z", lp.Int(1))
	if slices.Contains(x.unpriced, true) { // where nothing has a price there is no limit else
		x.SetBounds(x.z, lp.AtInt(0), lp.AtInt(mostParts))
	}
	x.use = make([][][]lp.Term, len(x.classes))
	for c := range x.use {
		x.use[c] = make([][]lp.Term, len(x.cuts)-1)
	}
	var kinds map[uint64]*sent
	if x.sums {
		kinds = x.kinds(ctx, &x.every)
	}
	for i := range x.roots {
		r := &x.roots[i]
		if !x.sums {
			kinds = x.kinds(ctx, r)
		}
		x.spread(ctx, r, kinds)
		if !x.sums {
			x.carry(kinds, r.alike)
		}
		switch {
		case ctx.Err() != nil:
			return false, nil
		case x.looked >= maxSharedArcs:
			return false, solve.NotServed("more than %d links of hops", maxSharedArcs)
		case x.odd:
			return false, solve.NotServed("hops that look alike and are not")
		case x.large():
			return false, nil
		}
	}
	if x.sums {
		x.carry(kinds, 1)
	}
	return true, nil
}

// optimise adds what links can carry, and solves the program. Without duals there is no optimum.
func (x *split) optimise(ctx context.Context) error {
	defer func(begin time.Time) { x.took = time.Since(begin) }(time.Now())
	bandwidth := make([]float64, len(x.classes))
	for i := range x.arcs {
		bandwidth[x.arcs[i].class] = x.arcs[i].bandwidth
	}
	for c := range x.classes {
		x.most = append(x.most, bandwidth[c]*float64(x.classes[c])/x.bytes)
	}
	if x.byCuts {
		return x.cut(ctx)
	}
	for c, byWindow := range x.use {
		rows := slices.Repeat([]int{-1}, len(byWindow))
		for k, terms := range byWindow {
			if len(terms) > 0 && !x.unpriced[c] {
				most, _ := lp.Float(x.most[c] * float64(x.cuts[k+1]-x.cuts[k]))
				rows[k] = x.AddLE("", most, summed(terms)...)
			}
		}
		x.capacity = append(x.capacity, rows)
	}
	options := highs.Options{}
	if x.NumColumns() > quickShared {
		options.Method = "ipm"
	}
	r, err := highs.Solve(ctx, &x.Model, options)
	if err != nil || r.Status != highs.Optimal || r.RowDuals == nil {
		return err
	}
	x.part, x.duals = r.Objective, r.RowDuals
	return nil
}

// kinds returns what is sent, by what hops look like from a root, to which nothing is, or from everywhere, until ctx is
// done.
func (x *split) kinds(ctx context.Context, from *root) map[uint64]*sent {
	kinds := map[uint64]*sent{}
	stand := map[uint64][]int{} // ranks by colour
	for v := range x.p.Topology.Ranks {
		stand[from.colour[v]] = append(stand[from.colour[v]], v)
	}
	for v := range x.p.Topology.Ranks {
		alike := stand[from.colour[v]]
		if alike[0] != v {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		hops := x.from(ctx, v, false)
		fewest := map[int]int{} // arcs, by destination
		for _, h := range hops {
			if n, known := fewest[h.dst]; !known || len(h.arcs) < n {
				fewest[h.dst] = len(h.arcs)
			}
		}
		for _, h := range hops {
			if h.dst == from.rank {
				continue
			}
			key := x.look(&h, from)
			if kinds[key] == nil {
				kinds[key] = x.newSent(&h)
				kinds[key].direct = len(h.arcs) == fewest[h.dst]
			}
			kinds[key].count += len(alike)
		}
	}
	return kinds
}

// spread adds the flows from a root to all destinations, until ctx is done.
func (x *split) spread(ctx context.Context, r *root, kinds map[uint64]*sent) {
	var flows []map[uint64]*flowing
	for i := range r.ends {
		if ctx.Err() != nil || x.odd || x.large() {
			return
		}
		flows = append(flows, x.flow(ctx, r, &r.ends[i], kinds))
	}
	x.flows = append(x.flows, flows)
}

// carry puts what is sent on arcs, from as many sources.
func (x *split) carry(kinds map[uint64]*sent, sources int) {
	for _, k := range sortedKinds(kinds) {
		for n, column := range k.columns {
			if column < 0 {
				continue
			}
			for i, c := range k.classes {
				w := k.passed[n][i]
				x.use[c][w] = append(x.use[c][w], lp.T(column, int64(k.count*sources)))
			}
		}
	}
}

// newSent returns what is sent on a hop, without columns.
func (x *split) newSent(h *hop) *sent {
	k := &sent{within: map[interval][]int{}, free: !slices.ContainsFunc(h.arcs, func(i int) bool { return !x.unpriced[x.arcs[i].class] })}
	lags := []model.Time{0}
	for n, i := range h.arcs {
		k.classes = append(k.classes, x.arcs[i].class)
		lags = append(lags, lags[n]+x.arcs[i].alpha)
	}
	x.lag = max(x.lag, h.lag)
	k.passed = passings(x.cuts, lags)
	k.columns = slices.Repeat([]int{-1}, len(k.passed))
	for i, at := range k.passed {
		w := interval{at[0], at[len(at)-1]}
		k.within[w] = append(k.within[w], i)
	}
	return k
}

// sortedKinds returns kinds in the order of their columns, the same every time.
func sortedKinds(kinds map[uint64]*sent) (list []*sent) {
	for _, k := range kinds {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b *sent) int { return slices.Compare(a.columns, b.columns) })
	return list
}

// flow adds the flow to a destination, and the ones to those that look like it.
func (x *split) flow(ctx context.Context, r *root, e *ending, kinds map[uint64]*sent) map[uint64]*flowing {
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
	in, out := map[int]map[*flowing]int{}, map[int]map[*flowing]int{} // by rank: how many of its pairs
	for _, v := range ranks {
		in[v], out[v] = map[*flowing]int{}, map[*flowing]int{}
		for side, count := range []map[*flowing]int{out[v], in[v]} {
			for _, p := range x.pairs(ctx, v, side == 1) {
				if p[0].dst == r.rank || p[0].src == e.rank {
					continue
				}
				key := uint64(0)
				for i := range p {
					key += mix(join(x.key(&p[i], e.colour), x.look(&p[i], x.view(r))))
				}
				key = join(key, e.colour[p[0].src], e.colour[p[0].dst], uint64(p[0].lag))
				f := flows[key]
				if f == nil {
					if f = x.newFlowing(p, r, e, kinds); f == nil {
						x.odd = true // hops that look alike are not
						return nil
					}
					flows[key] = f
					order = append(order, f)
				}
				count[f]++
			}
		}
		for f, n := range out[v] {
			f.count = n * size[e.colour[v]]
		}
	}
	soonest, latest := x.soonest(order, e.colour[r.rank]), x.latest(order, e.colour[e.rank])
	for _, f := range order {
		begin, there := soonest[f.src]
		until, leads := latest[f.dst]
		for i, at := range f.passed {
			if there && leads && at.from >= begin && at.to <= until {
				x.share(f, i)
			}
		}
	}
	for _, v := range ranks {
		if v != r.rank && !x.byCuts {
			x.balance(v, e, order, in[v], out[v])
		}
	}
	return flows
}

// newFlowing returns the flow between a pair, without columns; nil if a kind is missing.
func (x *split) newFlowing(pair []hop, r *root, e *ending, kinds map[uint64]*sent) *flowing {
	f := &flowing{src: e.colour[pair[0].src], dst: e.colour[pair[0].dst]}
	for i := range pair {
		k := kinds[x.look(&pair[i], x.view(r))]
		if k == nil {
			return nil
		}
		at := slices.IndexFunc(f.of, func(p part) bool { return p.kind == k })
		if at < 0 {
			at = len(f.of)
			f.of = append(f.of, part{k, 0})
		}
		f.of[at].count++
	}
	for _, p := range f.of {
		for w := range p.kind.within {
			if !slices.Contains(f.passed, w) {
				f.passed = append(f.passed, w)
			}
		}
	}
	slices.SortFunc(f.passed, func(a, b interval) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	f.columns, f.rows = slices.Repeat([]int{-1}, len(f.passed)), slices.Repeat([]int{-1}, len(f.passed))
	return f
}

// share adds what flows between a pair in some windows: it is no more than what is sent there in them, if there are prices.
func (x *split) share(f *flowing, i int) {
	if x.byCuts {
		f.columns[i] = x.passages
		x.passages++
	} else {
		f.columns[i] = x.AddNonNegative("", lp.Int(0))
	}
	if slices.ContainsFunc(f.of, func(p part) bool { return p.kind.free && len(p.kind.within[f.passed[i]]) > 0 }) {
		return
	}
	terms := []lp.Term{lp.T(f.columns[i], 1)}
	for _, p := range f.of {
		for _, n := range p.kind.within[f.passed[i]] {
			if p.kind.columns[n] < 0 {
				p.kind.columns[n] = x.AddNonNegative("", lp.Int(0))
			}
			terms = append(terms, lp.T(p.kind.columns[n], int64(-p.count)))
		}
	}
	if x.byCuts {
		f.rows[i] = f.columns[i]
		return
	}
	f.rows[i] = x.AddLE("", lp.Int(0), terms...)
}

// soonest returns, by colour, the first window in which flows from one can be at it.
func (x *split) soonest(flows []*flowing, from uint64) map[uint64]int {
	first := map[uint64]int{from: 0}
	for again := true; again; {
		again = false
		for _, f := range flows {
			at, known := first[f.src]
			if !known {
				continue
			}
			i, _ := slices.BinarySearchFunc(f.passed, at, func(w interval, at int) int { return w.from - at })
			if i == len(f.passed) {
				continue
			}
			there := f.passed[i].to
			if old, known := first[f.dst]; !known || there < old {
				first[f.dst], again = there, true
			}
		}
	}
	return first
}

// latest returns, by colour, the last window from which flows can still come to one in time.
func (x *split) latest(flows []*flowing, to uint64) map[uint64]int {
	last := map[uint64]int{to: len(x.cuts) - 2}
	for again := true; again; {
		again = false
		for _, f := range flows {
			at, known := last[f.dst]
			if !known {
				continue
			}
			i, _ := slices.BinarySearchFunc(f.passed, at+1, func(w interval, at int) int { return w.to - at })
			if i == 0 {
				continue
			}
			if old, known := last[f.src]; !known || f.passed[i-1].from > old {
				last[f.src], again = f.passed[i-1].from, true
			}
		}
	}
	return last
}

// balance adds what waits at a rank between windows, or what has come to the destination in all.
func (x *split) balance(v int, e *ending, order []*flowing, in, out map[*flowing]int) {
	rows := make([][]lp.Term, len(x.cuts)-1)
	for _, f := range order {
		for i, c := range f.columns {
			if c < 0 {
				continue
			}
			if n, w := in[f], f.passed[i].to; n > 0 {
				rows[w] = append(rows[w], lp.T(c, int64(n)))
			}
			if n, w := out[f], f.passed[i].from; n > 0 {
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
