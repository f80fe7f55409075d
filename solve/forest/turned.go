package forest

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// turned returns, of each link of a topology, one the other way between the same nodes that is as fast, each of one link: nil
// where there are none, or ports. With these the topology turned round is the topology itself, so that a reduce can be
// the very broadcast that is found there, read backwards.
//
// It takes as long as sorting the links.
func turned(t *model.Topology) []int {
	if len(t.Ports) > 0 {
		return nil
	}
	sorted := func(order func(a, b *model.Link) int) []int {
		list := make([]int, len(t.Links))
		for i := range list {
			list[i] = i
		}
		slices.SortStableFunc(list, func(i, j int) int {
			a, b := &t.Links[i], &t.Links[j]
			return cmp.Or(order(a, b), cmp.Compare(a.Alpha, b.Alpha), cmp.Compare(a.Bandwidth, b.Bandwidth))
		})
		return list
	}
	there := sorted(func(a, b *model.Link) int { return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst)) })
	back := sorted(func(a, b *model.Link) int { return cmp.Or(cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.Src, b.Src)) })
	of := make([]int, len(t.Links))
	for k, i := range there {
		a, b := t.Links[i], t.Links[back[k]]
		if a.Src != b.Dst || a.Dst != b.Src || a.Alpha != b.Alpha || a.Bandwidth != b.Bandwidth {
			return nil
		}
		of[i] = back[k]
	}
	return of
}

// renumbered returns a topology in which each link is what a partner of it was.
func renumbered(t *model.Topology, partner []int) *model.Topology {
	r := *t
	r.Links = make([]model.Link, len(t.Links))
	for i, l := range partner {
		r.Links[i] = t.Links[l]
	}
	return &r
}
