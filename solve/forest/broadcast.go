package forest

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/fluid"
)

// broadcast solves a broadcast whose cut is open: flattened trees of the largest rate are repeated, if there are many
// ranks, and poured; if that is not enough, chunks are placed in other orders, and on other trees. Where switches are too
// large to find such trees soon, regular ones do.
func broadcast(b *solve.Budget, p *model.Problem, o solve.Options) (solve.Result, error) {
	ctx := b.Context()
	var best solve.Result
	switch n := len(p.Members()); {
	case n > maxMembers:
		half, done := b.Share(2) // the schedule is large: to write and to prove it takes time, too
		best = repeated(half.Context(), p, nil, mostRepeated)
		if done(); best.Schedule != nil {
			return best, nil
		}
	case n > fewRanks && n <= maxShallow:
		best = repeated(ctx, p, nil, mostRepeated/8)
	}
	share, cancel := b.Share(3)
	defer cancel()
	all, err := packings(ctx, share.Context(), p)
	if err != nil {
		r, err := failed(ctx, p, err)
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
	if len(p.Members()) > maxShallow {
		best = repeated(ctx, p, whole, mostRepeated)
		if busy, _ := whole.fluid(p); best.Schedule != nil && len(p.Members()) > maxMembers && float64(best.Makespan()) < busy*1e12*(1+littleLate) {
			return best, nil // others have fewer chunks in the time
		}
	}
	far := func(limit model.Time) bool { return best.Schedule == nil || best.Makespan() > limit }
	limit := nearly(o)
	if framable(p) && far(limit) {
		best, limit = sooner(best, finestFramed(b, p, o, sorted)), o.Bound+o.Bound/farFrom
	}
	if far(limit) {
		flows := []poured{{forest: f}}
		if whole != f {
			flows = append(flows, poured{forest: whole})
		}
		best = sooner(best, finest(ctx, ctx, p, o, flows, 1))
	}
	if best.Schedule == nil || best.Stop != solve.Done {
		return best, nil
	}
	busy, _ := f.fluid(p)
	if limit = model.Time(busy * 1e12); best.Makespan() <= max(nearly(o), limit+limit/1000) {
		return best, nil
	}
	return otherwise(ctx, p, o, f, whole, best)
}

// otherwise returns a result, or a better one: of shallower trees that are poured, or of chunks in other orders. It returns
// the result where such trees or orders fail.
func otherwise(ctx context.Context, p *model.Problem, o solve.Options, f, whole *forest, best solve.Result) (solve.Result, error) {
	trees, err := shallower(ctx, p, f)
	if n := len(trees); err == nil && n > 0 && !framable(p) { // where ranks have one link each, shallow trees share it
		best = sooner(best, finest(ctx, ctx, p, o, []poured{{forest: trees[n-1]}}, 1))
		if best.Stop != solve.Done || best.Makespan() <= nearly(o) {
			return best, nil
		}
	}
	var r solve.Result
	if err == nil {
		r, err = pipelined(ctx, p, o, flatter(p, f, whole, trees))
	}
	if err == nil {
		return sooner(best, r), nil
	}
	if stop := solve.StopOf(ctx); stop != 0 {
		best.Stop = stop
	}
	return best, nil
}

// fewRanks is for how many ranks regular trees are hardly better than others.
const fewRanks = 8

// littleLate is by which part of its time in the fluid limit a periodic schedule is late, at most, if it is hardly worth
// while to look for a better one among many ranks.
const littleLate = 0.1

// sooner returns the better of two results, with the reason why the second one stopped.
func sooner(a, b solve.Result) solve.Result {
	if a.Schedule == nil || b.Schedule != nil && b.Makespan() < a.Makespan() {
		return b
	}
	a.Stop = b.Stop
	return a
}

// farFrom is by which part of the bound what has a frame may be above it before other ways to place chunks are tried.
const farFrom = 8

// finestFramed returns the best schedule with a frame of some packings, if one is found in half of the time.
func finestFramed(b *solve.Budget, p *model.Problem, o solve.Options, packings []*forest) solve.Result {
	var flows []poured
	for _, f := range packings[:min(len(packings), mostFrames)] {
		flows = append(flows, poured{f, true, map[model.Time]*frame{}})
	}
	half, done := b.Share(2)
	defer done()
	chunks := model.TransferTime(p.Space(), p.Topology.Links[0].Bandwidth) / longestSlot(p.Topology)
	best := finest(b.Context(), half.Context(), p, o, flows, max(1, int64(chunks)/int64(len(packings[0].down[0]))))
	if best.Stop = solve.Done; b.Stop() != 0 {
		best.Stop = b.Stop()
	}
	return best
}

// mostFrames is of how many packings frames are looked for.
const mostFrames = 3

// failed returns what a method returns that has no trees: if ctx is done that is why.
func failed(ctx context.Context, p *model.Problem, err error) (solve.Result, error) {
	if ctx.Err() != nil {
		return stopped(ctx, p), nil
	}
	return solve.Result{}, err
}

// nearly returns the makespan for which chunks need not be very fine.
func nearly(o solve.Options) model.Time { return o.Bound + nearEnough*max(0, o.Enough-o.Bound) }

// nearEnough is how many times as far from the bound as is enough a makespan may be for that.
const nearEnough = 4

// growFlat returns forests of a broadcast that are soon under way.
func growFlat(ctx context.Context, p *model.Problem, f, whole *forest) ([]flow, error) {
	flat, err := shallower(ctx, p, f)
	return flatter(p, f, whole, flat), err
}

// flatter returns those of the forests of a broadcast that may be the best: flattened ones of the largest rate, and one of
// shallower ones that are slower.
func flatter(p *model.Problem, f, whole *forest, shallower []*forest) (flows []flow) {
	busy, _ := f.fluid(p)
	late, soon := busy+whole.last(p), busy*(1+waiting)+f.last(p)
	if whole == f || soon < late {
		flows = append(flows, f)
	}
	if whole != f && late < soon*(1+waiting) {
		flows = append(flows, whole)
	}
	if g := promising(p, f, shallower); g != nil {
		flows = append(flows, g)
	}
	return flows
}

// shallower returns shallower trees than those of a forest, the fastest last, where the network is small and the forest
// leaves much to gain.
func shallower(ctx context.Context, p *model.Problem, f *forest) ([]*forest, error) {
	busy, last := f.fluid(p)
	if len(p.Members()) > maxShallow || last-quickest(p) < littleGain*(busy+last) {
		return nil, nil
	}
	return shallow(ctx, p)
}

const (
	// maxShallow is for how many members shallower trees than those of the largest rate are looked for.
	maxShallow = 32
	// waiting is by which part of their time trees that share links are later than in the fluid limit, about.
	waiting = 0.12
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
func packings(ctx, share context.Context, p *model.Problem) (all []*forest, err error) {
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
		busy, _ := f.fluid(p)
		f.speed = 1 / busy
		all = append(all, f)
		n := len(p.Members())
		if work += n * n * int(trees); work >= mostWork {
			break
		}
	}
	return all, nil
}

// flattest returns the packings in the order in which they end in the fluid limit, about.
func flattest(p *model.Problem, all []*forest) []*forest {
	ends := func(f *forest) float64 {
		busy, last := f.fluid(p)
		return busy + last
	}
	least := ends(slices.MinFunc(all, func(f, g *forest) int { return cmp.Compare(ends(f), ends(g)) }))
	return slices.SortedStableFunc(slices.Values(all), func(f, g *forest) int {
		return cmp.Compare(math.Round(ends(f)/(least*tolerance)), math.Round(ends(g)/(least*tolerance)))
	})
}

// flat returns trees of the largest rate in a number of parts, flattened, and how many there are.
func flat(ctx context.Context, p *model.Problem, limit fluid.Limit, parts int64) (*forest, int64, error) {
	w, room, err := bypassed(ctx, p, limit, parts)
	if err != nil {
		return nil, 0, err
	}
	n := w.trees
	trees, err := w.pack(ctx)
	if err != nil {
		return nil, 0, err
	}
	if room != nil {
		trees = flattened(ctx, p, trees, room)
	}
	return &forest{blocks: 1, down: [][]tree{trees}, fits: room != nil}, n, nil
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
	return slices.Compact(parts)
}

// promising returns that of other forests of a broadcast, if any, that ends before one and before the others in the
// fluid limit, about.
func promising(p *model.Problem, f *forest, others []*forest) (best *forest) {
	busy, last := f.fluid(p)
	least := busy + last
	for _, g := range others {
		busy, last := g.fluid(p)
		if g.speed = 1 / busy; busy+last < least {
			best, least = g, busy+last
		}
	}
	return best
}

// estimated is into how many chunks the buffer is thought to be cut when the time to a rank is
// estimated.
const estimated = 512

// fluid returns for how many seconds the trees of a broadcast keep the busiest link busy, and
// after how many a small chunk is at the last rank.
func (f *forest) fluid(p *model.Problem) (busy, last float64) {
	load, total := make([]float64, len(p.Topology.Links)), 0.0
	for _, t := range f.down[0] {
		total += float64(t.weight)
		at := map[int]float64{}
		for _, a := range t.arcs {
			at[a.to] = at[a.from] + lasts(p.Topology, a.route, p.Space()/estimated)
			last = max(last, at[a.to])
			for _, l := range a.route {
				load[l] += float64(t.weight) * float64(p.Space()) / float64(p.Topology.Links[l].Bandwidth)
			}
		}
	}
	return slices.Max(load) / total, last
}

// last returns after how many seconds the last rank has the first chunk of a broadcast, if there are as many as can be
// placed.
func (f *forest) last(p *model.Problem) (last float64) {
	size := scale(p.Space(), int64(len(p.Members())-1), int64(f.most()))
	for _, t := range f.down[0] {
		at := map[int]float64{}
		for _, a := range t.arcs {
			at[a.to] = at[a.from] + lasts(p.Topology, a.route, size)
			last = max(last, at[a.to])
		}
	}
	return last
}
