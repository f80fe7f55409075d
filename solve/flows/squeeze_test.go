package flows

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// allToAll returns one on a network.
func allToAll(t require.TestingT, network string, size int64) *model.Problem {
	tp, err := topo.Parse(network, topo.Options{})
	require.NoError(t, err)
	return &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllToAll}, Size: size, Cost: model.Pipelined}
}

// TestSqueeze: pieces that keep several links busy in turn leave gaps where they are put one after the other, and hardly any after ejections. Six
// routers in a ring have no link that could be idle for long: the bounds are those of a cut.
func TestSqueeze(t *testing.T) {
	for _, c := range []struct {
		size   int64
		bound  model.Time
		within float64
	}{
		{1 << 20, 30796632, 0.005},
		{1 << 23, 235875056, 0.006},
	} {
		p := allToAll(t, "dragonfly:3x2x2", c.size)
		k, r := slotted(p, c.bound, 1<<15)
		q := solve.Cut(p, k)
		before, err := plan(q, 0, c.bound, func() bool { return false })
		require.NoError(t, err)
		x := newSqueezing(q, before, r)
		require.NotNil(t, x)
		after := x.run(t.Context(), c.bound, solve.Options{})
		require.NoError(t, solvetest.Right(q, after))
		require.Less(t, q.Makespan(after), q.Makespan(before))
		require.LessOrEqual(t, float64(q.Makespan(after)), (1+c.within)*float64(c.bound))
		require.GreaterOrEqual(t, q.Makespan(after), c.bound)
	}
}

// TestSqueezeRelays: what goes over other ranks still comes to where it is to go, also if it goes straight there in the end, and if the search is
// stopped before it begins.
func TestSqueezeRelays(t *testing.T) {
	relayed, rng := 0, rand.New(rand.NewPCG(1, 1))
	for n := range 15 {
		p := allToAll(t, []string{"mi250", "rfs:2x2x2", "ndv2", "torus:3x3", "dragonfly:2x2x2"}[n%5], 1000+rng.Int64N(1<<20))
		q := solve.Cut(p, 1+rng.IntN(3))
		before, err := plan(q, rng.Uint64(), 1, func() bool { return false })
		require.NoError(t, err)
		if len(before.Transfers) > len(q.Chunks)-len(q.Chunks)/p.Topology.Ranks {
			relayed++
		}
		unit, lasts := ejection.UnitOf(p.Topology), model.TransferTime(largest(q), p.Topology.Links[0].Bandwidth)
		x := newSqueezing(q, before, ejection.Raster{Unit: unit, Slots: max(1, unit/lasts)})
		if x == nil { // much longer in slots
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		if n%3 == 0 {
			cancel()
		}
		after := x.run(ctx, q.Makespan(before)*9/10, solve.Options{})
		cancel()
		require.NoError(t, solvetest.Right(q, after))
	}
	require.Positive(t, relayed)
}

// TestSlotted: pieces last no longer than slots, hardly less, and there are no more of them than asked for. There are none where links have no
// common unit of time, or where nothing waits at switches.
func TestSlotted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := allToAll(t, rapid.SampledFrom([]string{"dragonfly:3x2x2", "fattree:4x4", "dgx1", "rfs:2x2x4"}).Draw(t, "network"), int64(rapid.IntRange(1<<12, 1<<26).Draw(t, "size")))
		most := int64(rapid.IntRange(1<<10, 1<<16).Draw(t, "most"))
		k, r := slotted(p, model.Millisecond, most)
		if k == 0 {
			return
		}
		q := solve.Cut(p, k)
		fastest := int64(0)
		for _, l := range p.Topology.Links {
			fastest = max(fastest, l.Bandwidth)
		}
		require.LessOrEqual(t, int64(len(q.Chunks)), most+int64(p.Topology.Ranks*p.Topology.Ranks))
		require.LessOrEqual(t, model.TransferTime(largest(q), fastest)*r.Slots, r.Unit+r.Slots)
	})
	p := allToAll(t, "dragonfly:3x2x2", 1<<20)
	k, _ := slotted(p, model.Millisecond, 1<<14)
	require.Positive(t, k)
	p.Cost = model.Blocking
	k, _ = slotted(p, model.Millisecond, 1<<14)
	require.Zero(t, k)
	k, _ = slotted(allToAll(t, "torus:4x4", 1<<20), model.Millisecond, 1<<14)
	require.Zero(t, k)
}
