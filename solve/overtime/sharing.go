package overtime

import (
	"context"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// Limits of programs in which what is sent is copied.
const (
	maxShared        = 10_000  // columns of one
	smallShared      = 4_000   // of one that is quickly solved
	between          = 2       // of these more
	sharedColumns    = 40_000  // of all that are solved
	maxSharedCosts   = 1 << 17 // ways times ranks
	maxSharedArcs    = 1 << 22 // of hops that are looked at
	maxSharedWindows = 128     // of a unit
	fewRanks         = 64      // of which each hop is looked at from each destination
)

// FindShared returns prices and costs (model.TimedPotentials) that should yield a larger bound than
// known on what is copied on its way from one rank, or from each, to all, or added up the other
// way, and what is expected of them; nil and errors are as in Find.
//
// They are the dual of a flow over time on hops: what ranks send to others, over switches, in each
// window, of each source; and for each destination a flow from the source to it that waits at ranks,
// and is on each hop no more than what is sent there. That all destinations have one, each by itself,
// is what any schedule has that sends so much. Hops with few links are enough for a program, but not
// for the proof, which has to look at all; and hops that colours take for alike may differ. So the
// checker may refuse what is found.
func FindShared(ctx context.Context, p *model.Problem, known model.Time) (*model.TimedPotentials, model.Time, error) {
	if err := highs.Available(); err != nil {
		return nil, 0, solve.NotServed("%v", err)
	}
	k, members := p.Collective.Kind, p.Members()
	ways := len(members) - 1
	if !k.Rooted() {
		ways *= len(members)
	}
	_, adds := p.Topology.Reducer()
	switch {
	case !slices.Contains([]model.Kind{model.Broadcast, model.Reduce, model.AllGather, model.ReduceScatter}, k):
		return nil, 0, solve.NotServed("%v: want broadcast, reduce, allgather or reducescatter", k)
	case p.Late():
		return nil, 0, solve.NotServed("late ranks")
	case k.Rooted() && len(p.Topology.Switches) == 0:
		return nil, 0, solve.NotServed("no switches: what flows to the farthest rank says as much")
	case adds || slices.ContainsFunc(p.Topology.Switches, func(s model.Switch) bool { return s.Copies }):
		return nil, 0, solve.NotServed("switches that copy or add")
	case ways*p.Topology.Ranks > maxSharedCosts || ways < 1:
		return nil, 0, solve.NotServed("%d ways among %d ranks", ways, p.Topology.Ranks)
	}
	n := newNetwork(p)
	if known <= 0 || n.unit == 0 {
		return nil, 0, nil
	}
	s := &sharing{network: n, hops: map[int][2][]hop{}, looks: map[uint64]uint64{}}
	if err := s.prepare(ctx); err != nil {
		return nil, 0, err
	}
	best, end, err := s.search(ctx, known)
	if best == nil {
		return nil, 0, err
	}
	return best.witness(ctx, end), end, nil
}

// search solves programs for ends that are multiples of the unit, from what is known on, until all can
// have arrived. Of that one the prices also tell how much sooner they cannot. Where programs are small,
// some are solved for ends between the last two.
func (s *sharing) search(ctx context.Context, known model.Time) (best *split, by model.Time, err error) {
	columns, high := 0, (*split)(nil)
	by = known
	try := func(end model.Time) (*split, bool) {
		x, failed := s.solve(ctx, end)
		if x == nil {
			err = failed
			return nil, false
		}
		columns += x.NumColumns()
		if x.part < whole && end > by {
			best, by = x, end
		}
		return x, columns < sharedColumns
	}
	for end := (known/s.unit + 1) * s.unit; high == nil; {
		x, more := try(end)
		if x == nil {
			break
		}
		wait := model.Time((1 - x.part) / x.rate())
		if x.part >= whole {
			high = x
			if sooner := end + max(wait, -s.unit); sooner > by {
				best, by = x, sooner
			}
		} else if !more {
			break
		}
		end += max(1, min(wait, end/16)/s.unit) * s.unit
	}
	for range between {
		if high == nil || high.NumColumns() > smallShared {
			break
		}
		top, low := high.cuts[len(high.cuts)-1], 0.0
		end := model.Time(float64(by) * (1 + precision))
		if best != nil && best != high {
			low = best.part
			end = by + model.Time((1-low)/(high.part-low)*float64(top-by)-float64(by)*precision/2)
		}
		if end <= model.Time(float64(by)*(1+precision/2)) || end >= top {
			break
		}
		x, more := try(end)
		if x != nil && x.part >= whole {
			high = x
		}
		if x == nil || !more {
			break
		}
	}
	if best != nil {
		err = nil // what was found holds
	}
	return best, by, err
}

// whole is which part of all bytes is as good as all.
const whole = 1 - 1e-6

// rate returns by how much more can arrive, of all, for each picosecond more at the prices of a solution.
func (x *split) rate() float64 {
	sum := 1e-12
	for c, rows := range x.capacity {
		last := len(rows) - 1
		for last >= 0 && rows[last] < 0 {
			last--
		}
		if last >= 0 {
			sum += math.Abs(x.duals[rows[last]]) * x.most[c]
		}
	}
	return sum
}

// detour is how many links more than necessary a hop may have.
const detour = 1

// hop is a way over switches from a rank to another one, as arcs.
type hop struct {
	src, dst int
	arcs     []int
}

// sharing is a network with what it has from each source.
type sharing struct {
	*network
	links  []uint64 // by arc
	base   []uint64 // by node
	bytes  float64  // of a source
	roots  []root
	number map[uint64]int // of a class of arcs
	hops   map[int][2][]hop
	looks  map[uint64]uint64
	looked int // arcs of hops
}

// root is one of the sources that look alike.
type root struct {
	rank, alike int
	colour      []uint64
	ends        []ending
	to          [][]uint64 // by member: the colours as they are seen from the root and it
}

// ending is one of the destinations that look alike from a root.
type ending struct {
	rank, alike int
	colour      []uint64
	nodes       map[uint64]int // by colour: a rank that stands for all
}

// seen returns colours as they are seen from one rank, or from two that differ.
func (s *sharing) seen(from ...int) []uint64 {
	colour := slices.Clone(s.base)
	for i, v := range from {
		colour[v] = join(colour[v], uint64(i+1))
	}
	return s.refine(colour, s.links)
}

// prepare finds the sources and destinations that look alike, and classes of arcs.
func (s *sharing) prepare(ctx context.Context) error {
	for i := range s.arcs {
		s.links = append(s.links, s.arcs[i].looks())
	}
	s.base = make([]uint64, s.p.Topology.Nodes())
	for v := range s.p.Topology.Ranks {
		s.base[v] = 1
	}
	members := s.p.Members()
	for _, r := range members {
		s.base[r] = 2
	}
	plain := s.refine(s.base, s.links)
	s.bytes = float64(s.p.Space())
	if s.p.Collective.Kind.Rooted() {
		r := s.p.Collective.Root
		plain = s.seen(r)
		s.roots = []root{{rank: r, alike: 1}}
	} else {
		s.bytes /= float64(len(members))
		place := map[uint64]int{}
		for _, r := range members {
			i, known := place[plain[r]]
			if !known {
				i = len(s.roots)
				place[plain[r]] = i
				s.roots = append(s.roots, root{rank: r})
			}
			s.roots[i].alike++
		}
	}
	s.number = map[uint64]int{}
	for i := range s.arcs {
		a := &s.arcs[i]
		key := join(plain[a.src], plain[a.dst], s.links[i])
		c, known := s.number[key]
		if !known {
			c = len(s.classes)
			s.number[key] = c
			s.classes = append(s.classes, 0)
		}
		a.class = c
		s.classes[c]++
	}
	for i := range s.roots {
		r := &s.roots[i]
		r.colour = s.seen(r.rank)
		place := map[uint64]int{}
		for _, d := range members {
			if d == r.rank {
				continue
			}
			if ctx.Err() != nil {
				return nil
			}
			colour := s.seen(r.rank, d)
			r.to = append(r.to, colour)
			k, known := place[r.colour[d]]
			if !known {
				k = len(r.ends)
				place[r.colour[d]] = k
				e := ending{rank: d, colour: colour, nodes: map[uint64]int{}}
				for v := range s.p.Topology.Ranks {
					if _, known := e.nodes[colour[v]]; !known {
						e.nodes[colour[v]] = v
					}
				}
				r.ends = append(r.ends, e)
			}
			r.ends[k].alike++
		}
	}
	return nil
}

// from returns the hops that leave a rank, or those that come to it, with as few links as possible.
func (s *sharing) from(rank int, back bool) []hop {
	side := 0
	if back {
		side = 1
	}
	known := s.hops[rank]
	if known[side] != nil {
		return known[side]
	}
	next := [2][][]int{s.out, s.in}[side]
	type way struct {
		at   int
		arcs []int
	}
	depth := map[int]int{rank: 0}
	list := []hop{}
	for d, level := 1, []way{{rank, nil}}; len(level) > 0 && s.looked < maxSharedArcs; d++ {
		var further []way
		for _, w := range level {
			for _, i := range next[w.at] {
				a := &s.arcs[i]
				v := a.src + a.dst - w.at
				if at, known := depth[v]; known && at+detour < d || slices.ContainsFunc(w.arcs, func(k int) bool { return s.arcs[k].src == v || s.arcs[k].dst == v }) {
					continue
				} else if !known {
					depth[v] = d
				}
				x := way{v, append(slices.Clone(w.arcs), i)}
				s.looked += len(x.arcs)
				switch {
				case !s.p.Topology.IsRank(v):
					further = append(further, x)
				case back:
					slices.Reverse(x.arcs)
					list = append(list, hop{v, rank, x.arcs})
				default:
					list = append(list, hop{rank, v, x.arcs})
				}
			}
		}
		level = further
	}
	known[side] = list
	s.hops[rank] = known
	return list
}

// look returns what hops look like from a root: in the same way to as many destinations. Among many
// ranks, hops between two are taken to look alike if they do from the root alone.
func (s *sharing) look(h *hop, r *root) uint64 {
	place := join(uint64(r.rank), uint64(h.src), uint64(h.dst), s.key(h, r.colour))
	if s.p.Topology.Ranks <= fewRanks {
		for _, i := range h.arcs {
			place = join(place, uint64(i))
		}
	}
	look, known := s.looks[place]
	if !known {
		for _, colour := range r.to {
			look += mix(s.key(h, colour))
		}
		look = join(look, s.key(h, r.colour))
		s.looks[place] = look
	}
	return look
}

// key returns what hops look like by colours of nodes.
func (s *sharing) key(h *hop, colour []uint64) uint64 {
	key := colour[h.src]
	for _, i := range h.arcs {
		key = join(key, colour[s.arcs[i].dst], s.links[i])
	}
	return key
}

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
			if first[c] {
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
	for w := range windows {
		for c := range at {
			if w > 0 {
				at[c][w] = min(at[c][w], at[c][w-1])
			}
		}
		for again := true; again; {
			again = false
			for _, f := range list {
				if w < f.lag || at[f.src][w-f.lag] == never {
					continue
				}
				share := int64(0)
				if row := f.rows[w-f.lag]; row >= 0 {
					share = int64(math.Abs(x.duals[row]) / float64(f.count*e.alike*r.alike) * unit)
				}
				if sum := at[f.src][w-f.lag] + share; sum < at[f.dst][w] {
					at[f.dst][w], again = sum, again || f.lag == 0
				}
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
	members, plain := x.p.Members(), x.refine(x.base, x.links)
	sources := members
	if x.p.Collective.Kind.Rooted() {
		sources = []int{x.p.Collective.Root}
	}
	for _, h := range sources {
		i := slices.IndexFunc(x.roots, func(r root) bool { return plain[r.rank] == plain[h] })
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
