package broadcast

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/arborescence"
)

// flattened returns trees that span the same nodes, in which the last ranks are reached sooner, and that use no link more
// often than it has room. Edmonds' theorem (pack) has trees of the largest rate, but the first ones take the short ways
// and leave long detours to the last ones, while a pipeline is filled only when the deepest tree is.
//
// At a node each tree has a parent. If a tree takes another parent there that is not below the node, it is a tree
// again; where a link of the new hop is full, some other hop has to leave it, for one from the parent that was left.
// Each such move, of one hop or of two, that lowers the sum over all trees and nodes of a high power of the time to the
// node is made, until there is none. Nothing says that no other trees are flatter. A pass is O(trees²·nodes³) at worst.
func flattened(ctx context.Context, p *model.Problem, trees []arborescence.Tree, room []int64) []arborescence.Tree {
	unit, all := int64(0), int64(0)
	for _, x := range trees {
		unit, all = arborescence.GCD(unit, x.Weight), all+x.Weight
	}
	if unit == 0 || all/unit > mostFlattened {
		return trees
	}
	hops := newGarden(p).hops
	if int(all/unit)*len(p.Members())*len(hops) > mostLooks {
		return trees
	}
	var best *bed
	for try := range triedOrders {
		s := newBed(p, hops, trees, room, unit)
		order := s.branches()
		if try > 0 {
			g := rand.New(rand.NewPCG(uint64(try), 0))
			g.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		for s.pass(ctx, order) {
		}
		if best == nil || s.sum() < best.sum() {
			best = s
		}
		if ctx.Err() != nil || len(order) > fewBranches {
			break
		}
	}
	return best.trees(trees[0].Root, unit)
}

const (
	// mostFlattened is how many equal trees are flattened at most.
	mostFlattened = 64
	// mostLooks is at how many hops of branches a pass looks at most.
	mostLooks = 1 << 25
	// triedOrders is in how many orders moves are made, where there are at most fewBranches.
	triedOrders, fewBranches = 16, 256
)

// bed is a number of equal trees from one root.
type bed struct {
	hops    []way
	into    [][]int32   // by node: hops into it
	room    []int64     // by link: the trees that there is still room for
	users   [][]branch  // by link: the hops over it
	parent  [][]int32   // by tree and node: the hop into it, or -1
	kids    [][][]int32 // by tree and node
	reached [][]float64 // by tree and node: when it is, in parts of the longest hop
	below   []int32     // scratch: a subtree
	total   []float64   // by node: the sum of these times over all trees
	level   bool        // powers of means over all trees are to be small, not of single times
}

// branch is the hop of a tree into a node.
type branch struct{ tree, node int }

func newBed(p *model.Problem, hops []way, trees []arborescence.Tree, room []int64, unit int64) *bed {
	nodes := p.Topology.Nodes()
	s := &bed{into: make([][]int32, nodes), users: make([][]branch, len(room)), total: make([]float64, nodes)}
	for _, r := range room {
		s.room = append(s.room, r/unit)
	}
	for _, h := range hops {
		s.add(h)
	}
	for _, x := range trees { // detours over switches are no hops
		for _, a := range x.Arcs {
			if s.hop(a) < 0 {
				s.add(way{a.From, a.To, a.Route, arborescence.Seconds(p.Topology, a.Route, p.Space()/estimated)})
			}
		}
	}
	longest := 0.0
	for i := range s.hops {
		longest = max(longest, s.hops[i].lasts)
	}
	for i := range s.hops {
		s.hops[i].lasts = (s.hops[i].lasts + 1e-3*longest) / longest
	}
	for _, x := range trees {
		for range x.Weight / unit {
			a := len(s.parent)
			s.parent, s.kids, s.reached = append(s.parent, slices.Repeat([]int32{-1}, nodes)), append(s.kids, make([][]int32, nodes)), append(s.reached, make([]float64, nodes))
			for _, arc := range x.Arcs {
				s.hang(branch{a, arc.To}, s.hop(arc))
			}
		}
	}
	return s
}

func (s *bed) add(h way) {
	s.into[h.to] = append(s.into[h.to], int32(len(s.hops)))
	s.hops = append(s.hops, h)
}

// hop returns the hop that an arc is, or -1.
func (s *bed) hop(a arborescence.Arc) int32 {
	for _, i := range s.into[a.To] {
		if s.hops[i].from == a.From && slices.Equal(s.hops[i].route, a.Route) {
			return i
		}
	}
	return -1
}

// branches returns those of all trees.
func (s *bed) branches() (all []branch) {
	for v := range s.into {
		for a := range s.parent {
			if s.parent[a][v] >= 0 {
				all = append(all, branch{a, v})
			}
		}
	}
	return all
}

// sum returns what is to be small.
func (s *bed) sum() (sum float64) {
	for _, tree := range s.reached {
		for _, at := range tree {
			sum += power(at)
		}
	}
	return sum
}

// pass moves branches, in an order, and reports whether one was moved.
func (s *bed) pass(ctx context.Context, order []branch) (moved bool) {
	for _, at := range order {
		if ctx.Err() != nil {
			return false
		}
		if s.improve(at) {
			moved = true
		}
	}
	return moved
}

// improve moves a branch, and maybe another one, to where that gains most, and reports whether something was gained.
func (s *bed) improve(at branch) bool {
	old := s.parent[at.tree][at.node]
	best, to, other, otherTo := least, int32(-1), branch{}, int32(-1)
	for _, h := range s.into[at.node] {
		if h == old || s.reached[at.tree][s.hops[h].from]+s.hops[h].lasts >= s.reached[at.tree][at.node] {
			continue
		}
		gain := s.gain(at, h)
		if gain <= least {
			continue
		}
		s.take(at, old, -1)
		s.take(at, h, 1)
		switch full := s.full(h); {
		case full < 0:
			if gain > best {
				best, to, otherTo = gain, h, -1
			}
		default:
			for _, b := range s.users[full] {
				was := s.parent[b.tree][b.node]
				if b == at || b.tree == at.tree || s.hops[was].from == s.hops[old].from {
					continue
				}
				for _, k := range s.into[b.node] {
					if s.hops[k].from != s.hops[old].from {
						continue
					}
					if more := gain + s.gain(b, k); more > best && s.fits(b, was, k, h) {
						best, to, other, otherTo = more, h, b, k
					}
				}
			}
		}
		s.take(at, h, -1)
		s.take(at, old, 1)
	}
	if to < 0 {
		return false
	}
	s.hang(at, to)
	if otherTo >= 0 {
		s.hang(other, otherTo)
	}
	return true
}

// fits reports whether no link of two hops is used too often once a branch leaves one hop for the first of them.
func (s *bed) fits(b branch, was, now, besides int32) bool {
	s.take(b, was, -1)
	s.take(b, now, 1)
	fits := s.full(now) < 0 && s.full(besides) < 0
	s.take(b, now, -1)
	s.take(b, was, 1)
	return fits
}

// full returns a link of a hop that is used too often, or -1.
func (s *bed) full(h int32) int {
	for _, l := range s.hops[h].route {
		if s.room[l] < 0 {
			return l
		}
	}
	return -1
}

// take counts that a branch uses a hop, once more or once less.
func (s *bed) take(b branch, h int32, times int64) {
	for _, l := range s.hops[h].route {
		s.room[l] -= times
	}
}

// least is the gain that counts: less is rounding.
const least = 1e-9

// gain returns by how much the sum of the powers falls if a branch becomes another hop: -Inf if that is from below.
func (s *bed) gain(at branch, h int32) (gain float64) {
	a, v := at.tree, at.node
	later := s.reached[a][s.hops[h].from] + s.hops[h].lasts - s.reached[a][v]
	for u := s.hops[h].from; ; u = s.hops[s.parent[a][u]].from {
		if u == v {
			return math.Inf(-1)
		}
		if s.parent[a][u] < 0 {
			break
		}
	}
	n := float64(len(s.parent))
	for _, u := range s.subtree(a, v) {
		if s.level {
			gain += n * (power(s.total[u]/n) - power((s.total[u]+later)/n))
		} else {
			gain += power(s.reached[a][u]) - power(s.reached[a][u]+later)
		}
	}
	return gain
}

// power returns the power of a time to a node whose sum is to be small: the last nodes count.
func power(x float64) float64 { return x * x * x * x * x * x }

// hang makes a hop a branch, in place of what the branch was.
func (s *bed) hang(at branch, h int32) {
	a, v := at.tree, at.node
	if old := s.parent[a][v]; old >= 0 {
		from := s.hops[old].from
		s.kids[a][from] = slices.DeleteFunc(s.kids[a][from], func(u int32) bool { return int(u) == v })
		s.take(at, old, -1)
		for _, l := range s.hops[old].route {
			s.users[l] = slices.DeleteFunc(s.users[l], func(b branch) bool { return b == at })
		}
	}
	from := s.hops[h].from
	s.kids[a][from] = append(s.kids[a][from], int32(v))
	s.take(at, h, 1)
	for _, l := range s.hops[h].route {
		s.users[l] = append(s.users[l], at)
	}
	later := s.reached[a][from] + s.hops[h].lasts - s.reached[a][v]
	s.parent[a][v] = h
	for _, u := range s.subtree(a, v) {
		s.reached[a][u] += later
		s.total[u] += later
	}
}

// subtree returns v and what is below it in tree a, until the next call.
func (s *bed) subtree(a, v int) []int32 {
	s.below = append(s.below[:0], int32(v))
	for i := 0; i < len(s.below); i++ {
		s.below = append(s.below, s.kids[a][s.below[i]]...)
	}
	return s.below
}

// trees returns the trees, those that are alike as one.
func (s *bed) trees(root int, unit int64) (list []arborescence.Tree) {
	for a := range s.parent {
		t := arborescence.Tree{Root: root, Weight: unit}
		for _, v := range s.subtree(a, root)[1:] {
			h := &s.hops[s.parent[a][v]]
			t.Arcs = append(t.Arcs, arborescence.Arc{From: h.from, To: h.to, Route: h.route})
		}
		same := func(x arborescence.Tree) bool {
			return slices.EqualFunc(x.Arcs, t.Arcs, func(p, q arborescence.Arc) bool {
				return p.From == q.From && p.To == q.To && slices.Equal(p.Route, q.Route)
			})
		}
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i].Weight += unit
		} else {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b arborescence.Tree) int { return cmp.Compare(b.Weight, a.Weight) })
	return list
}
