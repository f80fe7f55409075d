package oneshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// played returns by member how often it has the contribution of each after some steps.
func played(steps []step, n int) [][]int {
	have := make([][]int, n)
	for v := range have {
		have[v] = make([]int, n)
		have[v][v] = 1
	}
	for _, x := range steps {
		before := make([][]int, n)
		for v := range have {
			before[v] = append([]int(nil), have[v]...)
		}
		for _, v := range x.stale {
			have[v] = make([]int, n)
		}
		for _, w := range x.pairs {
			sent := have[w.from]
			if x.phase == exchanging {
				sent = before[w.from]
			}
			if x.phase == spreading {
				have[w.to] = make([]int, n)
			}
			for c := range n {
				have[w.to][c] += sent[c]
			}
		}
	}
	return have
}

// Each rank of a torus ends with each contribution once, whatever the variants of its sides and the side to begin with.
func TestTorusSteps(t *testing.T) {
	for _, dims := range [][]int{{8}, {16}, {64}, {8, 8}, {4, 16}, {2, 8}, {8, 2, 4}, {3}, {5}, {6}, {7}, {9}, {10}, {11}, {12}, {3, 4}, {5, 7}, {2, 6}, {3, 5, 4}} {
		n := 1
		var of [][]*ring
		for _, size := range dims {
			n *= size
			of = append(of, variants(size))
		}
		for _, choice := range choices(of) {
			for first := range dims {
				sides := ringsFrom(of, choice, first)
				for _, order := range sideOrders(sides, first) {
					steps := torusSteps(dims, sides, first, order)
					for v, have := range append(played(steps, n), played(mirrored(steps, n), n)...) {
						for _, times := range have {
							require.Equal(t, 1, times, "%v, variants %v, from %d, order %v, rank %d", dims, choice, first, order, v)
						}
					}
				}
			}
		}
	}
}

// On a ring of n in groups of g a plan takes n/2+g-1 latencies, and n/g hops in each.
func TestRings(t *testing.T) {
	for _, name := range []string{"ring:8", "ring:16", "ring:32"} {
		s := searchOn(t, name)
		g := newGuide(s.p, s.ways)
		n := s.n()
		for group := 1; group <= n/2; group *= 2 {
			x := newRing(n, group)
			c := &course{steps: torusSteps([]int{n}, []*ring{x}, 0, sideOrders([]*ring{x}, 0)[0])}
			g.finish(c)
			hops := 0
			for _, u := range c.uses {
				hops += u.times
			}
			require.Equal(t, n/2+group-1, x.latency)
			require.Equal(t, n/group*x.latency, hops)
			require.InDelta(t, float64(x.latency)*500e3, float64(c.tail), 5e3)
		}
	}
	require.Nil(t, searchOn(t, "mesh:4x8").ringPlans())
	require.Nil(t, searchOn(t, "torus:4x4").ringPlans())
}

// Where the buffer takes about as long over a link as two latencies, allreduces of rings come within half a percent of the
// bound: that what leaves each rank has to go to the opposite one.
func TestRingsMeetTheBound(t *testing.T) {
	p := searchOn(t, "ring:8").p
	r, err := (&method{name: "hierarchical"}).Solve(t.Context(), p, solve.Options{Enough: 2_620_000})
	require.NoError(t, err)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	require.LessOrEqual(t, r.Makespan(), model.Time(2_620_000)) // the bound: 2_610_409
}

// TestUnevenTorus: chunks of a plan go through as many steps, also where sides of a torus differ, and begin with each side for all sizes of
// groups.
func TestUnevenTorus(t *testing.T) {
	for _, name := range []string{"torus:4x8x8", "torus:4x4x8", "torus:8x4", "torus:2x8"} {
		s := searchOn(t, name)
		plans, ways := s.ringPlans(), 0
		for _, q := range plans {
			require.Equal(t, len(q.lists), len(q.turns), name)
			for i, steps := range q.lists {
				require.Equal(t, len(q.turns[0]), len(steps), name)
				require.Equal(t, len(steps), len(q.turns[i]), name)
				ways++
			}
		}
		dims := evenGrid(s.p)
		want := 0
		var of [][]*ring
		for _, size := range dims {
			of = append(of, variants(size))
		}
		for _, choice := range choices(of) {
			for first := range dims {
				orders := len(sideOrders(ringsFrom(of, choice, first), first))
				if s.n() > mostInTurn {
					orders = 1
				}
				want += orders
			}
		}
		require.Equal(t, want, ways, name)
	}
}

// A buffer that takes more than two latencies to be sent goes through the sides of an uneven torus one after the other.
func TestRingPlansOfFluids(t *testing.T) {
	s := searchOn(t, "torus:4x8")
	s.p.Size = 1 << 20
	for _, q := range s.ringPlans() {
		require.LessOrEqual(t, len(q.lists), 2)
	}
	s = searchOn(t, "torus:2x8")
	s.p.Size = 1 << 20
	require.Nil(t, s.ringPlans())
}

// Where sides of a torus differ, each is gone through as evenly as can be, beginning with each turn: on a torus of 4 by 8 in five orders more.
func TestSideOrders(t *testing.T) {
	even := []*ring{newRing(8, 1), newRing(8, 1)}
	require.Equal(t, [][]int{{0, 0, 0, 1, 1, 1}}, sideOrders(even, 0))
	sides := []*ring{newRing(4, 1), newRing(8, 1)}
	require.Equal(t, [][]int{{1, 1, 1, 0, 0}}, sideOrders(sides, 1))
	require.Equal(t, [][]int{{0, 0, 1, 1, 1}, {1, 0, 1, 0, 1}, {0, 1, 0, 1, 1}, {1, 0, 1, 1, 0}, {0, 1, 1, 0, 1}, {1, 1, 0, 1, 0}}, sideOrders(sides, 0))
}

// On a torus of 4 by 8 what leaves a rank takes four hops along one side and two along the other one to the opposite rank. If these come in
// turn, links along the longer side have about as much to carry at any time, and 64 KiB are within 4 % of the bound; side after side it is 8 %.
func TestUnevenTorusIsEven(t *testing.T) {
	p := searchOn(t, "torus:4x8").p
	r, err := (&method{name: "hierarchical"}).Solve(t.Context(), p, solve.Options{Enough: 3_440_000})
	require.NoError(t, err)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	require.LessOrEqual(t, r.Makespan(), model.Time(3_440_000)) // the bound: 3_305_169
}

// TestMostTransfers: compositions make no more transfers than there is time to verify, whatever is gained by more.
func TestMostTransfers(t *testing.T) {
	p := searchOn(t, "torus:4x8").p
	for _, most := range []int{4000, 20_000} {
		r, err := (&method{name: "hierarchical"}).Solve(t.Context(), p, solve.Options{MostTransfers: most})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.LessOrEqual(t, len(r.Schedule.Transfers), most)
	}
}

// TestChoices: each side has each of its variants, in any mixture, or where these are more than mostChoices that of one number.
func TestChoices(t *testing.T) {
	of := func(dims ...int) (all [][]*ring) {
		for _, size := range dims {
			all = append(all, variants(size))
		}
		return all
	}
	require.Equal(t, [][]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}}, choices(of(4, 8)))
	require.Len(t, choices(of(2, 2, 4, 8)), 81)
	require.Equal(t, [][]int{{0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}}, choices(of(2, 2, 2, 2, 8)))
}
