package exact_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/exact"
	"github.com/oraccl/oraccl/solve/solvetest"
)

func TestConformance(t *testing.T) {
	solvetest.Run(t, exact.New(), solvetest.Config{
		Serves: 100,
		Skip: func(p *model.Problem) bool {
			return len(p.Members()) > 4 && (p.Collective.Kind == model.AllToAll || p.Cost == model.Rounds) ||
				p.Topology.Name == "switch:5" && p.Collective.Kind == model.AllReduce || // long: two stages on fine grids, for latency is most of a transfer
				p.Topology.Ranks > 8 || len(p.Chunks) > 8
		},
		Options: solve.Options{TimeLimit: time.Minute, Threads: 1},
	})
}

// TestSlots: with links of no latency that carry one chunk an epoch, the least
// makespan in epochs is known: by formulas for rings, hypercubes and tori, by
// exhaustive decision (SCCL's encoding with Z3) for the others.
func TestSlots(t *testing.T) {
	for _, want := range []struct {
		topology string
		kind     model.Kind
		chunks   int // a member; for broadcast in all
		slots    int64
	}{
		{"ring:4", model.AllGather, 1, 2}, {"ring:5", model.AllGather, 1, 2}, {"ring:7", model.AllGather, 1, 3}, {"ring:5", model.AllGather, 2, 4},
		{"uniring:5", model.AllGather, 1, 4}, {"full:5", model.AllGather, 1, 1}, {"full:4", model.AllToAll, 1, 1},
		{"hypercube:3", model.AllGather, 1, 3}, {"torus:3x3", model.AllGather, 1, 2}, {"ring:4", model.AllToAll, 1, 2}, {"ring:5", model.AllToAll, 1, 3},
		{"line:4", model.Broadcast, 3, 5}, {"ring:4", model.Broadcast, 4, 3}, {"hypercube:3", model.Broadcast, 3, 3},
		{"ring:5", model.ReduceScatter, 1, 2}, {"hypercube:3", model.ReduceScatter, 1, 3}, {"line:4", model.Reduce, 3, 5},
	} {
		tp, err := topo.Parse(want.topology, topo.Options{Alpha: []model.Time{0}, Bandwidth: []int64{1e12}})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: want.kind}, Cost: model.Blocking, Size: 1}
		k := p.DefaultChunks(want.chunks)
		p.Size = int64(k) * 1000
		if want.kind == model.AllToAll {
			p.Size = int64(k/tp.Ranks) * 1000
		}
		r, err := exact.New().Solve(context.Background(), p.WithChunks(k), solve.Options{Threads: 1})
		require.NoError(t, err)
		require.Equal(t, solve.Optimal, r.Stop, "%v: %s", p, r.Note)
		require.Equal(t, model.Time(want.slots*1000), r.Makespan(), "%v on %s: %s", want.kind, want.topology, r.Note)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	}
}

func TestTooLarge(t *testing.T) {
	tp, err := topo.Parse("torus:16x16", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 1 << 20, Cost: model.Pipelined}
	err = exact.New().Serves(p)
	require.ErrorIs(t, err, solve.ErrNotServed)
	require.ErrorContains(t, err, "too large")
}
