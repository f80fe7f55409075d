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
