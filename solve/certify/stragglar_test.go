package certify

import (
	"context"
	"fmt"
	"math/bits"
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

// TestStragglar: whole schedules of the general construction are proved right, take
// m + ⌈log2 n⌉ - 1 rounds after the arrival, and meet a certified bound to the
// picosecond where all chunks are of one size.
func TestStragglar(t *testing.T) {
	prove := func(n, m int, engines ...string) {
		tp, err := topo.Parse(fmt.Sprintf("switch:%d", n), topo.Options{})
		require.NoError(t, err)
		late := (5*n + m) % n
		p := (&model.Problem{
			Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: int64(m) << 16,
			Cost: model.Rounds, Release: make([]model.Time, n),
		}).WithChunks(m)
		p.Release[late] = 1000 * model.Second
		r, err := stragglar.New().Solve(context.Background(), p, solve.Options{})
		require.NoError(t, err)
		where := fmt.Sprintf("n=%d m=%d straggler %d", n, m, late)
		require.Equal(t, verify.Proved, replay.Check(context.Background(), r.Problem, r.Schedule).Outcome, where)
		for range engines {
			v := smt.Check(context.Background(), r.Problem, r.Schedule, Backend, smt.Options{Timeout: time.Minute})
			require.Equal(t, verify.Proved, v.Outcome, "%s: %v", where, v)
		}
		round := tp.Duration([]int{tp.Out()[0][0], tp.In()[1][0]}, 1<<16)
		least := p.Release[late].Add(round.Mul(int64(m + bits.Len(uint(n-1)) - 1)))
		require.Equal(t, least, r.Makespan(), where)
		if n <= 16 {
			c, err := Bound(context.Background(), r.Problem)
			require.NoError(t, err)
			require.Equal(t, least, c.Bound, "%s: %s", where, c.Witness.Kind())
		}
	}
	for n := 2; n <= 32; n++ {
		for _, m := range []int{1, 2, n - 1, 2 * (n - 1), 3*(n-1) + 1} {
			prove(n, m)
		}
		prove(n, n, "smt")
	}
	for _, n := range []int{33, 47, 64, 65, 100, 129, 200} {
		prove(n, n-1)
		prove(n, 7)
	}
}
