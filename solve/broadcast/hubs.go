package broadcast

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

// hubbed returns a broadcast that repeats a period of hubs, if one can: with the fewest chunks that are soon enough, or
// else with those that are soonest, of at most mostHubbed transfers that there is time to verify. A coarser one comes first, so that there
// is a schedule in any case.
func hubbed(ctx context.Context, p *model.Problem, trees [][]bough, o solve.Options) (best solve.Result) {
	enough, most := max(o.Bound, o.Enough), o.AtMost(mostHubbed)
	for _, transfers := range []int{min(fewHubbed, most), most} {
		if best.Schedule == nil || best.Makespan() > enough {
			best = sooner(best, hubbedIn(ctx, p, trees, enough, transfers))
		}
	}
	return best
}

// hubbedIn is hubbed over some hubs, with a number of transfers at most.
func hubbedIn(ctx context.Context, p *model.Problem, trees [][]bough, enough model.Time, most int) solve.Result {
	slots := 0
	for _, arcs := range trees {
		for _, a := range arcs {
			slots = max(slots, a.colour+1)
		}
	}
	c := newCycle(p, period{trees, slots})
	first := slices.Clone(c.first) // in the order of the places in which the root sends; reorder has changed them
	slices.SortStableFunc(first, func(i, j int32) int { return cmp.Compare(c.steps[i].colour, c.steps[j].colour) })
	place := make([]int, c.trees) // by tree
	for i, n := range first {
		place[c.steps[n].tree] = i
	}
	for i := range c.steps {
		c.steps[i].tree = place[c.steps[i].tree]
	}
	list := c.whole(most)
	slices.SortStableFunc(list, func(x, y beat) int { return cmp.Compare(max(x.ends, enough), max(y.ends, enough)) })
	uneven := 0 // how many that do not divide the skew
	for _, x := range list {
		if ctx.Err() != nil {
			break
		}
		if c.skew > 0 && c.skew%x.period != 0 {
			uneven++
			if uneven > mostPlaced {
				continue
			}
		}
		cut := solve.Evenly(p.Space(), x.chunks)
		if c.place(ctx, cut[0].Size, x.period, x.way) && c.ends(int64(len(cut)), x.period) <= x.ends+x.ends/littleLater {
			return x.schedule(ctx)
		}
	}
	return solve.Result{}
}

// whole returns the beats whose period is a part of the skew, those with the fewest chunks first, and about when they end if the trees of
// each plane are placed one after the other and a hub takes a period to send a chunk. They make a number of transfers at most. Where that
// is too few for such periods, and all are in step whatever the period, it returns longer ones, those with the most chunks first.
func (c *cycle) whole(most int) (list []beat) {
	bandwidth := float64(c.p.Topology.Links[c.steps[0].routes[0][0]].Bandwidth)
	atOnce := float64(c.trees / c.slots) // chunks that the root sends at one time
	heights := c.heights()
	last := slices.Max(heights)
	if float64(c.p.Space())/bandwidth/atOnce*1e12*fewLasts < float64(last) {
		return nil
	}
	skew := cmp.Or(c.skew, last) // where all are in step, any period will do
	add := func(span model.Time) bool {
		size := int64(float64(span/model.Time(c.slots)) / 1e12 * bandwidth)
		if size == 0 {
			return false
		}
		chunks := (c.p.Space() + size - 1) / size
		if chunks > int64(most/(len(c.steps)/c.trees)) {
			return false
		}
		first := slices.Clone(heights)
		for i := range first {
			first[i] += span + model.Time(i)*span/model.Time(c.trees) + span/model.Time(c.slots)
			if c.slots == 1 { // all chunks of a period are sent at once, and by hubs in the next one
				first[i] = heights[i] + 2*span
			}
		}
		_, ends := shares(first, chunks, span)
		list = append(list, beat{c, chunks, span, soon, ends})
		return true
	}
	for parts := model.Time(1); parts*model.Time(c.slots) <= skew && add(skew/parts); parts++ {
	}
	if len(list) > 0 || c.skew > 0 {
		return list
	}
	for n := int64(most / len(c.steps)); n > 0; n /= 2 { // longer periods: where all are in step, and the buffer is large
		each := float64(c.p.Space()) / float64(n*int64(c.trees))
		add(model.Time(each/bandwidth*1e12+1) * model.Time(c.slots))
	}
	return list
}

// fewLasts is for how small a part of the latency of hubs the root must send: what is smaller is sooner over more hops of a
// chunk or two.
const fewLasts = 8

// mostPlaced is how many periods are tried at most that do not divide the skew, since times are whole: transfers may be out of step.
const mostPlaced = 32

// fewHubbed is how many transfers hubs make at most at first, and mostHubbed in the end: more are not verified in time on a busy machine.
const fewHubbed, mostHubbed = 1 << 18, 3 << 20

// hubs returns a period of one tree for each rank but the root, its hub, and each plane of switches: the root sends it a chunk, and it
// sends that to all others, so that no tree is deeper than two hops. It returns nil where regions differ in size, or where some link has
// more to carry than that of the root.
//
// Ranks are a group: the root is 0, and the sum of two adds their regions and their places in these. In the place t of a
// period, a rank of the group other than 0, each hub h sends to h+t, and the root to t: all ranks receive once then. From
// one region all goes to one other, so that on fat trees, where each rank has a spine for itself, no two meet. Where each rank has a link
// to each other one there is one place.
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
	far := make([][][]int32, 0, 1)        // by plane and rank
	for _, in := range planes(t) {
		var to [][]int32
		for v := range t.Ranks {
			to = append(to, linksTo(t, in, v))
		}
		far = append(far, to)
	}
	for i := range len(far) * (k*m - 1) {
		h, far := 1+i/len(far), far[i%len(far)]
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
	if load[first]*float64(t.Links[first].Bandwidth) < 1+alike { // no link has more than one chunk to carry: all are sent at once
		for _, arcs := range trees {
			for i := range arcs {
				arcs[i].colour = 0
			}
		}
	}
	return trees
}

// planes returns the links that lead into each node, of each plane of a network: of switches that hang together without ranks, and have
// as many links to and from each rank as all other planes. Other networks are one plane.
func planes(t *model.Topology) (in [][][]int) {
	whole := [][][]int{t.In()}
	part := t.Parts(func(l *model.Link) bool { return !t.IsRank(l.Src) && !t.IsRank(l.Dst) })[t.Ranks:]
	if len(part) == 0 {
		return whole
	}
	for i := range part {
		part[i] -= t.Ranks // ranks come first, each on its own
	}
	count := slices.Max(part) + 1
	plane := func(l *model.Link) int {
		switch {
		case !t.IsRank(l.Src):
			return part[l.Src-t.Ranks]
		case !t.IsRank(l.Dst):
			return part[l.Dst-t.Ranks]
		}
		return -1 // from rank to rank
	}
	links := make([][2]int, count*t.Ranks) // by plane and rank: to it, from it
	in = make([][][]int, count)
	for g := range in {
		in[g] = make([][]int, t.Nodes())
	}
	for i := range t.Links {
		l := &t.Links[i]
		g := plane(l)
		if g < 0 {
			return whole
		}
		in[g][l.Dst] = append(in[g][l.Dst], i)
		if t.IsRank(l.Dst) {
			links[g*t.Ranks+l.Dst][0]++
		}
		if t.IsRank(l.Src) {
			links[g*t.Ranks+l.Src][1]++
		}
	}
	if slices.ContainsFunc(links, func(n [2]int) bool { return n != links[0] }) || links[0][0] == 0 || links[0][1] == 0 {
		return whole
	}
	return in
}

// together returns the ranks of a broadcast to all as one region, if there is a link from each to each, nil if not.
func together(p *model.Problem) *neighbours {
	t := p.Topology
	n := t.Ranks
	if len(p.Members()) != n || t.Nodes() > n || len(t.Links) < n*(n-1) {
		return nil
	}
	linked := map[[2]int]bool{}
	for i := range t.Links {
		linked[[2]int{t.Links[i].Src, t.Links[i].Dst}] = true
	}
	if len(linked) < n*(n-1) {
		return nil
	}
	x := &neighbours{region: make([]int, n), ranks: [][]int{nil}, ways: &clusters{p: p, out: t.Out()}}
	for v := range n {
		x.ranks[0] = append(x.ranks[0], v)
	}
	return x
}
