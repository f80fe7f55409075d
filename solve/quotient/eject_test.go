package quotient

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// begun returns a search on a network, and a trial of a group of it, the largest being 0, with a first plan.
func begun(t *testing.T, name string, kind model.Kind, size int64, group, parts int, where roots) (*search, *trial) {
	t.Helper()
	network, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
	s := newSearch(context.Background(), p, solve.Options{Bound: 1})
	s.groups()
	x := s.newTrial(min(group, len(s.shops)-1), cut{parts: parts, ratio: 1}, where)
	x.divide()
	x.try(kind == model.AllReduce, 1, &counter{ctx: context.Background(), limit: usualWork})
	require.NotNil(t, x.best, name)
	return s, x
}

// consistent fails unless what a grid keeps is what its jobs make it.
func consistent(t *testing.T, g *grid) {
	t.Helper()
	owner, fine, begins := slices.Repeat([]int32{-1}, len(g.owner)), [2][]int32{}, [2][]int32{}
	for op := range 2 {
		fine[op], begins[op] = make([]int32, len(g.owner)), make([]int32, len(g.owner))
	}
	children := map[int32]int{}
	for x, by := range g.by {
		x := int32(x)
		if by < 0 {
			require.True(t, g.isRoot(x) || (g.at[x] == nowhere) == (g.first[x] < 0), "what is missing is to be there if something waits for it")
			continue
		}
		require.Equal(t, int32(-1), g.place[x])
		b, op := g.booking(x, by), g.op(x)
		from := g.over(x, &g.arcs(x)[by])
		children[from]++
		require.GreaterOrEqual(t, g.start[x], g.has(from), "it waits for its parent")
		require.Equal(t, g.start[x]+b.lasts, g.at[x])
		for _, v := range b.visits {
			for i := range v.width {
				at := [2]int32{}
				at[op], at[1-op] = g.start[x]+v.off+i, g.horizon-1-g.start[x]-v.off-i
				row := v.machine * g.horizon
				if owner[row+at[0]] >= 0 {
					require.Fail(t, "two jobs at a time")
				}
				owner[row+at[0]] = x
				fine[0][row+at[0]], fine[1][row+at[1]] = g.penalty[x], g.penalty[x]
				if i == 0 {
					begins[op][row+at[op]] = g.penalty[x]
				}
				if i == v.width-1 {
					begins[1-op][row+at[1-op]] = g.penalty[x]
				}
			}
		}
	}
	require.Equal(t, owner, g.owner)
	require.Equal(t, fine, g.fine)
	require.Equal(t, begins, g.begins)
	for op := range model.Op(2) {
		for i := range owner {
			machine, slot := int32(i)/g.horizon, int32(i)%g.horizon
			if (g.owned(op, machine, slot) >= 0) != (g.taken(op, machine, slot)&1 != 0) {
				require.Fail(t, "a bit is wrong")
			}
		}
	}
	for x := range g.by {
		for y := g.first[x]; y >= 0; y = g.next[y] {
			children[int32(x)]--
		}
		if children[int32(x)] != 0 {
			require.Fail(t, "a job is not in the list of what waits")
		}
	}
}

// TestEjection: plans that ejections make shorter are right and whole, for gatherings, sums and both; most are shorter, and what the
// grid keeps is at any time what its jobs make it.
func TestEjection(t *testing.T) {
	shorter, all := 0, 0
	for _, name := range []string{"mesh:3x3", "dgx1", "dragonfly:2x2x2", "fattree:2x3", "ndv2:2"} {
		for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter, model.AllReduce} {
			s, x := begun(t, name, kind, 100_003, all%2, 2, central)
			r, waste := s.rasterOf(x)
			require.Positive(t, r.slots, name)
			require.Less(t, waste, 0.2, name)
			g := newGrid(x.best, r)
			if g == nil {
				require.Equal(t, "ndv2:2", name, "its NICs have several lanes")
				continue
			}
			work := &counter{ctx: context.Background(), limit: usualWork / 10}
			e := newEjection(g, rand.New(rand.NewPCG(1, 1)), work)
			for range 3 {
				work.limit += usualWork / 30
				e.run(0)
				consistent(t, e.grid)
			}
			require.NotNil(t, e.best.by, name)
			y := e.plan()
			require.Len(t, y.jobs, len(x.best.jobs))
			require.True(t, y.holds(), "%s %v", name, kind)
			require.LessOrEqual(t, y.end, r.time(e.best.lasts), "%s %v", name, kind)
			require.NoError(t, solvetest.Right(x.p, y.emit(x.p)), "%s %v", name, kind)
			if all++; y.end < x.best.end {
				shorter++
			}
		}
	}
	require.GreaterOrEqual(t, shorter, all/2)
}

// TestEject: ejections come nearer to the bound where a network has little symmetry; where jobs are few they are left out.
func TestEject(t *testing.T) {
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
	require.Equal(t, raster{500_000, 16}, r)
	require.InDelta(t, 93.75/93.13-1+2*widthWaste, waste, 0.001)
	require.Equal(t, []int32{3, 16, 19}, []int32{r.up(93_133), r.up(500_000), r.up(593_133)})
	for slot := range int32(100) {
		require.Equal(t, slot, r.slot(r.time(slot)))
		require.Equal(t, slot, r.up(model.Time(slot)*r.unit/r.slots))
	}
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
	require.Zero(t, r.slots)
}
