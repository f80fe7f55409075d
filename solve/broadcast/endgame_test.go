package broadcast

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestEndings: where ranks are at switches, what is poured ends sooner by other ways for the last chunks, and is right.
func TestEndings(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		name         string
		size, chunks int64
		least        float64 // microseconds by which it ends sooner
	}{
		{"dgx2:2", 1 << 19, 400, 0.3}, {"dragonfly:2x3x2", 1 << 18, 400, 0.8}, {"switch:6", 1 << 18, 200, 0.07},
	} {
		p := problem(t, c.name, model.Broadcast)
		p.Size = c.size
		p.Chunks = solve.Evenly(p.Space(), c.chunks)
		r, ok := rasterOf(p)
		require.True(t, ok)
		p.Chunks = solve.OfSize(p.Space(), r.bytes(p.Topology))
		all, err := packings(context.Background(), context.Background(), p)
		require.NoError(t, err)
		f := flattest(p, all)[0]
		s := newStream(p, f.Trees, 1)
		require.True(t, s.pour(context.Background(), dealt(f.Trees, s.trains)))
		before := s.schedule(context.Background())
		after := endings(context.Background(), p, before, solve.Options{})
		require.NoError(t, solvetest.Right(p, after), c.name)
		require.GreaterOrEqual(t, float64(p.Makespan(before)-p.Makespan(after)), c.least*1e6, c.name)
	}
}

// TestEndingsRandom: on random networks what ends by other ways is right, and not later.
func TestEndingsRandom(t *testing.T) {
	seeds, sooner := 80, 0
	if testing.Short() {
		seeds = 20
	}
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 23))
		p := random(rng, model.Pipelined)
		if p == nil {
			continue
		}
		all, err := packings(context.Background(), context.Background(), p)
		if err != nil {
			continue
		}
		f := flattest(p, all)[0]
		p.Chunks = solve.Evenly(p.Space(), 1+rng.Int64N(100))
		s := newStream(p, f.Trees, 1)
		require.True(t, s.pour(context.Background(), dealt(f.Trees, s.trains)))
		before := s.schedule(context.Background())
		after := endings(context.Background(), p, before, solve.Options{})
		require.NoError(t, solvetest.Right(p, after), "seed %d", seed)
		require.LessOrEqual(t, p.Makespan(after), p.Makespan(before))
		if p.Makespan(after) < p.Makespan(before) {
			sooner++
		}
	}
	require.Greater(t, sooner, seeds/16)
}

// TestEndingsStopped: what is stopped anywhere is right, and so is what ends by other ways from any time on.
func TestEndingsStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	sooner := 0
	for seed := uint64(430); seed < 600; seed++ {
		rng := rand.New(rand.NewPCG(seed, 23))
		p := random(rng, model.Pipelined)
		if p == nil {
			continue
		}
		all, err := packings(context.Background(), context.Background(), p)
		if err != nil {
			continue
		}
		p.Chunks = solve.Evenly(p.Space(), 1+rng.Int64N(100))
		r, ok := rasterOf(p)
		if !ok {
			continue
		}
		s := newStream(p, flattest(p, all)[0].Trees, 1)
		require.True(t, s.pour(context.Background(), dealt(flattest(p, all)[0].Trees, s.trains)))
		before := s.schedule(context.Background())
		slices.SortStableFunc(before.Transfers, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
		for fifth := range model.Time(5) {
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Millisecond)
			after := reopened(ctx, p, r, before, p.Makespan(before)*fifth/5, 0)
			cancel()
			require.NoError(t, solvetest.Right(p, after), "seed %d, from fifth %d", seed, fifth)
			if after != before {
				sooner++
			}
		}
	}
	require.Greater(t, sooner, 5)
}

// TestSlowLinks: a link that is much slower than the others, or much farther, takes no room on grids, and nothing is sent over it.
func TestSlowLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, l := range []model.Link{{Alpha: model.Microsecond, Bandwidth: 1}, {Alpha: model.Microsecond, Bandwidth: 13}, {Alpha: model.Microsecond, Bandwidth: 1000},
		{Alpha: model.Microsecond, Bandwidth: 1e6}, {Alpha: 1000 * model.Second, Bandwidth: 1e9}} {
		for _, name := range []string{"fattree:2x2", "fattree:4x4", "dragonfly:2x2x2"} {
			for _, size := range []int64{64 << 10, 1 << 20} {
				p := problem(t, name, model.Broadcast)
				p.Size = size
				for _, ends := range [][2]int{{0, 1}, {2, 1}} {
					l.Src, l.Dst = ends[0], ends[1]
					p.Topology.Links = append(p.Topology.Links, l)
				}
				ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
				near := newNeighbours(p)
				for _, g := range []*grid{started(ctx, coarsestOr(p).cut(p), near, coarsestOr(p)), recurred(ctx, p, near, 0)} {
					if g == nil {
						continue
					}
					require.LessOrEqual(t, g.Slots(), 3*mostSlots)
					require.Positive(t, g.chunks)
					for i := range g.lanes {
						require.LessOrEqual(t, g.lanes[i].Lasts, g.Horizon+2)
					}
				}
				cancel()
			}
		}
	}
}

// coarsestOr returns the coarsest raster of a problem, or one with few slots where there is none.
func coarsestOr(p *model.Problem) raster {
	if r := coarsest(p); r.Slots > 0 {
		return r
	}
	return raster{ejection.Raster{Unit: ejection.UnitOf(p.Topology), Slots: 8}, 1}
}
