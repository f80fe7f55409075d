package certify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/smt/z3"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestGreedyThroughSwitches: on random machines whose switches add and copy, what tacos makes is right
// by a naive execution and both engines, and above the bound.
func TestGreedyThroughSwitches(t *testing.T) {
	methods, err := MethodsNamed("tacos")
	require.NoError(t, err)
	backend := z3.New()
	served := 0
	joined := map[model.Kind]int{}
	kinds := []model.Kind{model.AllReduce, model.Reduce, model.ReduceScatter, model.Broadcast, model.AllGather}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 16))
		p := &model.Problem{Topology: verifytest.DrawMachines(rng), Size: 24 + rng.Int64N(40), Cost: model.CostModel(1 + rng.IntN(4))}
		if p.Topology.Ranks < 2 || p.Topology.Ranks > 6 {
			continue
		}
		p.Collective = model.Collective{Kind: kinds[rng.IntN(len(kinds))], Op: model.Operator(rng.IntN(4))}
		if rng.IntN(4) == 0 {
			p.Collective.Group = rng.Perm(p.Topology.Ranks)[:2+rng.IntN(p.Topology.Ranks-1)]
		}
		if p.Collective.Kind.Rooted() {
			p.Collective.Root = p.Members()[rng.IntN(len(p.Members()))]
		}
		if rng.IntN(4) == 0 {
			p.Release = make([]model.Time, p.Topology.Ranks)
			p.Release[rng.IntN(p.Topology.Ranks)] = model.Time(rng.IntN(20))
		}
		p = p.WithChunks(p.DefaultChunks(1 + rng.IntN(2)))
		require.NoError(t, p.Validate())
		if methods[0].Serves(p) != nil {
			continue
		}
		// Any makespan will do: so what goes through switches is kept, however long it is.
		r, err := methods[0].Solve(context.Background(), p, solve.Options{Seed: seed, Tries: 1, Effort: -1, Bound: model.MaxTime})
		require.NoError(t, err, "seed %d: %v", seed, p)
		where := fmt.Sprintf("seed %d: %v on %+v", seed, p, p.Topology)
		require.NotNil(t, r.Schedule, where)
		f := verifytest.Execute(p, r.Schedule)
		require.True(t, f.Right(), where)
		v := replay.Check(context.Background(), p, r.Schedule)
		require.Equal(t, verify.Proved, v.Outcome, "%s: %v", where, v)
		v = smt.Check(context.Background(), p, r.Schedule, backend, smt.Options{Threads: 1})
		require.Equal(t, verify.Proved, v.Outcome, "%s: %v", where, v)
		c, err := bound.Best(context.Background(), p)
		require.NoError(t, err, where)
		require.GreaterOrEqual(t, r.Makespan(), c.Estimate, where)
		if _, yes := p.Joined(r.Schedule); yes {
			joined[p.Collective.Kind]++
		}
		served++
	}
	for _, kind := range kinds {
		require.Greater(t, joined[kind], 4, "%v: %v", kind, joined)
	}
	t.Logf("%d schedules, with sums or multicasts: %v", served, joined)
}
