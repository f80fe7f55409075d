package broadcast

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestEager: what is sent on at once is right, from any root, and about as fast as is known to be possible with few chunks.
func TestEager(t *testing.T) {
	for _, c := range []struct {
		name   string
		root   int
		size   int64
		chunks int64
		us     float64
	}{
		{"fattree:16x16", 0, 1 << 10, 4, 3.36}, {"fattree:16x16", 77, 1 << 10, 1, 3.41}, {"fattree:8x4", 3, 64 << 10, 16, 7.5},
		{"dragonfly:4x4x4", 9, 1 << 10, 4, 3.61}, {"switch:16", 2, 1 << 10, 1, 1.3}, {"dgxh100:4", 5, 1 << 10, 4, 3.6},
	} {
		for _, way := range []order{nearFirst, emptyFirst, relayed} {
			p := problem(t, c.name, model.Broadcast)
			p.Collective.Root, p.Size = c.root, c.size
			p.Chunks = solve.Evenly(p.Space(), c.chunks)
			s := newEager(p, newNeighbours(p), way).run(context.Background())
			require.NotNil(t, s, c.name)
			require.NoError(t, solvetest.Right(p, s))
			if us := float64(p.Makespan(s)) / 1e6; way == nearFirst {
				require.LessOrEqual(t, us, c.us, c.name)
			}
		}
	}
	p := problem(t, "fattree:4x4", model.Broadcast)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	require.Nil(t, soonest(over, p, solve.Options{}).Schedule)
}

// TestRelayed: where many share the work, a broadcast of many chunks is much sooner done.
func TestRelayed(t *testing.T) {
	for _, name := range []string{"fattree:8x8", "dgxh100:8"} {
		p := problem(t, name, model.Broadcast)
		p.Size = 64 << 10
		p.Chunks = solve.Evenly(p.Space(), 32)
		var ends []float64
		for _, way := range []order{relayed, nearFirst, emptyFirst} {
			s := newEager(p, newNeighbours(p), way).run(context.Background())
			require.NoError(t, solvetest.Right(p, s))
			ends = append(ends, float64(p.Makespan(s)))
		}
		require.Less(t, 1.1*ends[0], min(ends[1], ends[2]), name)
		r := soonest(context.Background(), p, solve.Options{Enough: model.Time(ends[0])})
		require.LessOrEqual(t, float64(r.Makespan()), ends[0], name)
	}
}

// TestEagerRandom: on random networks with switches it is right wherever ranks are in reach of each other.
func TestEagerRandom(t *testing.T) {
	found := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 23))
		p := random(rng, []model.CostModel{model.Pipelined, model.Blocking}[seed%2])
		if p == nil {
			continue
		}
		near := newNeighbours(p)
		if near == nil {
			continue
		}
		p.Size = 1 << 12
		p.Chunks = solve.Evenly(p.Space(), 1+rng.Int64N(9))
		if s := newEager(p, near, order(seed/2%3)).run(context.Background()); s != nil {
			found++
			require.NoError(t, solvetest.Right(p, s), "seed %d", seed)
		}
	}
	require.Greater(t, found, 50)
}
