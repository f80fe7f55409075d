package certify_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestCoverageAgrees sets the coverages that package bound finds, with the bounds that it
// computes, against the checker, which computes them in another way.
func TestCoverageAgrees(t *testing.T) {
	of := map[model.Kind]int{}
	for seed := range uint64(1500) {
		p := verifytest.DrawProblem(rand.New(rand.NewPCG(seed, 77)))
		if seed%2 == 0 {
			p.Chunks = nil
		}
		all, complete, err := bound.All(context.Background(), p)
		require.NoError(t, err)
		require.True(t, complete)
		for _, c := range all {
			if _, ok := c.Witness.(model.Coverage); !ok {
				continue
			}
			of[p.Collective.Kind]++
			yield, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: c.Witness})
			require.NoError(t, err, "seed %d: %v: %+v", seed, p, c.Witness)
			if p.Chunks == nil {
				require.Equal(t, yield, c.Estimate, "seed %d: %v: %+v", seed, p, c.Witness)
			} else { // the checker takes the smallest chunk of those that count
				require.GreaterOrEqual(t, yield, c.Estimate, "seed %d: %v: %+v", seed, p, c.Witness)
			}
		}
	}
	for _, kind := range model.Kinds() {
		require.Greater(t, of[kind], 50, kind)
	}
}
