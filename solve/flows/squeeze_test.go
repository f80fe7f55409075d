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

// TestSqueezeRelays: what goes over other ranks still comes to where it is to go, also if the search is stopped before it begins, and then it is not longer
// by more than slots cost. There is no search where slots are much longer than pieces.
func TestSqueezeRelays(t *testing.T) {
	relayed, squeezed, rng := 0, 0, rand.New(rand.NewPCG(1, 1))
	for n := range 15 {
		p := allToAll(t, []string{"mi250", "rfs:2x2x2", "ndv2", "torus:3x3", "dragonfly:2x2x2"}[n%5], 1000+rng.Int64N(1<<20))
		q := solve.Cut(p, 1+rng.IntN(3))
		before, err := plan(q, rng.Uint64(), 1, func() bool { return false })
		require.NoError(t, err)
		if len(before.Transfers) > len(q.Chunks)-len(q.Chunks)/p.Topology.Ranks {
			relayed++
		}
		unit, lasts := ejection.UnitOf(p.Topology), model.TransferTime(largest(q), p.Topology.Links[0].Bandwidth)
		r := ejection.Raster{Unit: unit, Slots: max(1, unit/lasts)}
		x := newSqueezing(q, before, r)
		if x == nil { // much longer in slots
			continue
		}
		squeezed++
		ctx, cancel := context.WithCancel(t.Context())
		if n%3 == 0 {
			cancel()
		}
		after := x.run(ctx, q.Makespan(before)*9/10, solve.Options{})
		cancel()
		require.NoError(t, solvetest.Right(q, after))
		require.LessOrEqual(t, q.Makespan(after), q.Makespan(before)+q.Makespan(before)/mostLonger+r.Time(1))
		require.Nil(t, newSqueezing(q, before, ejection.Raster{Unit: 1 << 30, Slots: 1}))
	}
	require.Positive(t, relayed)
	require.GreaterOrEqual(t, squeezed, 8)
}

// TestSlotted: pieces last no longer than slots, and there are no more of them than asked for. There are none under other cost models, where nothing
// is between ranks or links share ports, where latencies have no unit, or where a unit is shorter than any piece may be. A long unit takes no longer
// than a short one.
func TestSlotted(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		p := allToAll(t, rapid.SampledFrom([]string{"dragonfly:3x2x2", "fattree:4x4", "rfs:2x2x4"}).Draw(t, "network"), int64(rapid.IntRange(1<<12, 1<<26).Draw(t, "size")))
		most := int64(rapid.IntRange(1<<10, 1<<16).Draw(t, "most"))
		k, r := slotted(p, model.Millisecond, most)
		if k == 0 {
			return
		}
		found++
		q := solve.Cut(p, k)
		fastest := int64(0)
		for _, l := range p.Topology.Links {
			fastest = max(fastest, l.Bandwidth)
		}
		require.LessOrEqual(t, int64(len(q.Chunks)), most)
		require.LessOrEqual(t, model.TransferTime(largest(q), fastest)*r.Slots, r.Unit)
	})
	require.Positive(t, found)
	for _, c := range []struct {
		change func(p *model.Problem)
		serves bool
	}{
		{func(*model.Problem) {}, true},
		{func(p *model.Problem) { p.Cost = model.Blocking }, false},
		{func(p *model.Problem) { p.Topology.Ports = []model.Port{{Links: []int{0, 1}, Capacity: 1}} }, false},
		{func(p *model.Problem) { alphas(p.Topology, 0) }, false},
		{func(p *model.Problem) { alphas(p.Topology, 2) }, false},
		{func(p *model.Problem) { p.Topology = allToAll(t, "torus:4x4", 1).Topology }, false},
		{func(p *model.Problem) { alphas(p.Topology, 10*model.Millisecond); p.Size = 1 << 10 }, true},
	} {
		p := allToAll(t, "dragonfly:3x2x2", 1<<20)
		c.change(p)
		k, _ := slotted(p, model.Millisecond, 1<<14)
		require.Equal(t, c.serves, k > 0)
	}
}

// alphas gives all links a latency.
func alphas(n *model.Topology, alpha model.Time) {
	for i := range n.Links {
		n.Links[i].Alpha = alpha
	}
}
