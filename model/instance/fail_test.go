package instance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// What is left of a network knows what it was: each link is one of the whole network, between nodes of the numbers that its nodes had, also where
// something fails once more.
func TestWhole(t *testing.T) {
	whole, err := topo.Parse("dgxa100:2", topo.Options{})
	require.NoError(t, err)
	right := func(left *model.Topology) {
		require.Same(t, whole, left.Whole)
		require.Len(t, left.Was, left.Nodes())
		links := map[model.Link]int{}
		for _, l := range whole.Links {
			links[l]++
		}
		for _, l := range left.Links {
			l.Src, l.Dst = left.Was[l.Src], left.Was[l.Dst]
			require.Positive(t, links[l], "%v", l)
			links[l]--
		}
		for v, old := range left.Was {
			require.Equal(t, left.IsRank(v), whole.IsRank(old))
		}
	}
	once, err := Failed(whole, []string{"rank:3"})
	require.NoError(t, err)
	right(once)
	require.Equal(t, []int{2, 4}, once.Was[2:4])
	twice, err := Failed(once, []string{"rank:0", "link:4-15"})
	require.NoError(t, err)
	right(twice)
	require.Equal(t, []int{1, 2, 4}, twice.Was[:3])
	same, err := Failed(whole, nil)
	require.NoError(t, err)
	require.Nil(t, same.Whole)
	require.Nil(t, once.Reversed().Whole)
}
