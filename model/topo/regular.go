package topo

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

// Ring builds d.Size ranks in a ring with a link each way between neighbours; a
// ring of 2 has one link each way.
func Ring(d Dimension) (*model.Topology, error) { return Torus([]Dimension{d}) }

// UniRing builds a ring whose links lead from rank i to rank i+1 only.
func UniRing(d Dimension) (*model.Topology, error) {
	b := newBuilder(d.Size)
	for i := range d.Size {
		b.link(i, (i+1)%d.Size, d.Alpha, d.Bandwidth)
	}
	return b.done()
}

// Line builds d.Size ranks in a row with a link each way between neighbours.
func Line(d Dimension) (*model.Topology, error) { return Mesh([]Dimension{d}) }

// Mesh builds a mesh with the given dimensions, links each way.
func Mesh(dims []Dimension) (*model.Topology, error) { return grid(dims, false) }

// Torus builds a mesh with wrap-around links. A dimension of size 2 has one link
// each way, not two.
func Torus(dims []Dimension) (*model.Topology, error) { return grid(dims, true) }

func grid(dims []Dimension, wrap bool) (*model.Topology, error) {
	ranks := int64(1)
	for _, d := range dims {
		if ranks *= int64(d.Size); ranks > model.MaxNodes {
			return nil, fmt.Errorf("has more than %d ranks", model.MaxNodes)
		}
	}
	if err := tooLarge(2 * ranks * int64(len(dims))); err != nil {
		return nil, err
	}
	b := newBuilder(int(ranks))
	stride := int(ranks)
	for _, d := range dims {
		stride /= d.Size
		for v := range int(ranks) {
			at := v / stride % d.Size
			switch {
			case at+1 < d.Size:
				b.duplex(v, v+stride, d.Alpha, d.Bandwidth)
			case wrap && d.Size > 2:
				b.duplex(v, v-at*stride, d.Alpha, d.Bandwidth)
			}
		}
	}
	return b.done()
}

// Hypercube builds 2^d.Size ranks, linked each way where their numbers differ in
// one bit.
func Hypercube(d Dimension) (*model.Topology, error) {
	if d.Size > 17 {
		return nil, fmt.Errorf("dimension %d, want at most 17", d.Size)
	}
	b := newBuilder(1 << d.Size)
	for bit := range d.Size {
		for v := range b.Ranks {
			if v&(1<<bit) == 0 {
				b.duplex(v, v|1<<bit, d.Alpha, d.Bandwidth)
			}
		}
	}
	return b.done()
}

// Full builds d.Size ranks with a link from each to each.
func Full(d Dimension) (*model.Topology, error) {
	n := int64(d.Size)
	if err := tooLarge(n * (n - 1)); err != nil {
		return nil, err
	}
	b := newBuilder(d.Size)
	for u := range d.Size {
		for v := u + 1; v < d.Size; v++ {
			b.duplex(u, v, d.Alpha, d.Bandwidth)
		}
	}
	return b.done()
}

// Switch builds d.Size ranks at one switch that does not copy. The latency from
// rank to rank is d.Alpha: half of it on the way in, the rest on the way out.
func Switch(d Dimension) (*model.Topology, error) {
	b := newBuilder(d.Size)
	b.star("switch", 0, d.Size, d.Alpha, d.Bandwidth)
	return b.done()
}

// star links the n ranks from first to a new switch, alpha being the latency from
// rank to rank.
func (b *builder) star(name string, first, n int, alpha model.Time, bandwidth int64) {
	s := b.node(name)
	for v := first; v < first+n; v++ {
		b.link(v, s, alpha/2, bandwidth)
		b.link(s, v, alpha-alpha/2, bandwidth)
	}
}

// FatTree builds a two-level fat tree: dims[0].Size leaf switches, each with
// dims[1].Size ranks, and every leaf linked to every one of dims[2].Size spine
// switches; without dims[2] there are as many spines as ranks a leaf, which
// gives full bisection. The links of the ranks are those of dims[0], the links of
// the spines those of the last dimension.
func FatTree(dims []Dimension) (*model.Topology, error) {
	if len(dims) != 2 && len(dims) != 3 {
		return nil, fmt.Errorf("%d numbers, want two or three", len(dims))
	}
	leaves, per, spines := dims[0].Size, dims[1].Size, dims[1].Size
	low, high := dims[0], dims[len(dims)-1]
	if len(dims) == 3 {
		spines = dims[2].Size
	}
	if err := tooLarge(2 * int64(leaves) * (int64(per) + int64(spines))); err != nil {
		return nil, err
	}
	b := newBuilder(leaves * per)
	for l := range leaves {
		leaf := b.node(fmt.Sprintf("leaf%d", l))
		for r := range per {
			b.duplex(l*per+r, leaf, low.Alpha, low.Bandwidth)
		}
	}
	for s := range spines {
		spine := b.node(fmt.Sprintf("spine%d", s))
		for l := range leaves {
			b.duplex(b.Ranks+l, spine, high.Alpha, high.Bandwidth)
		}
	}
	return b.done()
}

// Dragonfly builds a dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): dims[0].Size
// groups of dims[1].Size routers with dims[2].Size ranks each. The routers of a
// group are fully connected, and each pair of groups has one link each way, the
// routers taking turns. With one latency or bandwidth a dimension, the first is
// that of the links between groups, the second that inside groups, the third
// that of the ranks.
func Dragonfly(dims []Dimension) (*model.Topology, error) {
	if len(dims) != 3 {
		return nil, fmt.Errorf("%d numbers, want three", len(dims))
	}
	groups, routers, per := dims[0].Size, dims[1].Size, dims[2].Size
	g, a, r := int64(groups), int64(routers), int64(per)
	if g > 1<<12 || a > 1<<11 {
		return nil, fmt.Errorf("%d groups of %d routers, want at most 4096 of 2048", g, a)
	}
	if err := tooLarge(g*(g-1) + g*a*(a-1) + 2*g*a*r); err != nil {
		return nil, err
	}
	b := newBuilder(groups * routers * per)
	router := func(group, i int) int { return b.Ranks + group*routers + i }
	for i := range groups {
		for j := range routers {
			node := b.node(fmt.Sprintf("router%d.%d", i, j))
			for k := range per {
				b.duplex((i*routers+j)*per+k, node, dims[2].Alpha, dims[2].Bandwidth)
			}
		}
	}
	for i := range groups {
		for j := range routers {
			for k := j + 1; k < routers; k++ {
				b.duplex(router(i, j), router(i, k), dims[1].Alpha, dims[1].Bandwidth)
			}
		}
	}
	used := make([]int, groups) // global links that a group has so far
	for i := range groups {
		for j := i + 1; j < groups; j++ {
			b.duplex(router(i, used[i]%routers), router(j, used[j]%routers), dims[0].Alpha, dims[0].Bandwidth)
			used[i]++
			used[j]++
		}
	}
	return b.done()
}
