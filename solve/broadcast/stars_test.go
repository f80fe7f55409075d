package broadcast

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// TestStars: trees span all ranks from the root, there is one for each region but that of the root, and where there are not
// more ranks in a region than regions no rank sends or receives more often than there are trees, at one place each.
func TestStars(t *testing.T) {
	for _, c := range []struct {
		name string
		n, m int
	}{{"fattree:16x16", 16, 16}, {"fattree:8x4", 8, 4}, {"fattree:4x4", 4, 4}, {"fattree:6x3", 6, 3}, {"fattree:3x5", 3, 5}, {"dragonfly:4x4x4", 16, 4}} {
		for _, root := range []int{0, 1, c.n*c.m - 1} {
			p := problem(t, c.name, model.Broadcast)
			p.Collective.Root = root
			near := newNeighbours(p)
			trees := stars(p, near)
			require.Len(t, trees, c.n-1, c.name)
			type use struct {
				rank, colour int
				in           bool
			}
			used := map[use]bool{}
			for _, arcs := range trees {
				seen := map[int]bool{root: true}
				for _, a := range arcs {
					require.True(t, seen[a.from] && !seen[a.to])
					seen[a.to] = true
					if c.m <= c.n {
						require.Less(t, a.colour, len(trees))
					}
					for _, u := range []use{{a.from, a.colour, false}, {a.to, a.colour, true}} {
						require.False(t, used[u], fmt.Sprint(c.name, u))
						used[u] = true
					}
				}
				require.Len(t, seen, c.n*c.m)
			}
		}
	}
	require.Nil(t, stars(problem(t, "switch:8", model.Broadcast), newNeighbours(problem(t, "switch:8", model.Broadcast))), "one region")
}

// TestUntangled: of the trees over a dragonfly's groups no two use a link between routers in one place of a period, though
// ranks send and receive in every place, so that a broadcast ends about when its bytes can be in, and the chunk's way later.
func TestUntangled(t *testing.T) {
	for _, root := range []int{0, 37} {
		p := problem(t, "dragonfly:4x4x4", model.Broadcast)
		p.Collective.Root, p.Size = root, 8<<20
		near := newNeighbours(p)
		require.Len(t, near.grouped(), 4)
		trees := stars(p, near)
		used, tight := map[[2]int]bool{}, 0
		for _, arcs := range trees {
			for _, a := range arcs {
				require.Len(t, a.routes, 1)
				for _, l := range a.routes[0] {
					require.False(t, used[[2]int{l, a.colour}])
					used[[2]int{l, a.colour}] = true
				}
				tight++
			}
		}
		require.Equal(t, 15*63, tight)
		r := repeated(context.Background(), p, slices.Values([]period{{trees, len(trees)}}), mostRepeated)
		require.Less(t, float64(r.Makespan())/1e6, 165.0, "156.3 us come in")
	}
	require.Len(t, newNeighbours(problem(t, "fattree:8x4", model.Broadcast)).grouped(), 8, "each leaf alone")
}

// TestChains: exchanges in random trees leave every rank one arc in a place, and count what collides.
func TestChains(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 29))
		n, links := 3+rng.IntN(5), 40
		var trees [][]bough
		for range 2 + rng.IntN(3) {
			var arcs []bough
			for v := 1; v < n; v++ {
				var routes [][]int
				for range 1 + rng.IntN(2) {
					routes = append(routes, []int{rng.IntN(links), rng.IntN(4), rng.IntN(links)})
				}
				arcs = append(arcs, bough{rng.IntN(v), v, routes, -1})
			}
			trees = append(trees, arcs)
		}
		places := placed(trees, n)
		x := newChains(trees, n, links, places)
		for range 100 {
			x.exchange(int32(rng.IntN(len(x.arcs))), rng.IntN(places))
			load, out, in, cost := map[[2]int]int{}, map[[2]int]bool{}, map[[2]int]bool{}, 0
			for i, a := range x.arcs {
				require.False(t, out[[2]int{a.from, a.colour}] || in[[2]int{a.to, a.colour}])
				out[[2]int{a.from, a.colour}], in[[2]int{a.to, a.colour}] = true, true
				for _, l := range x.between(int32(i), x.way[i]) {
					cost += load[[2]int{l, a.colour}]
					load[[2]int{l, a.colour}]++
				}
			}
			require.Equal(t, cost, x.cost)
		}
	}
}
