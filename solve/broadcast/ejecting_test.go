package broadcast

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestEjected: ejections shorten what is sent on at once, from any root, by as much as is known to be possible.
func TestEjected(t *testing.T) {
	for _, c := range []struct {
		name string
		root int
		size int64
		us   float64
	}{{"fattree:4x4", 0, 64 << 10, 5.1}, {"dragonfly:3x2x2", 5, 64 << 10, 5.1}, {"dgx2:2", 3, 16 << 10, 4.3}} {
		p := problem(t, c.name, model.Broadcast)
		p.Collective.Root, p.Size = c.root, c.size
		near := newNeighbours(p)
		r := coarsest(p)
		g := started(context.Background(), r.cut(p), near, r)
		g.squeezed(context.Background(), ejections/16, 0)
		g = g.halved()
		g.squeezed(context.Background(), ejections/16, 0)
		require.Zero(t, g.Missing())
		require.NoError(t, solvetest.Right(g.p, g.schedule()))
		require.LessOrEqual(t, float64(g.p.Makespan(g.schedule()))/1e6, c.us, c.name)
	}
	p := problem(t, "fattree:4x4", model.Broadcast)
	p.Size = 64 << 10
	over, cancel := context.WithCancel(context.Background())
	cancel()
	require.Nil(t, ejected(over, p, started(over, coarsest(p).cut(p), newNeighbours(p), coarsest(p)), solve.Options{}).Schedule)
}

// TestLongerSlots: where there would be too many slots they are longer.
func TestLongerSlots(t *testing.T) {
	p := problem(t, "dragonfly:3x2x2", model.Broadcast)
	p.Size = 16
	r := coarsest(p)
	r.Slots = r.Unit
	g := started(context.Background(), r.cut(p), newNeighbours(p), r)
	require.Less(t, g.raster.Slots, r.Slots)
	require.LessOrEqual(t, g.Slots(), mostSlots/4)
	require.Zero(t, g.Missing())
	require.NoError(t, solvetest.Right(g.p, g.schedule()))
}

// TestGridRandom: on random networks with switches a grid on which everything is done, and halved and searched, is right.
func TestGridRandom(t *testing.T) {
	found := 0
	for seed := range uint64(300) {
		p := random(rand.New(rand.NewPCG(seed, 29)), model.Pipelined)
		if p == nil {
			continue
		}
		near := newNeighbours(p)
		if near == nil {
			continue
		}
		for i := range p.Topology.Links {
			p.Topology.Links[i].Alpha = model.Time(1+i%4) * 100_000
		}
		p.Size = max(1, fastestOf(p.Topology)*3/1e7) // 300 ns
		r := raster{ejection.Raster{Unit: 100_000, Slots: model.Time(1 + seed%3)}, model.Time(1 + seed/3%2)}
		g := started(context.Background(), r.cut(p), near, r)
		if g == nil {
			continue
		}
		found++
		before := g.Lasts()
		g.squeezed(context.Background(), 1<<16, 0)
		require.NoError(t, solvetest.Right(g.p, g.schedule()), "seed %d", seed)
		require.LessOrEqual(t, g.Lasts(), before)
	}
	require.Greater(t, found, 10)
}

// TestEjectedMore: a search that a time limit ends goes on, and its schedules are no longer and right.
func TestEjectedMore(t *testing.T) {
	p := problem(t, "fattree:4x4", model.Broadcast)
	p.Size = 64 << 10
	near, r := newNeighbours(p), coarsest(p)
	x := &ejecting{g: started(context.Background(), r.cut(p), near, r), best: solve.Result{Problem: p, Stop: solve.Done}}
	over, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	first := x.run(over, solve.Options{})
	require.Equal(t, solve.TimeLimit, first.Stop)
	require.NotNil(t, first.More)
	enough := first.Makespan() - first.Makespan()/20
	second, err := first.More(context.Background(), solve.Options{Enough: enough})
	require.NoError(t, err)
	require.NoError(t, solvetest.Right(second.Problem, second.Schedule))
	require.LessOrEqual(t, second.Makespan(), enough)
	require.Nil(t, second.More)
}
