package certify

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/cayley"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/orbit"
	"github.com/oraccl/oraccl/verify/replay"
)

// TestOrbitsAgree: what is said of a schedule by looking at one rank is what replay says of all
// its transfers, of the right ones that the method makes and of ones with random changes.
func TestOrbitsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	outcomes := map[string]int{}
	for _, name := range []string{"ring:6", "uniring:5", "torus:3x4", "torus:2x3x3", "hypercube:3", "full:5", "switch:6"} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter, model.AllReduce, model.AllToAll} {
			for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.LinkRounds, model.Rounds} {
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1<<20 + 1, Cost: cost}
				st, err := cayley.New().(solve.Streamer).Stream(context.Background(), p, solve.Options{Chunks: 1 + rng.IntN(2)})
				if cost == model.Rounds && len(tp.Switches) == 0 {
					require.ErrorIs(t, err, solve.ErrNotServed)
					continue
				}
				require.NoError(t, err)
				for i := range 16 {
					o := *st.Orbit
					o.Turns = slices.Clone(o.Turns)
					for range i % 4 {
						changeOrbit(rng, tp.Ranks, &o)
					}
					s, err := o.Schedule(st.Problem)
					require.NoError(t, err)
					got, want := orbit.Check(context.Background(), st.Problem, &o), replay.Check(context.Background(), st.Problem, s)
					require.Equal(t, want.Outcome, got.Outcome, "%v: replay %v, orbit %v %s", st.Problem, want.Violations, got.Violations, got.Reason)
					if want.Outcome == verify.Proved {
						require.Equal(t, want.Makespan, got.Makespan)
					} else {
						require.NotZero(t, i%4)
					}
					outcomes[fmt.Sprint(kind, " ", want.Outcome)]++
				}
			}
		}
	}
	for what, n := range outcomes {
		require.Greater(t, n, 50, what)
	}
	require.Len(t, outcomes, 8)
}

// changeOrbit makes one random change that leaves a well-formed orbit.
func changeOrbit(rng *rand.Rand, ranks int, o *model.Orbit) {
	if len(o.Turns) == 0 {
		return
	}
	i := rng.IntN(len(o.Turns))
	x, y := &o.Turns[i], o.Turns[rng.IntN(len(o.Turns))]
	switch rng.IntN(7) {
	case 0:
		o.Turns = slices.Delete(o.Turns, i, i+1)
	case 1:
		x.Owner = int32(rng.IntN(ranks))
	case 2:
		x.Part = y.Part
	case 3:
		x.Route = int32(rng.IntN(len(o.Routes)))
	case 4:
		x.Op = model.Reduction - x.Op
	case 5:
		x.Start = y.Start
	case 6:
		o.Turns = append(o.Turns, y)
	}
	slices.SortStableFunc(o.Turns, func(a, b model.Turn) int { return cmp.Compare(a.Start, b.Start) })
}

// TestOrbitOfManyRanks: chunks that differ by a byte, each much shorter than a latency, do not
// keep an orbit of many ranks from being planned, and right.
func TestOrbitOfManyRanks(t *testing.T) {
	tp, err := topo.Parse("torus:128x128", topo.Options{})
	require.NoError(t, err)
	for _, kind := range []model.Kind{model.AllGather, model.AllReduce} {
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 8*128*128 + 1000, Cost: model.Pipelined}
		st, err := cayley.New().(solve.Streamer).Stream(context.Background(), p, solve.Options{Seed: 1})
		require.NoError(t, err)
		v := orbit.Check(context.Background(), st.Problem, st.Orbit)
		require.Equal(t, verify.Proved, v.Outcome, v.Reason)
		require.Equal(t, st.Makespan, v.Makespan)
		known, err := QuickBound(context.Background(), p)
		require.NoError(t, err)
		most := known.Bound + known.Bound/20
		if kind == model.AllReduce {
			most *= 2
		}
		require.LessOrEqual(t, v.Makespan, most)
	}
}
