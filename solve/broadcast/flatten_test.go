package broadcast

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// checkTrees fails unless each tree spans the members from the root, parents before children, over routes between the
// ends of its arcs, and no link is used more often than it has room.
func checkTrees(t require.TestingT, p *model.Problem, trees []arborescence.Tree, room []int64) {
	used := make([]int64, len(room))
	for _, x := range trees {
		seen := map[int]bool{p.Collective.Root: true}
		for _, a := range x.Arcs {
			require.True(t, seen[a.From] && !seen[a.To])
			seen[a.To] = true
			at := a.From
			for _, l := range a.Route {
				require.Equal(t, at, p.Topology.Links[l].Src)
				at = p.Topology.Links[l].Dst
				used[l] += x.Weight
			}
			require.Equal(t, a.To, at)
		}
		require.Len(t, seen, len(p.Members()))
	}
	for l := range room {
		require.LessOrEqual(t, used[l], room[l])
	}
}

// packedIn returns trees in a number of parts as they are packed, flattened, and the room that there is for them.
func packedIn(t require.TestingT, p *model.Problem, parts int64) (before, after []arborescence.Tree, room []int64) {
	limit, err := fluid.Rate(context.Background(), p)
	require.NoError(t, err)
	w, room, err := arborescence.Bypassed(context.Background(), p, limit, parts)
	require.NoError(t, err)
	if room == nil {
		return nil, nil, nil
	}
	before, err = w.Pack(context.Background())
	require.NoError(t, err)
	return before, flattened(context.Background(), p, before, room), room
}

// TestFlattened: flattened trees are right, as many as before, and reach the last rank as soon as is known to be
// possible.
func TestFlattened(t *testing.T) {
	for _, c := range []struct {
		name   string
		parts  int64
		levels int // that the deepest tree has at most
	}{
		{"torus:4x4", 1, 5}, {"torus:8x8", 1, 10}, {"torus:4x4x4", 1, 7}, {"hypercube:4", 1, 5}, {"hypercube:6", 1, 7}, {"mesh:4x4", 1, 7},
		{"ring:8", 1, 7}, {"full:8", 1, 2}, {"switch:16", 15, 2}, {"dgxh100", 7, 2}, {"dgx2:2", 2, 4}, {"dragonfly:3x2x2", 5, 5}, {"fattree:4x4", 13, 4},
	} {
		network, err := topo.Parse(c.name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: network, Size: 1 << 20, Collective: model.Collective{Kind: model.Broadcast}}
		before, after, room := packedIn(t, p, c.parts)
		checkTrees(t, p, before, room)
		checkTrees(t, p, after, room)
		weight := func(trees []arborescence.Tree) (sum int64) {
			for _, x := range trees {
				sum += x.Weight
			}
			return sum
		}
		require.Equal(t, weight(before), weight(after))
		deepest := 0
		for _, x := range after {
			level := map[int]int{}
			for _, a := range x.Arcs {
				level[a.To] = level[a.From] + 1
				deepest = max(deepest, level[a.To])
			}
		}
		require.LessOrEqual(t, deepest, c.levels, c.name)
	}
}

// TestFlattenedRandom: on random networks flattened trees are right, and some differ from those before.
func TestFlattenedRandom(t *testing.T) {
	flatter := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p := &model.Problem{Topology: solvetest.RandomNetwork(rng), Size: 1 << 16}
		p.Collective = model.Collective{Kind: model.Broadcast, Root: rng.IntN(p.Topology.Ranks)}
		if _, err := fluid.Rate(context.Background(), p); !serves(p) || err != nil {
			continue
		}
		before, after, room := packedIn(t, p, 1+rng.Int64N(4))
		if room == nil {
			continue
		}
		checkTrees(t, p, before, room)
		checkTrees(t, p, after, room)
		if fmt.Sprint(before) != fmt.Sprint(after) {
			flatter++
		}
	}
	require.Greater(t, flatter, 20)
}
