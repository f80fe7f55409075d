//go:build cgo

package oneshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// lost returns a search on a network of which something has failed, that has found the schedules of its own plans, with these.
func lost(t *testing.T, name string, fail ...string) (*search, []*plan) {
	b, cancel := solve.NewBudget(t.Context(), 0, 1)
	t.Cleanup(cancel)
	p := &model.Problem{Topology: without(t, name, fail...), Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 16, Cost: model.Pipelined}
	s := &search{p: p, b: b, others: model.MaxTime, most: maxComposed, large: map[int]int64{}, ways: &ways{}, leading: true}
	plans := s.worthwhile(s.plans(layouts(p)))
	s.pure(plans)
	s.bound = s.makespan / 3 * 2
	return s, plans
}

// Plans of the network before some of it failed leave the sum of all at each rank that is left, over links that are left; so do those with hubs that
// are offered besides.
func TestFromWhole(t *testing.T) {
	for name, fail := range map[string]string{"torus:4x8": "link:0-1", "hypercube:5": "rank:3", "dgxa100:2": "rank:1"} {
		s, _ := lost(t, name, fail)
		n := s.n()
		offers := s.fromWhole()
		require.Greater(t, len(offers), 8, name)
		if hubbed(s.p) {
			x := &patterns{s: s, known: map[string]bool{}, hubs: s.hubSearch(1)}
			require.True(t, x.moreHubs())
			offers = append(offers, x.offers...)
		}
		for _, y := range offers {
			require.True(t, once(y.plan.lists[0], n), "%s: %v", name, y.plan.lists[0])
			require.True(t, proper(y.plan.lists[0], n))
			longest := model.Time(0)
			for i, w := range y.windows {
				require.Equal(t, w.after, y.abreast[i].after)
				require.GreaterOrEqual(t, y.abreast[i].left, w.left)
				longest = max(longest, w.after+w.left)
			}
			for _, w := range y.abreast {
				require.Equal(t, longest, w.after+w.left)
			}
		}
	}
	s, _ := lost(t, "torus:3x4", "link:0-1")
	s.p.Topology.Whole = nil
	require.Empty(t, s.fromWhole())
}

// Steps are proper only if each rank has each contribution once at the end: with a pair less, or one of another step once more, most are not.
func TestProper(t *testing.T) {
	s, plans := lost(t, "torus:3x4", "link:0-1")
	n := s.n()
	wrong, right := 0, 0
	look := func(steps []step) {
		if proper(steps, n) {
			right++
			require.True(t, once(steps, n))
		} else {
			wrong++
		}
	}
	for _, q := range plans {
		steps := s.base(q, 0).steps
		look(steps)
		for i := range steps {
			for j := range steps[i].pairs {
				fewer := slices.Clone(steps)
				fewer[i].pairs = slices.Delete(slices.Clone(fewer[i].pairs), j, j+1)
				look(fewer)
				more := slices.Clone(steps)
				k := (i + 1) % len(steps)
				more[k].pairs = append(slices.Clone(more[k].pairs), steps[i].pairs[j])
				look(more)
			}
		}
	}
	require.Greater(t, wrong, 50)
	require.GreaterOrEqual(t, right, len(plans))
}

// With plans of the network before some of it failed all is sooner over than with those of what is left, and it is right.
func TestPatternedWithoutSolver(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	s, plans := lost(t, "torus:3x6", "rank:0")
	before := s.makespan
	of := candidates(best(plans))
	m := s.mixer(of)
	_, least := m.mixtures()
	s.together(1)
	require.True(t, s.patterned(of, m, least))
	require.Less(t, float64(s.makespan), 0.97*float64(before))
	require.Equal(t, patternNote, s.note)
	require.False(t, s.mixing.patterns.asks)
	r := s.result(solve.Done)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	found := s.makespan
	s.again++
	s.mixAgain()
	require.LessOrEqual(t, s.makespan, found)
}

// A network whose members fall into no equal groups, but did before one of them failed, has plans of the whole network alone.
func TestWasGrouped(t *testing.T) {
	p := &model.Problem{Topology: without(t, "rfs:2x2x2", "rank:5"), Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 12, Cost: model.Pipelined}
	require.Empty(t, layouts(p))
	require.False(t, hubbed(p))
	require.True(t, wasGrouped(p))
	m := &method{name: "hierarchical"}
	require.NoError(t, m.Serves(p))
	for _, chunks := range []int{0, 1} { // the cut is chosen, or given
		r, err := m.Solve(t.Context(), p, solve.Options{Chunks: chunks})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	}
	unknown := *p.Topology
	unknown.Whole = nil
	p.Topology = &unknown
	require.False(t, wasGrouped(p))
	require.ErrorIs(t, m.Serves(p), solve.ErrNotServed)
}

// An allreduce of 256 KiB on two machines, of which one has lost a GPU, is within 2 % of the bound: the README says so.
func TestTwoMachinesWithoutRank(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	const bound = 4561 * model.Nanosecond // a certificate, by coverage
	p := &model.Problem{Topology: without(t, "dgxh100:2", "rank:5"), Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 18, Cost: model.Pipelined}
	r, err := (&method{name: "hierarchical"}).Solve(t.Context(), p, solve.Options{Bound: bound})
	require.NoError(t, err)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	require.Less(t, float64(r.Makespan()), 1.02*float64(bound))
}
