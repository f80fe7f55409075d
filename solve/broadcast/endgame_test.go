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

// TestEndings: where ranks are at switches, what is poured ends sooner by other ways for the last chunks, and is right.
func TestEndings(t *testing.T) {
	for _, c := range []struct {
		name         string
		size, chunks int64
		least        float64 // microseconds by which it ends sooner
	}{
		{"dgx2:2", 1 << 19, 400, 0.3}, {"dragonfly:2x3x2", 1 << 18, 400, 0.8}, {"switch:6", 1 << 18, 200, 0.07},
	} {
		p := problem(t, c.name, model.Broadcast)
		p.Size = c.size
		p.Chunks = solve.Evenly(p.Space(), c.chunks)
		r, ok := rasterOf(p)
		require.True(t, ok)
		p.Chunks = solve.OfSize(p.Space(), r.bytes(p.Topology))
		all, err := packings(context.Background(), context.Background(), p)
		require.NoError(t, err)
		f := flattest(p, all)[0]
		s := newStream(p, f.Trees, 1)
		require.True(t, s.pour(context.Background(), dealt(f.Trees, s.trains)))
		before := s.schedule()
		after := endings(context.Background(), p, before, solve.Options{})
		require.NoError(t, solvetest.Right(p, after), c.name)
		require.GreaterOrEqual(t, float64(p.Makespan(before)-p.Makespan(after)), c.least*1e6, c.name)
	}
}

// TestEndingsRandom: on random networks what ends by other ways is right, and not later.
func TestEndingsRandom(t *testing.T) {
	sooner := 0
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 23))
		p := random(rng, model.Pipelined)
		if p == nil {
			continue
		}
		all, err := packings(context.Background(), context.Background(), p)
		if err != nil {
			continue
		}
		f := flattest(p, all)[0]
		p.Chunks = solve.Evenly(p.Space(), 1+rng.Int64N(100))
		s := newStream(p, f.Trees, 1)
		require.True(t, s.pour(context.Background(), dealt(f.Trees, s.trains)))
		before := s.schedule()
		after := endings(context.Background(), p, before, solve.Options{})
		require.NoError(t, solvetest.Right(p, after), "seed %d", seed)
		require.LessOrEqual(t, p.Makespan(after), p.Makespan(before))
		if p.Makespan(after) < p.Makespan(before) {
			sooner++
		}
	}
	require.Greater(t, sooner, 5)
}
