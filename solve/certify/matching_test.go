package certify

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/stragglar"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/smt"
)

// TestStragglarMatching: the paper's heuristic, as a whole schedule, is proved right by
// replay, for few ranks by SMT, and never beats the general construction.
func TestStragglarMatching(t *testing.T) {
	for _, n := range []int{6, 10, 12, 14, 22, 48, 96} {
		tp, err := topo.Parse(fmt.Sprintf("switch:%d", n), topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{
			Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: int64(n-1) << 16,
			Cost: model.Rounds, Release: make([]model.Time, n),
		}
		p.Release[n/3] = 1000 * model.Second
		r, err := stragglar.NewMatching().Solve(context.Background(), p, solve.Options{})
		require.NoError(t, err)
		require.Equal(t, verify.Proved, replay.Check(context.Background(), r.Problem, r.Schedule).Outcome, "n=%d", n)
		if n <= 14 {
			v := smt.Check(context.Background(), r.Problem, r.Schedule, Backend, smt.Options{Timeout: time.Minute})
			require.Equal(t, verify.Proved, v.Outcome, "n=%d: %v", n, v)
		}
		ours, err := stragglar.New().Solve(context.Background(), r.Problem, solve.Options{})
		require.NoError(t, err)
		require.LessOrEqual(t, ours.Makespan(), r.Makespan(), "n=%d", n)
		if n >= 22 {
			require.Less(t, ours.Makespan(), r.Makespan(), "n=%d", n)
		}
	}
}
