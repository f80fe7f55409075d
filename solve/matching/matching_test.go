package matching

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// random returns a graph on n vertices in which a pair has an edge with probability
// density/10, of a weight up to heaviest.
func random(rng *rand.Rand, n, density int, heaviest int64) []Edge {
	var edges []Edge
	for v := range n {
		for u := range v {
			if rng.IntN(10) < density {
				edges = append(edges, Edge{u, v, 1 + rng.Int64N(heaviest)})
			}
		}
	}
	return edges
}

// worth returns how many edges a matching has and what they weigh together, after a
// look at whether it is one.
func worth(t *testing.T, edges []Edge, mate []int) (size int, weight int64) {
	t.Helper()
	best := map[[2]int]int64{}
	for _, e := range edges {
		key := [2]int{min(e.U, e.V), max(e.U, e.V)}
		best[key] = max(best[key], e.Weight)
	}
	for v, u := range mate {
		if u < 0 {
			continue
		}
		require.Equal(t, v, mate[u])
		if u < v {
			require.Contains(t, best, [2]int{u, v}, "not an edge")
			size++
			weight += best[[2]int{u, v}]
		}
	}
	return size, weight
}

// exhaust tries all matchings of the vertices that are left.
func exhaust(weight [][]int64, cardinality bool, used []bool) (size int, total int64) {
	v := slices.Index(used, false)
	if v < 0 {
		return 0, 0
	}
	used[v] = true
	size, total = exhaust(weight, cardinality, used)
	for u := range used {
		if used[u] || weight[v][u] == 0 {
			continue
		}
		used[u] = true
		n, w := exhaust(weight, cardinality, used)
		used[u] = false
		n, w = n+1, w+weight[v][u]
		if cardinality && n != size {
			if n > size {
				size, total = n, w
			}
		} else if w > total {
			size, total = n, w
		}
	}
	used[v] = false
	return size, total
}

// TestMaxAgainstAll: on small graphs no matching at all is better.
func TestMaxAgainstAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n := rng.IntN(10)
		edges := random(rng, n, 1+rng.IntN(10), []int64{1, 2, 5, 1000}[rng.IntN(4)])
		weight := make([][]int64, n)
		for v := range weight {
			weight[v] = make([]int64, n)
		}
		for _, e := range edges {
			weight[e.U][e.V], weight[e.V][e.U] = e.Weight, e.Weight
		}
		for _, cardinality := range []bool{false, true} {
			mate, err := Max(n, edges, cardinality)
			require.NoError(t, err)
			size, got := worth(t, edges, mate)
			most, best := exhaust(weight, cardinality, make([]bool, n))
			require.Equal(t, best, got, "%v", edges)
			if cardinality {
				require.Equal(t, most, size, "%v", edges)
			}
		}
	}
}

// TestMaxByDuality: on large graphs the prices prove that no matching is heavier: no
// edge weighs more than the prices of its ends and of the blossoms that it lies in,
// and what all prices allow is what the matching weighs.
func TestMaxByDuality(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	blossoms := 0
	for round := range 60 {
		n := 20 + rng.IntN(60)
		edges := random(rng, n, 1+rng.IntN(10), []int64{1, 2, 3, 100}[round%4])
		s, err := prepare(n, edges, round%3 == 0)
		require.NoError(t, err)
		for s.phase() {
		}
		twice := int64(0)
		for v := 1; v <= n; v++ {
			require.GreaterOrEqual(t, s.price[v], int64(0))
			twice += s.price[v]
			if u := s.match[v]; u != 0 {
				require.Equal(t, v, s.match[u])
				twice -= s.at(v, u).w // each edge comes up from both its ends
			}
		}
		within := make([][]int, s.top+1) // by vertex: the blossoms that it lies in
		var open func(b int) int
		open = func(b int) (vertices int) {
			if b <= n {
				return 1
			}
			blossoms++
			require.GreaterOrEqual(t, s.price[b], int64(0))
			for _, c := range s.cycle[b] {
				vertices += open(c)
			}
			twice += s.price[b] * int64(vertices/2)
			for v := 1; v <= n; v++ {
				if s.child[b][v] != 0 {
					within[v] = append(within[v], b)
				}
			}
			return vertices
		}
		for x := 1; x <= s.top; x++ {
			if s.node[x] == x {
				open(x)
			}
		}
		require.Zero(t, twice, "the prices allow more")
		for _, e := range edges {
			u, v := e.U+1, e.V+1
			allowed := s.price[u] + s.price[v]
			for _, b := range within[u] {
				if slices.Contains(within[v], b) {
					allowed += s.price[b]
				}
			}
			require.GreaterOrEqual(t, allowed, 2*s.at(u, v).w)
		}
	}
	require.Greater(t, blossoms, 20, "too few graphs need blossoms")
}

func TestMaxRefuses(t *testing.T) {
	for want, bad := range map[string]struct {
		n int
		e []Edge
	}{
		"-1 vertices, want 0 to 2048":                                     {-1, nil},
		"2049 vertices, want 0 to 2048":                                   {2049, nil},
		"edge 0: between 0 and 3, want two vertices of 0 to 2":            {3, []Edge{{0, 3, 1}}},
		"edge 0: between -1 and 1, want two vertices of 0 to 2":           {3, []Edge{{-1, 1, 1}}},
		"edge 1: between 1 and 1, want two vertices of 0 to 2":            {3, []Edge{{0, 1, 1}, {1, 1, 1}}},
		"edge 0: weight 0, want 1 to 230584300921369395":                  {3, []Edge{{0, 1, 0}}},
		"edge 0: weight 230584300921369396, want 1 to 230584300921369395": {3, []Edge{{0, 1, 230584300921369396}}},
	} {
		_, err := Max(bad.n, bad.e, false)
		require.EqualError(t, err, want)
	}
}

// TestMaxParallel: the heaviest of parallel edges, and equal results at each call.
func TestMaxParallel(t *testing.T) {
	edges := []Edge{{0, 1, 3}, {1, 0, 7}, {1, 2, 6}, {0, 1, 5}}
	mate, err := Max(3, edges, false)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0, -1}, mate)
	rng := rand.New(rand.NewPCG(5, 6))
	edges = random(rng, 60, 5, 2)
	first, err := Max(60, edges, true)
	require.NoError(t, err)
	again, err := Max(60, edges, true)
	require.NoError(t, err)
	require.Equal(t, first, again)
}

func BenchmarkMax(b *testing.B) {
	edges := random(rand.New(rand.NewPCG(7, 8)), 190, 9, 2)
	for b.Loop() {
		if _, err := Max(190, edges, true); err != nil {
			b.Fatal(err)
		}
	}
}
