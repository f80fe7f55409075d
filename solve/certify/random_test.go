package certify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/smt"
)

// TestRandomNetworks: on random networks every schedule of every polynomial method
// is proved by both engines, and none is faster than a certified bound. evaluate
// fails if one is, or if a certificate fails its check.
func TestRandomNetworks(t *testing.T) {
	networks, rows, refuted := 40, 0, 0
	if testing.Short() {
		networks = 10
	}
	for seed := range uint64(networks) {
		rng := rand.New(rand.NewPCG(seed, 99))
		p := &model.Problem{
			Topology:   solvetest.RandomNetwork(rng),
			Collective: model.Collective{Kind: model.Kinds()[rng.IntN(8)]},
			Size:       100000 + rng.Int64N(100000),
			Cost:       []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds}[rng.IntN(4)],
		}
		if p.Collective.Kind.Rooted() {
			p.Collective.Root = rng.IntN(p.Topology.Ranks)
		}
		if rng.IntN(4) == 0 {
			p.Release = make([]model.Time, p.Topology.Ranks)
			p.Release[rng.IntN(p.Topology.Ranks)] = model.Time(rng.IntN(20)) * model.Microsecond
		}
		if rng.IntN(2) == 0 {
			p = p.WithChunks(p.DefaultChunks(1 + rng.IntN(3)))
		}
		require.NoError(t, p.Validate())
		methods := Methods()
		e := &Evaluator{Methods: methods[:len(methods)-1], Named: true, Options: solve.Options{Seed: seed, TimeLimit: 300 * time.Millisecond}, Scratch: t.TempDir(), SMT: smt.Options{Timeout: time.Minute}, Progress: Silent{}}
		ev, err := e.Evaluate(context.Background(), p)
		require.NoError(t, err, "seed %d: %v", seed, p)
		refuted += len(e.Horizons)
		for _, r := range ev.Rows {
			where := fmt.Sprintf("seed %d: %s: %v on %+v", seed, r.Method, r.Result.Problem, p.Topology)
			require.Equal(t, verify.Proved, r.Verdicts["replay"].Outcome, "%s: %v", where, r.Verdicts)
			v := r.Verification
			if v.Verdicts["smt"].Outcome == verify.Unknown { // for want of time: again, without a limit
				v, err = Verify(context.Background(), r.Result.Problem, r.Result.Schedule, smt.Options{}, Engines)
				require.NoError(t, err, where)
			}
			require.Equal(t, verify.Proved, v.Verdicts["smt"].Outcome, "%s: %v", where, v.Verdicts)
			require.NotNil(t, r.Bound, where)
			require.GreaterOrEqual(t, r.Makespan, ev.Bound.Bound, where)
			rows++
		}
	}
	require.Greater(t, rows, networks*15/4)
	require.Positive(t, refuted, "never a proof by LRAT")
}
