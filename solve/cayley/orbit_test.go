package cayley

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestOrbits: what is planned for one rank is, for all, a right schedule, of the makespan that
// was said before.
func TestOrbits(t *testing.T) {
	for _, name := range []string{"ring:7", "uniring:5", "ring:8", "torus:4x5", "torus:3x3x4", "hypercube:4", "full:6", "switch:2", "switch:7"} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter, model.AllReduce, model.AllToAll} {
			for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.LinkRounds, model.Rounds} {
				for _, chunks := range []int{1, 2} {
					for _, size := range []int64{32 * 720720, 1<<20 + 1} {
						p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: size, Cost: cost}
						st, err := New().(solve.Streamer).Stream(context.Background(), p, solve.Options{Seed: 1, Chunks: chunks})
						if cost == model.Rounds && len(tp.Switches) == 0 {
							require.ErrorIs(t, err, solve.ErrNotServed)
							continue
						}
						require.NoError(t, err, "%v", p)
						s, err := st.Orbit.Schedule(st.Problem)
						require.NoError(t, err)
						require.NoError(t, solvetest.Right(st.Problem, s), "%v", st.Problem)
						require.EqualValues(t, st.Transfers, len(s.Transfers))
						if !cost.Synchronous() {
							require.Equal(t, st.Makespan, st.Problem.Makespan(s), "%v", st.Problem)
						}
					}
				}
			}
		}
	}
}

// TestManyRanks: a plan of one rank is one for as many as there are.
func TestManyRanks(t *testing.T) {
	tp, err := topo.Parse("torus:512x512", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 1 << 30, Cost: model.Pipelined}
	st, err := New().(solve.Streamer).Stream(t.Context(), p, solve.Options{Seed: 1})
	require.NoError(t, err)
	n := int64(tp.Ranks)
	require.Equal(t, n*(n-1), st.Transfers)
	require.Equal(t, st.Makespan, st.Orbit.Last(st.Problem))
	require.NoError(t, st.Orbit.Validate(st.Problem))
}

// TestOrbitsLeast: the makespans are the least that there can be where all is in whole slots:
// an all-to-all as its hops demand on the links, a reduce-scatter as an allgather, one
// switch as its ports.
func TestOrbitsLeast(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  model.Kind
		slots int64
	}{
		{"torus:6x6", model.AllGather, 9}, {"torus:6x6", model.ReduceScatter, 9}, {"torus:6x6", model.AllReduce, 18},
		{"ring:7", model.AllToAll, 6}, {"ring:8", model.AllToAll, 10}, {"torus:5x5", model.AllToAll, 15}, {"hypercube:5", model.AllToAll, 16}, {"hypercube:9", model.AllToAll, 256},
		{"torus:16x16", model.AllToAll, 512}, {"torus:6x6x6", model.AllToAll, 162},
		{"switch:9", model.AllGather, 8}, {"switch:9", model.AllReduce, 16}, {"switch:9", model.AllToAll, 8},
	} {
		tp, err := topo.Parse(c.name, topo.Options{})
		require.NoError(t, err)
		n := int64(tp.Ranks)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: c.kind}, Size: n * 1000, Cost: model.LinkRounds}
		st, err := New().(solve.Streamer).Stream(context.Background(), p, solve.Options{Seed: 1})
		require.NoError(t, err)
		require.EqualValues(t, c.slots, st.Orbit.Last(st.Problem), "%v on %s", c.kind, c.name)
	}
}

// polled is a context that is done once it was asked that often.
type polled struct {
	context.Context
	left int
}

func (c *polled) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestConveyedAtOnce: an all-to-all whose latency lasts for thousands of slots is planned for one
// rank, at the price of some slots, before its transfers are placed: 1.5 million among 512 ranks.
func TestConveyedAtOnce(t *testing.T) {
	for _, name := range []string{"torus:3x4", "tpuv4:8x8x8"} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllToAll}, Size: 2 * int64(tp.Ranks), Cost: model.Pipelined}
		p = p.WithChunks(p.DefaultChunks(1))
		g, _, err := serves(context.Background(), p)
		require.NoError(t, err)
		s, err := g.allToAll(&polled{context.Background(), 1000}, p, 0)
		require.NoError(t, err, name)
		diameter := g.farthest(g.paces(p, 2))
		require.LessOrEqual(t, p.Makespan(s), diameter+diameter/1000, name)
		if tp.Ranks <= 12 {
			require.NoError(t, solvetest.Right(p, s), name)
		}
	}
}
