// Package broadcast schedules a broadcast or, read backwards, a reduction: over the few trees of one root, whatever the
// network is like.
//
// Trees of the largest rate (see package arborescence) are flattened (see flattened), since what latency and the filling
// of pipelines cost grows with the depth. Chunks are poured down the trees as they come, and the last ones take ways of
// their own over links that have nothing left to carry (see drained), so that the depth hardly costs anything. Where trees
// share links that are alike, as over switches, they have a timetable: an edge colouring (Kőnig, 1916; see frame). Where
// ranks are many, one period of trees is placed by modulo scheduling (Rau, MICRO 1994) and repeated (see cycle), also of
// regular trees over machines and ranks: edge-disjoint binomial trees (Johnsson and Ho, 1989), stars and k-ary trees
// (see clusters), over leaf switches and groups of them, or from a hub to all others where no links are in short
// supply (see hubs, and stars, whose arcs are kept apart on links between switches by exchanges along Kempe chains).
// Where latencies outweigh bandwidths, chunks are sent on at once, as in the postal and LogP
// models (Bar-Noy and Kipnis, 1994; Karp et al., 1993; see eager, recurring and package ejection). Shallower trees than those of the
// largest rate are columns of a linear program (Plotkin, Shmoys and Tardos, 1995; see shallow), and where latencies are a good part of
// the time, so are trees whose hops have times (Ford and Fulkerson, 1958; see timed): the last chunks then have other trees than the
// first. Where that is long, most chunks have the same trees, and are placed in slots (see slots). On the planes of a machine the root scatters
// chunks, and others send them on at once (see rounds).
package broadcast

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/fluid"
)

// Solve solves a broadcast whose cut is open: over machines, if there are any, and else, or if that is not near enough, over
// trees, with and without times, and by ejections.
func Solve(b *solve.Budget, p *model.Problem, o solve.Options, place Place) (solve.Result, error) {
	planes := overPlanes(b.Context(), p, o)
	if planes.Schedule != nil && planes.Makespan() <= o.Nearly() {
		return ended(b, planes), nil
	}
	machines := sooner(planes, overMachines(b.Context(), p, o))
	if machines.Schedule != nil && machines.Makespan() <= o.Nearly() {
		return ended(b, machines), nil
	}
	best, rest, err := besideTimed(b, p, o, place)
	if err != nil && machines.Schedule == nil && best.Schedule == nil {
		return rest, err
	}
	return withMore(sooner(machines, best), rest), nil
}

// besideTimed returns the results of trees with times, where they are of use, and of other methods, of which the second one can go on.
// There are no others where trees with times are near enough, or will be when they go on.
func besideTimed(b *solve.Budget, p *model.Problem, o solve.Options, place Place) (first, second solve.Result, err error) {
	x := newTimed(p, o)
	if x == nil {
		second, err = solved(b, p, o, place)
		return first, second, err
	}
	first = x.run(b)
	if first.Schedule != nil && (first.Makespan() <= o.Nearly() || first.More != nil && first.Makespan() <= o.Bound+o.Bound/farFrom) {
		return solve.Result{}, first, nil
	}
	second, err = solved(b, p, o, place)
	return first, second, err
}

// solved is Solve without machines: over hubs, if there are any, and else over trees. Up to manyRanks trees are tried, too, if hubs are not
// near enough.
func solved(b *solve.Budget, p *model.Problem, o solve.Options, place Place) (solve.Result, error) {
	near := newNeighbours(p)
	hub := overHubs(b, p, near, o)
	if hub.Schedule != nil && (len(p.Members()) > manyRanks || hub.Makespan() <= o.Nearly()) {
		return ended(b, hub), nil
	}
	r, err := besideHubs(b, p, near, o, place)
	if hub.Schedule != nil {
		return ended(b, withMore(hub, r)), nil
	}
	return r, err
}

// besideHubs is solved without hubs: over trees, and where latencies count by ejections, too, if those are not
// enough. Among many ranks these come after what is sent on at once, without trees.
func besideHubs(b *solve.Budget, p *model.Problem, near *neighbours, o solve.Options, place Place) (solve.Result, error) {
	grain := coarsest(p)
	switch {
	case near == nil || o.Effort < 0:
		return planted(b, p, o, place)
	case grain.Slots == 0:
		return plantedOrRecurring(b, p, near, o, place)
	}
	var best solve.Result
	if len(p.Members()) > manyRanks {
		short, done := b.Share(4)
		best = soonest(short.Context(), p, o)
		done()
	}
	if best.Schedule == nil {
		short, done := b.Share(3)
		r, err := planted(short, p, o, place)
		if done(); err != nil {
			return r, err
		}
		best = r
	}
	if best.Schedule == nil || best.Makespan() > max(o.Bound, o.Enough) {
		g := started(b.Context(), grain.cut(p), near, grain)
		best = withMore(best, ejected(b.Context(), p, g, o))
	}
	return ended(b, best), nil
}

// overHubs returns a broadcast over hubs among many ranks, or over regular trees where the buffer is too large for as many chunks; none
// where there are no hubs.
func overHubs(b *solve.Budget, p *model.Problem, near *neighbours, o solve.Options) solve.Result {
	if near == nil {
		near = together(p)
	}
	if near == nil || len(p.Members()) < someRanks {
		return solve.Result{}
	}
	trees := hubs(p, near)
	if trees == nil {
		return solve.Result{}
	}
	r := hubbed(b.Context(), p, trees, o)
	if (r.Schedule == nil || r.Makespan() > o.Nearly()) && o.Bound > longestRecurring*near.farthest() {
		half, done := b.Share(2) // the schedule is large: to write and to prove it takes time, too
		r = sooner(r, repeated(half.Context(), p, regular(p), linksRepeated(p, o)))
		done()
	}
	return r
}

// plantedOrRecurring returns a broadcast over trees, or the better of that and one that recurs where latencies count. The first of
// them has half of the time: what recurs where that may be much sooner.
func plantedOrRecurring(b *solve.Budget, p *model.Problem, near *neighbours, o solve.Options, place Place) (solve.Result, error) {
	few, lasts := len(p.Members()) <= maxShallow, near.lasts(b.Context(), p)
	if lasts >= longRecurring && (!few || lasts >= longestRecurring) {
		return planted(b, p, o, place)
	}
	half, done := b.Share(2)
	defer done()
	enough := max(o.Bound, o.Enough)
	if lasts >= longRecurring {
		enough = o.Nearly()
	}
	open := func(r solve.Result) bool { return r.Schedule == nil || r.Makespan() > enough }
	var best, r solve.Result
	var err error
	if few && lasts < longRecurring {
		if r = ejectedRecurring(half, p, near, o); open(r) {
			best, err = planted(b, p, o, place)
		}
	} else if best, err = planted(half, p, o, place); open(best) {
		if r = ejectedRecurring(b, p, near, o); r.Schedule == nil && half.Stop() != 0 && b.Stop() == 0 { // trees had half of the time for nothing
			again, failed := planted(b, p, o, place)
			best, err = sooner(best, again), cmp.Or(err, failed)
		}
	}
	if err != nil && r.Schedule == nil {
		return best, err
	}
	return ended(b, withMore(best, r)), nil
}

// withMore returns the sooner one of two results, of which the second can go on, and then the first is no less.
func withMore(a, b solve.Result) solve.Result {
	best := sooner(a, b)
	if more := b.More; more != nil {
		best.More = func(ctx context.Context, o solve.Options) (solve.Result, error) {
			r, err := more(ctx, o)
			return sooner(a, r), err
		}
	}
	return best
}

// ended returns a result that stops for the reason that a budget has.
func ended(b *solve.Budget, r solve.Result) solve.Result {
	if r.Stop = solve.Done; b.Stop() != 0 {
		r.Stop = b.Stop()
	}
	return r
}

// planted returns a broadcast over trees: flattened trees of the largest rate are repeated, if there are many
// ranks, and poured; if that is not enough, chunks are placed in other orders, and on other trees. Where switches are too
// large to find such trees soon, regular ones do.
func planted(b *solve.Budget, p *model.Problem, o solve.Options, place Place) (solve.Result, error) {
	ctx := b.Context()
	var best solve.Result
	var all []*Forest
	var err error
	n := len(p.Members())
	if n > maxShallow && len(p.Topology.Switches) == 0 {
		if all, err = packings(ctx, ctx, p); err != nil {
			return solve.Failed(ctx, p, err)
		}
		if best = trainedFlat(b, p, o, flattest(p, all)[0]); best.Schedule != nil && best.Makespan() <= o.Enough {
			return best, nil
		}
	}
	switch {
	case n > manyRanks && all == nil:
		half, done := b.Share(2) // the schedule is large: to write and to prove it takes time, too
		best = repeated(half.Context(), p, regular(p), linksRepeated(p, o))
		done()
		short, done := b.Share(4)
		best = sooner(best, soonest(short.Context(), p, o))
		if done(); best.Schedule != nil {
			best.Stop = solve.Done
			return best, nil
		}
		if n*(p.Topology.Nodes()-n) > maxSplits {
			return solve.Failed(ctx, p, solve.NotServed("there are no regular trees, and too many switches to pack others"))
		}
	case n > maxShallow && framable(p):
		star := starred(b, p, o)
		if star.Schedule != nil && star.Makespan() <= o.Bound+o.Bound/farFrom {
			return ended(b, star), nil // what is poured takes longer to be found, and is no better
		}
		short, done := b.Share(8)
		best = sooner(star, soonest(short.Context(), p, o))
		if done(); best.Schedule != nil {
			best = sooner(best, starry(b, p, o))
			best.Stop = solve.Done
		}
	case n > fewRanks && n <= maxShallow:
		best = repeated(ctx, p, regular(p), linksRepeated(p, o)/16)
	}
	if all == nil {
		share, done := b.Share(3)
		all, err = packings(ctx, share.Context(), p)
		done()
	}
	if err != nil {
		r, err := solve.Failed(ctx, p, err)
		if best.Schedule == nil {
			return r, err
		}
		if err == nil {
			best.Stop = r.Stop
		}
		return best, nil
	}
	whole, sorted := all[0], flattest(p, all)
	f := sorted[0]
	far := func(limit model.Time) bool { return best.Schedule == nil || best.Makespan() > limit }
	limit := o.Nearly()
	if n > maxShallow && !framable(p) && len(p.Topology.Switches) > 0 {
		if best = sooner(best, trainedFlat(b, p, o, f)); !far(o.Enough) {
			return best, nil
		}
	}
	busy, last := f.Fluid(p)
	if n > maxShallow && n <= manyRanks && framable(p) && busy < longFilled*last { // it takes long to find frames, if there are any
		half, done := b.Share(2)
		best = sooner(best, finest(half.Context(), half.Context(), p, o, []poured{{Forest: f}}, manyPieces/8))
		if done(); best.Schedule != nil {
			best.Stop = solve.Done
		}
	}
	if n > maxShallow && far(limit) {
		trees := []period{{trees: equal(whole.Trees)}}
		if n <= manyRanks {
			trees = slices.AppendSeq(trees, regular(p))
		}
		r := repeated(ctx, p, slices.Values(trees), linksRepeated(p, o))
		if r.Schedule != nil && n <= manyRanks {
			r.Schedule = endings(ctx, r.Problem, r.Schedule, o)
		}
		best = sooner(best, r)
		if busy, _ := whole.Fluid(p); best.Schedule != nil && n > manyRanks && float64(best.Makespan()) < busy*1e12*(1+littleLate) {
			return best, nil // others have fewer chunks in the time
		}
	}
	if framable(p) && far(limit) {
		best, limit = sooner(best, finestFramed(b, p, o, sorted)), o.Bound+o.Bound/farFrom
	}
	if far(limit) && n > fewRanks && len(p.Topology.Switches) > 0 && !framable(p) && busy > longOpen*last {
		third, done := b.Share(3)
		best = sooner(best, pouredOut(third.Context(), p, o, f))
		if done(); best.Schedule != nil {
			best.Stop = solve.Done
		}
	}
	if far(limit) {
		flows := []poured{{Forest: f}}
		if _, latest := whole.Fluid(p); whole != f && latest < busy+last {
			flows = append(flows, poured{Forest: whole})
		}
		best = sooner(best, finest(ctx, ctx, p, o, flows, 1))
	}
	if best.Schedule == nil || best.Stop != solve.Done {
		return best, nil
	}
	if limit = model.Time(busy * 1e12); best.Makespan() <= max(o.Nearly(), limit+limit/1000) {
		return best, nil
	}
	return otherwise(ctx, p, o, f, whole, best, place)
}

// starry returns the best schedule of chunks that are poured down stars, if there are any.
func starry(b *solve.Budget, p *model.Problem, o solve.Options) solve.Result {
	near := newNeighbours(p)
	if near == nil {
		return solve.Result{}
	}
	trees := stars(p, near)
	if trees == nil {
		return solve.Result{}
	}
	short, done := b.Share(8)
	defer done()
	return finest(short.Context(), short.Context(), p, o, []poured{{Forest: forest(trees, p.Collective.Root)}}, 1)
}

// otherwise returns a result, or a better one: of shallower trees that are poured, or of chunks in other orders. It returns
// the result where such trees or orders fail.
func otherwise(ctx context.Context, p *model.Problem, o solve.Options, f, whole *Forest, best solve.Result, place Place) (solve.Result, error) {
	trees, err := shallower(ctx, p, f)
	if n := len(trees); err == nil && n > 0 && !framable(p) { // where ranks have one link each, shallow trees share it
		best = sooner(best, finest(ctx, ctx, p, o, []poured{{Forest: trees[n-1]}}, 1))
		if best.Stop != solve.Done || best.Makespan() <= o.Nearly() {
			return best, nil
		}
	}
	var r solve.Result
	if err == nil {
		r, err = place(ctx, Packings{f, whole, trees})
	}
	if err == nil {
		return sooner(best, r), nil
	}
	if stop := solve.StopOf(ctx); stop != 0 {
		best.Stop = stop
	}
	return best, nil
}

// alike is by which part rates and times differ that count as equal.
const alike = 1e-3

// longFilled is from how many times the latency of the deepest tree on chunks that are poured are finer than there is time for.
const longFilled = 16

// longOpen is from how many times the latency of the deepest tree on ejections are tried at the end of what is poured: before,
// they are tried everywhere (see ejected).
const longOpen = 8

// someRanks is from how many ranks on hubs come first, if there are any: other trees take long to pack.
const someRanks = 33

// manyRanks is for how many ranks regular trees are looked for first: packing takes about the fourth power of it.
const manyRanks = 64

// maxSplits limits the ranks times switches of networks whose switches are split off.
const maxSplits = 1 << 13

// fewRanks is for how many ranks regular trees are hardly better than others.
const fewRanks = 8

// littleLate is by which part of its time in the fluid limit a periodic schedule is late, at most, if it is hardly worth
// while to look for a better one among many ranks.
const littleLate = 0.1

// sooner returns the better of two results, with the reason why the second one stopped.
func sooner(a, b solve.Result) solve.Result {
	if a.Schedule == nil || b.Schedule != nil && b.Makespan() < a.Makespan() {
		b.Coarser = coarser(b, a)
		return b
	}
	a.Stop, a.Coarser = b.Stop, coarser(a, b)
	return a
}

// muchFewer is how many times as many transfers a schedule has at least as a coarser one.
const muchFewer = 8

// coarser returns the best that a result and one that is no sooner have in place of it, with far fewer transfers, or nil.
func coarser(best, other solve.Result) (c *solve.Result) {
	alone := other
	alone.Coarser, alone.More = nil, nil
	for _, r := range []*solve.Result{best.Coarser, other.Coarser, &alone} {
		if r != nil && r.Schedule != nil && muchFewer*len(r.Schedule.Transfers) <= len(best.Schedule.Transfers) && (c == nil || r.Makespan() < c.Makespan()) {
			c = r
		}
	}
	return c
}

// farFrom is by which part of the bound what has a frame may be above it before other ways to place chunks are tried.
const farFrom = 8

// finestFramed returns the best schedule with a frame of some packings, the one in most parts levelled, if one is found in half of
// the time.
func finestFramed(b *solve.Budget, p *model.Problem, o solve.Options, packings []*Forest) solve.Result {
	half, done := b.Share(2)
	defer done()
	parts := func(f *Forest) int {
		_, all := units(f.Trees)
		return all
	}
	tried := packings[:min(len(packings), mostFrames)]
	if len(p.Members()) <= maxShallow {
		most := slices.MinFunc(packings, func(f, g *Forest) int { return cmp.Compare(parts(g), parts(f)) })
		if f := most.levelled(half.Context(), p); f != nil {
			tried = append([]*Forest{f}, tried...)
		}
	}
	var flows []poured
	for _, f := range tried {
		flows = append(flows, poured{Forest: f, framed: true, frames: map[model.Time]*frame{}})
	}
	chunks := finerThanSlots * model.TransferTime(p.Space(), p.Topology.Links[0].Bandwidth) / longestSlot(p.Topology)
	best := finest(b.Context(), half.Context(), p, o, flows, max(1, int64(chunks)/int64(len(packings[0].Trees))))
	if best.Schedule != nil && best.Makespan() > o.Enough {
		o.Enough = o.Bound
		best.Schedule = endings(b.Context(), best.Problem, best.Schedule, o)
	}
	if best.Stop = solve.Done; b.Stop() != 0 {
		best.Stop = b.Stop()
	}
	return best
}

// mostFrames is of how many packings frames are looked for, and finerThanSlots how many chunks there are at first in the longest
// slot: with fewer, latencies are hardly longer than periods.
const mostFrames, finerThanSlots = 3, 4

// Place returns a schedule of a broadcast whose chunks are placed on packings in other orders than here.
type Place func(ctx context.Context, g Packings) (solve.Result, error)

// Packings is trees of a broadcast: two of the largest rate, flat ones and some in as few parts as there can be, which
// may be the same, and shallower ones that are slower, the fastest last.
type Packings struct {
	Flat, Whole *Forest
	Shallower   []*Forest
}

// Trees packs the trees of a broadcast.
func Trees(ctx context.Context, p *model.Problem) (Packings, error) {
	all, err := packings(ctx, ctx, p)
	if err != nil {
		return Packings{}, err
	}
	g := Packings{Flat: flattest(p, all)[0], Whole: all[0]}
	g.Shallower, err = shallower(ctx, p, g.Flat)
	return g, err
}

// Forest is the trees of a broadcast.
type Forest struct {
	Trees []arborescence.Tree
	Fits  bool // no link is asked for more than the others by the routes of the trees

	room []int64 // by link: how many times the trees may use it together; nil if that is not known
}

// cut returns the buffer in equal chunks, a number of them for each tree.
func (f *Forest) cut(p *model.Problem, pieces int64) []model.Chunk {
	return solve.Evenly(p.Space(), pieces*int64(len(f.Trees)))
}

// String states what there is.
func (f *Forest) String() string { return fmt.Sprintf("%d different trees or paths", len(f.Trees)) }

// shallower returns shallower trees than those of a forest, the fastest last, where the network is small and the forest
// leaves much to gain.
func shallower(ctx context.Context, p *model.Problem, f *Forest) ([]*Forest, error) {
	busy, last := f.Fluid(p)
	if len(p.Members()) > maxShallow || last-quickest(p) < littleGain*(busy+last) {
		return nil, nil
	}
	return shallow(ctx, p)
}

const (
	// maxShallow is for how many members shallower trees than those of the largest rate are looked for.
	maxShallow = 32
	// littleGain is the part of the time that shallower trees must be able to save.
	littleGain = 0.002
)

// quickest returns the seconds in which a small chunk can be at the last member.
func quickest(p *model.Problem) float64 {
	g := newGarden(p)
	if t := g.grow(make([]float64, len(g.room)), 1); t != nil {
		return t.depth
	}
	return 0
}

// packings returns trees of the largest rate for a broadcast, flattened: where there are switches, in several numbers of
// parts, beginning with whole trees. Fewer of those share a link, so that what goes over it hardly waits; others are
// flatter. Whole trees it looks for until ctx is done, others until share is.
func packings(ctx, share context.Context, p *model.Problem) (all []*Forest, err error) {
	limit, err := fluid.Rate(ctx, p)
	if err != nil {
		return nil, err
	}
	work := 0
	for _, parts := range numbersOfParts(p) {
		if len(all) > 0 {
			ctx = share
		}
		f, trees, err := flat(ctx, p, limit, parts)
		if err != nil && len(all) == 0 {
			return nil, err
		}
		if err != nil {
			break
		}
		all = append(all, f)
		n := len(p.Members())
		if work += n * n * int(trees); work >= mostWork {
			break
		}
	}
	return all, nil
}

// flattest returns the packings in the order in which they end in the fluid limit, about.
func flattest(p *model.Problem, all []*Forest) []*Forest {
	ends := func(f *Forest) float64 {
		busy, last := f.Fluid(p)
		return busy + last
	}
	least := ends(slices.MinFunc(all, func(f, g *Forest) int { return cmp.Compare(ends(f), ends(g)) }))
	return slices.SortedStableFunc(slices.Values(all), func(f, g *Forest) int {
		return cmp.Compare(math.Round(ends(f)/(least*alike)), math.Round(ends(g)/(least*alike)))
	})
}

// flat returns trees of the largest rate in a number of parts, flattened, and how many there are.
func flat(ctx context.Context, p *model.Problem, limit fluid.Limit, parts int64) (*Forest, int64, error) {
	w, room, err := arborescence.Bypassed(ctx, p, limit, parts)
	if err != nil {
		return nil, 0, err
	}
	n := w.Trees
	trees, err := w.Pack(ctx)
	if err != nil {
		return nil, 0, err
	}
	if room != nil {
		trees = flattened(ctx, p, trees, room)
	}
	return &Forest{Trees: trees, Fits: room != nil, room: room}, n, nil
}

// mostWork is up to how many squares of the number of members, times trees, packing takes a second or so.
const mostWork = 1 << 16

// numbersOfParts returns in how many parts trees are packed: one for each rank that a rank can send to around a
// switch, and some that happened to be good.
func numbersOfParts(p *model.Problem) []int64 {
	if len(p.Topology.Switches) == 0 {
		return []int64{1}
	}
	parts := []int64{1, 2, 3, 5, 8, 13, 16}
	neighbours := make([]int64, p.Topology.Nodes())
	for _, l := range p.Topology.Links {
		if l.Dst < p.Topology.Ranks {
			neighbours[l.Src]++
		}
	}
	for _, n := range neighbours[p.Topology.Ranks:] {
		if n > 2 && n < mostFlattened {
			parts = append(parts, n-1)
		}
	}
	slices.Sort(parts)
	if parts = slices.Compact(parts); len(p.Members()) > maxShallow { // there is time for a few
		first := func(n int64) int { return slices.Index([]int64{1, 5}, n) & (1<<8 - 1) }
		slices.SortStableFunc(parts, func(a, b int64) int { return cmp.Compare(first(a), first(b)) })
	}
	return parts
}

// estimated is into how many chunks the buffer is thought to be cut when the time to a rank is
// estimated.
const estimated = 512

// Fluid returns for how many seconds the trees of a broadcast keep the busiest link busy, and
// after how many a small chunk is at the last rank.
func (f *Forest) Fluid(p *model.Problem) (busy, last float64) {
	load, total := make([]float64, len(p.Topology.Links)), 0.0
	for _, t := range f.Trees {
		total += float64(t.Weight)
		at := map[int]float64{}
		for _, a := range t.Arcs {
			at[a.To] = at[a.From] + arborescence.Seconds(p.Topology, a.Route, p.Space()/estimated)
			last = max(last, at[a.To])
			for _, l := range a.Route {
				load[l] += float64(t.Weight) * float64(p.Space()) / float64(p.Topology.Links[l].Bandwidth)
			}
		}
	}
	return slices.Max(load) / total, last
}
