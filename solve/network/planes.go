//go:build !js

package network

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Planes is the switches of a machine to each of which each rank has one link, and from each of which it has one, all alike.
type Planes struct {
	Up, Down [][]int // links to and from, by plane and rank
	Whole    bool    // there are no other links
}

// PlanesOf returns the planes of a problem's network, those of the kind of which there are most, or nil if it has none, some ranks are no members, or
// ports limit what a rank sends. Switches that copy or add are none, and none that have lost a link. It takes O(links) time.
func PlanesOf(p *model.Problem) *Planes {
	t, n := p.Topology, p.Topology.Ranks
	if !Everyone(p) || len(t.Ports) > 0 {
		return nil
	}
	type kind struct{ up, down model.Link } // of links, between no nodes
	bare := func(l int) model.Link {
		return model.Link{Alpha: t.Links[l].Alpha, Bandwidth: t.Links[l].Bandwidth}
	}
	byRank := func(list []int, rank func(l *model.Link) int) []int { // nil if they are not alike, and one for each
		links := slices.Repeat([]int{-1}, n)
		for _, l := range list {
			r := rank(&t.Links[l])
			if !t.IsRank(r) || links[r] >= 0 || bare(l) != bare(list[0]) {
				return nil
			}
			links[r] = l
		}
		if len(list) < n {
			return nil
		}
		return links
	}
	by := map[kind]*Planes{}
	var kinds []kind
	out, in := t.Out(), t.In()
	for v := n; v < t.Nodes(); v++ {
		up, down := byRank(in[v], func(l *model.Link) int { return l.Src }), byRank(out[v], func(l *model.Link) int { return l.Dst })
		if t.Copies(v) || t.Reduces(v) != model.NoReducing || up == nil || down == nil {
			continue
		}
		y := kind{bare(up[0]), bare(down[0])}
		if by[y] == nil {
			by[y], kinds = &Planes{}, append(kinds, y)
		}
		by[y].Up, by[y].Down = append(by[y].Up, up), append(by[y].Down, down)
	}
	if len(kinds) == 0 {
		return nil
	}
	x := by[slices.MaxFunc(kinds, func(a, b kind) int { return cmp.Compare(len(by[a].Up), len(by[b].Up)) })]
	x.Whole = len(t.Links) == 2*n*len(x.Up)
	return x
}
