package tacos_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/tacos"
)

// TestUnwound: planned for links in place of switches, schedules are right and feasible over
// the switches, whatever the degree; with the degree at which each rank has a link to each
// other one nothing is lost, with fewer something is.
func TestUnwound(t *testing.T) {
	for _, name := range []string{"switch:5", "fattree:2x3x2", "ndv2:4", "rfs:2x2x3", "dragonfly:2x2x2"} {
		for _, kind := range model.Kinds() {
			for degree := 1; degree <= 2; degree++ {
				p := &model.Problem{Topology: network(t, name), Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: []model.CostModel{model.Blocking, model.Pipelined}[degree-1]}
				if p.Topology.Ranks > 16 && kind == model.AllToAll {
					continue
				}
				r, err := tacos.New().Solve(context.Background(), p, solve.Options{Seed: 1, Tries: 2, Chunks: 2, Unwind: degree, Effort: degree - 2})
				require.NoError(t, err)
				require.NoError(t, solvetest.Right(r.Problem, r.Schedule), "%v with degree %d", p, degree)
				require.Contains(t, r.Note, "switches unwound with degree")
			}
		}
	}
	makespan := func(degree int) model.Time {
		p := &model.Problem{Topology: network(t, "switch:8"), Collective: model.Collective{Kind: model.AllToAll}, Size: 8 << 20, Cost: model.Pipelined}
		r, err := tacos.New().Solve(context.Background(), p, solve.Options{Seed: 1, Unwind: degree, Effort: -1})
		require.NoError(t, err)
		return r.Makespan()
	}
	require.Equal(t, makespan(0), makespan(7))
	require.Greater(t, makespan(2), makespan(7))
}

// TestUnwoundRandom: the same on any network with switches.
func TestUnwoundRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomProblem(t)
		o := solve.Options{Seed: rapid.Uint64().Draw(t, "seed"), Threads: 1, Tries: 1, Effort: rapid.IntRange(-1, 0).Draw(t, "effort"), Unwind: rapid.IntRange(1, 6).Draw(t, "degree")}
		r, err := tacos.New().Solve(context.Background(), p, o)
		if errors.Is(err, solve.ErrNotServed) {
			return
		}
		require.NoError(t, err)
		require.Equal(t, solve.Done, r.Stop)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		o.Threads = 3
		again, err := tacos.New().Solve(context.Background(), p, o)
		require.NoError(t, err)
		require.Equal(t, r.Schedule, again.Schedule)
	})
}

// TestNotUnwound: where there is nothing to unwind, or not so much.
func TestNotUnwound(t *testing.T) {
	for name, want := range map[string]string{
		"torus:3x3": "no switch lies between ranks of torus:3x3: there is nothing to unwind",
		"switch:4":  "unwound with degree 4: no rank of switch:4 reaches more than 3 over switches",
	} {
		p := &model.Problem{Topology: network(t, name), Collective: model.Collective{Kind: model.AllGather}, Size: 1 << 20, Cost: model.Pipelined}
		_, err := tacos.New().Solve(context.Background(), p, solve.Options{Unwind: 4})
		require.ErrorIs(t, err, solve.ErrNotServed)
		require.ErrorContains(t, err, want)
	}
}
