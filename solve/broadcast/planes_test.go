//go:build !js

package broadcast

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/timing"
)

// onPlanes returns a broadcast on a machine of some ranks and planes.
func onPlanes(ranks, planes, root int, size int64, cost model.CostModel) *model.Problem {
	return &model.Problem{Topology: solvetest.Machine(ranks, planes), Collective: model.Collective{Kind: model.Broadcast, Root: root}, Size: size, Cost: cost}
}

// A broadcast in rounds on planes is right, and over when it was said to be.
func TestRounds(t *testing.T) {
	made := 0
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(3, 12).Draw(t, "ranks"), rapid.IntRange(1, 5).Draw(t, "planes")
		cost := rapid.SampledFrom([]model.CostModel{model.Pipelined, model.Blocking}).Draw(t, "cost")
		p := onPlanes(n, k, rapid.IntRange(0, n-1).Draw(t, "root"), rapid.Int64Range(1, 1<<20).Draw(t, "bytes"), cost)
		x := &rounds{Planes: network.PlanesOf(p), p: p, n: n, root: p.Collective.Root, count: rapid.IntRange(1, 30).Draw(t, "rounds")}
		require.Len(t, x.Up, k)
		x.size = (p.Size-1)/int64(x.count*(n-1)) + 1
		x.use(timing.NewBoard(p))
		end, ok := x.send(nil)
		if !ok {
			return
		}
		r := x.result()
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.LessOrEqual(t, r.Makespan(), end)
		if p.Size%(int64(x.count)*int64(n-1)) == 0 {
			require.Equal(t, end, r.Makespan())
		}
		made++
	})
	require.Positive(t, made)
}

// What is found on planes takes about two latencies and as long as the root needs to send all. Other networks have nothing.
func TestOverPlanes(t *testing.T) {
	for _, planes := range []int{2, 4, 18} {
		for size := int64(1 << 20); size <= 1<<28; size *= 16 {
			p := onPlanes(24, planes, 3, size, model.Pipelined)
			sends := float64(size) / 50e9 / float64(planes) * 1e12
			o := solve.Options{Bound: model.Time(700_000 + sends)}
			o.Enough = o.Bound + o.Bound/200
			r := overPlanes(context.Background(), p, o)
			require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
			require.Less(t, float64(r.Makespan()), (1_400_000+sends)*1.02, "%d planes, %d bytes", planes, size)
			o.MostTransfers = 1000
			require.LessOrEqual(t, len(overPlanes(context.Background(), p, o).Schedule.Transfers), 1000)
		}
	}
	p := onPlanes(5, 2, 0, 1<<20, model.Pipelined)
	require.NotNil(t, overPlanes(context.Background(), p, solve.Options{}).Schedule)
	p.Topology.Links = p.Topology.Links[1:]
	require.Nil(t, overPlanes(context.Background(), p, solve.Options{}).Schedule)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.Nil(t, overPlanes(ctx, onPlanes(5, 2, 0, 1<<20, model.Pipelined), solve.Options{}).Schedule)
}
