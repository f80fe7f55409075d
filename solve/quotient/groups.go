package quotient

import (
	"slices"

	"github.com/oraccl/oraccl/solve/symmetry"
)

// Limits of the search for groups.
const (
	maxSeveral = 128     // ranks up to which several groups are looked for
	maxHops    = 1 << 19 // hops of one part a rank that stands for others
	fewHops    = 1 << 14 // as many are no reason to look for larger groups
)

// groups finds the groups and divides the network by them.
func (s *search) groups() {
	o := symmetry.Options{Labels: s.labels(), StayingRanks: s.p.Collective.Kind.Rooted()}
	t := s.p.Topology
	var found []*symmetry.Group
	if t.Ranks <= maxSeveral {
		found = symmetry.Several(s.ctx, t, o)
	} else {
		found = []*symmetry.Group{symmetry.Find(s.ctx, t, o)}
	}
	if !o.StayingRanks && t.Ranks*t.Ranks/found[0].Order() > fewHops {
		o.StayingLinks, o.Base = true, found[0]
		found = append(found, symmetry.Find(s.ctx, t, o))
	}
	type size struct{ order, machines int }
	seen := map[size]bool{}
	var list []*reducing
	for _, g := range found {
		for _, order := range g.Orders() {
			if s.ctx.Err() != nil && len(list) > 0 {
				break
			}
			if t.Ranks*t.Ranks/order > maxHops && order < found[0].Order() {
				continue
			}
			x, err := newShop(s.ctx, s.p, g.Sub(order))
			if err == nil {
				err = x.reaches(s.p)
			}
			if err != nil {
				s.refused = err
				continue
			}
			if k := (size{order, len(x.lanes)}); !seen[k] {
				seen[k] = true
				list = append(list, newReducing(x))
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *reducing) int { return b.s.g.Order() - a.s.g.Order() })
	for i, x := range list {
		x.index = i
	}
	s.shops = list
}

// labels returns what symmetries must keep of the nodes beside the network.
func (s *search) labels() []int {
	labels := make([]int, s.p.Topology.Nodes())
	for _, v := range s.p.Members() {
		labels[v] = 1
	}
	if s.p.Collective.Kind.Rooted() {
		labels[s.p.Collective.Root] = 2
	}
	kinds := map[[2]int64]int{}
	for v := range s.p.Topology.Ranks {
		k := [2]int64{int64(labels[v]), int64(s.p.ReleaseOf(v))}
		if _, known := kinds[k]; !known {
			kinds[k] = len(kinds) + 1
		}
		labels[v] = kinds[k]
	}
	return labels
}

// stays reports whether some symmetries leave ranks where they are.
func (s *shop) stays() bool { return len(s.reps)*s.g.Order() > s.t.Ranks }

// widest returns the number of a shop of the largest group that moves every link, though it may leave ranks where they are. It adds the shop if
// that group is larger than those of all others; else it returns the first one.
func (s *search) widest() int {
	if s.wide == nil {
		s.wide = s.widen()
	}
	if s.wide == nil {
		return 0
	}
	return s.wide.index
}

// widen returns the shop of widest, nil if ctx is done before it is found.
func (s *search) widen() *reducing {
	g := symmetry.Find(s.ctx, s.p.Topology, symmetry.Options{Labels: s.labels(), StayingRanks: true, StayingOrbits: true})
	switch {
	case s.ctx.Err() != nil:
		return nil
	case g.Order() <= s.shops[0].s.g.Order():
		return s.shops[0]
	}
	x, err := newShop(s.ctx, s.p, g)
	switch {
	case s.ctx.Err() != nil:
		return nil
	case err != nil || x.reaches(s.p) != nil:
		return s.shops[0]
	}
	y := newReducing(x)
	y.index = len(s.shops)
	s.shops = append(s.shops, y)
	return y
}
