package ways

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// TestSpread: parallel links and equal switches carry the same; longer and narrower ways carry nothing.
func TestSpread(t *testing.T) {
	// Two links from 0 to 1, one of half their bandwidth, and a way over switch 3, which is longer.
	tp := topology(3, 4, [2]int{0, 1}, [2]int{0, 1}, [2]int{0, 3}, [2]int{3, 1}, [2]int{1, 3}, [2]int{1, 4}, [2]int{3, 2}, [2]int{4, 2}, [2]int{2, 5}, [2]int{0, 1}, [2]int{1, 6}, [2]int{6, 2})
	for i := range tp.Links {
		tp.Links[i].Bandwidth, tp.Links[i].Alpha = 1e9, 100*model.Nanosecond
	}
	tp.Links[9].Bandwidth, tp.Links[10].Bandwidth = 5e8, 5e8
	w := NewSpread(tp)
	count := map[int]int{}
	for range 30 {
		route := w.Route(0, 1, 1000)
		require.Len(t, route, 1)
		count[route[0]]++
	}
	require.Equal(t, map[int]int{0: 15, 1: 15}, count)
	// From 1 to 2 over switch 3 or 4, whose links are the same, and not over 6, which is narrower.
	clear(count)
	for range 10 {
		route := w.Route(1, 2, 1000)
		require.Len(t, route, 2)
		count[route[0]]++
		require.Equal(t, tp.Links[route[0]].Dst, tp.Links[route[1]].Src)
	}
	require.Equal(t, map[int]int{4: 5, 5: 5}, count)
	// The last link of 0 to 2 over switch 3 has carried: 0 has no other way.
	require.Equal(t, []int{2, 6}, w.Route(0, 2, 1000))
	require.Nil(t, w.Route(2, 0, 1000))
	require.Nil(t, w.Route(1, 1, 1000))
}
