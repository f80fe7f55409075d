package oneshot_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/oneshot"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func TestConformance(t *testing.T) {
	for _, s := range oneshot.All() {
		least := 12
		if s.Name() == "hierarchical" {
			least = 8 // where the number of members is no prime
		}
		t.Run(s.Name(), func(t *testing.T) { solvetest.Run(t, s, solvetest.Config{Serves: least}) })
	}
}

func method(name string) solve.Solver {
	for _, s := range oneshot.All() {
		if s.Name() == name {
			return s
		}
	}
	panic(name)
}

// run returns the makespan that a method finds, of a schedule that is right.
func run(t *testing.T, name string, p *model.Problem) model.Time {
	r, err := method(name).Solve(context.Background(), p, solve.Options{})
	require.NoError(t, err)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	require.True(t, p.SameUpToCut(r.Problem))
	return r.Makespan()
}

func allreduce(tp *model.Topology, size int64) *model.Problem {
	return &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: size, Cost: model.Pipelined}
}

// Around one switch with equal ranks the mixture is near the bound for every size, and
// one-shot meets it where all that a rank sends takes a latency or less.
func TestThreeRegimes(t *testing.T) {
	const a, bandwidth = 700_000.0, int64(450e9)
	for _, n := range []int{4, 8, 16} {
		tp, err := topo.Switch(n, topo.Wire{Alpha: a, Bandwidth: bandwidth}, false)
		require.NoError(t, err)
		for kib := int64(1); kib <= 4096; kib *= 4 {
			x := float64(kib<<10) / float64(bandwidth) * 1e12
			all, others := float64(n), float64(n-1)
			bound, within := a+2*others*x/all, 0.001
			switch {
			case others*x <= a:
				bound, within = a+others*x, 0.0001
			case others*x <= all*a:
				bound, within = x+a*(2*all-3)/others, 0.02
			}
			got := float64(run(t, "mixed", allreduce(tp, kib<<10)))
			require.GreaterOrEqual(t, got, math.Floor(bound), "%d ranks, %d KiB", n, kib)
			require.Less(t, got, bound*(1+within), "%d ranks, %d KiB", n, kib)
			if others*x <= a {
				require.InDelta(t, bound, float64(run(t, "oneshot", allreduce(tp, kib<<10))), 10*others, "%d ranks, %d KiB", n, kib)
			}
		}
	}
}

// Over shortest ways, through relays, one-shot takes one diameter and little more: makespans in
// nanoseconds that must not become longer.
func TestOneShotThroughRelays(t *testing.T) {
	for _, c := range []struct {
		name string
		kib  int64
		most float64
	}{
		{"dgxh100", 1, 717}, {"mi300x", 1, 717}, {"full:8", 1, 520}, {"dragonfly:2x2x2", 1, 2577}, {"dgxa100:2", 1, 2929}, {"dgxh100:2", 1, 2765},
		{"dgx1", 1, 1492}, {"ring:8", 1, 2077}, {"mi250", 1, 3602}, {"torus:4x4", 1, 2095}, {"fattree:2x4", 1, 2134},
		{"dgxh100", 8, 828}, {"full:8", 8, 654}, {"dgx1", 8, 2137}, {"ring:8", 8, 2611}, {"fattree:2x4", 8, 3068},
	} {
		tp, err := topo.Parse(c.name, topo.Options{})
		require.NoError(t, err)
		require.LessOrEqual(t, float64(run(t, "oneshot", allreduce(tp, c.kib<<10)))/1000, c.most, "%s, %d KiB", c.name, c.kib)
	}
}

// Two machines exchange the sums of their ranks, each over its own NIC; grids and cubes go
// along their dimensions: makespans in microseconds that must not become longer.
func TestHierarchical(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		name string
		kib  int64
		most float64
	}{
		{"dgxh100:2", 16, 3.5}, {"dgxh100:2", 64, 4.2}, {"dgxh100:2", 1 << 10, 6.56}, {"dgxh100:2", 1 << 20, 4177},
		{"dgxa100:2", 64, 4.36}, {"dgxa100:2", 1 << 10, 9.3}, {"dgxh100:4", 64, 4.4}, {"ndv2:2", 64, 9.4}, {"fattree:2x4", 64, 4.45},
		{"dgx1", 4, 1.57}, {"dgx1", 64, 2.44}, {"hypercube:3", 4, 1.58}, {"hypercube:3", 64, 1.96}, {"mi250", 64, 5.05},
		{"torus:4x4", 4, 2.04}, {"torus:4x4", 64, 2.33}, {"torus:4x4", 1 << 10, 9.66}, {"hypercube:6", 64, 3.27}, {"torus:8x8", 64, 5.1}, {"ring:8", 64, 2.79}, {"mesh:4x4", 64, 3.65}, {"ndv2", 64, 2.49},
		{"rfs:2x4x8", 64, 2.65}, {"dragonfly:3x2x2", 64, 5.55}, {"ndv2:2", 1, 4.4},
	} {
		tp, err := topo.Parse(c.name, topo.Options{})
		require.NoError(t, err)
		require.LessOrEqual(t, float64(run(t, "hierarchical", allreduce(tp, c.kib<<10)))/1e6, c.most, "%s, %d KiB", c.name, c.kib)
	}
}

// Some ranks of each machine, in any order, are groups, too; unequal groups are none.
func TestGroups(t *testing.T) {
	tp, err := topo.Parse("dgxh100:2", topo.Options{})
	require.NoError(t, err)
	for _, cost := range []model.CostModel{model.Blocking, model.Pipelined} {
		p := allreduce(tp, 1000)
		p.Cost = cost
		p.Collective.Group = []int{9, 3, 1, 12, 15, 0}
		require.NoError(t, method("hierarchical").Serves(p))
		run(t, "hierarchical", p)
		run(t, "hierarchical", p.WithChunks(7))
		p.Collective.Group = []int{9, 3, 1, 12, 15}
		require.ErrorIs(t, method("hierarchical").Serves(p), solve.ErrNotServed)
		p.Collective.Group = []int{9, 3}
		require.ErrorIs(t, method("hierarchical").Serves(p), solve.ErrNotServed)
	}
}

// A cut that is given is kept, with chunks of any sizes.
func TestGivenCut(t *testing.T) {
	tp, err := topo.Parse("switch:5", topo.Options{})
	require.NoError(t, err)
	for _, name := range []string{"oneshot", "mixed"} {
		for chunks := 1; chunks <= 12; chunks++ {
			p := allreduce(tp, 100)
			at := int64(0)
			for i := range chunks {
				size := int64(i%3 + 1)
				p.Chunks = append(p.Chunks, model.Chunk{Offset: at, Size: size})
				at += size
			}
			p.Size = at
			r, err := method(name).Solve(context.Background(), p, solve.Options{})
			require.NoError(t, err)
			require.Equal(t, p.Chunks, r.Problem.Chunks)
			require.NoError(t, solvetest.Right(p, r.Schedule), "%s in %d chunks", name, chunks)
		}
		r, err := method(name).Solve(context.Background(), allreduce(tp, 1000), solve.Options{Chunks: 3})
		require.NoError(t, err)
		require.Len(t, r.Problem.Chunks, 15)
	}
}

// Without a rank's links nothing is served; nor with late ranks, in rounds, or of other
// collectives.
func TestNotServed(t *testing.T) {
	tp, err := topo.Parse("switch:4", topo.Options{})
	require.NoError(t, err)
	for what, change := range map[string]func(p *model.Problem){
		"late":   func(p *model.Problem) { p.Release = []model.Time{0, 5, 0, 0} },
		"rounds": func(p *model.Problem) { p.Cost = model.Rounds },
		"kind":   func(p *model.Problem) { p.Collective.Kind = model.AllGather },
		"large": func(p *model.Problem) {
			p.Size = 1 << 30
			*p = *p.WithChunks(1 << 17)
		},
	} {
		p := allreduce(tp, 1<<10)
		change(p)
		for _, s := range oneshot.All() {
			require.ErrorIs(t, s.Serves(p), solve.ErrNotServed, fmt.Sprint(s.Name(), " ", what))
		}
	}
}
