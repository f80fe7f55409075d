package pareto

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
)

func problem(t *testing.T, name string, kind model.Kind) *model.Problem {
	t.Helper()
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 8 << 20, Cost: model.LinkRounds}
	require.NoError(t, p.Validate())
	return p
}

func evaluator(t *testing.T) *certify.Evaluator {
	return &certify.Evaluator{Scratch: t.TempDir(), Progress: certify.Silent{}, Options: solve.Options{TimeLimit: time.Minute, Seed: 1}}
}

// TestSearch: on a ring of 4 an allgather of one chunk needs 2 steps and 2 rounds, and no
// number of chunks has a rate of less than 3 rounds for 2 chunks: three chunks of each rank's
// share enter over two links.
func TestSearch(t *testing.T) {
	f, err := Search(context.Background(), evaluator(t), problem(t, "ring:4", model.AllGather), 2)
	require.NoError(t, err)
	require.Equal(t, 2, f.LeastSteps)
	require.Zero(t, f.Stopped)
	require.Empty(t, f.Undecided)
	require.NotNil(t, f.Hops)
	var found [][3]int
	for _, x := range f.Points {
		require.Equal(t, verify.Proved, x.Row.Outcome())
		require.Nil(t, x.Certificate)
		require.LessOrEqual(t, x.Row.Result.Schedule.Rounds(), x.Rounds)
		require.LessOrEqual(t, x.Row.Result.Schedule.Steps(), x.Steps)
		found = append(found, [3]int{x.Chunks, x.Steps, x.Rounds})
	}
	require.Equal(t, [][3]int{{1, 2, 2}, {2, 2, 3}}, found)
	require.True(t, f.Points[1].Bandwidth)
	require.False(t, f.Points[0].Bandwidth)
}

// TestDecide: a point that is too small is refuted by a checked proof, one in no time is open.
func TestDecide(t *testing.T) {
	p := problem(t, "dgx1", model.AllGather)
	q := InUnits(p, 1)
	q = q.WithChunks(q.DefaultChunks(1))
	small := &Point{Chunks: 1, Steps: 2, Rounds: 1}
	require.NoError(t, Decide(context.Background(), evaluator(t), p, q, small))
	require.NotNil(t, small.Certificate)
	require.Positive(t, small.ProofBytes)
	require.Nil(t, small.Row)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	open := &Point{Chunks: 1, Steps: 2, Rounds: 2}
	require.NoError(t, Decide(ctx, evaluator(t), p, q, open))
	require.Equal(t, "interrupted", open.Reason)
	require.Nil(t, open.Row)
	require.Nil(t, open.Certificate)
}

// TestServes: what a frontier is not defined for is refused.
func TestServes(t *testing.T) {
	blocking := problem(t, "ring:4", model.AllGather)
	blocking.Cost = model.Blocking
	for _, c := range []struct {
		p      *model.Problem
		chunks int
		want   string
	}{
		{blocking, 1, "goes with --objective rounds"},
		{problem(t, "ring:4", model.AllReduce), 1, "allreduce is not served"},
		{problem(t, "ring:4", model.AllGather), 17, "17 chunks per rank: want 1 to 16"},
	} {
		_, err := Search(context.Background(), evaluator(t), c.p, c.chunks)
		require.ErrorContains(t, err, c.want)
	}
}
