//go:build cgo

package broadcast

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestSteady: long broadcasts among many ranks take trees that are the same for most of the time. They are right, nearer to the bound than
// those of any trees without times, which end at 9.4 us and 24.9 us, and nearer if there are more chunks.
func TestSteady(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		name        string
		root        int
		size        int64
		bound, most model.Time
	}{
		{"rfs:2x2x12", 0, 1 << 20, 8_449_000, 8_900_000},
		{"dragonfly:3x3x4", 5, 1 << 20, 23_462_000, 24_800_000},
	} {
		p := problem(t, c.name, model.Broadcast)
		p.Collective.Root, p.Size = c.root, c.size
		x := newTimed(p, solve.Options{Bound: c.bound, MostTransfers: 1 << 18})
		require.True(t, x.steady, c.name)
		b, done := solve.NewBudget(context.Background(), time.Minute, 1)
		r := x.run(b)
		done()
		require.NotNil(t, r.Schedule, c.name)
		t.Log(c.name, r.Makespan())
		require.LessOrEqual(t, r.Makespan(), c.most, c.name)
		require.Greater(t, r.Makespan(), c.bound, c.name)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		coarse := x.inSlots(context.Background(), 1<<14)
		require.NoError(t, solvetest.Right(coarse.Problem, coarse.Schedule))
		require.Greater(t, coarse.Makespan(), r.Makespan())
	}
}

// TestSteadyStops: there is no schedule once the search is stopped, and it ends.
func TestSteadyStops(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	p := problem(t, "dragonfly:3x3x4", model.Broadcast)
	p.Size = 1 << 20
	x := newTimed(p, solve.Options{Bound: 23_000_000})
	require.True(t, x.steady)
	ctx, cancel := context.WithCancel(context.Background())
	require.True(t, x.solveSteady(ctx))
	cancel()
	require.Nil(t, x.inSlots(ctx, 1<<18).Schedule)
	b, done := solve.NewBudget(ctx, time.Minute, 1)
	defer done()
	require.Nil(t, newTimed(p, solve.Options{Bound: 23_000_000}).run(b).Schedule)
}

// TestBalance: each chunk takes an image of its tree, whose hops begin when those of the tree do and take as long; ranks at one switch send about as much, and
// get everything once.
func TestBalance(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	p := problem(t, "dragonfly:3x3x4", model.Broadcast)
	p.Size = 1 << 20
	x := newTimed(p, solve.Options{Bound: 23_000_000})
	require.True(t, x.solveSteady(context.Background()))
	g := x.best
	all := g.deal(p, 2000)
	require.True(t, g.balance(context.Background(), all))
	sends := make([]int, p.Topology.Ranks)
	for _, c := range all {
		at := map[int32]model.Time{int32(g.root): 0}
		require.Len(t, c.hops, len(c.tree.hops))
		for i, h := range c.hops {
			y := &g.hops[h]
			has, known := at[y.from]
			require.True(t, known && has <= c.tree.at[i])
			require.NotContains(t, at, y.to)
			require.Equal(t, g.hops[c.tree.hops[i]].lasts, y.lasts)
			at[y.to] = c.tree.at[i] + y.lasts
			sends[y.from]++
		}
		require.Len(t, at, p.Topology.Ranks)
	}
	list := newTwins(g).classes
	require.NotEmpty(t, list)
	for _, class := range list {
		require.NotContains(t, class, int32(g.root))
		var of []int
		for _, v := range class {
			of = append(of, sends[v])
		}
		require.Less(t, slices.Max(of)-slices.Min(of), 60)
	}
}

// TestLines: the first slot and the last one in which a hop may begin are those that looking at each slot finds.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const links, slots = 4, 700
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		x, taken := newLines(links, slots), make([][slots]bool, links)
		hop := func() *slotHop {
			h := &slotHop{}
			for l, after := 0, int32(0); l < links; l++ {
				if rng.IntN(2) == 0 {
					h.links, h.after = append(h.links, l), append(h.after, after)
				}
				after += rng.Int32N(40)
			}
			return h
		}
		free := func(h *slotHop, at int32) bool {
			for i, l := range h.links {
				if taken[l][at+h.after[i]] {
					return false
				}
			}
			return true
		}
		for range 300 {
			h, at := hop(), rng.Int32N(200)+100
			first := x.first(h, at, 500)
			if first >= 0 {
				for s := at; s < first; s++ {
					require.False(t, free(h, s))
				}
				require.True(t, free(h, first))
			}
			last := x.last(h, at)
			if last >= 0 {
				for s := at; s > last; s-- {
					require.False(t, free(h, s))
				}
				require.True(t, free(h, last))
			}
			take := first
			if rng.IntN(2) == 0 {
				take = last
			}
			if take < 0 {
				continue
			}
			x.take(h, take)
			for i, l := range h.links {
				taken[l][take+h.after[i]] = true
			}
		}
	})
}

// TestReserved: links between switches are left idle in part, unless the broadcast takes longer then.
func TestReserved(t *testing.T) {
	for _, c := range []struct {
		slower int64 // links between switches than they are
		want   float64
	}{{1, mostReserved}, {16, 0}} {
		p := problem(t, "dragonfly:3x3x4", model.Broadcast)
		p.Size = 1 << 20
		for l := range p.Topology.Links {
			if betweenSwitches(p.Topology, l) {
				p.Topology.Links[l].Bandwidth /= c.slower
			}
		}
		limit, err := fluid.Rate(context.Background(), p)
		require.NoError(t, err)
		x := &timed{p: p}
		part := x.reserved(context.Background(), limit)
		require.Equal(t, c.want, part, c.slower)
		far := latencyFromRoot(p)
		g := newProgram(context.Background(), p, far, 4*far, far/8, true)
		before := slices.Clone(g.room)
		g.reserve(part)
		for h, route := range g.routes {
			for i, o := range g.classes[g.hops[h].class].orbits {
				want := before[o]
				if betweenSwitches(p.Topology, route[i]) {
					want *= 1 - part
				}
				require.Equal(t, want, g.room[o])
			}
		}
	}
}
