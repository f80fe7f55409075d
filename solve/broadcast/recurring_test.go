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

// TestRecurring: one attempt at a period makes broadcasts of 1 MiB and larger ones as short as is known to be possible, also where
// a chunk keeps some links busy for many slots.
func TestRecurring(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		name string
		root int
		size int64 // MiB
		attempt
		us float64
	}{
		{"fattree:4x4", 0, 1, attempt{14, 14}, 24.5},
		{"fattree:4x4", 0, 2, attempt{14, 14}, 43.3},
		{"dragonfly:3x2x2", 5, 1, attempt{8, 8}, 24.9},
		{"dgx2:2", 3, 1, attempt{8, 10}, 15.2},
	} {
		p := problem(t, c.name, model.Broadcast)
		p.Collective.Root, p.Size = c.root, c.size<<20
		near := newNeighbours(p)
		require.Zero(t, coarsest(p).Slots)
		require.Less(t, near.lasts(context.Background(), p), float64(longestRecurring))
		x := newRecurring(context.Background(), p, near)
		x.try(context.Background(), c.attempt)
		require.NotNil(t, x.best, c.name)
		s := x.best.schedule()
		require.NoError(t, solvetest.Right(x.best.p, s), c.name)
		require.LessOrEqual(t, float64(x.best.p.Makespan(s))/1e6, c.us, c.name)
	}
	p := problem(t, "fattree:4x4", model.Broadcast)
	p.Size = 1 << 30
	require.Greater(t, newNeighbours(p).lasts(context.Background(), p), float64(longestRecurring))
	p.Size = 1 << 20
	over, cancel := context.WithCancel(context.Background())
	cancel()
	require.Nil(t, recurred(over, p, newNeighbours(p), 0))
}

// TestRecurringRandom: on random networks with switches a period keeps its own rules, and what is repeated is right.
func TestRecurringRandom(t *testing.T) {
	found := 0
	for seed := range uint64(100) {
		p := random(rand.New(rand.NewPCG(seed, 31)), model.Pipelined)
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
		p.Size = max(64, fastestOf(p.Topology)*3/1e7) // 300 ns
		x := newRecurring(context.Background(), p, near)
		if x == nil {
			continue
		}
		require.NotEmpty(t, x.attempts())
		a := attempt{8, 1 + int32(16*x.item)}
		for i := range x.all.lanes {
			a.period = max(a.period, x.all.lanes[i].width)
		}
		few := *x.p
		few.Chunks = x.p.Chunks[:a.chunks]
		s := newEager(&few, near, emptyFirst).run(context.Background())
		if s == nil {
			continue
		}
		g := x.all.empty(3*x.all.raster.Up(few.Makespan(s)), a.chunks, a.period)
		g.follow(s)
		g.squeezed(context.Background(), 1<<14, 0)
		if g.Missing() > 0 {
			continue
		}
		found++
		h := g.repeated(len(x.p.Chunks))
		require.NoError(t, solvetest.Right(h.p, h.schedule()), "seed %d", seed)
	}
	require.Greater(t, found, 3)
}

// TestSolveRecurring: what recurs is taken where it is sooner, and can go on after the time limit.
func TestSolveRecurring(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	p := problem(t, "fattree:4x4", model.Broadcast)
	p.Size = 1 << 20
	place := func(context.Context, Packings) (solve.Result, error) { return solve.Result{}, solve.NotServed("none") }
	b, cancel := solve.NewBudget(context.Background(), 0, 1)
	defer cancel()
	r, err := Solve(b, p, solve.Options{Enough: 30 * model.Microsecond}, place)
	require.NoError(t, err)
	require.Equal(t, solve.Done, r.Stop)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	require.LessOrEqual(t, r.Makespan(), 30*model.Microsecond)
}
