package broadcast

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// hubbed returns a broadcast that repeats a period of hubs, if there are any: with the fewest chunks that are soon enough, or
// else with those that are soonest, of at most mostHubbed transfers that there is time to verify. A coarser one comes first, so that there
// is a schedule in any case.
func hubbed(ctx context.Context, p *model.Problem, near *neighbours, o solve.Options) (best solve.Result) {
	trees := hubs(p, near)
	if trees == nil {
		return best
	}
	enough, most := max(o.Bound, o.Enough), mostHubbed
	if o.MostTransfers > 0 {
		most = min(most, o.MostTransfers)
	}
	for _, transfers := range []int{min(fewHubbed, most), most} {
		if best.Schedule == nil || best.Makespan() > enough {
			best = sooner(best, hubbedIn(ctx, p, trees, enough, transfers))
		}
	}
	return best
}

// hubbedIn is hubbed over some hubs, with a number of transfers at most.
func hubbedIn(ctx context.Context, p *model.Problem, trees [][]bough, enough model.Time, most int) solve.Result {
	c := newCycle(p, period{trees, len(trees)})
	place := make([]int, c.trees) // by tree: that in which the root sends; reorder has changed it
	for _, n := range c.first {
		place[c.steps[n].tree] = c.steps[n].colour
	}
	for i := range c.steps {
		c.steps[i].tree = place[c.steps[i].tree]
	}
	list := c.whole(most)
	for range min(mostPlaced, len(list)) {
		if ctx.Err() != nil {
			break
		}
		best := 0
		for i := range list {
			if max(list[i].ends, enough) < max(list[best].ends, enough) {
				best = i
			}
		}
		x := list[best]
		list[best].ends = model.MaxTime
		cut := solve.Evenly(p.Space(), x.chunks)
		if c.place(ctx, cut[0].Size, x.period, x.way) && c.ends(int64(len(cut)), x.period) <= x.ends+x.ends/littleLater {
			return x.schedule(ctx)
		}
	}
	return solve.Result{}
}

// whole returns the beats whose period is a part of the skew, those with the fewest chunks first, and about when they end if trees
// are placed one after the other and a hub takes a period to send a chunk. They make a number of transfers at most.
func (c *cycle) whole(most int) (list []beat) {
	bandwidth := float64(c.p.Topology.Links[c.steps[0].routes[0][0]].Bandwidth)
	last := model.Time(0)
	for _, n := range c.first {
		last = max(last, c.steps[n].height)
	}
	if float64(c.p.Space())/bandwidth*1e12*fewLasts < float64(last) {
		return nil
	}
	skew := cmp.Or(c.skew, last) // where all are in step, any period will do
	for parts := model.Time(1); parts*model.Time(c.trees) <= skew; parts++ {
		span := skew / parts
		size := int64(float64(span/model.Time(c.trees)) / 1e12 * bandwidth)
		if size == 0 {
			break
		}
		chunks := (c.p.Space() + size - 1) / size
		if chunks > int64(most/(len(c.steps)/c.trees)) {
			break
		}
		full, rest := model.Time(chunks-1)/model.Time(c.trees), model.Time(chunks-1)%model.Time(c.trees)
		list = append(list, beat{c, chunks, span, soon, (full+1)*span + rest*span/model.Time(c.trees) + last})
	}
	return list
}

// fewLasts is for how small a part of the latency of hubs the root must send: what is smaller is sooner over more hops of a
// chunk or two.
const fewLasts = 8

// mostPlaced is how many periods are tried at most: where times are rounded, transfers may be out of step.
const mostPlaced = 32

// fewHubbed is how many transfers hubs make at most at first, and mostHubbed in the end: more are not verified in time on a busy machine.
const fewHubbed, mostHubbed = 1 << 18, 3 << 20

// hubs returns a period of one tree for each rank but the root, its hub: the root sends it a chunk, and it sends that to
// all others, so that no tree is deeper than two hops. It returns nil where regions differ in size, or where some link has
// more to carry than that of the root.
//
// Ranks are a group: the root is 0, and the sum of two adds their regions and their places in these. In the place t of a
// period, a rank of the group other than 0, each hub h sends to h+t, and the root to t: all ranks receive once then. From
// one region all goes to one other, so that on fat trees, where each rank has a spine for itself, no two meet.
func hubs(p *model.Problem, near *neighbours) (trees [][]bough) {
	t, root := p.Topology, p.Collective.Root
	k, m := len(near.ranks), len(near.ranks[0])
	if slices.ContainsFunc(near.ranks, func(r []int) bool { return len(r) != m }) {
		return nil
	}
	home := near.region[root]
	at := slices.Index(near.ranks[home], root)
	sum := func(u, v int) int { return near.ranks[(home+u/m+v/m)%k][(at+u%m+v%m)%m] }
	load := make([]float64, len(t.Links)) // seconds, with one byte a tree
	far, in := make([][]int32, t.Ranks), t.In()
	for v := range far {
		far[v] = linksTo(t, in, v)
	}
	for h := 1; h < k*m; h++ {
		var arcs []bough
		send := func(from, to, place int) bool {
			if far[to][from] < 0 || far[to][from] > maxSwitchHops {
				return false
			}
			route := walk(t, near.ways.out, far[to], from, 0)
			for _, l := range route {
				load[l] += 1 / float64(t.Links[l].Bandwidth)
			}
			arcs = append(arcs, bough{from, to, [][]int{route}, place})
			return true
		}
		hub := sum(h, 0)
		if !send(root, hub, h-1) {
			return nil
		}
		for t := 1; t < k*m; t++ {
			if to := sum(h, t); to != root && !send(hub, to, t-1) {
				return nil
			}
		}
		trees = append(trees, arcs)
	}
	first := trees[0][0].routes[0][0]
	if slices.Max(load) > load[first]*(1+alike) {
		return nil
	}
	return trees
}
