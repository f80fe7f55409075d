package certify

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/tacos"
)

// TestDualBounds: on random networks a bound by prices at instants never exceeds what a
// schedule reaches, now and then is better than all others, and now and then shows that
// the schedule is optimal.
func TestDualBounds(t *testing.T) {
	asked, better, met := 0, 0, 0
	for _, seed := range []uint64{116, 117, 138, 140, 149, 193, 243, 259, 1} { // quick ones
		p := anyProblem(rand.New(rand.NewPCG(seed, 17)))
		if p.Cost.Synchronous() || tacos.New().Serves(p) != nil {
			continue
		}
		r, err := tacos.New().Solve(context.Background(), p, solve.Options{Seed: 1})
		require.NoError(t, err)
		c, err := Bound(context.Background(), p)
		require.NoError(t, err)
		known := model.Time(0)
		if c != nil {
			known = c.Bound
		}
		if r.Makespan() <= known {
			continue
		}
		asked++
		d, err := DualBound(context.Background(), p, known, r.Makespan())
		require.NoError(t, err, "seed %d: %v", seed, p)
		if d == nil {
			continue
		}
		better++
		require.Greater(t, d.Bound, known)
		require.LessOrEqual(t, d.Bound, r.Makespan(), "seed %d: %v on %+v", seed, p, p.Topology)
		if d.Bound == r.Makespan() {
			met++
		}
	}
	t.Logf("of %d gaps, %d are smaller by prices at instants, %d of them closed", asked, better, met)
	require.Positive(t, better)
	require.Positive(t, met)
}
