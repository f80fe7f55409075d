package bound_test

import (
	"context"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/bound"
)

// found returns the bound of a kind, 0 if there is none.
func found(t *testing.T, p *model.Problem, kind string) model.Time {
	all, complete, err := bound.All(context.Background(), p)
	require.NoError(t, err)
	require.True(t, complete)
	for _, c := range all {
		if c.Witness.Kind() == kind {
			return c.Estimate
		}
	}
	return 0
}

// Around one switch with equal ranks, an allreduce of S bytes takes, with x = S/B and a
// latency of a from rank to rank, a + (n-1)x at least where (n-1)x <= a, and
// x + a(2n-3)/(n-1) where a <= (n-1)x <= na; above that the volume, a + 2(n-1)x/n, is more.
func TestCoverageAroundOneSwitch(t *testing.T) {
	const a, bandwidth = 700_000, int64(450e9)
	for _, n := range []int{4, 8, 16} {
		tp, err := topo.Switch(n, topo.Wire{Alpha: a, Bandwidth: bandwidth}, false)
		require.NoError(t, err)
		for size := int64(1 << 10); size <= 1<<20; size *= 2 {
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: size, Cost: model.Pipelined}
			x := big.NewRat(size*1e6, bandwidth/1e6) // ps
			others := new(big.Rat).Mul(x, big.NewRat(int64(n-1), 1))
			want := new(big.Rat).Add(others, big.NewRat(a, 1))
			if others.Cmp(big.NewRat(a, 1)) > 0 {
				want = new(big.Rat).Add(x, big.NewRat(a*int64(2*n-3), int64(n-1)))
			}
			closed, _ := want.Float64()
			// A hop of one byte takes some picoseconds more than its latency.
			require.InDelta(t, closed, float64(found(t, p, "coverage")), 10, "%d ranks, %d bytes", n, size)
			best, err := bound.Best(context.Background(), p)
			require.NoError(t, err)
			if others.Cmp(big.NewRat(int64(n)*a, 1)) > 0 {
				require.Equal(t, "volume", best.Witness.Kind(), "%d ranks, %d bytes", n, size)
			} else {
				require.Equal(t, "coverage", best.Witness.Kind(), "%d ranks, %d bytes", n, size)
			}
		}
	}
}

// Bounds of small allreduces and allgathers, in nanoseconds, as a prototype in rationals found
// them that tried the same sets.
func TestCoverageOfSmallBuffers(t *testing.T) {
	for _, c := range []struct {
		name string
		kind model.Kind
		kib  int64
		want float64
	}{
		{"dragonfly:3x2x2", model.Scatter, 64, 2703}, {"dragonfly:3x2x2", model.Gather, 64, 2703},
		{"dgxh100", model.AllReduce, 1, 716}, {"full:8", model.AllReduce, 1, 519}, {"dragonfly:2x2x2", model.AllReduce, 1, 2576},
		{"dgxa100:2", model.AllReduce, 1, 2928}, {"dgxh100:2", model.AllReduce, 1, 2764}, {"fattree:2x4", model.AllReduce, 1, 2076},
		{"dgxh100", model.AllReduce, 8, 827}, {"full:8", model.AllReduce, 8, 653},
		{"dgxh100:2", model.AllReduce, 64, 3952}, {"dgxh100:2", model.AllGather, 64, 3255},
	} {
		tp, err := topo.Parse(c.name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: c.kind}, Size: c.kib << 10, Cost: model.Pipelined}
		best, err := bound.Best(context.Background(), p)
		require.NoError(t, err)
		require.InDelta(t, c.want, float64(best.Estimate)/1000, 1.5, "%s, %v of %d KiB, by %s", c.name, c.kind, c.kib, best.Witness.Kind())
	}
}

// Where the search ends with its steps, what it found by then stays.
func TestCoverageOfLargeNetworks(t *testing.T) {
	for name, least := range map[string]float64{"torus:16x16": 7.0, "full:64": 1.01} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 64 << 10, Cost: model.Pipelined}
		require.GreaterOrEqual(t, float64(found(t, p, "coverage"))/1e6, least, name)
	}
}

// The search ends with the time, and says that it is not complete.
func TestCoverageEndsInTime(t *testing.T) {
	tp, err := topo.Parse("torus:16x16", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 20, Cost: model.Pipelined}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, complete, err := bound.All(ctx, p)
	require.NoError(t, err)
	require.False(t, complete)
	require.Less(t, time.Since(start), 5*time.Second)
}
