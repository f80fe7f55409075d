package place

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// TestOneHop: under link-rounds no route passes a rank, even where that way is exactly as
// short as the one over a switch.
func TestOneHop(t *testing.T) {
	tp := &model.Topology{Name: "tie", Ranks: 3, Switches: []model.Switch{{}}, Links: []model.Link{
		{Src: 0, Dst: 1, Bandwidth: 1e12}, {Src: 1, Dst: 2, Bandwidth: 1e12}, {Src: 0, Dst: 3, Bandwidth: 5e11}, {Src: 3, Dst: 2, Bandwidth: 1e12}, {Src: 2, Dst: 0, Bandwidth: 1e12},
	}}
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.Broadcast}, Size: 100, Cost: model.Pipelined}
	paths, err := newRouter(p.WithChunks(1)).between(0, 2)
	require.NoError(t, err)
	require.Equal(t, [][][]int{{{0}, {1}}, {{2}, {3}}}, paths, "a tie")
	p.Cost = model.LinkRounds
	paths, err = newRouter(p.WithChunks(1)).between(0, 2)
	require.NoError(t, err)
	require.Equal(t, [][][]int{{{2}, {3}}}, paths)
}

// TestPlanes: of paths over one switch all are found, of longer ones a few.
func TestPlanes(t *testing.T) {
	for name, want := range map[string]int{"gb200:nvl72": 18, "fattree:16x16": maxCandidates} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.Scatter}, Size: 1 << 20, Cost: model.Pipelined}
		paths, err := newRouter(p.WithChunks(72)).between(0, tp.Ranks-1)
		require.NoError(t, err)
		require.Len(t, paths, want, name)
	}
}
