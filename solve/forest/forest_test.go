package forest

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func TestConformance(t *testing.T) {
	t.Run("forest", func(t *testing.T) {
		solvetest.Run(t, New(), solvetest.Config{Serves: 70, Options: solve.Options{Chunks: 2}})
	})
	t.Run("paths", func(t *testing.T) {
		solvetest.Run(t, NewPaths(), solvetest.Config{Serves: 15, Options: solve.Options{Chunks: 2}})
	})
}

func problem(t testing.TB, name string, kind model.Kind) *model.Problem {
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1 << 30, Cost: model.Pipelined}
}

// TestApproachesFluid: a GiB takes at most a hundredth longer than in the fluid limit.
func TestApproachesFluid(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, c := range []struct {
		name string
		kind model.Kind
		mine solve.Solver
	}{
		{"dgx1", model.AllGather, New()}, {"dgx1", model.ReduceScatter, New()},
		{"ndv2:2", model.AllGather, New()}, {"mesh:3x4", model.AllGather, New()},
		{"hypercube:3", model.AllGather, New()}, {"uniring:5", model.Broadcast, New()}, {"switch:6", model.AllGather, New()},
		{"dgx1", model.AllToAll, NewPaths()}, {"mesh:3x3", model.AllToAll, NewPaths()}, {"hypercube:3", model.AllToAll, NewPaths()},
	} {
		t.Run(fmt.Sprint(c.name, "-", c.kind), func(t *testing.T) {
			p := problem(t, c.name, c.kind)
			var seconds *big.Rat
			if c.kind == model.AllToAll {
				f, err := fluid.AllToAll(context.Background(), p)
				require.NoError(t, err)
				seconds = new(big.Rat).Quo(big.NewRat(p.Size, 1), f.Bound)
			} else {
				l, err := fluid.Rate(context.Background(), p)
				require.NoError(t, err)
				seconds = l.TimeOf(p.Size)
			}
			limit, _ := seconds.Float64()
			r, err := c.mine.Solve(context.Background(), p, solve.Options{})
			require.NoError(t, err)
			ratio := float64(r.Makespan()) / 1e12 / limit
			t.Logf("%.4f of the fluid limit, %d chunks: %s", ratio, len(r.Problem.Chunks), r.Note)
			require.GreaterOrEqual(t, ratio, 1.0)
			require.LessOrEqual(t, ratio, 1.01)
		})
	}
}

// TestUneven: with contributions between nothing and 64 MiB, a schedule takes at most a hundredth longer
// than the fluid limit, both ways.
func TestUneven(t *testing.T) {
	for seed, c := range [][2]string{{"switch:4", "allgatherv"}, {"ring:6", "reducescatterv"}, {"mesh:2x2", "allgatherv"}, {"full:4", "reducescatterv"}} {
		t.Run(fmt.Sprint(c[0], "-", c[1]), func(t *testing.T) {
			p := problem(t, c[0], model.AllGather)
			solvetest.Uneven(t, rand.New(rand.NewPCG(uint64(seed), 13)), p, c[1], 64<<20)
			l, err := fluid.Rate(context.Background(), p)
			require.NoError(t, err)
			limit, _ := l.TimeOf(p.Size).Float64()
			r, err := New().Solve(context.Background(), p, solve.Options{Effort: -1})
			require.NoError(t, err)
			require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
			ratio := float64(r.Makespan()) / 1e12 / limit
			t.Logf("%.4f of the fluid limit, %d chunks: %s", ratio, len(r.Problem.Chunks), r.Note)
			require.GreaterOrEqual(t, ratio, 1.0)
			require.LessOrEqual(t, ratio, 1.01)
		})
	}
	p := problem(t, "ring:3", model.Custom)
	p.Collective = model.Collective{Kind: model.Custom, Chunks: 2, Ends: []int64{5, 9},
		Pre:  []model.Condition{{Rank: 0, Value: model.Unit(0)}, {Rank: 1, Chunk: 1, Value: model.Unit(1)}},
		Post: []model.Condition{{Rank: 0, Value: model.Unit(0)}, {Rank: 1, Value: model.Unit(0)}, {Rank: 2, Value: model.Unit(0)}}}
	p.Size = 9
	r, err := New().Solve(context.Background(), p, solve.Options{})
	require.NoError(t, err, "nobody wants the second shard")
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	p.Collective.Post = p.Collective.Post[:2]
	require.ErrorIs(t, New().Serves(p), solve.ErrNotServed, "two of three want the first")
}

// TestRandom: schedules on such networks are right.
func TestRandom(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 12))
		p := solvetest.RandomSpread(r, seed%2 == 0)
		for _, kind := range []model.Kind{model.AllGather, model.Reduce, model.AllReduce, model.AllToAll} {
			p.Collective.Kind = kind
			s := New()
			if kind == model.AllToAll {
				s = NewPaths()
			}
			got, err := s.Solve(context.Background(), p, solve.Options{Chunks: 1 + int(seed%3)})
			require.NoError(t, err, "seed %d", seed)
			require.NoError(t, solvetest.Right(got.Problem, got.Schedule), "seed %d, %v", seed, kind)
		}
	}
}
