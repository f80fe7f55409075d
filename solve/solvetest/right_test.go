package solvetest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/tacos"
)

// TestRight: right schedules of every collective and cost model pass, and none does with one
// transfer fewer, twice, earlier by a picosecond, with the other operation or of another chunk.
func TestRight(t *testing.T) {
	for _, kind := range model.Kinds() {
		for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.LinkRounds} {
			tp, err := topo.Parse("uniring:4", topo.Options{})
			require.NoError(t, err)
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: cost}
			r, err := tacos.New().Solve(context.Background(), p.WithChunks(p.DefaultChunks(2)), solve.Options{Seed: 1})
			require.NoError(t, err)
			require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
			for i, x := range r.Schedule.Transfers {
				early, other, moved := x, x, x
				early.End--
				if cost != model.LinkRounds {
					early.Start--
				}
				other.Op = model.Reduction - x.Op
				moved.Chunk = (x.Chunk + 1) % int32(len(r.Problem.Chunks))
				for name, by := range map[string][]model.Transfer{"fewer": nil, "twice": {x, x}, "earlier": {early}, "other operation": {other}, "other chunk": {moved}} {
					s := *r.Schedule
					s.Transfers = slices.Replace(slices.Clone(s.Transfers), i, i+1, by...)
					require.Error(t, solvetest.Right(r.Problem, &s), "%v %v: transfer %d %s", kind, cost, i, name)
				}
			}
		}
	}
}
