package flows

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
	"github.com/oraccl/oraccl/solve/network"
)

// squeezing makes a schedule shorter by ejections (see package ejection). A piece keeps the links of a route busy one after the other, and
// does not wait between them, so that pieces which are put one after the other leave gaps that are too short for others. There are no such gaps if
// links are busy for slots that divide all latencies.
type squeezing struct {
	*ejection.Grid
	p      *model.Problem // cut
	raster ejection.Raster
	pairs  []network.Pair
	into   [][]ejection.Arc // by rank
	ways   []ejection.Way
	routes [][]int // by way
}

const (
	// fewSqueezed and mostSqueezed are how many pieces there are at first and at last, at most, and moreSqueezed how many times as many each time.
	fewSqueezed, mostSqueezed, moreSqueezed = 1 << 12, 1 << 16, 4
	// mostJobs is how many pieces times ranks there are at most, and mostSlots how many slots of links.
	mostJobs, mostSlots = 1 << 21, 1 << 24
	// squeezes is how much work is done at a time for each transfer, and idleSqueezes how often without progress at the end.
	squeezes, idleSqueezes = 1 << 6, 32
	// slotsLost is how many slots a schedule on a grid loses at its begin and its end, about.
	slotsLost = 4
	// mostLonger is by which part of its time a schedule is longer at most if its transfers begin with slots.
	mostLonger = 8
)

// slotted returns into how many pieces the largest shard of p is cut for slots that fit it well, at most some pieces in all, and the slots; 0 if
// there are none. No schedule ends before bound. It takes O(most / shards) time.
func slotted(p *model.Problem, bound model.Time, most int64) (pieces int, r ejection.Raster) {
	t := p.Topology
	unit := ejection.UnitOf(t)
	if p.Cost != model.Pipelined || len(t.Switches) == 0 || len(t.Ports) > 0 || unit == 0 || bound <= 0 {
		return 0, r
	}
	fastest := slices.MaxFunc(t.Links, func(a, b model.Link) int { return cmp.Compare(a.Bandwidth, b.Bandwidth) }).Bandwidth
	parts := network.Parts(p)
	shard, least := largest(parts), math.Inf(1)
	whole := float64(shard) * 1e12 / float64(fastest)
	for k := int64(1); k <= shard && k*int64(len(parts.Chunks)) <= most; k++ {
		lasts := model.TransferTime((shard+k-1)/k, fastest)
		if lasts == 0 || lasts > unit {
			continue
		}
		slots := unit / lasts
		slot := float64(unit) / float64(slots)
		idle := float64(k)*slot/whole - 1
		if cost := idle + slotsLost*slot/float64(bound); cost < least {
			least, pieces, r = cost, int(k), ejection.Raster{Unit: unit, Slots: slots}
		}
	}
	return pieces, r
}

// newSqueezing returns a search that begins with a schedule of p, which is cut; nil if it has too many pieces or slots, or takes much longer where
// transfers begin with slots.
func newSqueezing(p *model.Problem, s *model.Schedule, r ejection.Raster) *squeezing {
	t, last := p.Topology, p.Makespan(s)+p.Makespan(s)/mostLonger
	pairs, err := network.Pairs(p)
	if err != nil || !r.Counts(last) {
		return nil
	}
	horizon := r.Up(last)
	if len(p.Chunks)*t.Ranks > mostJobs || int(horizon)*len(t.Links) > mostSlots {
		return nil
	}
	x := &squeezing{p: p, raster: r, pairs: pairs, into: make([][]ejection.Arc, t.Ranks)}
	size, by := largest(p), make([]int32, len(s.Routes)) // where the arc of a route is among those into its rank
	for i, route := range s.Routes {
		if t.Duration(route, size) > last { // nothing takes it, and slots might not count it
			continue
		}
		v := t.Links[route[len(route)-1]].Dst
		by[i] = int32(len(x.into[v]))
		x.into[v] = append(x.into[v], ejection.Arc{Parent: int32(t.Links[route[0]].Src), Way: int32(len(x.ways))})
		x.ways, x.routes = append(x.ways, r.Way(t, route, size)), append(x.routes, route)
	}
	roots := make([]int32, len(pairs))
	for k := range pairs {
		roots[k] = pairs[k].Src
	}
	x.Grid = ejection.New(ejection.Shop{Ranks: t.Ranks, Machines: len(t.Links), Roots: roots, Kinds: make([]int32, len(roots)),
		Arcs: [][][]ejection.Arc{x.into}, Ways: [][][]ejection.Way{{x.ways}}, Horizon: horizon})
	order := slices.Clone(s.Transfers)
	slices.SortStableFunc(order, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	goes := make([]bool, x.Jobs())
	for _, t := range order {
		goes[x.Job(int(t.Chunk), 0, t.Dst)] = true
	}
	for k, root := range roots {
		for v := range int32(t.Ranks) {
			if v == root {
				continue
			}
			j := x.Job(k, 0, v)
			if x.Want(j); !goes[j] { // the piece does not go there
				x.Hold(j, ejection.Nowhere)
			}
		}
	}
	for _, y := range order {
		j := x.Job(int(y.Chunk), 0, y.Dst)
		from := max(x.Has(x.Job(int(y.Chunk), 0, y.Src)), r.Slot(y.Start))
		at := x.Opens(j, by[y.Route], from, horizon-x.way(y.Dst, by[y.Route]).Lasts)
		if at < 0 {
			return nil
		}
		x.Do(j, by[y.Route], at)
	}
	return x
}

func (x *squeezing) way(rank, by int32) *ejection.Way { return &x.ways[x.into[rank][by].Way] }

// run goes on until all takes at most enough, until nothing was better for a while, or until ctx is done, and returns the best schedule.
func (x *squeezing) run(ctx context.Context, enough model.Time, o solve.Options) *model.Schedule {
	search, work := ejection.NewSearch(x.Grid, rand.New(rand.NewPCG(o.Seed, 1))), squeezes*int64(len(x.Hops()))
	search.Shorten(ctx, work, idleSqueezes*max(1, o.Effort), x.raster.Slot(enough))
	return x.schedule()
}

// schedule returns the schedule of what leads to where pieces are to go.
func (x *squeezing) schedule() *model.Schedule {
	hops := map[int32]ejection.Hop{}
	for _, h := range x.Hops() {
		hops[x.Job(h.Part, 0, h.Rank)] = h
	}
	s := &model.Schedule{Form: model.FormFor(x.p.Cost), Routes: x.routes}
	for k, pair := range x.pairs {
		for v := pair.Dst; v != pair.Src; {
			h := hops[x.Job(k, 0, v)]
			a := x.into[v][h.By]
			at := x.raster.Time(h.Start)
			s.Transfers = append(s.Transfers, model.Transfer{Chunk: int32(k), Src: a.Parent, Dst: v, Route: a.Way, Op: model.Copy,
				Start: at, End: at + x.p.Topology.Duration(x.routes[a.Way], x.p.Chunks[k].Size)})
			v = a.Parent
		}
	}
	slices.SortStableFunc(s.Transfers, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	return s
}

// squeeze makes schedules shorter by ejections, in finer and finer pieces that fit slots, in the share of the first of some pieces of work.
func (s *search) squeeze(work int) error {
	b, done := s.Share(work)
	defer done()
	last := 0
	for most := int64(fewSqueezed); most <= mostSqueezed && s.open() && !b.Spent(); most *= moreSqueezed {
		pieces, r := slotted(s.p, s.o.Bound, most)
		if pieces == last {
			continue
		}
		last = pieces
		q := solve.Cut(s.p, pieces)
		x, err := plan(q, s.o.Seed, s.o.Bound, b.Spent)
		if x == nil || err != nil {
			return err
		}
		if y := newSqueezing(q, x, r); y != nil {
			s.offer(q, y.run(b.Context(), s.floor, s.o), fmt.Sprintf("pieces of at most %s, by ejections", model.FormatBytes(largest(q))))
		}
	}
	return nil
}
