package quotient

import (
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// sketch is a division of the ranks into groups, such as machines. A tree that follows it leaves its root for one rank of
// each other group, over one hop, and goes on inside the groups: as a composition of a collective inside the machines with
// one between them does (Cho et al., "BlueConnect", MLSys 2019). Moved by the group of symmetries, the trees of all roots
// use all ports between the machines at once, in an order in which no two are at one port; and list scheduling has both
// levels busy at once.
type sketch struct {
	group []int // of a node; that of a switch may have no rank
	place []int // of a rank: how many of its group come before it
	count int
}

// Limits of what is tried.
const (
	maxSketches  = 2   // of a network
	mostSketched = 32  // chunks of a rank
	worthTwice   = 997 // of a thousand parts of the time that is left with twice as many chunks, for more of them to be tried
)

// sketches returns the divisions of the ranks into two or more groups of two or more, by links: those without
// links of some latency or more, or without slower ones.
func sketches(t *model.Topology) (list []*sketch) {
	add := func(with func(l *model.Link) bool) {
		x := &sketch{group: t.Parts(with)}
		sizes := map[int]int{}
		for _, g := range x.group[:t.Ranks] {
			x.place = append(x.place, sizes[g])
			sizes[g]++
		}
		x.count = len(sizes)
		same := func(y *sketch) bool { return slices.Equal(x.group, y.group) }
		if x.count > 1 && x.count < t.Ranks && len(list) < maxSketches && !slices.ContainsFunc(list, same) {
			list = append(list, x)
		}
	}
	slowest, longest := int64(math.MaxInt64), model.Time(0)
	for i := range t.Links {
		slowest, longest = min(slowest, t.Links[i].Bandwidth), max(longest, t.Links[i].Alpha)
	}
	add(func(l *model.Link) bool { return l.Alpha < longest })
	add(func(l *model.Link) bool { return l.Bandwidth > slowest })
	return list
}

// fills reports whether what an allreduce has to bring into and out of each group of a sketch keeps its links busy for longer
// than the latency of one: then trees that follow it do well.
func fills(p *model.Problem) bool {
	for _, k := range sketches(p.Topology) {
		out, longest := make([]int64, len(k.group)), model.Time(0) // by group
		for i := range p.Topology.Links {
			l := &p.Topology.Links[i]
			if longest = max(longest, l.Alpha); k.group[l.Src] != k.group[l.Dst] {
				out[k.group[l.Src]] += l.Bandwidth
			}
		}
		least := slices.Min(slices.DeleteFunc(out, func(b int64) bool { return b == 0 }))
		if 2*float64(p.Size)/float64(least) >= float64(longest)*1e-12 {
			return true
		}
	}
	return false
}

// trees returns trees of all parts that follow the sketch, for sums and for gatherings, or nil where some rank is not
// reached so.
func (k *sketch) trees(x *reducing, parts []part) *balance {
	b := &balance{s: x.s, r: x.r, twins: x.twins, parts: parts}
	for i := range parts {
		for _, sum := range []bool{true, false} {
			t := tree{part: int32(i), sum: sum}
			if !k.grow(b.side(&t), parts[i].root, &t) {
				return nil
			}
			b.trees = append(b.trees, t)
		}
	}
	return b
}

// grow makes the tree of a root in a shop, or returns false if it does not reach all members.
func (k *sketch) grow(s *shop, root int, t *tree) bool {
	n := s.t.Ranks
	t.parent, t.step, t.depth = slices.Repeat([]int32{-1}, n), make([]int32, n), make([]int32, n)
	t.parent[root] = int32(root)
	queue := append(make([]int, 0, n), root)
	reach := func(u, v, step int) {
		t.parent[v], t.step[v], t.depth[v] = int32(u), int32(step), t.depth[u]+1
		queue = append(queue, v)
	}
	landing := make(map[int]int, k.count) // by group: the step from the root to it with the fewest links, to its peer if it can be
	by, out := s.g.Nodes(int(s.element[root])), s.out[s.class[root]]
	for i := range out {
		v := int(by[out[i].to])
		if g := k.group[v]; s.member[v] && g != k.group[root] {
			old, known := landing[g]
			more := 0
			if known {
				more = len(s.ways[out[i].way].links) - len(s.ways[out[old].way].links)
			}
			if !known || more < 0 || more == 0 && k.place[v] == k.place[root] {
				landing[g] = i
			}
		}
	}
	for i := range out {
		if v := int(by[out[i].to]); k.group[v] != k.group[root] && landing[k.group[v]] == i && s.member[v] {
			reach(root, v, i)
		}
	}
	for at := 0; at < len(queue); at++ {
		u := queue[at]
		by, out := s.g.Nodes(int(s.element[u])), s.out[s.class[u]]
		for i := range out {
			if v := int(by[out[i].to]); s.member[v] && t.parent[v] < 0 && k.group[v] == k.group[u] {
				reach(u, v, i)
			}
		}
	}
	for v, m := range s.member {
		if m && t.parent[v] < 0 {
			return false
		}
	}
	return true
}
