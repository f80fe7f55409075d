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

// TestDrainedToTheDistance: a broadcast takes as long as its bytes take to come into a rank, and the latency to the
// farthest one, and hardly more than a chunk or two: no schedule is faster, however deep the trees are.
func TestDrainedToTheDistance(t *testing.T) {
	for _, c := range []struct {
		name         string
		size, chunks int64
		farthest     model.Time // rank, in hops
	}{
		{"ring:8", 1 << 20, 256, 4}, {"torus:4x4", 64 << 10, 128, 4}, {"hypercube:4", 1 << 20, 512, 4}, {"torus:8x8", 64 << 10, 128, 8},
	} {
		p := problem(t, c.name, model.Broadcast)
		p.Size = c.size
		all, err := packings(context.Background(), context.Background(), p)
		require.NoError(t, err)
		f := flattest(p, all)[0]
		busy, _ := f.Fluid(p)
		least := model.Time(busy*1e12) + c.farthest*p.Topology.Links[0].Alpha
		p.Chunks = solve.Evenly(p.Space(), c.chunks)
		s := poured{Forest: f}.stream(context.Background(), p, 0)
		require.NoError(t, solvetest.Right(p, s))
		require.GreaterOrEqual(t, p.Makespan(s), least)
		chunk := p.Topology.Duration([]int{0}, p.Chunks[0].Size) - p.Topology.Links[0].Alpha
		require.LessOrEqual(t, p.Makespan(s), least+(c.farthest+2)*chunk, "%s, %d bytes", c.name, c.size)
	}
}

// TestDrainedRandom: on random networks, under both cost models with times, what is poured is right, and what is drained
// is right and not longer, and often shorter, in trains of several chunks, too.
func TestDrainedRandom(t *testing.T) {
	shorter, all := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 17))
		p := random(rng, []model.CostModel{model.Pipelined, model.Blocking}[seed%2])
		if p == nil {
			continue
		}
		packed, err := packings(context.Background(), context.Background(), p)
		if err != nil {
			continue
		}
		f := flattest(p, packed)[0]
		all++
		p.Chunks = solve.Evenly(p.Space(), 1+rng.Int64N(40))
		s := newStream(p, f.Trees, 1+rng.IntN(4))
		require.True(t, s.pour(context.Background(), dealt(f.Trees, s.trains)))
		require.NoError(t, solvetest.Right(p, s.schedule(context.Background())), "seed %d", seed)
		before := s.end()
		d := s.drained(context.Background(), 0)
		require.NoError(t, solvetest.Right(p, d.schedule(context.Background())), "seed %d", seed)
		require.Equal(t, before, s.end(), "the first stays as it is")
		require.LessOrEqual(t, d.end(), before)
		if d.end() < before {
			shorter++
		}
	}
	require.Greater(t, all, 200)
	require.Greater(t, shorter, all/3)
}

// TestDrainedInTime: when there is no time for pouring there is no schedule, and when there is none for draining it is
// that which was poured.
func TestDrainedInTime(t *testing.T) {
	p := problem(t, "ring:8", model.Broadcast)
	all, err := packings(context.Background(), context.Background(), p)
	require.NoError(t, err)
	f := flattest(p, all)[0]
	p.Chunks = solve.Evenly(p.Space(), 64)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	require.Nil(t, poured{Forest: f}.stream(over, p, 0))
	s := newStream(p, f.Trees, 1)
	require.True(t, s.pour(context.Background(), dealt(f.Trees, 64)))
	require.Same(t, s, s.drained(over, 0))
	require.Less(t, s.drained(context.Background(), 0).end(), s.end())
}

// TestBroadcastInTime: a method whose time ends while it looks for other trees returns the schedule that it has.
func TestBroadcastInTime(t *testing.T) {
	p := problem(t, "dgx1", model.Broadcast)
	p.Size = 1 << 20
	all, err := packings(context.Background(), context.Background(), p)
	require.NoError(t, err)
	best := finest(context.Background(), context.Background(), p, solve.Options{Effort: -1}, []poured{{Forest: all[0]}}, 8)
	require.NotNil(t, best.Schedule)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := otherwise(over, p, solve.Options{Effort: -1}, all[0], all[0], best, nil)
	require.NoError(t, err)
	require.Same(t, best.Schedule, r.Schedule)
	require.Equal(t, solve.Interrupted, r.Stop)
}
