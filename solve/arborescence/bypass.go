package arborescence

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/fluid"
	demand "github.com/oraccl/oraccl/solve/network"
)

// finer is what rooms and trees are multiplied by where switches cannot be removed without
// loss, so that little more than that is lost.
const finer = 1024

// packed returns the trees of each shard of p, an allgather, broadcast or custom collective that spreads
// what single ranks have to all members.
func Packed(ctx context.Context, p *model.Problem) ([][]Tree, error) {
	limit, err := fluid.Rate(ctx, p)
	if err != nil {
		return nil, err
	}
	w, _, err := Bypassed(ctx, p, limit, 1)
	if err != nil {
		return nil, err
	}
	all, err := w.Pack(ctx)
	if err != nil {
		return nil, err
	}
	byRoot := map[int][]Tree{}
	for _, t := range all {
		byRoot[t.Root] = append(byRoot[t.Root], t)
	}
	for _, trees := range byRoot {
		slices.SortStableFunc(trees, func(a, b Tree) int { return cmp.Compare(b.Weight, a.Weight) })
	}
	var byShard [][]Tree
	for _, r := range roots(p) {
		if r < 0 {
			byShard = append(byShard, []Tree{{Weight: 1}}) // it has no arcs
			continue
		}
		byShard = append(byShard, slices.Clone(byRoot[r]))
	}
	return byShard, nil
}

// roots returns the rank that has each shard of p at first, -1 of those that nobody wants.
func roots(p *model.Problem) []int {
	switch p.Collective.Kind {
	case model.AllGather:
		return p.Members()
	case model.Broadcast:
		return []int{p.Collective.Root}
	}
	list := slices.Repeat([]int{-1}, p.Shards())
	wanted := make([]bool, len(list))
	for _, d := range p.Collective.Post {
		wanted[d.Chunk] = true
	}
	for _, d := range p.Collective.Pre {
		if wanted[d.Chunk] {
			list[d.Chunk] = d.Rank
		}
	}
	return list
}

// bypassed returns p's network without its switches, with room for the trees that p, an
// allgather or broadcast, needs, each of them in a number of parts; and for how many parts of
// trees there is room on each link, nil if some were lost with the switches. Around a switch
// each way in gets an equal part of each way out, if there are as many parts.
func Bypassed(ctx context.Context, p *model.Problem, limit fluid.Limit, parts int64) (w *Network, room []int64, err error) {
	if w, err = scaled(p, limit); err != nil {
		return nil, nil, err
	}
	w.Trees *= parts
	for i := range w.Arcs {
		w.Arcs[i].Room *= parts
		room = append(room, w.Arcs[i].Room)
	}
	for v := range p.Topology.Nodes() {
		if !slices.Contains(w.Sinks, v) {
			if err := w.splitOff(ctx, v); err != nil {
				return nil, nil, err
			}
		}
	}
	if w.missing() > 0 {
		room = nil
		for i := range w.Arcs {
			w.Arcs[i].Room *= finer
		}
		for low, high := int64(0), w.Trees*finer; ; {
			if w.Trees = (low + high + 1) / 2; w.missing() == 0 {
				low = w.Trees
			} else {
				high = w.Trees - 1
			}
			if low >= high {
				w.Trees = low
				break
			}
		}
		if w.Trees == 0 {
			return nil, nil, solve.NotServed("switches of %s cannot be bypassed", p.Topology.Name)
		}
	}
	return w, room, nil
}

// coarsest is into how many units what there is is divided where sizes in bytes would be too many: what
// a source has is rounded by less than one.
const coarsest = 1 << 20

// scaled returns p's network with room on each link for as many trees as it can carry in
// the least time, for the smallest number of trees a source for which these are whole.
func scaled(p *model.Problem, limit fluid.Limit) (*Network, error) {
	t := p.Topology
	w := &Network{Topology: t, Sinks: p.Members()}
	var grain int64
	var err error
	if w.sources, w.weights, grain, err = demand.Sources(p); err != nil {
		return nil, err
	}
	shares, whole := limit.Shares/grain, limit.Of/grain
	unit := limit.Bandwidth
	for _, l := range t.Links {
		unit = GCD(unit, l.Bandwidth)
	}
	width := limit.Bandwidth / unit
	if whole > coarsest {
		// Rounded down, what leaves a set still fits over its links; and there is room on each link for
		// one unit more of those that would have none.
		shares = Scale(coarsest, shares, whole) + 1
		for i, n := range w.weights {
			if w.weights[i] = Scale(coarsest, n, whole); w.weights[i] == 0 {
				w.weights[i] = 1
				shares += width
			}
		}
	}
	common := GCD(shares, width)
	w.Trees = width / common
	total := int64(0)
	for i, l := range t.Links {
		room := l.Bandwidth / unit
		if room > maxRoom/shares {
			return nil, solve.NotServed("bandwidths too different for whole numbers of trees")
		}
		// Room for more than all trees is of no use.
		room = min(room*shares/common, w.all())
		if total += room; total > maxRoom {
			return nil, solve.NotServed("bandwidths too different for whole numbers of trees")
		}
		w.Arcs = append(w.Arcs, Arc{From: l.Src, To: l.Dst, Room: room, Route: []int{i}})
	}
	return w, nil
}

// maxRoom keeps sums of rooms and trees, made finer, in the range of maxflow.
const maxRoom = 1 << 48

func GCD(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// lasts returns the seconds that a chunk takes over a route.
func Seconds(t *model.Topology, route []int, size int64) (sum float64) {
	for _, l := range route {
		sum += float64(t.Links[l].Alpha)/1e12 + float64(size)/float64(t.Links[l].Bandwidth)
	}
	return sum
}

// scale returns ⌊size·a/b⌋, for 0 <= a <= b.
func Scale(size, a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(size), uint64(a))
	q, _ := bits.Div64(hi, lo, uint64(b))
	return int64(q)
}
