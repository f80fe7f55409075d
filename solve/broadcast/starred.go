package broadcast

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// starred returns a broadcast that repeats a period of stars, levelled ones if there are such, with other ways for the last chunks: of
// many or few of them. The coarse one comes first, so that there is a schedule in any case. There is none where latencies outweigh what the root has to send.
func starred(b *solve.Budget, p *model.Problem, o solve.Options) solve.Result {
	near := newNeighbours(p)
	if near == nil || model.TransferTime(p.Space(), p.Topology.Links[0].Bandwidth) < longStarred*near.farthest() {
		return solve.Result{}
	}
	trees := stars(p, near)
	if trees == nil {
		return solve.Result{}
	}
	half, done := b.Share(2)
	defer done()
	if level := levelledStars(half.Context(), p, trees); level != nil {
		trees = level
	}
	once := slices.Values([]period{{trees, len(trees)}})
	var best solve.Result
	for _, fewer := range []int{16, 4, 1} {
		if best.Schedule != nil && (fewer > 1 || best.Makespan() <= o.Enough) {
			continue
		}
		r := repeated(b.Context(), p, once, linksRepeated(p, o)/fewer)
		if r.Schedule != nil && (best.Schedule == nil || len(r.Problem.Chunks) > len(best.Problem.Chunks)) {
			r.Schedule = endings(b.Context(), r.Problem, r.Schedule, o)
			best = sooner(best, r)
		}
	}
	return best
}

// longStarred is how many times the latency to the farthest rank the root must send for chunks that are repeated.
const longStarred = 4

// levelledStars returns trees as fast as stars in which the mean time to the farthest rank, over the trees, is less (see levelled),
// with places in a period that are as many as the trees; nil if it finds none. Links between switches are not full after that: else
// arcs over several of them can hardly be kept apart.
func levelledStars(ctx context.Context, p *model.Problem, trees [][]bough) [][]bough {
	tiny := *p
	tiny.Size = 1 // latencies alone count
	root, hops := p.Collective.Root, newGarden(&tiny).hops
	if len(trees) > mostFlattened || len(trees)*len(p.Members())*len(hops) > mostLooks {
		return nil
	}
	f := forest(trees, root)
	for part := int64(leastFree); part >= mostFree && ctx.Err() == nil; part /= 2 {
		s := newBed(&tiny, hops, f.Trees, rooms(p, trees, part), 1)
		before := s.farthest()
		s.level = true
		s.temper(ctx, rand.New(rand.NewPCG(1, 2)), warmStars, coolStars, mostLevelled)
		if s.farthest() > before-alike {
			return nil
		}
		level := equal(s.trees(root, 1))
		places := placed(level, p.Topology.Ranks)
		if places == len(trees) && newChains(level, p.Topology.Ranks, len(p.Topology.Links), places).untangle(mostFullUntangled) {
			return level
		}
	}
	return nil
}

// leastFree and mostFree tell how much of a link between switches stays free: an eighth at first, a quarter at last.
const leastFree, mostFree = 8, 4

// warmStars and coolStars are the temperatures at the start and at the end, as in levelled.
const warmStars, coolStars = 0.3, 3e-4

// rooms returns how many of as many trees there are each link has room for, by their routes, without one of some parts of it between
// switches, or as many as use it.
func rooms(p *model.Problem, trees [][]bough, part int64) []int64 {
	t := p.Topology
	uses, room := make([]int64, len(t.Links)), make([]int64, len(t.Links))
	for _, arcs := range trees {
		for _, a := range arcs {
			for _, l := range a.routes[0] {
				uses[l]++
			}
		}
	}
	for l, x := range t.Links {
		if room[l] = int64(len(trees)); !t.IsRank(x.Src) && !t.IsRank(x.Dst) {
			room[l] = max(uses[l], room[l]-(room[l]+part-1)/part)
		}
	}
	return room
}
