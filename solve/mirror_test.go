package solve_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// TestMirror: where each link has a partner that leads back, the network read backwards has the same links, and its
// ports those that the ports of partners have.
func TestMirror(t *testing.T) {
	reduce := func(tp *model.Topology) *model.Problem {
		return &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.Reduce}, Size: 1 << 20, Cost: model.Blocking}
	}
	for _, name := range []string{"dgx1", "mi250", "dgxa100:2", "dragonfly:3x2x2", "fattree:4x4", "rfs:2x2x4", "mesh:4x4"} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		q, back, ok := solve.Mirror(reduce(tp))
		require.True(t, ok)
		require.Equal(t, tp.Links, q.Topology.Links, name)
		for i, l := range back {
			require.Equal(t, i, back[l], name)
			require.Equal(t, tp.Links[i].Src, tp.Links[l].Dst, name)
		}
	}
	both := func() *model.Topology {
		return &model.Topology{Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1}, {Src: 1, Dst: 0, Bandwidth: 1}, {Src: 0, Dst: 1, Bandwidth: 2}, {Src: 1, Dst: 0, Bandwidth: 2}},
			Ports: []model.Port{{Links: []int{0, 2}, Capacity: 1}}}
	}
	q, back, ok := solve.Mirror(reduce(both()))
	require.True(t, ok)
	require.Equal(t, []int{1, 0, 3, 2}, back)
	require.Equal(t, []int{1, 3}, q.Topology.Ports[0].Links, "what leaves rank 0 by a port comes to it by one")
	for name, change := range map[string]func(*model.Topology){
		"slower":  func(tp *model.Topology) { tp.Links[3].Bandwidth = 1 },
		"farther": func(tp *model.Topology) { tp.Links[0].Alpha = 1 },
		"one way": func(tp *model.Topology) { tp.Links = tp.Links[:3] },
	} {
		tp := both()
		change(tp)
		q, back, ok := solve.Mirror(reduce(tp))
		require.True(t, ok)
		require.Nil(t, back, name)
		require.Equal(t, tp.Reversed(), q.Topology, name)
	}
	_, _, ok = solve.Mirror(&model.Problem{Topology: both(), Collective: model.Collective{Kind: model.AllReduce}, Size: 1, Cost: model.Blocking})
	require.False(t, ok)
}
