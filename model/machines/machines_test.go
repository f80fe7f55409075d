package machines

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/join"
	"github.com/oraccl/oraccl/model/topo"
)

func named(t testing.TB, name string) *model.Topology {
	t.Helper()
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return tp
}

func joined(t testing.TB, o join.Options, names ...string) *model.Topology {
	t.Helper()
	var list []model.Machine
	for _, name := range names {
		list = append(list, model.Machine{Topology: named(t, name)})
	}
	o.Bandwidth, o.Alpha = 1e9, -1
	tp, err := join.Join(list, o)
	require.NoError(t, err)
	return tp
}

// TestMachines: ranks of a box are together, whatever joins boxes; rails need boxes of one size.
func TestMachines(t *testing.T) {
	two := [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}
	across := [][]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}}
	for name, x := range map[string]struct {
		t               *model.Topology
		machines, rails [][]int
	}{
		"one":      {named(t, "ring:3"), [][]int{{0, 1, 2}}, nil},
		"no names": {named(t, "switch:3"), [][]int{{0, 1, 2}}, nil},
		"switch":   {joined(t, join.Options{Fabric: join.Switch}, "ring:4", "switch:4"), two, across},
		"rails":    {joined(t, join.Options{Fabric: join.Rails}, "ring:4", "full:4"), two, across},
		"tree":     {joined(t, join.Options{Fabric: join.FatTree, PerLeaf: 1, Oversubscription: 2}, "ring:4", "ring:4"), two, across},
		"mixed":    {joined(t, join.Options{Fabric: join.Switch}, "ring:4", "ring:2"), [][]int{{0, 1, 2, 3}, {4, 5}}, nil},
		"on rails": {joined(t, join.Options{Fabric: join.Rails}, "ring:4", "ring:2"), [][]int{{0, 1, 2, 3}, {4, 5}}, [][]int{{0, 4}, {1, 5}, {2}, {3}}},
	} {
		require.Equal(t, x.machines, Ranks(x.t), name)
		require.Equal(t, x.rails, Rails(x.t), name)
	}
	s := named(t, "switch:4")
	s.Groups = []model.Group{{Name: "a", Kind: model.MachineGroup, Ranks: []int{2, 0}}, {Name: "b", Kind: model.MachineGroup, Ranks: []int{1, 3}}}
	require.Equal(t, [][]int{{2, 0}, {1, 3}}, Ranks(s))
	require.Equal(t, [][]int{{2, 1}, {0, 3}}, Rails(s), "by their places in the groups")
	require.Equal(t, [][]int{{0, 2}, {1, 3}}, Of(s), "a switch with ranks of both is outside")
	h := named(t, "dgxh100:3")
	require.Len(t, Ranks(h), 3)
	require.Equal(t, []int{1, 9, 17}, Rails(h)[1])
	require.Equal(t, 24+3, len(Of(h)[0])+len(Of(h)[1])+len(Of(h)[2]), "NVSwitches are in machines, what joins them is not")
}
