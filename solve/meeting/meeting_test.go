//go:build cgo

package meeting

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/solve/ejection"
)

// edge is two links between two ranks, one each way, whose latency is some bins.
type edge struct{ u, v, lag int32 }

const bin = 10 // slots

// network returns an instance of 100 parts on a network where all ranks may be roots.
func network(ranks int, edges []edge, bins int) Instance {
	s := &ejection.Shop{Ranks: ranks, Machines: 2 * len(edges), Arcs: [][][]ejection.Arc{make([][]ejection.Arc, ranks), make([][]ejection.Arc, ranks)}}
	var copies, sums []ejection.Way
	link := func(from, to, lag int32) {
		m := int32(len(copies))
		copies = append(copies, ejection.Way{Stays: []ejection.Stay{{Machine: m, Off: 0, Width: 1}}, Lasts: lag*bin + 1})
		sums = append(sums, ejection.Way{Stays: []ejection.Stay{{Machine: m, Off: lag * bin, Width: 1}}, Lasts: lag*bin + 1})
		s.Arcs[0][to] = append(s.Arcs[0][to], ejection.Arc{Parent: from, Way: m})
		s.Arcs[1][from] = append(s.Arcs[1][from], ejection.Arc{Parent: to, Way: m})
		s.Back, s.Lag = append(s.Back, m^1), append(s.Lag, lag*bin)
	}
	for _, e := range edges {
		link(e.u, e.v, e.lag)
		link(e.v, e.u, e.lag)
	}
	s.Ways = [][][]ejection.Way{{copies}, {sums}}
	x := Instance{Shop: s, Parts: 100, Bin: bin, Bins: bins}
	for v := range int32(ranks) {
		x.Roots, x.Class = append(x.Roots, v), append(x.Class, v)
	}
	return x
}

// chain is ranks in a row.
func chain(ranks, lag int32) (edges []edge) {
	for v := range ranks - 1 {
		edges = append(edges, edge{v, v + 1, lag})
	}
	return edges
}

func solve(t *testing.T, x Instance, enough float64) ([]Pattern, float64) {
	p, err := New(x, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	defer p.Close()
	list, whole, err := p.Solve(context.Background(), 0, enough)
	require.NoError(t, err)
	return list, whole
}

// check requires that patterns are allreduces in time, and that they and their images together load no link more than it has time for, or links that are
// alike together.
func check(t *testing.T, x Instance, list []Pattern, whole float64) {
	type place struct{ from, to, lasts, bin int32 }
	s, load, sum, room := x.Shop, map[place]float64{}, 0.0, map[place]float64{}
	of := make([]place, s.Machines) // by machine
	for child, arcs := range s.Arcs[0] {
		for _, a := range arcs {
			of[a.Way] = place{a.Parent, int32(child), s.Ways[0][0][a.Way].Lasts, 0}
			room[of[a.Way]] += x.Bin / float64(x.Parts)
		}
	}
	for _, p := range list {
		sum += p.Share
		// use notes that a link is taken in a bin by the pattern, and by its image, the same read backwards over the link the other way.
		use := func(m int32, at, lag int) {
			require.GreaterOrEqual(t, at, 0)
			require.Less(t, at+lag, x.Bins)
			own, image := of[m], of[s.Back[m]]
			own.bin, image.bin = int32(at), int32(x.Bins-1-at-lag)
			load[own] += p.Share / 2
			load[image] += p.Share / 2
		}
		arc := func(dir int, h Hop) (parent int32, m int32, lag int) {
			a := s.Arcs[dir][h.Rank][h.By]
			w := s.Ways[dir][0][a.Way]
			return a.Parent, w.Stays[0].Machine, int(w.Lasts-1) / bin
		}
		whole := map[int32]int{p.Root: p.Meets} // by rank: when it has all that is meant for it
		if p.Twin >= 0 {
			for _, h := range p.Hops[0] {
				if h.Rank == p.Twin {
					_, _, lag := arc(0, h)
					require.EqualValues(t, p.Meets, h.Bin)
					whole[p.Root] = p.Meets + lag
				}
			}
		}
		for _, h := range p.Hops[0] {
			parent, m, lag := arc(0, h)
			from, has := whole[parent]
			if h.Rank == p.Twin {
				require.Equal(t, p.Root, parent)
				from = p.Meets
			}
			require.True(t, has, "parents come before children")
			require.GreaterOrEqual(t, int(h.Bin), from)
			require.NotContains(t, whole, h.Rank)
			whole[h.Rank] = int(h.Bin) + lag
			use(m, int(h.Bin), lag)
		}
		require.Len(t, whole, s.Ranks)
		starts := map[int32]int{p.Root: p.Meets} // by rank: when its sum leaves it
		for _, h := range p.Hops[1] {
			parent, m, lag := arc(1, h)
			at := x.Bins - 1 - int(h.Bin) - lag
			until, has := starts[parent]
			if h.Rank == p.Twin {
				require.Equal(t, p.Root, parent)
				require.Equal(t, p.Meets, at, "sums are exchanged at one time")
				until = p.Meets + lag
			}
			require.True(t, has)
			require.LessOrEqual(t, at+lag, until)
			require.NotContains(t, starts, h.Rank)
			starts[h.Rank] = at
			use(m, at, lag)
		}
		require.Len(t, starts, s.Ranks)
	}
	require.InDelta(t, whole, sum, 1e-6)
	for at, sum := range load {
		links := at
		links.bin = 0
		require.LessOrEqual(t, sum, room[links]+1e-6, "%v", at)
	}
}

// TestPair: between two ranks a link can begin to carry something in all bins but the last ones, and all of the buffer goes over each of them once.
func TestPair(t *testing.T) {
	for lag := range int32(4) {
		x := network(2, chain(2, lag+1), 12)
		list, whole := solve(t, x, math.Inf(1))
		check(t, x, list, whole)
		require.InDelta(t, float64(12-1-lag)*bin/100, whole, 1e-6)
	}
}

// TestPatterns: on random networks patterns are allreduces, and more bins carry no less; there are none in fewer than Least.
func TestPatterns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 25 {
		n := 2 + rng.Int32N(5)
		var edges []edge
		for v := int32(1); v < n; v++ {
			edges = append(edges, edge{rng.Int32N(v), v, rng.Int32N(4)})
		}
		for range rng.IntN(4) {
			u := 1 + rng.Int32N(n-1)
			edges = append(edges, edge{rng.Int32N(u), u, rng.Int32N(4)})
		}
		x := network(int(n), edges, 0)
		least := Least(x)
		if x.Bins = least - 1; x.Bins > 0 {
			list, _ := solve(t, x, math.Inf(1))
			require.Empty(t, list)
		}
		before := 0.0
		for _, more := range []int{0, 3} {
			x.Bins = least + more
			list, whole := solve(t, x, math.Inf(1))
			check(t, x, list, whole)
			require.Greater(t, whole, 0.0)
			require.GreaterOrEqual(t, whole, before-0.01)
			before = whole
		}
	}
}

// TestLeast: sums come from both ends of a chain to the rank in its middle, or to two that exchange them, and go back.
func TestLeast(t *testing.T) {
	for n, want := range map[int32]int{2: 4, 3: 7, 4: 10, 5: 13} {
		require.Equal(t, want, Least(network(int(n), chain(n, 3), 1)), "%d ranks", n)
	}
	require.Equal(t, math.MaxInt, Least(network(3, chain(2, 3), 1)))
}

// TestEnough: a program ends when it carries enough, or at once when its context is done, and goes on.
func TestEnough(t *testing.T) {
	x := network(6, chain(6, 1), 40)
	_, all := solve(t, x, math.Inf(1))
	p, err := New(x, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	defer p.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	list, whole, err := p.Solve(ctx, 0, math.Inf(1))
	require.NoError(t, err)
	require.Zero(t, whole)
	require.Empty(t, list)
	before := whole
	for _, enough := range []float64{all / 2, all * 0.99} {
		list, whole, err = p.Solve(context.Background(), 0, enough)
		require.NoError(t, err)
		check(t, x, list, whole)
		require.GreaterOrEqual(t, whole, enough)
		require.Less(t, before, all)
		before = whole
	}
}

// TestLater: a program that ends later begins with the patterns of another one, at all times at which they may meet, and carries no less.
func TestLater(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for range 10 {
		n := 3 + rng.Int32N(4)
		edges := chain(n, 1+rng.Int32N(3))
		edges = append(edges, edge{0, n - 1, rng.Int32N(4)})
		x := network(int(n), edges, 0)
		x.Bins = Least(x) + 2
		p, err := New(x, rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, err)
		_, before, err := p.Solve(context.Background(), 0, math.Inf(1))
		require.NoError(t, err)
		more := 1 + rng.IntN(3)
		later, err := p.Later(more)
		require.NoError(t, err)
		p.Close()
		x.Bins += more
		require.NotEmpty(t, later.columns)
		list, whole, err := later.Solve(context.Background(), 0, before-1e-6)
		require.NoError(t, err)
		require.Equal(t, 1, later.rounds, "the patterns that it begins with are enough")
		check(t, x, list, whole)
		require.GreaterOrEqual(t, whole, before-1e-6)
		list, whole, err = later.Solve(context.Background(), 0, math.Inf(1))
		require.NoError(t, err)
		check(t, x, list, whole)
		require.LessOrEqual(t, whole, later.Most()*1.01)
		later.Close()
	}
}

// TestNeeded: a program that cannot carry as much as is needed ends as soon as that is seen.
func TestNeeded(t *testing.T) {
	x := network(9, append(chain(9, 1), edge{0, 8, 1}, edge{1, 6, 2}, edge{3, 7, 1}, edge{0, 4, 3}), 30)
	all, err := New(x, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	defer all.Close()
	_, whole, err := all.Solve(context.Background(), 0, math.Inf(1))
	require.NoError(t, err)
	p, err := New(x, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	defer p.Close()
	_, _, err = p.Solve(context.Background(), 2*whole, math.Inf(1))
	require.NoError(t, err)
	require.Less(t, p.Most(), 2*whole)
	require.Less(t, p.rounds, all.rounds)
}
