package improve_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/cayley"
	"github.com/oraccl/oraccl/solve/classic"
	"github.com/oraccl/oraccl/solve/improve"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/stragglar"
	"github.com/oraccl/oraccl/solve/tacos"
)

// TestAnySchedule: what comes out is right, no longer than what went in, which is not changed,
// and the same every time, whatever method, collective and cost model.
func TestAnySchedule(t *testing.T) {
	methods := append(classic.All(), cayley.New(), stragglar.New(), tacos.New())
	shorter := map[model.Kind]int{}
	for i, p := range solvetest.Problems(t) {
		for _, m := range methods {
			if m.Serves(p) != nil {
				continue
			}
			r, err := m.Solve(context.Background(), p, solve.Options{Tries: 1, Effort: -1})
			if err != nil {
				continue
			}
			for _, effort := range []int{-1, 0} {
				if effort == 0 && i%7 > 0 {
					continue // enough of them
				}
				before := fmt.Sprint(*r.Schedule)
				o := improve.Options{Seed: 5, Effort: effort}
				s := improve.Schedule(context.Background(), r.Problem, r.Schedule, o)
				require.NoError(t, solvetest.Right(r.Problem, s), "%s: %v", m.Name(), p)
				require.LessOrEqual(t, r.Problem.Makespan(s), r.Makespan(), "%s: %v", m.Name(), p)
				require.Equal(t, before, fmt.Sprint(*r.Schedule))
				if r.Problem.Makespan(s) == r.Makespan() {
					require.Same(t, r.Schedule, s)
					continue
				}
				require.Equal(t, s, improve.Schedule(context.Background(), r.Problem, r.Schedule, o))
				shorter[p.Collective.Kind]++
			}
		}
	}
	for _, kind := range []model.Kind{model.AllReduce, model.AllGather, model.AllToAll, model.ReduceScatter} {
		require.NotZero(t, shorter[kind], "no %v was made shorter", kind)
	}
}

func onDGX1(t *testing.T, kind model.Kind, size int64) *model.Problem {
	tp, err := topo.Parse("dgx1", topo.Options{})
	require.NoError(t, err)
	return &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
}

// TestAllReduce: an allreduce whose roots are all one rank is spread over others.
func TestAllReduce(t *testing.T) {
	p := onDGX1(t, model.AllReduce, 8<<20).WithChunks(8)
	var star solve.Solver
	for _, m := range classic.All() {
		if m.Name() == "double-binary-tree" {
			star = m
		}
	}
	r, err := star.Solve(context.Background(), p, solve.Options{})
	require.NoError(t, err)
	s := improve.Schedule(context.Background(), r.Problem, r.Schedule, improve.Options{Seed: 1, Effort: 2})
	require.NoError(t, solvetest.Right(r.Problem, s))
	require.Less(t, 10*r.Problem.Makespan(s), 8*r.Makespan())
}

// TestLimits: when it is time to stop there is a schedule all the same.
func TestLimits(t *testing.T) {
	p := onDGX1(t, model.AllReduce, 8<<20)
	r, err := cayley.New().Solve(context.Background(), p, solve.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.Same(t, r.Schedule, improve.Schedule(ctx, r.Problem, r.Schedule, improve.Options{}))
	for n := range 12 { // wherever it stops
		count := 0
		s := improve.Schedule(context.Background(), r.Problem, r.Schedule, improve.Options{Stop: func() bool { count++; return count > n }})
		require.NoError(t, solvetest.Right(r.Problem, s))
		require.LessOrEqual(t, r.Problem.Makespan(s), r.Makespan())
	}
	require.Same(t, r.Schedule, improve.Schedule(context.Background(), r.Problem, r.Schedule, improve.Options{Bound: r.Makespan()}))
}

// TestReroutes: what is moved in time alone.
func TestReroutes(t *testing.T) {
	p := onDGX1(t, model.AllReduce, 8<<20)
	require.True(t, improve.Reroutes(p))
	p.Release = []model.Time{0, 5, 0, 0, 0, 0, 0, 0}
	require.False(t, improve.Reroutes(p))
	p.Collective.Kind = model.AllGather
	require.True(t, improve.Reroutes(p))
	p.Cost = model.Rounds
	require.False(t, improve.Reroutes(p))
}
