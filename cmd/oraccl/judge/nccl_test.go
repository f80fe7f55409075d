package judge

import (
	"context"
	"testing"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/verify"
	"github.com/stretchr/testify/require"
)

// TestNCCLIsRight: what NCCL runs on named machines is right, for every collective that its rings and
// trees serve, at sizes that fill no piece and at those that fill many.
func TestNCCLIsRight(t *testing.T) {
	for _, name := range []string{"dgxh100", "dgxa100:2", "dgxh100:3"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		for _, kind := range []model.Kind{model.AllReduce, model.AllGather, model.ReduceScatter, model.Broadcast} {
			for _, size := range []int64{100_000, 1<<27 + 4096} {
				p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
				if kind == model.Broadcast {
					p.Collective.Root = 3
				}
				given, err := NCCL(context.Background(), "", p)
				require.NoError(t, err)
				require.Len(t, given, map[bool]int{true: 2, false: 1}[kind == model.AllReduce])
				for i := range given {
					row, out, err := given[i].Row(context.Background(), &certify.Evaluator{SMTMost: 1, Options: solve.Options{TimeLimit: time.Minute}})
					require.NoError(t, err)
					require.Nil(t, out, "%s %v %d %+v", name, kind, size, out)
					require.Equal(t, verify.Proved, row.Outcome(), "%s %v %d %s: %v", name, kind, size, row.Method, row.Violations())
				}
			}
		}
	}
	network, err := topo.Parse("dgxh100", topo.Options{})
	require.NoError(t, err)
	_, err = NCCL(context.Background(), "", &model.Problem{Topology: network, Collective: model.Collective{Kind: model.AllToAll}, Size: 1 << 20, Cost: model.Pipelined})
	require.NoError(t, err) // it is said in the row that it does not serve this
}
