//go:build !js

package network

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// The planes of a machine are the switches to which all ranks have links that are alike. Other networks have none; what has lost a link, or has one of
// another kind or twice, is left out.
func TestPlanes(t *testing.T) {
	of := func(name string) *model.Problem {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		return &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 20, Cost: model.Pipelined}
	}
	for _, name := range []string{"ring:8", "full:8", "fattree:4x4", "dgxh100-nvls", "switch:7:read", "dgx1"} {
		require.Nil(t, PlanesOf(of(name)), name)
	}
	require.False(t, PlanesOf(of("dgxh100:2")).Whole, "the switch between machines is a plane")
	some := of("switch:8")
	some.Collective.Group = []int{0, 1, 2}
	require.Nil(t, PlanesOf(some), "ranks that are no members")
	for name, planes := range map[string]int{"switch:8": 1, "dgxh100": 1, "gb200:nvl72": 18} {
		p := of(name)
		x := PlanesOf(p)
		require.NotNil(t, x, name)
		require.Len(t, x.Up, planes)
		require.True(t, x.Whole)
		tp, links := p.Topology, p.Topology.Links
		for plane := range x.Up {
			for r := range tp.Ranks {
				up, down := links[x.Up[plane][r]], links[x.Down[plane][r]]
				require.Equal(t, r, up.Src)
				require.Equal(t, r, down.Dst)
				require.Equal(t, up.Dst, down.Src)
			}
		}
		for _, change := range []func(){
			func() { tp.Links = slices.Clone(links); tp.Links[3].Bandwidth++ },
			func() { tp.Links = links[1:] },
			func() { tp.Links = append(slices.Clone(links[1:]), links[1]) },
		} {
			change()
			if x = PlanesOf(p); planes == 1 {
				require.Nil(t, x)
				continue
			}
			require.Len(t, x.Up, planes-1, name)
			require.False(t, x.Whole)
		}
	}
}
