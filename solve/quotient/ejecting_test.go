package quotient

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// searching returns a search on a network that has a name, which has not begun.
func searching(t *testing.T, ctx context.Context, name string, kind model.Kind, size int64, bound model.Time) *search {
	t.Helper()
	network, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err, name)
	p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
	return newSearch(ctx, p, solve.Options{Bound: bound})
}

// begun returns a search on a network, and a trial of a group of it, the largest being 0, with a first plan.
func begun(t *testing.T, name string, kind model.Kind, size int64, group, parts int, where roots) (*search, *trial) {
	t.Helper()
	s := searching(t, context.Background(), name, kind, size, 1)
	s.groups()
	x := s.newTrial(min(group, len(s.shops)-1), cut{parts: parts, ratio: 1}, where)
	x.divide()
	x.try(kind == model.AllReduce, 1, &counter{ctx: context.Background(), limit: usualWork})
	require.NotNil(t, x.best, name)
	return s, x
}

// TestEjection: plans that ejections make shorter are right and whole, for gatherings, sums and both; most are shorter.
func TestEjection(t *testing.T) {
	shorter, all := 0, 0
	for _, name := range []string{"mesh:3x3", "dgx1", "dragonfly:2x2x2", "fattree:2x3", "ndv2:2"} {
		for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter, model.AllReduce} {
			s, x := begun(t, name, kind, 100_003, all%2, 2, central)
			r, waste := s.rasterOf(x)
			require.Positive(t, r.Slots, name)
			require.Less(t, waste, 0.2, name)
			g := newGrid(x.best, r, nil, x.rng)
			if g == nil {
				require.Equal(t, "ndv2:2", name, "its NICs have several lanes")
				continue
			}
			require.True(t, ejection.NewSearch(g.Grid, rand.New(rand.NewPCG(1, 1))).Run(context.Background(), usualWork/5, 0), name)
			y := g.plan()
			require.Len(t, y.jobs, len(x.best.jobs))
			require.True(t, y.holds(), "%s %v", name, kind)
			require.LessOrEqual(t, y.end, r.Time(g.Lasts()), "%s %v", name, kind)
			require.NoError(t, solvetest.Right(x.p, y.emit(x.p)), "%s %v", name, kind)
			if all++; y.end < x.best.end {
				shorter++
			}
		}
	}
	require.GreaterOrEqual(t, shorter, all/2)
}

// TestImages: a plan in which roots exchange sums, and one half is the image of the other one, is right and whole, and as long as its grid,
// with a group that leaves ranks where they are and without one.
func TestImages(t *testing.T) {
	for i, name := range []string{"mesh:4x4", "mesh:3x3", "hypercube:3", "line:8", "torus:3x4", "dgx1"} {
		s, _ := begun(t, name, model.AllReduce, 1728*64, 0, 2, central)
		shop := 0
		if i%2 == 0 {
			shop = s.widest()
		}
		coarse := s.newTrial(shop, cut{parts: 6, ratio: 1}, central)
		coarse.divide()
		coarse.try(true, 1, &counter{ctx: context.Background(), limit: usualWork})
		require.NotNil(t, coarse.best, name)
		x := s.newTrial(shop, coarse.cut.half(), central)
		x.divide()
		require.Len(t, x.parts, 2*len(coarse.parts), name)
		x.x = x.x.exchanging()
		r, _ := s.rasterOf(x)
		from := coarse.best.halves(x.x.s, x.parts, true)
		g := newGrid(from, r, halvedPairs(nil, len(coarse.parts)), x.rng)
		require.NotNil(t, g, name)
		require.True(t, ejection.NewSearch(g.Grid, rand.New(rand.NewPCG(1, 1))).Run(context.Background(), usualWork/20, 0), name)
		y := g.plan()
		require.Len(t, y.jobs, len(from.jobs))
		require.True(t, y.holds(), name)
		require.LessOrEqual(t, y.end, r.Time(g.Lasts()), name)
		require.NoError(t, solvetest.Right(x.p, y.emit(x.p)), name)
		pairs := halvedPairs(g.images.pairs, len(x.parts))
		require.Len(t, pairs, len(x.parts))
		for k, p := range pairs {
			require.Equal(t, g.images.pairs[k/2], [2]int32{p[0] / 2, p[1] / 2})
		}
	}
}

// TestEject: ejections come nearer to the bound where a network has little symmetry; where jobs are few they are left out.
func TestEject(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		name  string
		kind  model.Kind
		parts int
		gain  float64
	}{{"mesh:4x6", model.AllReduce, 2, 0.97}, {"dragonfly:4x4x4", model.AllGather, 1, 0.97}} {
		s, x := begun(t, c.name, c.kind, 1<<20, 0, c.parts, central)
		s.trials, s.best = append(s.trials, x), x
		s.usual, s.budget = usualWork/10, usualWork/10
		s.o.Effort = -1
		before := x.best.end
		require.True(t, s.firstEjected(), c.name)
		s.eject()
		require.Less(t, float64(s.best.best.end), c.gain*float64(before), c.name)
		require.True(t, s.best.best.holds())
		require.NoError(t, solvetest.Right(s.best.p, s.best.best.emit(s.best.p)), c.name)
	}
	s, _ := begun(t, "mi250", model.AllGather, 1<<20, 0, 1, anywhere)
	require.False(t, s.firstEjected())
}

// TestRaster: all latencies are a whole number of slots, and chunks take no more of them than they have to.
func TestRaster(t *testing.T) {
	s, x := begun(t, "mesh:3x3", model.AllGather, 9*5000, 0, 1, anywhere) // a hop takes 93.13 ns, or 3 slots of 31.25
	r, waste := s.rasterOf(x)
	require.Equal(t, ejection.Raster{Unit: 500_000, Slots: 16}, r)
	require.InDelta(t, 93.75/93.13-1+2*widthWaste, waste, 0.001)
}

// TestLongWays: where a link takes a second and chunks take nanoseconds there are no slots, rather than too many to count.
func TestLongWays(t *testing.T) {
	network, err := topo.Parse("mesh:3x3", topo.Options{})
	require.NoError(t, err)
	network.Links[0].Alpha = 1e12
	p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllGather}, Size: 9 * 5000, Cost: model.Pipelined}
	s := newSearch(context.Background(), p, solve.Options{Bound: 1})
	s.groups()
	x := s.newTrial(len(s.shops)-1, cut{parts: 1, ratio: 1}, anywhere)
	x.divide()
	r, _ := s.rasterOf(x)
	require.Zero(t, r.Slots)
}
