package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGroups(t *testing.T) {
	with := func(groups ...Group) error {
		return (&Topology{Name: "t", Ranks: 4, Groups: groups}).Validate()
	}
	a, b := Group{"m0", MachineGroup, []int{0, 1}}, Group{"m1", MachineGroup, []int{3, 2}}
	require.NoError(t, with(a, b, Group{"rail.0", RailGroup, []int{0, 3}}, Group{"rail-1", RailGroup, []int{0, 3}}, Group{"X_9", OtherGroup, []int{2}}))
	for want, groups := range map[string][]Group{
		`groups[1].name: "m0" is that of groups[0] already`:                          {a, {"m0", OtherGroup, []int{1}}},
		`groups[0].name: empty`:                                                      {{"", OtherGroup, []int{1}}},
		`groups[0].name: "0-3", want a letter`:                                       {{"0-3", OtherGroup, []int{1}}},
		`groups[0].name: "a,b", want a letter`:                                       {{"a,b", OtherGroup, []int{1}}},
		`groups[0].name: "rail:0", want a letter`:                                    {{"rail:0", RailGroup, []int{1}}},
		`groups[0].kind: GroupKind(3), want other, machine, rail`:                    {{"x", 3, []int{1}}},
		`groups[0].ranks: empty`:                                                     {{"x", OtherGroup, nil}},
		`groups[0].ranks[1]: rank 4 does not exist, want 0 to 3`:                     {{"x", OtherGroup, []int{0, 4}}},
		`groups[0].ranks[1]: rank 0 is named twice`:                                  {{"x", OtherGroup, []int{0, 0}}},
		`groups[1].ranks[0]: rank 1 is in the machine of groups[0] already, want it`: {a, {"x", MachineGroup, []int{1}}},
	} {
		require.ErrorContains(t, with(groups...), want)
	}
	tp := &Topology{Name: "t", Ranks: 4, Groups: []Group{b, a}}
	require.Equal(t, [][]int{{3, 2}, {0, 1}}, tp.GroupsOf(MachineGroup))
	require.Nil(t, tp.GroupsOf(RailGroup))
	require.Equal(t, a, *tp.GroupNamed("m0"))
	require.Nil(t, tp.GroupNamed("m2"))
	require.True(t, tp.Equal(&Topology{Ranks: 4}), "groups are no part of the network")
	for _, k := range []GroupKind{OtherGroup, MachineGroup, RailGroup} {
		got, err := ParseGroupKind(k.String())
		require.NoError(t, err)
		require.Equal(t, k, got)
	}
	_, err := ParseGroupKind("pod")
	require.ErrorContains(t, err, `"pod": want other, machine, rail`)
	require.Equal(t, "0-2,5,4,7-8", RankRanges([]int{0, 1, 2, 5, 4, 7, 8}))
}
