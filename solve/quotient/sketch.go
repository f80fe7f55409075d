package quotient

import (
	"math"
	"math/rand/v2"
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
	mostSketched = 32  // chunks of a rank
	balancings   = 3   // attempts for each number of them
	worthTwice   = 997 // of a thousand parts of the time that is left with twice as many chunks, for more of them to be tried
)

// newSketch returns the division of the ranks into those that hang together by some links, or nil if there is but one group
// or one rank in each.
func newSketch(t *model.Topology, with func(l *model.Link) bool) *sketch {
	x, sizes := &sketch{group: t.Parts(with)}, map[int]int{}
	for _, g := range x.group[:t.Ranks] {
		x.place = append(x.place, sizes[g])
		sizes[g]++
	}
	if x.count = len(sizes); x.count == 1 || x.count == t.Ranks {
		return nil
	}
	return x
}

// sketches returns the divisions of the ranks by links without those of the longest latency, or without the slowest ones.
func sketches(t *model.Topology) (list []*sketch) {
	slowest, longest := int64(math.MaxInt64), model.Time(0)
	for i := range t.Links {
		slowest, longest = min(slowest, t.Links[i].Bandwidth), max(longest, t.Links[i].Alpha)
	}
	near := newSketch(t, func(l *model.Link) bool { return l.Alpha < longest })
	fast := newSketch(t, func(l *model.Link) bool { return l.Bandwidth > slowest })
	if near != nil {
		list = append(list, near)
	}
	if fast != nil && (near == nil || !slices.Equal(fast.group, near.group)) {
		list = append(list, fast)
	}
	return list
}

// busiest returns the division of the ranks by links without those that take longest for a byte from each rank to each
// other one, if there is one: few links between groups carry what the ranks of one send to those of another.
func (s *shop) busiest() []*sketch {
	busy, most, members := make([]float64, len(s.t.Links)), 0.0, make([]float64, len(s.reps))
	for _, c := range s.class {
		members[c]++
	}
	for c, steps := range s.out {
		for _, st := range steps {
			for _, l := range st.links {
				for e := range s.g.Order() {
					i := s.g.Link(e, l)
					busy[i] += members[c] / float64(s.t.Links[i].Bandwidth)
					most = max(most, busy[i])
				}
			}
		}
	}
	less := map[*model.Link]bool{}
	for i, b := range busy {
		less[&s.t.Links[i]] = b < most*0.999
	}
	if k := newSketch(s.t, func(l *model.Link) bool { return less[l] }); k != nil {
		return []*sketch{k}
	}
	return nil
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

// trees returns trees of all parts that follow the sketch, for sums, gatherings or both, and none where some rank is not
// reached so.
func (k *sketch) trees(collective model.Kind, x *reducing, parts []part, goal model.Time, rng *rand.Rand) *balance {
	b := newBalance(x, parts, goal, x.s.depth(parts), rng)
	for i := range parts {
		for _, sum := range []bool{true, false} {
			if sum && collective == model.AllGather || !sum && collective == model.ReduceScatter {
				continue
			}
			t := tree{part: int32(i), sum: sum}
			s := b.side(&t)
			if !k.grow(s, parts[i].root, &t) {
				b.trees = nil
				return b
			}
			for v, u := range t.parent {
				if u >= 0 && int(u) != v {
					b.add(&t, s.out[s.class[u]][t.step[v]].way, 1)
				}
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
