package hops

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// found is a hop.
type found struct {
	src, dst int
	over     []int
}

func search(t require.TestingT, x *model.Topology, bundles []Bundle) (all []found) {
	require.NoError(t, Search(x, bundles, Visitor{Look: func(bool) error { return nil }, Found: func(src, dst int, over []int) error {
		all = append(all, found{src, dst, slices.Clone(over)})
		return nil
	}}))
	return all
}

// plain finds hops from their definition: every sequence of bundles over different nodes, from
// rank to rank with switches between them, in the order of such sequences.
func plain(x *model.Topology, bundles []Bundle) (all []found) {
	var extend func(nodes, over []int)
	extend = func(nodes, over []int) {
		at := nodes[len(nodes)-1]
		for b := range bundles {
			link := x.Links[bundles[b].Link]
			if link.Src != at || slices.Contains(nodes, link.Dst) {
				continue
			}
			longer := append(slices.Clone(over), b)
			if link.Dst < x.Ranks {
				all = append(all, found{nodes[0], link.Dst, longer})
			} else {
				extend(append(slices.Clone(nodes), link.Dst), longer)
			}
		}
	}
	for r := range x.Ranks {
		extend([]int{r}, nil)
	}
	return all
}

func draw(t *rapid.T) *model.Topology {
	x := &model.Topology{Ranks: rapid.IntRange(1, 4).Draw(t, "ranks"), Switches: make([]model.Switch, rapid.IntRange(0, 3).Draw(t, "switches"))}
	for range rapid.IntRange(0, 14).Draw(t, "links") {
		l := model.Link{Src: rapid.IntRange(0, x.Nodes()-1).Draw(t, "src"), Dst: rapid.IntRange(0, x.Nodes()-1).Draw(t, "dst"),
			Alpha: model.Time(rapid.IntRange(0, 1).Draw(t, "alpha")), Bandwidth: int64(rapid.IntRange(1, 2).Draw(t, "bandwidth"))}
		if l.Src != l.Dst {
			x.Links = append(x.Links, l)
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "ports") {
		if len(x.Links) > 0 {
			first := rapid.IntRange(0, len(x.Links)-1).Draw(t, "link")
			port := model.Port{Capacity: 1}
			for l := len(x.Links) - 1; l >= 0; l-- {
				if x.Links[l].Src == x.Links[first].Src && (l == first || rapid.Bool().Draw(t, "in")) {
					port.Links = append(port.Links, l)
				}
			}
			x.Ports = append(x.Ports, port)
		}
	}
	return x
}

// TestSearch compares hops with their definition, and bundles with theirs.
func TestSearch(t *testing.T) {
	over := 0
	rapid.Check(t, func(r *rapid.T) {
		x := draw(r)
		bundles, of := Bundles(x)
		all := search(r, x, bundles)
		require.Equal(r, plain(x, bundles), all)
		for _, f := range all {
			over = max(over, len(f.over))
		}
		ports := x.PortsOf()
		count := 0
		for b, k := range bundles {
			require.Equal(r, b, of[k.Link])
			require.True(r, slices.IsSorted(k.Ports))
			require.True(r, b == 0 || bundles[b-1].Link < k.Link)
			count += k.Links
		}
		require.Equal(r, len(x.Links), count)
		for l, a := range x.Links {
			for m, b := range x.Links {
				slices.Sort(ports[l])
				slices.Sort(ports[m])
				require.Equal(r, a == b && slices.Equal(ports[l], ports[m]), of[l] == of[m], "links %d and %d", l, m)
			}
			require.LessOrEqual(r, bundles[of[l]].Link, l)
			require.Equal(r, len(ports[l]), len(bundles[of[l]].Ports))
		}
	})
	require.Greater(t, over, 2)
}

// TestSearchEnds: an error of the visitor ends the search; what leads back is told.
func TestSearchEnds(t *testing.T) {
	x, err := topo.Parse("switch:4", topo.Options{})
	require.NoError(t, err)
	bundles, _ := Bundles(x)
	looks, back, hops := 0, 0, 0
	enough := errors.New("enough")
	look := func(is bool) error {
		if looks++; is {
			back++
		}
		return nil
	}
	require.NoError(t, Search(x, bundles, Visitor{Look: look, Found: func(int, int, []int) error { hops++; return nil }}))
	require.Equal(t, []int{4 * 5, 4, 12}, []int{looks, back, hops}, "each rank looks at its link and those of the switch, one of which leads back")
	require.ErrorIs(t, Search(x, bundles, Visitor{Look: func(bool) error { return enough }}), enough)
	hops = 0
	require.ErrorIs(t, Search(x, bundles, Visitor{Look: look, Found: func(int, int, []int) error {
		if hops++; hops == 5 {
			return enough
		}
		return nil
	}}), enough)
	require.Equal(t, 5, hops)
}

// TestDeep: a path over many switches takes no stack.
func TestDeep(t *testing.T) {
	const n = 100_000
	x := &model.Topology{Ranks: 2, Switches: make([]model.Switch, n)}
	for i := range n + 1 {
		l := model.Link{Src: i + 1, Dst: i + 2, Bandwidth: 1}
		switch i {
		case 0:
			l.Src = 0
		case n:
			l.Dst = 1
		}
		x.Links = append(x.Links, l)
	}
	bundles, _ := Bundles(x)
	all := search(t, x, bundles)
	require.Len(t, all, 1)
	require.Len(t, all[0].over, n+1)
}
