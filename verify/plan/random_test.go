package plan_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/plan"
	"github.com/oraccl/oraccl/verify/verifytest/plans"
)

// TestRight insists that the plans that the others are made of are right, by both engines.
func TestRight(t *testing.T) {
	for kind := range plans.Kinds {
		p := plans.Right(kind)
		wrong, _, why := plan.Judge(context.Background(), p)
		require.Empty(t, wrong, kind)
		require.Empty(t, why, kind)
		f := plans.Explore(p, 1, 1<<20)
		require.Equal(t, plans.Found{States: f.States, Enough: true}, *f, "%d", kind)
	}
}

// TestMutations mutates right plans in every way. What is let through is right in every order of
// the threads, as the exploration finds, except for relaxed signals and what is left over: of
// the first nothing is promised and a warning says so, the second refutes.
func TestMutations(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 1))
	decided, right := map[string]int{}, map[string]int{}
	for kind, name := range plans.Mutations {
		for range 4 {
			p, ok := plans.Mutate(plans.Right(rng.IntN(plans.Kinds)), kind, rng)
			if !ok {
				continue
			}
			d, r, differs := plans.Compare(t.Context(), p, 6_000)
			require.Empty(t, differs, "%s: %s", name, show(p))
			if d {
				decided[name]++
			}
			if r {
				right[name]++
			}
		}
		t.Logf("%-45s %3d decided, %3d right in every order", name, decided[name], right[name])
	}
	for _, name := range []string{"drop a signal", "drop a wait", "drop a move", "drop a release", "drop an acquire", "drop a request", "another semaphore"} {
		require.Zero(t, right[name], name)
	}
}

// TestAgreement mutates plans several times.
func TestAgreement(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 2))
	n := 0
	for range 150 {
		p := plans.Draw(rng)
		d, _, differs := plans.Compare(t.Context(), p, 6_000)
		require.Empty(t, differs, show(p))
		if d {
			n++
		}
	}
	require.Greater(t, n, 50)
}

// TestLaunches carries plans out twice in every order, and compares what goes wrong between the
// two launches.
func TestLaunches(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 3))
	decided, wrong := 0, 0
	for i := range 60 {
		p := plans.Right(i % plans.Kinds)
		if i >= plans.Kinds {
			p = plans.Draw(rng)
		}
		d, w, differs := plans.CompareLaunches(t.Context(), p, 60_000)
		require.Empty(t, differs, show(p))
		if d {
			decided++
		}
		if w {
			wrong++
		}
	}
	t.Logf("%d decided, %d of them wrong in the next launch", decided, wrong)
	require.Greater(t, decided, 5)
}

// show writes a plan.
func show(p *model.Plan) string { return verify.Example{Plan: p}.Text() }
