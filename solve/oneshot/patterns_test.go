//go:build cgo

package oneshot

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/sat/cadical"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// without returns a network in which something has failed.
func without(t *testing.T, name string, fail ...string) *model.Topology {
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	tp, err = instance.Failed(tp, fail)
	require.NoError(t, err)
	return tp
}

// once reports whether each of n ranks has each contribution once after some steps.
func once(steps []step, n int) bool {
	return !slices.ContainsFunc(played(steps, n), func(have []int) bool {
		return slices.ContainsFunc(have, func(times int) bool { return times != 1 })
	})
}

// A pattern is right if each rank has each contribution once at the end. That is seen as well by what counts contributions, and stays as it is if jumps
// of no use are left out, and backwards.
func TestPatternIsRight(t *testing.T) {
	right, wrong := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "ranks")
		x := &pattern{rounds: 3}
		for v := 1; v < n; v++ { // sums are added up at rank 0, and sent back
			x.jumps = append(x.jumps, jump{v, 0, rapid.IntRange(0, 1).Draw(t, "round"), false}, jump{0, v, 2, true})
		}
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			to := (from + rapid.IntRange(1, n-1).Draw(t, "by")) % n
			i := rapid.IntRange(0, len(x.jumps)-1).Draw(t, "jump")
			x.jumps[i] = jump{from, to, rapid.IntRange(0, x.rounds-1).Draw(t, "round"), rapid.Bool().Draw(t, "dropped")}
		}
		slices.SortFunc(x.jumps, jump.compare)
		steps := x.steps()
		live(steps, n)
		require.Equal(t, once(x.steps(), n), patternOf(steps).right(n), "%v", x.jumps)
		if !x.right(n) {
			wrong++
			return
		}
		right++
		require.True(t, once(x.steps(), n))
		back := mirrored(steps, n)
		live(back, n)
		require.True(t, once(back, n))
		require.True(t, patternOf(back).right(n), "%v", patternOf(back).jumps)
	})
	require.Greater(t, right, 10)
	require.Greater(t, wrong, 10)
}

// TestWalk: a walk that follows the change of a pattern from the rounds of what changed on finds it right if it is, and is its walk then.
func TestWalk(t *testing.T) {
	right, wrong := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		const n, rounds = 4, 5
		x := &pattern{rounds: rounds}
		for v := 1; v < n; v++ {
			x.jumps = append(x.jumps, jump{v, 0, rapid.IntRange(0, 1).Draw(t, "round"), false}, jump{0, v, rapid.IntRange(2, 4).Draw(t, "round"), true})
		}
		slices.SortFunc(x.jumps, jump.compare)
		w := newWalk(n, rounds)
		require.True(t, w.follow(x.jumps, 0, rounds))
		for range 12 {
			i := rapid.IntRange(0, len(x.jumps)-1).Draw(t, "jump")
			old := x.jumps[i]
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			with := jump{from, (from + rapid.IntRange(1, n-1).Draw(t, "by")) % n, rapid.IntRange(0, rounds-1).Draw(t, "round"), rapid.Bool().Draw(t, "dropped")}
			if rapid.Bool().Draw(t, "same") {
				with.from, with.to, with.dropped = old.from, old.to, old.dropped
			}
			y := &pattern{slices.Clone(x.jumps), rounds}
			y.jumps[i] = with
			slices.SortFunc(y.jumps, jump.compare)
			found := w.follow(y.jumps, min(old.round, with.round), max(old.round, with.round))
			require.Equal(t, y.right(n), found, "%v", y.jumps)
			if found {
				right++
				x = y
			} else {
				wrong++
			}
			again := newWalk(n, rounds)
			require.True(t, again.follow(x.jumps, 0, rounds))
			require.Equal(t, again.has, w.has)
		}
	})
	require.Greater(t, right, 10)
	require.Greater(t, wrong, 10)
}

// patterned returns a search on a network, that has found some plans, and its patterns. The bound is that of all that a rank has to send.
func patterned(t *testing.T, tp *model.Topology) (*search, *patterns) {
	if _, err := cadical.Find(); err != nil {
		t.Skip(err)
	}
	b, cancel := solve.NewBudget(t.Context(), 0, 1)
	t.Cleanup(cancel)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 16, Cost: model.Pipelined}
	s := &search{p: p, b: b, bound: 1, others: model.MaxTime, most: maxComposed, large: map[int]int64{}, ways: &ways{}}
	s.guide, s.images = newGuide(p, s.ways), newImages(s)
	for i := range tp.Links {
		s.slowness = append(s.slowness, s.guide.router.fastest/float64(tp.Links[i].Bandwidth))
	}
	plans := s.hubPlans()
	s.together(1)
	plans = slices.DeleteFunc(plans, func(q *plan) bool { return !s.estimate(q) })
	s.pure(plans)
	m := s.mixer(plans)
	x := s.newPatterns(plans, m, s.makespan)
	require.NotNil(t, x)
	return s, x
}

// The makespan of the linear program falls as patterns are found, each of which is right, goes over links, and is known once. What chunks are
// placed by them comes close to it.
func TestPatterns(t *testing.T) {
	s, x := patterned(t, without(t, "dgx1", "rank:0"))
	x.offers = nil // those of the whole network are no patterns
	before, old := s.makespan, len(x.plans)
	require.NotNil(t, x.settle(littleOver))
	first := x.end
	x.more()
	require.NotNil(t, x.settle(littleOver))
	require.Less(t, float64(x.end), 0.95*float64(first))
	require.Greater(t, len(x.plans), old+4)
	require.Len(t, x.known, len(x.plans)-old)
	for i, q := range x.plans[old:] {
		steps := q.lists[0]
		require.True(t, once(steps, s.n()))
		require.True(t, patternOf(steps).right(s.n()))
		for j, y := range steps {
			for _, w := range y.pairs {
				require.Len(t, s.ways.routes[w.route], 1)
			}
			for _, w := range x.m.all[old+i] {
				if w.step == j {
					require.Equal(t, model.Time(j)*x.lasts, w.after)
					require.Equal(t, model.Time(len(steps)-j)*x.lasts, w.left)
				}
			}
		}
	}
	s.mixing = &mixing{copies: 1, patterns: x}
	s.mixing = x.mixing(1)
	require.Less(t, s.makespan, before)
	require.InDelta(t, float64(x.end), float64(s.makespan), 0.02*float64(x.end))
	require.Equal(t, patternNote, s.note)
	r := s.result(solve.Done)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
}

// Where all that may follow plans is most, what it may be is what the intervals that limit it are worth: their prices are those of a dual solution.
func TestPricesOfIntervals(t *testing.T) {
	_, x := patterned(t, without(t, "torus:3x3", "link:0-1"))
	f := x.settle(littleOver)
	require.NotNil(t, f)
	require.True(t, f.whole)
	require.InDelta(t, 1, f.sum, littleOver-1)
	worth := 0.0
	for i, c := range f.cuts {
		require.GreaterOrEqual(t, f.prices[i], -1e-12)
		worth += f.prices[i] * float64(x.end-c.after-c.left)
	}
	require.InDelta(t, f.sum, worth, 1e-6)
	for i, list := range x.m.all { // no plan costs less than it brings
		cost := 0.0
		for j, c := range f.cuts {
			for _, w := range list {
				if w.orbit == c.orbit && w.after >= c.after && w.left >= c.left {
					cost += f.prices[j] * w.load
				}
			}
		}
		if !slices.ContainsFunc(list, func(w window) bool { return w.after+w.left >= x.end }) {
			require.GreaterOrEqual(t, cost, 1-1e-6)
		}
		if f.parts[i] > 1e-6 {
			require.InDelta(t, 1, cost, 1e-6)
		}
	}
}

// Local search changes patterns into others that are right and cost no more.
func TestImprovedPatterns(t *testing.T) {
	_, x := patterned(t, without(t, "hypercube:3", "link:0-1"))
	tariff := make(tariff, 4)
	for round := range tariff {
		for range 64 {
			tariff[round] = append(tariff[round], x.r.Float64())
		}
	}
	cost := func(y *pattern) (sum float64) {
		for _, j := range y.jumps {
			sum += tariff[j.round][x.number(j.from, j.to)]
		}
		return sum
	}
	ask := func(budget float64) *pattern {
		y, err := x.ask(tariff, budget, 1)
		require.NoError(t, err)
		return y
	}
	y := ask(mostBudget)
	for budget := 1.0; y == nil; budget *= 2 { // prices are none of a linear program
		for round := range tariff {
			for i := range tariff[round] {
				tariff[round][i] /= 2
			}
		}
		y = ask(mostBudget)
	}
	require.LessOrEqual(t, cost(y), mostBudget+0.5*float64(len(y.jumps))/priceUnits)
	z := x.improved(y, tariff)
	require.True(t, z.right(8))
	require.Less(t, cost(z), cost(y))
	require.Nil(t, ask(mostBudget+0.01))
}

// Symmetries that leave links where they are make orbits larger: a mesh of three by three has eight symmetries, and
// its links are in four orbits. Links of a torus are moved by translations, which are enough.
func TestRestingSymmetries(t *testing.T) {
	for name, want := range map[string][]int{"mesh:3x3": {8, 8, 8, 4, 4}, "torus:4x4": {16, 16, 16, 16, 16}, "line:4": {2, 2, 2, 2}} {
		s := searchOn(t, name)
		x := newImages(s)
		require.Len(t, x.nodes, want[0], name)
		require.Equal(t, want[1:], x.size, name)
		for e := range x.nodes {
			seen := map[int]bool{}
			for l, k := range s.p.Topology.Links {
				m := x.link(s.p.Topology, e, l)
				require.False(t, seen[m])
				seen[m] = true
				require.Equal(t, x.orbit[l], x.orbit[m])
				require.Equal(t, int(x.nodes[e][k.Src]), s.p.Topology.Links[m].Src)
				require.Equal(t, int(x.nodes[e][k.Dst]), s.p.Topology.Links[m].Dst)
			}
		}
	}
}

// Chunks that follow a plan take, of equal links between the same ranks, each as often as the others.
func TestTwins(t *testing.T) {
	s, x := patterned(t, without(t, "dgx1", "rank:0"))
	x.more()
	twins := 0
	for _, q := range x.plans {
		if q.note != patternNote {
			continue
		}
		used := map[[2]int]int{} // by step and link
		const chunks = 12
		for k := range chunks {
			for _, u := range s.course(q, k).uses {
				used[[2]int{u.step, u.link}] += u.times
			}
		}
		for l, list := range s.images.twins {
			for step := range q.steps() {
				for _, m := range list {
					twins++
					require.InDelta(t, used[[2]int{step, l}], used[[2]int{step, m}], 1)
				}
			}
		}
	}
	require.Positive(t, twins)
}

// Chunks that are balanced follow plans as often as is asked for, and the first ones of them load each link in each latency about as much as the
// others do.
func TestBalanced(t *testing.T) {
	s, x := patterned(t, without(t, "hypercube:3", "rank:0"))
	x.more()
	m := x.mixing(1)
	s.mixing = m
	const chunks = 96
	counts := counts(slices.Repeat([]float64{1 / float64(len(m.of))}, len(m.of)), chunks)
	courses, which := s.balanced(m.of, counts)
	require.Len(t, courses, chunks)
	taken := make([]int, len(m.of))
	half, all := map[[2]int]int{}, map[[2]int]int{}
	for k, c := range courses {
		require.True(t, once(c.steps, s.n()) || c.steps[0].phase != exchanging)
		taken[which[k]]++
		for i, row := range s.guide.starts(c) {
			for j, at := range row {
				key := [2]int{int(at / s.p.Topology.Links[0].Alpha), s.ways.routes[c.steps[i].pairs[j].route][0]}
				if all[key]++; k < chunks/2 {
					half[key]++
				}
			}
		}
	}
	require.Equal(t, counts, taken)
	worst := 0.0
	for key, times := range all {
		worst = max(worst, math.Abs(float64(times)/2-float64(half[key])))
	}
	require.LessOrEqual(t, worst, 4.0)
}
