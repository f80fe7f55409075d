package quotient

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestGraft: plans whose hops are moved stay right and end no later, on a dragonfly sooner; so do those with parts half as large.
func TestGraft(t *testing.T) {
	network, err := topo.Parse("dragonfly:3x2x2", topo.Options{})
	require.NoError(t, err)
	halves := 0
	for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter, model.AllReduce} {
		for _, c := range []cut{{parts: 3, ratio: 1}, {parts: 3, ratio: 0.8}, {parts: 2, ratio: 1, size: 1500}} {
			whole := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 64 << 10, Cost: model.Pipelined}
			s := newSearch(context.Background(), whole, solve.Options{})
			s.groups()
			x := s.newTrial(len(s.shops)-2, c, anywhere)
			x.divide()
			work := &counter{ctx: context.Background(), limit: usualWork / 4}
			x.try(kind == model.AllReduce, 1, work)
			require.NotNil(t, x.best)
			before := x.best.end
			x.graft(1, work)
			require.Less(t, x.best.end, before, kind)
			require.NoError(t, solvetest.Right(x.p, x.best.emit(x.p)), kind)
			if finer := s.halved(x, worthHalving); finer != nil {
				halves++
				require.Equal(t, 2*len(x.parts), len(finer.parts))
				require.LessOrEqual(t, finer.best.end, x.best.end, kind)
				require.NoError(t, solvetest.Right(finer.p, finer.best.emit(finer.p)), kind)
			}
		}
	}
	require.Positive(t, halves)
}

// TestGraftBoth: sums and copies of an allreduce are moved together, also with roots at few ranks: plans stay right, and half of them or more end sooner.
func TestGraftBoth(t *testing.T) {
	sooner, halves := 0, 0
	for _, name := range []string{"hypercube:3", "dgx2:2", "mesh:3x3", "fattree:2x4", "mi250"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		for _, where := range []roots{anywhere, central} {
			whole := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 100_003, Cost: model.Pipelined}
			s := newSearch(context.Background(), whole, solve.Options{})
			s.groups()
			x := s.newTrial(len(s.shops)-1, cut{parts: 1, ratio: 1}, where)
			x.divide()
			work := &counter{ctx: context.Background(), limit: usualWork / 8}
			x.try(true, 1, work)
			require.NotNil(t, x.best, name)
			before := x.best.end
			x.graft(1, work)
			require.LessOrEqual(t, x.best.end, before, name)
			require.NoError(t, solvetest.Right(x.p, x.best.emit(x.p)), name)
			if x.best.end < before {
				sooner++
			}
			if finer := s.halved(x, worthHalving); finer != nil {
				halves++
				require.NoError(t, solvetest.Right(finer.p, finer.best.emit(finer.p)), name)
			}
		}
	}
	require.GreaterOrEqual(t, sooner, 5)
	require.Positive(t, halves)
}

// TestFits: a cut fits where each of its parts has a byte, halved, too. The last part of one that fits latencies may be small.
func TestFits(t *testing.T) {
	network, err := topo.Parse("fattree:2x2", topo.Options{})
	require.NoError(t, err)
	fit := 0
	for _, rest := range []int64{0, 1, 2, 3, 63, 64, 3579} {
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllGather}, Size: 4 * (8*3579 + rest), Cost: model.Pipelined}
		for halved := range 7 {
			c := cut{parts: 9, ratio: 1, size: 3579, halved: halved}
			require.Equal(t, rest>>halved > 0, c.fits(p), "rest %d, halved %d times", rest, halved)
			if c.fits(p) {
				fit++
				q := c.apply(p)
				require.NoError(t, q.Validate())
				require.Len(t, q.Chunks, 4*c.count())
			}
		}
	}
	require.Positive(t, fit)
}

// TestSmallRests: where the last part of a cut that fits latencies is a byte or little more, it is not halved.
func TestSmallRests(t *testing.T) {
	for _, c := range []struct {
		network string
		size    int64
	}{{"fattree:2x2", 114532}, {"fattree:3x2", 322086}, {"fattree:2x3", 138030}, {"fattree:4x4", 184048}, {"fattree:4x4", 66088}, {"dragonfly:3x2x2", 161064}} {
		network, err := topo.Parse(c.network, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllGather}, Size: c.size, Cost: model.Pipelined}
		r, err := New().Solve(context.Background(), p, solve.Options{Effort: -1})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule), c.network)
	}
}

// TestGraftInRounds: a plan in rounds is to end a round sooner.
func TestGraftInRounds(t *testing.T) {
	require.Equal(t, model.Time(6), (&plan{end: 7}).sooner(400))
	require.Equal(t, model.Time(399_000), (&plan{end: 400_000}).sooner(400))
	network, err := topo.Parse("ring:5", topo.Options{})
	require.NoError(t, err)
	for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter} {
		p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 1000, Cost: model.LinkRounds}
		r, err := New().Solve(context.Background(), p, solve.Options{Bound: 1})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	}
}

// TestGraftLimits: where latencies count, hops that are moved bring allgathers near the bound.
func TestGraftLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		network string
		size    int64
		end     model.Time // ps
	}{
		{"dragonfly:3x2x2", 64 << 10, 3_300_000},
		{"mi250", 1 << 20, 4_640_000},
		{"dgx1", 64 << 10, 1_625_000},
	} {
		network, err := topo.Parse(c.network, topo.Options{})
		require.NoError(t, err)
		for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter} {
			p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: c.size, Cost: model.Pipelined}
			r, err := New().Solve(context.Background(), p, solve.Options{Bound: 1, Enough: c.end})
			require.NoError(t, err)
			require.LessOrEqual(t, solve.End(r.Schedule.Transfers), c.end, c.network)
		}
	}
}

// TestBooks: what is entered into the lanes of a machine and taken out again leaves room for as much.
func TestBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		lanes := int32(rapid.IntRange(1, 3).Draw(t, "lanes"))
		b := make(book, lanes)
		type entry struct {
			lanes int32
			span  model.Interval
		}
		var list []entry
		for range 60 {
			if len(list) > 0 && rng.IntN(3) == 0 {
				i := rng.IntN(len(list))
				b.cancel(list[i].lanes, list[i].span)
				list = append(list[:i], list[i+1:]...)
			} else {
				x := entry{1 + rng.Int32N(lanes), model.Interval{From: model.Time(rng.IntN(50))}}
				x.span.To = x.span.From + 1 + model.Time(rng.IntN(5))
				if b.free(x.lanes, x.span.From, x.span.To-x.span.From) == x.span.From {
					if !b.take(x.lanes, x.span) {
						t.Fatal("no room where lanes are free")
					}
					list = append(list, x)
				}
			}
			for at := range model.Time(60) {
				want, busy := 0, 0
				for _, x := range list {
					if x.span.From <= at && at < x.span.To {
						want += int(x.lanes)
					}
				}
				for _, c := range b {
					if c.free(at, 1) != at {
						busy++
					}
				}
				if busy != want {
					t.Fatalf("at %d %d lanes are busy, want %d", at, busy, want)
				}
			}
		}
	})
}

// TestGraftFirst: hops of allreduces are moved before they are polished, and draws of attempts are as if they had not been.
func TestGraftFirst(t *testing.T) {
	network, err := topo.Parse("hypercube:3", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllReduce}, Size: 100_003, Cost: model.Pipelined}
	begin := func() (*search, *trial) {
		s := newSearch(context.Background(), p, solve.Options{})
		s.groups()
		s.bound, s.budget, s.ample = 1, usualWork/8, usualWork/8
		x := s.add(0, cut{parts: 1, ratio: 1}, anywhere, false)
		s.spend(x, 1)
		return s, x
	}
	s, x := begin()
	s.graftAll(s.different(grafted, graftable), s.ample/graftRounds)
	require.Positive(t, x.step) // hops were moved; exchange begins to count again
	var draws [2]uint64
	for i := range draws {
		s, x := begin()
		if before := x.best.end; i == 1 {
			s.graftFirst()
			require.LessOrEqual(t, x.best.end, before)
			require.True(t, slices.ContainsFunc(s.trials, func(t *trial) bool { return t.step > 0 })) // hops were moved
			require.NoError(t, solvetest.Right(x.p, x.best.emit(x.p)))
		}
		draws[i] = x.rng.Uint64()
	}
	require.Equal(t, draws[0], draws[1])
}
