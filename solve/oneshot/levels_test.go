package oneshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// TestMachines: hierarchical divides a network whose links tell nothing by the machines that it has as
// groups.
func TestMachines(t *testing.T) {
	tp, err := topo.Parse("switch:6", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 20, Cost: model.Pipelined}
	require.Empty(t, levels(p))
	tp.Groups = []model.Group{{Name: "a", Kind: model.MachineGroup, Ranks: []int{0, 2, 4}}, {Name: "b", Kind: model.MachineGroup, Ranks: []int{5, 3, 1}}}
	require.Equal(t, []grouping{{{0, 2, 4}, {5, 3, 1}}}, levels(p))
	p.Collective.Group = []int{1, 2, 3, 4}
	require.Equal(t, []grouping{{{1, 3}, {2, 0}}}, levels(p), "members, by their numbers")
	tp.Groups = tp.Groups[:1]
	require.Empty(t, levels(p), "members that are in no machine")
}

// TestBySwitch: members of which each is at one switch make layouts with these, of two dimensions where switches have groups of their own, too.
func TestBySwitch(t *testing.T) {
	at := func(name string) *model.Problem {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		return &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 10, Cost: model.Pipelined}
	}
	radices := func(p *model.Problem) (list [][]int) {
		for _, x := range layouts(p) {
			list = append(list, x.radix)
		}
		return list
	}
	p := at("dragonfly:5x4x4")
	p.Collective.Group = []int{79, 78, 3, 2}
	require.Equal(t, grouping{{0, 1}, {2, 3}}, bySwitch(p))
	p.Collective.Group = nil
	require.True(t, bySwitch(p).equal(80))
	require.Contains(t, radices(p), []int{4, 20})
	require.Contains(t, radices(p), []int{4, 5, 4})
	require.Contains(t, radices(p), []int{4, 4, 5}, "routers of a group, and groups")
	require.Nil(t, bySwitch(at("ring:4")), "no switches")
	require.Nil(t, bySwitch(at("dgx2:2")), "several")
	require.False(t, bySwitch(at("switch:4")).equal(4), "one group")
}
