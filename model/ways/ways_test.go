package ways

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
)

func topology(ranks, switches int, links ...[2]int) *model.Topology {
	t := &model.Topology{Name: "t", Ranks: ranks, Switches: make([]model.Switch, switches)}
	for _, l := range links {
		t.Links = append(t.Links, model.Link{Src: l[0], Dst: l[1], Bandwidth: 1})
	}
	return t
}

func TestBetween(t *testing.T) {
	two := New(topology(2, 2, [2]int{0, 3}, [2]int{0, 2}, [2]int{2, 1}, [2]int{3, 1}, [2]int{0, 2}, [2]int{2, 3}, [2]int{0, 1}))
	found, all := two.Between(0, 1, 8, 8)
	require.True(t, all)
	require.Equal(t, [][]int{{0, 1}, {0, 2, 1}, {0, 3, 1}, {0, 2, 3, 1}}, found)
	found, all = two.Between(0, 1, 8, 2)
	require.False(t, all)
	require.Equal(t, [][]int{{0, 1}, {0, 2, 1}}, found)
	found, all = two.Between(0, 1, 2, 8)
	require.False(t, all, "one is of three links")
	require.Len(t, found, 3)
	found, all = two.Between(1, 0, 8, 8)
	require.True(t, all)
	require.Empty(t, found)
	found, all = two.Between(0, 0, 8, 8)
	require.True(t, all)
	require.Empty(t, found)
	circle := New(topology(2, 4, [2]int{0, 2}, [2]int{2, 3}, [2]int{3, 1}, [2]int{3, 4}, [2]int{4, 5}, [2]int{5, 2}))
	found, all = circle.Between(0, 1, 6, 8)
	require.True(t, all, "no way passes a switch twice")
	require.Equal(t, [][]int{{0, 2, 3, 1}}, found)
}

// TestEnds: a network of hundreds of switches without a way, or with more than there is time
// for, is answered at once.
func TestEnds(t *testing.T) {
	var links [][2]int
	const n = 200
	for i := range n {
		links = append(links, [2]int{0, 2 + i})
		for j := range n {
			if i != j {
				links = append(links, [2]int{2 + i, 2 + j})
			}
		}
	}
	found, all := New(topology(2, n, links...)).Between(0, 1, 16, 1<<10)
	require.True(t, all)
	require.Empty(t, found)
	for i := range n {
		links = append(links, [2]int{2 + i, 1})
	}
	found, all = New(topology(2, n, links...)).Between(0, 1, 16, 1<<10)
	require.False(t, all)
	require.Len(t, found, 1<<10)
}

// TestAgainstAll sets the search against one that tries every sequence of switches.
func TestAgainstAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks, switches := rapid.IntRange(2, 3).Draw(t, "ranks"), rapid.IntRange(0, 4).Draw(t, "switches")
		n := ranks + switches
		var links [][2]int
		has := map[[2]int]bool{}
		for range rapid.IntRange(0, 3*n).Draw(t, "links") {
			l := [2]int{rapid.IntRange(0, n-1).Draw(t, "u"), rapid.IntRange(0, n-1).Draw(t, "v")}
			if l[0] != l[1] {
				links = append(links, l)
				has[l] = true
			}
		}
		var want []string
		var try func(path []int)
		try = func(path []int) {
			at := path[len(path)-1]
			if has[[2]int{at, 1}] {
				want = append(want, fmt.Sprint(append(slices.Clone(path), 1)))
			}
			for s := ranks; s < n; s++ {
				if has[[2]int{at, s}] && !slices.Contains(path, s) {
					try(append(slices.Clone(path), s))
				}
			}
		}
		try([]int{0})
		found, all := New(topology(ranks, switches, links...)).Between(0, 1, n, 1<<10)
		require.True(t, all)
		var got []string
		for i, p := range found {
			got = append(got, fmt.Sprint(p))
			require.True(t, i == 0 || len(found[i-1]) <= len(p))
		}
		require.ElementsMatch(t, want, got)
	})
}
