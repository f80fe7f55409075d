package oneshot

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/sat"
	"github.com/oraccl/oraccl/solve/sat/cadical"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// ofRing returns the transfers of an allreduce of one chunk on a ring of n in some rounds, at most some if that is not 0, in order; nil if there is
// none.
func ofRing(t *testing.T, n, rounds, most int) []model.Transfer {
	top, err := topo.Parse(fmt.Sprintf("ring:%d", n), topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: top, Collective: model.Collective{Kind: model.AllReduce}, Size: 4, Cost: model.LinkRounds, Chunks: []model.Chunk{{Size: 4}}}
	f, err := (&sat.Question{Problem: p, Horizon: rounds, Transfers: most}).Encode()
	require.NoError(t, err)
	r, err := cadical.Solve(t.Context(), f, cadical.Options{})
	require.NoError(t, err)
	require.NotEqual(t, cadical.Unknown, r.Answer)
	if r.Answer == cadical.Unsatisfiable {
		return nil
	}
	s, err := f.Schedule(r.Model)
	require.NoError(t, err)
	slices.SortFunc(s.Transfers, func(a, b model.Transfer) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
	})
	return s.Transfers
}

// TestRingTable finds the table of rings again if UPDATE is set, which takes minutes. Else it finds that small ones take as few rounds as can be, and
// as few transfers as can be in as many rounds.
func TestRingTable(t *testing.T) {
	if _, err := cadical.Find(); err != nil {
		t.Skip(err)
	}
	if os.Getenv("UPDATE") != "" {
		head, _, _ := strings.Cut(ringTable, "\n3:")
		all := head + "\n"
		for n := 3; n <= mostTabled(); n++ {
			if n&(n-1) == 0 {
				continue
			}
			least := n * n * n
			for rounds := n / 2; rounds < n; rounds++ {
				best := ofRing(t, n, rounds, 0)
				for next := best; next != nil; next = ofRing(t, n, rounds, len(best)-1) {
					best = next
				}
				if best == nil || len(best) >= least {
					continue
				}
				least = len(best)
				all += fmt.Sprintf("%d:", n)
				for i, x := range best {
					if i > 0 && best[i-1].Start < x.Start {
						all += " /"
					}
					op := "="
					if x.Op == model.Reduction {
						op = "+"
					}
					all += fmt.Sprintf(" %d%s%d", x.Src, op, x.Dst)
				}
				all += "\n"
			}
		}
		require.NoError(t, os.WriteFile("rings.txt", []byte(all), 0o644))
		return
	}
	most := 7
	if testing.Short() {
		most = 6
	}
	for n := 3; n <= most; n++ {
		if n == 4 {
			continue
		}
		list := variants(n)
		if fewer := list[0].latency - 1; fewer > 0 {
			require.Nil(t, ofRing(t, n, fewer, 0), n)
		}
		for _, x := range list {
			require.Nil(t, ofRing(t, n, x.latency, x.transfers()-1), n)
		}
	}
}

// mostTabled returns how many ranks the rings of the table have at most.
func mostTabled() int { return slices.Max(slices.Collect(maps.Keys(tabled()))) }

// transfers returns how many transfers a ring takes.
func (x *ring) transfers() int {
	sum := len(x.collect) + len(x.spread)
	for _, legs := range x.main {
		sum += len(legs)
	}
	return sum
}

// TestTabled: what the table has goes from neighbour to neighbour, over each link once in a round, in fewer transfers the more rounds there are. What
// can be collected first and spread last is.
func TestTabled(t *testing.T) {
	require.Equal(t, 12, mostTabled())
	for n, list := range tabled() {
		for i, x := range list {
			require.Equal(t, n, x.size)
			require.GreaterOrEqual(t, x.latency, n/2)
			if i > 0 {
				require.Greater(t, x.latency, list[i-1].latency)
				require.Less(t, x.transfers(), list[i-1].transfers())
			}
			for _, legs := range append([][]leg{x.collect, x.spread}, x.main...) {
				used := map[[2]int]bool{}
				for _, l := range legs {
					require.Contains(t, []int{1, n - 1}, (l.to-l.from+n)%n)
					require.False(t, used[[2]int{l.from, l.to}])
					used[[2]int{l.from, l.to}] = true
				}
			}
		}
	}
	x := tabled()[5][1]
	require.Equal(t, []leg{{0, 1, false}, {4, 3, false}, {1, 2, false}, {3, 2, false}}, x.collect)
	require.Empty(t, x.main)
	require.Equal(t, []leg{{2, 1, true}, {2, 3, true}, {1, 0, true}, {3, 4, true}}, x.spread)
}

// TestHubs: in a torus of 5 by 5 five ranks have each other one as a neighbour of one of them, and the hubs of 60 transfers are such: three hops apart.
func TestHubs(t *testing.T) {
	s := searchOn(t, "torus:5x5")
	s.most, s.guide = maxComposed, newGuide(s.p, s.ways)
	found := false
	for _, q := range s.hubPlans() {
		for _, steps := range q.lists {
			for _, have := range played(steps, 25) {
				for _, times := range have {
					require.Equal(t, 1, times)
				}
			}
			found = found || len(steps[0].pairs) == 20 && len(steps[1].pairs) == 20
			for _, w := range steps[0].pairs {
				if len(steps[1].pairs) == 20 {
					require.Equal(t, s.guide.between(0, 1), s.guide.between(w.from, w.to))
				}
			}
		}
	}
	require.True(t, found)
}

// On rings and tori whose sides are no powers of two small allreduces take about as long as the bound says, or as what rounds allow:
// schedules that know powers of two alone take up to a third longer.
func TestTabledRingsAreQuick(t *testing.T) {
	for name, most := range map[string]model.Time{"ring:6": 2_150_000, "ring:7": 2_600_000, "torus:3x4": 1_960_000, "torus:6x6": 3_350_000} {
		p := searchOn(t, name).p
		r, err := (&method{name: "hierarchical"}).Solve(t.Context(), p, solve.Options{Enough: most})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.LessOrEqual(t, r.Makespan(), most, name)
	}
}

// TestManyPairs: where each two of 72 ranks have eighteen shortest ways, no link has more than its share of them.
func TestManyPairs(t *testing.T) {
	s := searchOn(t, "gb200:nvl72")
	used := make([]int, len(s.p.Topology.Links))
	for _, route := range newWays(s.b, s.p, everyPair(s.n())).routes {
		require.Len(t, route, 2)
		for _, l := range route {
			used[l]++
		}
	}
	require.LessOrEqual(t, slices.Max(used), 4) // 71 / 18
}
