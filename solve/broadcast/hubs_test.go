package broadcast

import (
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
	} {
		p := problem(t, c.name, model.Broadcast)
		p.Collective.Root, p.Size = c.root, c.size
		r := hubbed(context.Background(), p, newNeighbours(p), solve.Options{Enough: c.enough})
		require.NotNil(t, r.Schedule, c.name)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.LessOrEqual(t, r.Makespan(), c.enough, c.name)
		require.LessOrEqual(t, len(r.Problem.Chunks), c.chunks, c.name)
	}
	p := problem(t, "fattree:4x4", model.Broadcast)
	p.Size = 1 << 10
	require.Nil(t, hubbed(context.Background(), p, newNeighbours(p), solve.Options{}).Schedule)
}
