package broadcast

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// TestTempered: where flattened trees are deep, tempered ones are right, as fast, and flatter: the last rank is as near as
// is known to be possible.
func TestTempered(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after float64 // microseconds to the last rank
	}{
		{"rfs:2x4x8", 4.1, 3.6}, {"rfs:3x3x4", 3.1, 2.6}, {"torus:6x8", 4.6, 4.1}, {"ring:8", 3.6, 3.6},
	} {
		network, err := topo.Parse(c.name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.Broadcast}, Size: 512, Cost: model.Pipelined}
		all, err := packings(context.Background(), context.Background(), p)
		require.NoError(t, err)
		f := flattest(p, all)[0]
		busy, last := f.Fluid(p)
		require.LessOrEqual(t, last*1e6, c.before, c.name)
		g := f.tempered(context.Background(), p)
		if g == nil {
			g = f
		}
		checkTrees(t, p, g.Trees, g.room)
		now, last := g.Fluid(p)
		require.LessOrEqual(t, now, busy*(1+1e-9), c.name)
		require.LessOrEqual(t, last*1e6, c.after, c.name)
	}
}

// TestLevelled: levelled trees are right, as fast, and the mean time to the farthest rank is less.
func TestLevelled(t *testing.T) {
	for _, c := range []struct {
		name   string
		parts  int     // trees
		before float64 // microseconds to that rank, of flattened trees
		after  float64
	}{
		{"dragonfly:3x2x2", 16, 4.2, 4.13}, {"dragonfly:3x2x2", 5, 4.7, 4.3},
	} {
		p := problem(t, c.name, model.Broadcast)
		all, err := packings(context.Background(), context.Background(), p)
		require.NoError(t, err)
		f := all[slices.IndexFunc(all, func(f *Forest) bool {
			_, n := units(f.Trees)
			return n == c.parts
		})]
		mean := func(f *Forest) float64 { // in microseconds: of small chunks
			sum, parts := make([]model.Time, p.Topology.Ranks), int64(0)
			for _, x := range f.Trees {
				at := make([]model.Time, p.Topology.Ranks)
				for _, a := range x.Arcs {
					at[a.To] = at[a.From] + p.Topology.Duration(a.Route, 0)
					sum[a.To] += at[a.To] * model.Time(x.Weight)
				}
				parts += x.Weight
			}
			return float64(slices.Max(sum)) / float64(parts) / 1e6
		}
		require.GreaterOrEqual(t, mean(f), c.before, c.name)
		g := f.levelled(context.Background(), p)
		require.NotNil(t, g, c.name)
		checkTrees(t, p, g.Trees, g.room)
		busy, _ := f.Fluid(p)
		now, _ := g.Fluid(p)
		require.LessOrEqual(t, now, busy*(1+1e-9), c.name)
		require.LessOrEqual(t, mean(g), c.after, c.name)
	}
}

// TestTemperSlowLinks: a link that has no room for a tree, which no tree takes, stays free.
func TestTemperSlowLinks(t *testing.T) {
	tempered := 0
	for _, ends := range [][2]int{{1, 2}, {34, 33}, {8, 7}, {30, 1}} {
		p := problem(t, "mesh:5x7", model.Broadcast)
		p.Size = 16 << 10
		p.Topology.Links = append(p.Topology.Links, model.Link{Src: ends[0], Dst: ends[1], Alpha: p.Topology.Links[0].Alpha, Bandwidth: 1000})
		all, err := packings(context.Background(), context.Background(), p)
		require.NoError(t, err)
		f := flattest(p, all)[0]
		unit, parts := units(f.Trees)
		if f.room == nil || parts > mostFlattened {
			continue
		}
		s := newBed(p, newGarden(p).hops, f.Trees, f.room, unit)
		s.temper(context.Background(), rand.New(rand.NewPCG(1, 1)), hot, cool, mostTempered)
		for _, tree := range s.trees(f.Trees[0].Root, unit) {
			require.Equal(t, f.Trees[0].Root, tree.Root)
		}
		tempered++
	}
	require.Positive(t, tempered)
}
