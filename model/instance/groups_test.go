package instance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// TestGroupsByName: --group takes the names of groups beside ranks, and a rank that failed is in no
// group, whose other ranks have new numbers.
func TestGroupsByName(t *testing.T) {
	tp := ring(t, 4)
	tp.Groups = []model.Group{{Name: "a", Kind: model.MachineGroup, Ranks: []int{3, 1}}, {Name: "b", Kind: model.MachineGroup, Ranks: []int{0, 2}}, {Name: "last", Ranks: []int{3}}}
	for text, want := range map[string][]int{"a": {3, 1}, "machine:1": {0, 2}, "rail:0": {3, 0}, "last,0-1": {3, 0, 1}} {
		group, err := parseGroup(text, tp)
		require.NoError(t, err)
		require.Equal(t, want, group, text)
	}
	_, err := parseGroup("c", tp)
	require.ErrorContains(t, err, "or a group of the topology's file")
	left, err := Failed(tp, []string{"rank:3"})
	require.NoError(t, err)
	require.NoError(t, left.Validate())
	require.Equal(t, []model.Group{{Name: "a", Kind: model.MachineGroup, Ranks: []int{1}}, {Name: "b", Kind: model.MachineGroup, Ranks: []int{0, 2}}}, left.Groups)
	require.Equal(t, []int{3, 1}, tp.Groups[0].Ranks)
}

// ring returns a ring of n ranks with links both ways.
func ring(t *testing.T, n int) *model.Topology {
	t.Helper()
	tp := &model.Topology{Name: "ring", Ranks: n}
	for r := range n {
		next := (r + 1) % n
		tp.Links = append(tp.Links, model.Link{Src: r, Dst: next, Bandwidth: 1}, model.Link{Src: next, Dst: r, Bandwidth: 1})
	}
	require.NoError(t, tp.Validate())
	return tp
}
