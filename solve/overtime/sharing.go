package overtime

import (
	"context"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
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
