package quotient

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// TestMirror: links lead back where each has one of its kind that does, and ports become ports.
func TestMirror(t *testing.T) {
	both := func() *model.Topology {
		return &model.Topology{Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1}, {Src: 1, Dst: 0, Bandwidth: 1}, {Src: 0, Dst: 1, Bandwidth: 2}, {Src: 1, Dst: 0, Bandwidth: 2}}}
	}
	require.Equal(t, []int{1, 0, 3, 2}, mirror(both()))
	slower := both()
	slower.Links[3].Bandwidth = 1
	require.Nil(t, mirror(slower))
	farther := both()
	farther.Links[0].Alpha = 1
	require.Nil(t, mirror(farther))
	oneway := both()
	oneway.Links = oneway.Links[:3]
	require.Nil(t, mirror(oneway))
	sending := both()
	sending.Ports = []model.Port{{Links: []int{0, 2}, Capacity: 1}}
	require.Nil(t, mirror(sending))
	sending.Ports = append(sending.Ports, model.Port{Links: []int{3, 1}, Capacity: 1})
	require.NotNil(t, mirror(sending))
	sending.Ports[1].Capacity = 2
	require.Nil(t, mirror(sending))
	for _, name := range []string{"dgx1", "mi250", "dgxa100:2", "dragonfly:3x2x2", "fattree:4x4", "rfs:2x2x4", "mesh:4x4"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		back := mirror(network)
		require.NotNil(t, back, name)
		for i, l := range back {
			require.Equal(t, i, back[l], name)
			require.Equal(t, network.Links[i].Src, network.Links[l].Dst, name)
		}
	}
}

// TestBackwards: where each link has one that leads back, a reduce-scatter takes as long as the allgather, and a reduce as a
// broadcast.
func TestBackwards(t *testing.T) {
	for _, name := range []string{"dgx1", "dragonfly:3x2x2", "mesh:3x4"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		end := func(kind model.Kind) model.Time {
			p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: model.Pipelined}
			r, err := New().Solve(context.Background(), p, solve.Options{Effort: -1})
			require.NoError(t, err)
			require.Equal(t, kind, r.Problem.Collective.Kind)
			return solve.End(r.Schedule.Transfers)
		}
		require.Equal(t, end(model.AllGather), end(model.ReduceScatter), name)
		require.Equal(t, end(model.Broadcast), end(model.Reduce), name)
	}
}
