package overtime

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// Limits of programs in which what is sent is copied.
const (
	maxShared          = 8_000   // columns of one
	maxSums            = 25_000  // of one for an allreduce, which has fewer rows: one such takes half a second
	maxSent            = 40_000  // of what is sent, in a program that is solved by cuts
	maxPassages        = 1 << 18 // where something flows then
	fewPassages        = 20_000  // of one that is solved for the sake of a little
	smallShared        = 5_000   // of one that is solved for the sake of a little
	quickShared        = 3_500   // of one that simplex solves quickly
	between            = 2       // of these more
	fewShared          = 1_000   // of one that is solved often
	often              = 8       // of these more
	worthShared        = 4       // times as long as the last program took: with more time left two larger ones are solved, too
	sharedColumns      = 40_000  // of all that are solved
	maxSharedCosts     = 1 << 18 // ways times ranks
	maxSharedArcs      = 1 << 22 // of hops that are looked at
	maxSeen            = 1 << 20 // nodes times arcs that are looked at from each node
	firstSharedWindows = 24      // into which time is cut at first
	minSharedWindows   = 10      // if programs are too large
	maxSharedWindows   = 96      // in the end
	fewRanks           = 64      // of which each hop is looked at from each destination
)

// FindShared returns prices and costs (model.TimedPotentials) that should yield a larger bound than
// known on what is copied on its way from one rank, or from each, to all, or added up the other
// way, or both, and what is expected of them; nil and errors are as in Find. It is complete unless a program
// was not solved, or not to the end, for want of time.
//
// They are the dual of a flow over time on hops: what ranks send to others, over switches, in each
// window, of each source; and for each destination a flow from the source to it that waits at ranks,
// and is on each hop no more than what is sent there. In an allreduce what is sent may serve
// all sources at once. That all destinations have one, each by itself,
// is what any schedule has that sends so much. Hops with few links, detour more than
// necessary, are mostly enough for a program, but not for the proof, which has to look at all; and hops that
// colours take for alike may differ. So the checker may refuse what is found.
//
// An allreduce is looked at as a whole, or as the broadcast of what one rank contributes, whose program is smaller and has
// more windows.
func FindShared(ctx context.Context, p *model.Problem, known model.Time, detour int, one bool) (w *model.TimedPotentials, end model.Time, complete bool, err error) {
	if err := highs.Available(); err != nil {
		return nil, 0, true, solve.NotServed("%v", err)
	}
	sums := p.Collective.Kind == model.AllReduce
	if one && sums {
		p = fromOne(p)
	}
	if err := servedShared(p); err != nil {
		return nil, 0, true, err
	}
	n := newNetwork(p)
	if known <= 0 || n.unit == 0 || sums && known > fewLatencies*n.span() {
		return nil, 0, true, nil
	}
	s := &sharing{network: n, detour: detour, hops: map[int][2][]hop{}, looks: map[uint64]uint64{}}
	if s.prepare(ctx); ctx.Err() != nil {
		return nil, 0, false, nil
	}
	most, cancel := context.WithCancel(ctx)
	if deadline, limited := ctx.Deadline(); limited { // some is for the witness
		cancel()
		most, cancel = context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/forWitness))
	}
	defer cancel()
	best, end, err := s.search(most, known)
	if best != nil {
		w = best.witness(ctx, end)
	}
	if w == nil {
		end = 0
	}
	return w, end, !s.stopped && ctx.Err() == nil, err
}

// fromOne returns the broadcast of what one rank contributes to an allreduce. What it yields holds for the allreduce.
func fromOne(p *model.Problem) *model.Problem {
	q := *p
	q.Collective.Kind, q.Collective.Root = model.Broadcast, p.Members()[0]
	return &q
}

// servedShared returns why FindShared does not serve a problem.
func servedShared(p *model.Problem) error {
	k, members := p.Collective.Kind, p.Members()
	ways := len(members) - 1
	if !k.Rooted() {
		ways *= len(members)
	}
	switch {
	case !slices.Contains([]model.Kind{model.Broadcast, model.Reduce, model.AllGather, model.ReduceScatter, model.AllReduce}, k):
		return solve.NotServed("%v: want broadcast, reduce, allgather, reducescatter or allreduce", k)
	case p.Late():
		return solve.NotServed("late ranks")
	case k.Rooted() && len(p.Topology.Switches) == 0:
		return solve.NotServed("no switches: what flows to the farthest rank says as much")
	case !slices.Contains(common(p.Topology), false):
		return solve.NotServed("switches that copy or add at every link")
	case ways*p.Topology.Ranks > maxSharedCosts || ways < 1:
		return solve.NotServed("%d ways among %d ranks", ways, p.Topology.Ranks)
	}
	return nil
}

// fewLatencies is up to how many times as long as to the farthest rank an allreduce takes if prices and costs may yield more than what is
// known: in one that takes longer, sums and copies are more than one transfer may serve at once here.
const fewLatencies = 5

// forWitness is the part of the time that is left for prices and costs once programs are solved.
const forWitness = 6

// search solves programs with more and more windows, from one for an end a little later than what is known on, while
// they are small and that helps, or until one has every window that there can be: see exact. If one that has them is quickly
// solved, it is the first.
func (s *sharing) search(ctx context.Context, known model.Time) (best *split, by model.Time, err error) {
	by = known
	if x := s.withEvery(ctx, (by/s.unit+1)*s.unit); x != nil {
		return s.exact(ctx, x, best, by)
	}
	last := model.Time(0)
	for s.finest = firstSharedWindows; s.finest <= maxSharedWindows; s.finest += s.finest / 2 {
		x, failed := s.solve(ctx, (by/s.unit+1)*s.unit)
		if x == nil {
			err = failed
			break
		}
		if x.early == x.late {
			return s.exact(ctx, x, best, by)
		}
		x, at, end := s.stretch(ctx, x)
		if end > by {
			best, by = x, end
		}
		stuck := last > 0 && at < last+model.Time(float64(at)*precision)
		hopeless := at < by-by/farBelow && x.NumColumns() > quickShared/2
		if stuck || hopeless || !x.small() {
			break
		}
		last = at
	}
	if best != nil {
		err = nil // what was found holds
	}
	return best, by, err
}

// small reports whether a program with half as many windows again is solved for the sake of a little.
func (x *split) small() bool {
	if x.byCuts {
		return 3*x.passages/2 <= fewPassages
	}
	return 3*x.NumColumns()/2 <= smallShared
}

// withEvery returns the optimum for an end of a program that has every window that there can be, or nil if it is not quickly solved.
func (s *sharing) withEvery(ctx context.Context, end model.Time) *split {
	x := &split{sharing: s}
	if x.cuts, x.early, x.late = s.windows(end, maxSharedWindows); x.early != x.late {
		return nil
	}
	if fits, err := x.build(ctx); !fits || err != nil || x.NumColumns() > quickShared {
		return nil
	}
	if err := x.optimise(ctx); err != nil || x.duals == nil {
		return nil
	}
	return x
}

// exact solves programs, of which x is the first, for ends that are multiples of the unit, from what is known
// on, until all can have arrived. Of that one the prices also tell how much sooner they cannot. Where programs are
// small, some are solved for ends between the last two. What is known is due to best.
func (s *sharing) exact(ctx context.Context, x, best *split, known model.Time) (_ *split, by model.Time, err error) {
	s.finest = 2 * maxSharedWindows
	columns, took, high := 0, time.Duration(0), (*split)(nil)
	low := struct {
		end  model.Time
		part float64
	}{}
	by = known
	take := func(x *split) (more bool) {
		columns, took = columns+x.NumColumns(), x.took
		end := x.cuts[len(x.cuts)-1]
		if x.part >= whole {
			high = x
			end += model.Time((1 - x.part) / x.rate())
			if x.mirror { // backwards, what links can carry must be less than what is needed, rounded as it is
				end -= 1 + end/rounded
			}
		} else if end > low.end {
			low.end, low.part = end, x.part
		}
		if end > by {
			best, by = x, end
		}
		return columns < sharedColumns
	}
	for more := take(x); more && high == nil; more = take(x) {
		end := x.cuts[len(x.cuts)-1]
		end += max(1, min(model.Time((1-x.part)/x.rate()), end/16)/s.unit) * s.unit
		if x, err = s.solve(ctx, end); x == nil || x.early < x.late {
			break
		}
	}
	tries := func() int {
		columns := high.NumColumns()
		switch {
		case columns <= fewShared:
			return often
		case columns <= smallShared:
			return between
		}
		if deadline, limited := ctx.Deadline(); columns <= maxSums && (!limited || time.Until(deadline) > worthShared*took) {
			return between
		}
		return 0
	}
	for n := 0; high != nil && n < tries(); n++ {
		top := high.cuts[len(high.cuts)-1]
		end := model.Time(float64(by) * (1 + precision))
		if low.end > 0 {
			end = max(end, low.end+model.Time((1-low.part)/(high.part-low.part)*float64(top-low.end)-float64(by)*precision/2))
		}
		if end <= model.Time(float64(by)*(1+precision/2)) || end >= top {
			break
		}
		if x, err = s.solve(ctx, end); x == nil || !take(x) {
			break
		}
	}
	if best != nil {
		err = nil // what was found holds
	}
	return best, by, err
}

// rounded is the part of an end by which what is rounded may be off at most.
const rounded = 1_000_000

// whole is which part of all bytes is as good as all.
const whole = 1 - 1e-6

// common returns which links several transfers may share at a time: those behind a switch that adds, and those before one
// that copies, over switches.
func common(t *model.Topology) []bool {
	adds, copies := make([]bool, t.Nodes()), make([]bool, t.Nodes())
	for v := range t.Nodes() {
		adds[v], copies[v] = t.Reduces(v) != model.NoReducing, t.Copies(v)
	}
	for again := true; again; {
		again = false
		for _, l := range t.Links {
			if t.IsRank(l.Src) || t.IsRank(l.Dst) {
				continue
			}
			if adds[l.Src] && !adds[l.Dst] {
				adds[l.Dst], again = true, true
			}
			if copies[l.Dst] && !copies[l.Src] {
				copies[l.Src], again = true, true
			}
		}
	}
	list := make([]bool, len(t.Links))
	for i, l := range t.Links {
		list[i] = adds[l.Src] || copies[l.Dst]
	}
	return list
}

// rate returns by how much more can arrive, of all, for each picosecond more at the prices of a solution: in
// the long windows, or else in the last one in which anything is sent.
func (x *split) rate() float64 {
	sum := 0.0
	for c, rows := range x.capacity {
		last := len(rows) - 1
		for last >= 0 && rows[last] < 0 {
			last--
		}
		for k, row := range rows {
			length := 0.0
			switch {
			case x.early == x.late && k == last:
				length = 1
			case x.long(k):
				length = float64(x.cuts[k+1]-x.cuts[k]) / float64(x.late-x.early)
			}
			if row >= 0 {
				sum += math.Abs(x.duals[row]) * x.most[c] * length
			}
		}
	}
	return max(sum, leastRate/float64(x.cuts[len(x.cuts)-1]))
}

// leastRate is what rate returns at least, times the end: a rate of 0 would let nothing arrive, however late.
const leastRate = 1e-3

// columns returns how many columns a program may have.
func (s *sharing) columns() int {
	if s.sums {
		return maxSums
	}
	return maxShared
}

// long reports whether a window is one of those between the fine ones.
func (x *split) long(k int) bool { return x.cuts[k] >= x.early && x.cuts[k+1] <= x.late }

// stretch returns the solution of a program with long windows, and a later end, or an earlier one, for which
// its prices are as good as for its own: at. It is end if that can be shown, which else is the own one, or 0 if that
// is late enough. What they say of the windows at the start and at the end
// is as true if the long windows are longer, since no hop leads over one: so the optimum for the other end is
// at most the own one and what the longer windows add. Programs, of which x is the first, are solved until that is not far.
func (s *sharing) stretch(ctx context.Context, x *split) (_ *split, at, end model.Time) {
	for tries := between; ; tries-- {
		end = x.cuts[len(x.cuts)-1]
		wait := model.Time((1 - x.part) / x.rate())
		at = end + wait
		if tries == 0 || max(wait, -wait) < end/x.near() || wait < 0 {
			if x.lengthen(wait) {
				end = at
			} else if x.part >= whole {
				end = 0
			}
			return x, at, end
		}
		y, _ := s.solve(ctx, at)
		if y == nil {
			tries = 1
			continue
		}
		x = y
	}
}

// farBelow is the part of what is known by which a program may yield less if one with more windows shall be solved, where that
// takes a while.
const farBelow = 64

// near returns the part of an end that another one may be away if prices of the one shall do for the other.
func (x *split) near() model.Time {
	if x.byCuts {
		return farther
	}
	return 100
}

// lengthen makes the long windows longer, or shorter if by is negative, in proportion, and reports whether it did: there are
// some, and no hop leads over one of them, before or after.
func (x *split) lengthen(by model.Time) bool {
	if x.early == x.late {
		return false
	}
	cuts := slices.Clone(x.cuts)
	for k, at := range x.cuts {
		if at > x.early {
			part := float64(min(at, x.late)-x.early) / float64(x.late-x.early)
			cuts[k] += model.Time(part * float64(by))
		}
	}
	for k := range len(cuts) - 1 {
		if x.long(k) && min(cuts[k+1]-cuts[k], x.cuts[k+1]-x.cuts[k]) <= x.lag {
			return false
		}
	}
	x.cuts, x.late = cuts, x.late+by
	return true
}

// sharing is a network with what it has from each source.
type sharing struct {
	*network
	sums   bool     // what is sent may serve all sources: an allreduce
	every  root     // what all ranks see: an own rank it has not
	detour int      // how many links more than necessary a hop may have
	finest int      // how many windows a program has at most
	links  []uint64 // by arc
	base   []uint64 // by node
	bytes  float64  // of a source
	roots  []root
	number map[uint64]int // of a class of arcs
	hops   map[int][2][]hop
	looks  map[uint64]uint64
	looked int // arcs of hops

	unpriced []bool // by class of arcs: several transfers may share one, so that it has no price

	stopped bool // a program was not solved, or not built, for want of time
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

// prepare finds the sources and destinations that look alike, and classes of arcs: nodes are alike if all others look alike from
// there, and arcs if their ends are alike, and look alike from each other. On large networks they are alike if they look so at first.
func (s *sharing) prepare(ctx context.Context) {
	s.links = s.arcLooks()
	s.base = make([]uint64, s.p.Topology.Nodes())
	for v := range s.base {
		switch t := s.p.Topology; {
		case t.IsRank(v):
			s.base[v] = 1
		case t.Copies(v):
			s.base[v] = join(uint64(t.Reduces(v)), 1)
		case t.Reduces(v) != model.NoReducing:
			s.base[v] = join(uint64(t.Reduces(v)), 0)
		}
	}
	members := s.p.Members()
	for _, r := range members {
		s.base[r] = 2
	}
	if s.p.Collective.Kind.Rooted() {
		s.base[s.p.Collective.Root] = 3
	}
	alike, seen := s.refine(s.base, s.links), func(v, from int) uint64 { return 0 }
	if len(s.base)*len(s.arcs) <= maxSeen {
		rows := make([][]uint64, len(s.base))
		for v := range rows {
			if ctx.Err() != nil {
				return
			}
			rows[v] = s.seen(v)
			alike[v] = 0
			for _, c := range rows[v] {
				alike[v] += mix(c)
			}
		}
		seen = func(v, from int) uint64 { return rows[from][v] }
	}
	s.bytes = float64(s.p.Space())
	if s.p.Collective.Kind.Rooted() {
		s.roots = []root{{rank: s.p.Collective.Root, alike: 1}}
	} else {
		if s.sums = s.p.Collective.Kind == model.AllReduce; !s.sums {
			s.bytes /= float64(len(members))
		}
		place := map[uint64]int{}
		for _, r := range members {
			i, known := place[alike[r]]
			if !known {
				i = len(s.roots)
				place[alike[r]] = i
				s.roots = append(s.roots, root{rank: r})
			}
			s.roots[i].alike++
		}
	}
	s.every = root{rank: -1, colour: alike}
	if s.sums && s.p.Topology.Ranks <= fewRanks {
		for _, r := range members {
			s.every.to = append(s.every.to, s.seen(r))
		}
	}
	s.number = map[uint64]int{}
	shared := common(s.p.Topology)
	for i := range s.arcs {
		a := &s.arcs[i]
		key := join(alike[a.src], alike[a.dst], seen(a.dst, a.src), seen(a.src, a.dst), s.links[i])
		c, known := s.number[key]
		if !known {
			c = len(s.classes)
			s.number[key] = c
			s.classes, s.unpriced = append(s.classes, 0), append(s.unpriced, shared[a.links[0]])
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
				return
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
}
