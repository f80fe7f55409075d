//go:build cgo

package broadcast

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestTimed: broadcasts over trees with times are nearer to the bound than with other methods, from any root. The last two meet what is asked
// of the atlas.
func TestTimed(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		name        string
		root        int
		size        int64
		bound, most model.Time
	}{
		{"dragonfly:3x2x2", 0, 1 << 16, 4673443, 4770000},
		{"dragonfly:3x2x2", 7, 1 << 16, 4673443, 4800000}, // whose router is farther from others
		{"fattree:4x4", 5, 1 << 16, 4654000, 4710000},
		{"rfs:2x4x8", 0, 1 << 16, 2261459, 2261459 * 103 / 100},
		{"dragonfly:4x4x4", 0, 1 << 16, 5411195, 5411195 * 103 / 100},
	} {
		p := problem(t, c.name, model.Broadcast)
		p.Collective.Root, p.Size = c.root, c.size
		x := newTimed(p, solve.Options{Bound: c.bound, Enough: c.most})
		b, done := solve.NewBudget(context.Background(), time.Minute, 1)
		r := x.run(b)
		done()
		require.NotNil(t, r.Schedule, c.name)
		require.LessOrEqual(t, r.Makespan(), c.most, c.name)
		require.Greater(t, r.Makespan(), c.bound, c.name)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	}
}

// TestTimedOfUse: there are no trees with times where latencies are all or hardly any of the time, without switches, or under
// other cost models.
func TestTimedOfUse(t *testing.T) {
	p := problem(t, "dragonfly:3x2x2", model.Broadcast)
	p.Size = 1 << 16
	require.NotNil(t, newTimed(p, solve.Options{Bound: 4673443}))
	require.Nil(t, newTimed(p, solve.Options{Bound: 2540000}))
	require.Nil(t, newTimed(p, solve.Options{Bound: 20000000}))
	p.Cost = model.Blocking
	require.Nil(t, newTimed(p, solve.Options{Bound: 4673443}))
	p = problem(t, "torus:4x4", model.Broadcast)
	p.Size = 1 << 16
	require.Nil(t, newTimed(p, solve.Options{Bound: 5000000}))
}

// TestTimedProgram: what a solved program sends fills no link beyond its room at any time, with all that takes a tree divided among
// its images, and its trees reach all ranks in time.
func TestTimedProgram(t *testing.T) {
	p := problem(t, "rfs:2x2x4", model.Broadcast)
	p.Size = 1 << 16
	far := latencyFromRoot(p)
	g := newProgram(context.Background(), p, far, 2*far, far/8, false)
	require.NotNil(t, g)
	g.thorough = true
	require.NoError(t, g.sow(context.Background(), 9))
	defer g.lp.Close()
	require.True(t, g.improve(context.Background(), math.Inf(1)))
	require.NotEmpty(t, g.images)
	carried := make([]float64, len(g.prices)) // in parts of the buffer
	sum := 0.0
	for j, share := range g.shares {
		tree := g.trees[j]
		if sum += share; share < 1e-9 {
			continue
		}
		at := map[int32]model.Time{int32(g.root): 0}
		for i, h := range tree.hops {
			x := &g.hops[h]
			has, known := at[x.from]
			require.True(t, known && has <= tree.at[i], "a hop begins before its rank has anything")
			require.NotContains(t, at, x.to)
			at[x.to] = tree.at[i] + x.lasts
			require.LessOrEqual(t, g.begin[tree.bin+1]+at[x.to], g.end())
			c := &g.classes[x.class]
			for k, o := range c.orbits { // in small steps, not as the program does it
				const steps = 1000
				for s := range steps {
					when := g.begin[tree.bin] + tree.at[i] + c.after[k] + g.lasts(tree.bin)*model.Time(s)/steps
					bin := 0
					for bin+1 < g.bins() && g.begin[bin+1] <= when {
						bin++
					}
					carried[int(o)*g.bins()+bin] += share / steps
				}
			}
		}
		require.Len(t, at, p.Topology.Ranks)
	}
	for row := range carried {
		require.LessOrEqual(t, carried[row], g.capacity(row)*1.01+1e-3)
	}
	require.InDelta(t, g.whole, sum, 1e-6)
	require.Greater(t, g.whole, 0.9)
}

// TestThorough: a program that is solved thoroughly sends more by the same end.
func TestThorough(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	p := problem(t, "rfs:2x4x8", model.Broadcast)
	p.Size = 1 << 16
	whole := map[bool]float64{}
	for _, thorough := range []bool{false, true} {
		g := newProgram(context.Background(), p, latencyFromRoot(p), 2310*model.Nanosecond, 62500*model.Picosecond, false)
		require.NotNil(t, g)
		g.thorough = thorough
		require.NoError(t, g.sow(context.Background(), sweeps))
		require.True(t, g.improve(context.Background(), math.Inf(1)))
		g.lp.Close()
		whole[thorough] = g.whole
	}
	require.Greater(t, whole[true], whole[false]*1.02)
}

// TestTimedStops: a search that ends at any time has a schedule that is whole or none, and goes on from there.
func TestTimedStops(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	p := problem(t, "dragonfly:3x2x2", model.Broadcast)
	p.Size = 1 << 16
	for n := range 3 {
		x := newTimed(p, solve.Options{Bound: 4673443})
		b, done := solve.NewBudget(context.Background(), time.Duration(1<<(2*n))*5*time.Millisecond, 1)
		r := x.run(b)
		done()
		if r.Schedule != nil {
			require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		}
		if r.More != nil {
			again, err := r.More(context.Background(), solve.Options{TimeLimit: time.Minute, Threads: 1})
			require.NoError(t, err)
			require.NotNil(t, again.Schedule)
			require.NoError(t, solvetest.Right(again.Problem, again.Schedule))
		}
	}
}

// TestRehang: a tree that is hung again costs no more, at any prices, and is a tree.
func TestRehang(t *testing.T) {
	p := problem(t, "rfs:2x2x4", model.Broadcast)
	p.Size = 1 << 16
	far := latencyFromRoot(p)
	g := newProgram(context.Background(), p, far, 2*far, far/8, false)
	rng, trees := rand.New(rand.NewPCG(3, 3)), 0
	for range 50 {
		for row := range g.prices {
			g.prices[row] = rng.ExpFloat64()
		}
		g.tabulate()
		before := g.grow(rng.IntN(g.bins()/3), rng.Float64()/float64(far))
		if before == nil { // what is cheap may be too late
			continue
		}
		trees++
		after := g.rehang(before)
		require.LessOrEqual(t, g.value(after), g.value(before)+1e-9)
		require.Len(t, after.hops, p.Topology.Ranks-1)
		sum := 0.0
		for i, h := range after.hops {
			sum += g.cost(&g.hops[h], g.begin[after.bin]+after.at[i], after.bin)
		}
		require.InDelta(t, g.value(after), sum, 1e-9)
	}
	require.Greater(t, trees, 20)
}
