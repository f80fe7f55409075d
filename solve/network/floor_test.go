package network

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// TestKinds: which networks are uneven, which have ranks that no symmetry moves to each other, and which of those are not uneven.
func TestKinds(t *testing.T) {
	for name, want := range map[string][2]bool{
		"mesh:8x8": {true, true}, "line:4": {true, true}, "mi250": {false, true}, "dgx1": {false, false}, "torus:2x3": {false, false},
		"hypercube:3": {false, false}, "fattree:4x4": {false, false}, "dgxh100": {false, false},
	} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 30, Cost: model.Pipelined}
		require.Equal(t, want, [2]bool{Uneven(p), Packs(p)}, name)
		require.Equal(t, name == "mi250", Irregular(p), name)
		p.Size = 4096
		require.False(t, Packs(p), name)
	}
}

// TestLatencies: 4 transfers of 1 MB over 4 links of 1 GB/s keep these busy for 1 ms.
func TestLatencies(t *testing.T) {
	tp, err := topo.Parse("line:3", topo.Options{Bandwidth: []int64{1e9}, Alpha: []model.Time{model.Microsecond}})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1e6, Cost: model.Pipelined}
	require.InDelta(t, 1000, Latencies(p), 1e-6)
}
