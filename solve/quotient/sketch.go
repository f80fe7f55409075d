package quotient

import (
	"cmp"
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
	group []int       // of a node; that of a switch may have no rank
	place []int       // of a rank: how many of its group come before it
	size  map[int]int // by group: its ranks
	level bool        // groups differ in size, so that what goes to peers does not load all ranks of a group alike
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
	x := &sketch{group: t.Parts(with), size: map[int]int{}}
	for _, g := range x.group[:t.Ranks] {
		x.place = append(x.place, x.size[g])
		x.size[g]++
	}
	for _, n := range x.size {
		x.level = x.level || n != x.size[x.group[0]]
	}
	if len(x.size) == 1 || len(x.size) == t.Ranks {
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
			if !k.grow(b, parts[i].root, &t) {
				b.trees = nil
				return b
			}
			b.trees = append(b.trees, t)
		}
	}
	return b
}

// grow makes the tree of a root and adds its hops to the loads of a balance, or returns false if it does not reach all members. To
// each other group there is one hop, from the root if it can be, else from one of its group.
func (k *sketch) grow(b *balance, root int, t *tree) bool {
	s := b.side(t)
	n := s.t.Ranks
	t.parent, t.step, t.depth = slices.Repeat([]int32{-1}, n), make([]int32, n), make([]int32, n)
	t.parent[root] = int32(root)
	reached := append(make([]int, 0, n), root)
	reach := func(u, v, step int) {
		t.parent[v], t.step[v], t.depth[v] = int32(u), int32(step), t.depth[u]+1
		b.add(t, s.out[s.class[u]][step].way, 1)
		reached = append(reached, v)
	}
	inside := func(at int) { // brings what some ranks have to all of their groups
		for ; at < len(reached); at++ {
			u := reached[at]
			by, out := s.g.Nodes(int(s.element[u])), s.out[s.class[u]]
			for i := range out {
				if v := int(by[out[i].to]); s.member[v] && t.parent[v] < 0 && k.group[v] == k.group[u] {
					reach(u, v, i)
				}
			}
		}
	}
	land := func(from []int) {
		for _, x := range k.landings(b, t, root, from) {
			reach(x.src, x.dst, x.step)
		}
	}
	land(reached)
	inside(0)
	at := len(reached)
	land(reached)
	inside(at)
	for v, m := range s.member {
		if m && t.parent[v] < 0 {
			return false
		}
	}
	return true
}

// landing is a hop to another group.
type landing struct {
	src, dst, step, links int
	load                  float64
	peer                  bool // it leads from the root to the rank with the same place
}

// landings returns a hop to each group of which a tree does not reach any rank, in the order of their places: of those from some
// ranks of the root's group over as few links as can be, that to the root's peer or, where groups differ in size, one whose machines have least to do.
func (k *sketch) landings(b *balance, t *tree, root int, from []int) (list []landing) {
	s := b.side(t)
	reached := map[int]bool{}
	for v, u := range t.parent {
		if u >= 0 {
			reached[k.group[v]] = true
		}
	}
	best := map[int]int{} // by group: the place in the list
	for _, u := range from {
		if k.group[u] != k.group[root] {
			continue
		}
		by, out := s.g.Nodes(int(s.element[u])), s.out[s.class[u]]
		for i := range out {
			v := int(by[out[i].to])
			g := k.group[v]
			if !s.member[v] || reached[g] {
				continue
			}
			x := landing{u, v, i, len(s.ways[out[i].way].links), b.loads(t, out[i].way), u == root && k.place[v] == k.place[root]}
			at, known := best[g]
			switch {
			case !known:
				best[g] = len(list)
				list = append(list, x)
			case x.better(&list[at], k.level):
				list[at] = x
			}
		}
	}
	slices.SortFunc(list, func(x, y landing) int { return cmp.Or(cmp.Compare(x.src, y.src), cmp.Compare(x.step, y.step)) })
	return list
}

// better reports whether a landing is better than another: what counts first is its load if that has to be level, else whether it leads
// to a peer. Loads that differ by rounding alone count as equal.
func (x *landing) better(y *landing, level bool) bool {
	same := math.Abs(x.load-y.load) <= 1e-9*y.load
	switch {
	case x.links != y.links:
		return x.links < y.links
	case level && !same || x.peer == y.peer:
		return !same && x.load < y.load
	}
	return x.peer
}
