package stragglar_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/stragglar"
)

func TestConformance(t *testing.T) {
	solvetest.Run(t, stragglar.NewPublished(), solvetest.Config{Serves: 5})
}

// TestTheorem1: n-2+log2 n rounds after the arrival, as the authors' code prints
// for n = 8 to 256 (9, 18, 35, 68, 133, 262), and by the same invariant for n = 2, 4.
func TestTheorem1(t *testing.T) {
	for n, want := range map[int]int{2: 1, 4: 4, 8: 9, 16: 18, 32: 35, 64: 68, 128: 133} {
		tp, err := topo.Parse(fmt.Sprintf("switch:%d", n), topo.Options{})
		require.NoError(t, err)
		for _, late := range []int{0, n / 2, n - 1} {
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 20, Cost: model.Rounds, Release: make([]model.Time, n)}
			p.Release[late] = 1000 * model.Second
			r, err := stragglar.NewPublished().Solve(context.Background(), p, solve.Options{})
			require.NoError(t, err)
			after := 0
			for _, span := range r.Problem.RoundSpans(r.Schedule) {
				if span.From >= p.Release[late] {
					after++
				}
			}
			require.Equal(t, want, after, "%d ranks", n)
			if n <= 16 {
				require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
			}
		}
	}
}
