package classic_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/solve/classic"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// run solves a problem by a method of this package, executes the schedule, and returns it.
func run(t *testing.T, method, topology string, kind model.Kind, cost model.CostModel, size int64, chunks int) solve.Result {
	t.Helper()
	tp, err := topo.Parse(topology, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: size, Cost: cost}
	for _, s := range classic.All() {
		if s.Name() == method {
			r, err := s.Solve(context.Background(), p, solve.Options{Chunks: chunks})
			require.NoError(t, err)
			require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
			return r
		}
	}
	t.Fatalf("no method %s", method)
	return solve.Result{}
}

// TestBucketMeetsTheBound: on a torus whose dimensions are alike all links are always busy.
func TestBucketMeetsTheBound(t *testing.T) {
	for _, topology := range []string{"torus:4x4", "torus:3x3x3", "torus:5x5"} {
		for _, kind := range []model.Kind{model.ReduceScatter, model.AllGather, model.AllReduce} {
			t.Run(fmt.Sprint(topology, " ", kind), func(t *testing.T) {
				r := run(t, "bucket", topology, kind, model.Pipelined, 1<<30, 0)
				c, err := bound.Best(context.Background(), &model.Problem{Topology: r.Problem.Topology, Collective: r.Problem.Collective, Size: r.Problem.Size, Cost: r.Problem.Cost})
				require.NoError(t, err)
				require.LessOrEqual(t, float64(model.GapOf(r.Problem.Makespan(r.Schedule), c.Estimate)), 0.01)
			})
		}
	}
}

// TestSwingBeatsHalving: Swing's hops are shorter than those of recursive halving and doubling,
// so that links carry less (paper, section 2.3 and figure 6).
func TestSwingBeatsHalving(t *testing.T) {
	for _, topology := range []string{"ring:8", "ring:16", "torus:4x4", "torus:8x8"} {
		swing := run(t, "swing", topology, model.AllReduce, model.Pipelined, 64<<20, 4)
		rhd := run(t, "rhd", topology, model.AllReduce, model.Pipelined, 64<<20, 4)
		require.Less(t, swing.Problem.Makespan(swing.Schedule), rhd.Problem.Makespan(rhd.Schedule), topology)
	}
}

// TestSteps: on a switch, in rounds, each rank sends and receives one chunk at a time, and an
// algorithm takes the steps that its paper states.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		method string
		kind   model.Kind
		ranks  int
		rounds int // of one chunk per member
	}{
		{"pat", model.AllGather, 7, 6}, // blocks 1, 2 and 3 in three steps
		{"pat", model.AllGather, 16, 15},
		{"pat", model.ReduceScatter, 16, 15},
		{"swing", model.AllReduce, 16, 30}, // 8+4+2+1 blocks, twice
		{"bine", model.Broadcast, 32, 5},
		{"bine", model.Reduce, 32, 5},
	} {
		t.Run(fmt.Sprint(c.method, c.kind, c.ranks), func(t *testing.T) {
			r := run(t, c.method, fmt.Sprintf("switch:%d", c.ranks), c.kind, model.Rounds, int64(c.ranks)<<10, 1)
			require.Equal(t, c.rounds, r.Schedule.Rounds())
		})
	}
}

// TestRecursiveMultiplying: 16 ranks on a switch need two latencies, where recursive doubling
// needs four.
func TestRecursiveMultiplying(t *testing.T) {
	four := run(t, "recursive-multiplying", "switch:16", model.AllReduce, model.Pipelined, 1<<10, 1)
	two := run(t, "recursive-doubling", "switch:16", model.AllReduce, model.Pipelined, 1<<10, 1)
	require.Less(t, float64(four.Problem.Makespan(four.Schedule)), 0.6*float64(two.Problem.Makespan(two.Schedule)))
	for n := 2; n < 40; n++ {
		run(t, "recursive-multiplying", fmt.Sprintf("switch:%d", n), model.AllReduce, model.Pipelined, 1<<10, 0)
	}
}
