package broadcast

import (
	"cmp"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestHubs: from any root of a fat tree each hub sends to all, no rank sends or receives two chunks in a place of a period,
// and no link between switches carries two.
func TestHubs(t *testing.T) {
	for _, root := range []int{0, 6, 15} {
		p := problem(t, "fattree:4x4", model.Broadcast)
		p.Collective.Root = root
		trees := hubs(p, newNeighbours(p))
		require.Len(t, trees, 15)
		used := map[[2]int]bool{}
		for _, arcs := range trees {
			require.Len(t, arcs, 15)
			for i, a := range arcs {
				require.Equal(t, i == 0, a.from == root)
				for _, l := range a.routes[0] {
					key := [2]int{l, a.colour}
					require.False(t, used[key], "root %d: link %d at place %d", root, l, a.colour)
					used[key] = true
				}
			}
		}
	}
}

// TestPlanes: where switches hang together in planes, each has hubs of its own, and no link carries two chunks in a place of a period.
func TestPlanes(t *testing.T) {
	for _, c := range []struct {
		name   string
		planes int
	}{{"gb200:nvl72", 18}, {"switch:8", 1}, {"fattree:4x4", 1}, {"full:8", 1}, {"dgxa100:2", 1}} {
		p := problem(t, c.name, model.Broadcast)
		require.Len(t, planes(p.Topology), c.planes, c.name)
	}
	p := problem(t, "gb200:nvl72", model.Broadcast)
	trees := hubs(p, newNeighbours(p))
	require.Len(t, trees, 18*71)
	used := map[[2]int]bool{}
	for _, arcs := range trees {
		require.Len(t, arcs, 71)
		for _, a := range arcs {
			for _, l := range a.routes[0] {
				key := [2]int{l, a.colour}
				require.False(t, used[key], "link %d at place %d", l, a.colour)
				used[key] = true
			}
		}
	}
	c := newClusters(p)
	s := c.shapes()[0]
	copies := c.trees(s)
	require.Len(t, copies, 18*len(s))
	for i, arcs := range copies {
		for _, a := range arcs {
			for _, route := range a.routes {
				require.Equal(t, p.Topology.Links[route[0]].Dst, p.Topology.Ranks+i/len(s), "trees of a plane keep to it")
			}
		}
	}
	p.Size = 1 << 30
	r := repeated(context.Background(), p, regular(p), 1<<18)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	require.Less(t, float64(r.Makespan()), 1.2*float64(p.Size)/(18*50e9)*1e12)
}

// Where hops have a choice of routes that share no link, the links at an end of all of them bound the period together.
func TestShortest(t *testing.T) {
	p := problem(t, "gb200:nvl72", model.Broadcast)
	var arcs []bough
	for v := 1; v < 72; v++ {
		arcs = append(arcs, bough{0, v, newClusters(p).routes(0, v), -1})
	}
	c := newCycle(p, period{trees: [][]bough{arcs}})
	const lasts = (1 << 20) * 20 // a chunk at 50 GB/s, picoseconds
	require.EqualValues(t, 71*lasts/18, c.shortest(1<<20))
}

// Ranks are together where there is a link from each to each other one, and only there.
func TestTogether(t *testing.T) {
	for name, want := range map[string]bool{"full:8": true, "mi300x": true, "torus:3x3": false, "switch:8": false, "dgx1": false} {
		require.Equal(t, want, together(problem(t, name, model.Broadcast)) != nil, name)
	}
}

// TestNoHubs: there are none where links between regions would have more to carry than that of the root, nor where ranks
// are few to send to.
func TestNoHubs(t *testing.T) {
	for _, name := range []string{"dragonfly:3x2x2", "dragonfly:4x4x4", "dgx2:2", "rfs:2x4x8"} {
		p := problem(t, name, model.Broadcast)
		require.Nil(t, hubs(p, newNeighbours(p)), name)
	}
}

// TestHubbed: the schedule of hubs is right, and as late as is expected: what the root sends, a period, and two hops. There is
// none where latencies are nearly all of the time.
func TestHubbed(t *testing.T) {
	for _, c := range []struct {
		name   string
		root   int
		size   int64
		enough model.Time
		chunks int // that it takes
	}{
		{"fattree:4x4", 5, 64 << 10, 5_300_000, 300},
		{"fattree:4x4", 0, 1 << 20, 23_800_000, 1700},
		{"switch:16", 3, 1 << 20, 21_900_000, 2400},
		{"gb200:nvl72", 5, 1 << 19, 2_100_000, 22_000},
		{"full:33", 7, 1 << 20, 1_700_000, 1100},
	} {
		p := problem(t, c.name, model.Broadcast)
		p.Collective.Root, p.Size = c.root, c.size
		near := cmp.Or(newNeighbours(p), together(p))
		r := hubbed(context.Background(), p, hubs(p, near), solve.Options{Enough: c.enough})
		require.NotNil(t, r.Schedule, c.name)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.LessOrEqual(t, r.Makespan(), c.enough, c.name)
		require.LessOrEqual(t, len(r.Problem.Chunks), c.chunks, c.name)
	}
	p := problem(t, "fattree:4x4", model.Broadcast)
	p.Size = 1 << 16 // hubs next to the root, to which chunks come sooner, carry more of them: else it would end after 5.24 us
	r := hubbed(context.Background(), p, hubs(p, newNeighbours(p)), solve.Options{Enough: 5_120_000})
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	require.LessOrEqual(t, r.Makespan(), model.Time(5_120_000))
	p.Size = 1 << 10
	require.Nil(t, hubbed(context.Background(), p, hubs(p, newNeighbours(p)), solve.Options{}).Schedule)
}
