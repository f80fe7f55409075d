package cayley

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// TestRecognise looks at links only: the name is changed, and one link less, slower or
// elsewhere is seen.
func TestRecognise(t *testing.T) {
	for name, want := range map[string]string{
		"ring:6": "group Z6, 2 generators", "uniring:6": "group Z6, 1 generators", "full:6": "group Z6, 5 generators",
		"torus:4x6": "group Z4×Z6, 4 generators", "torus:3x3x2": "group Z3×Z3×Z2, 5 generators",
		"hypercube:4": "group Z2×Z2×Z2×Z2, 4 generators", "tpuv4:4x4x4": "group Z4×Z4×Z4, 6 generators",
		"mesh:3x3": "", "line:3": "", "dgx1": "", "switch:4": "",
	} {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err, name)
		tp.Name = "x"
		g := recognise(context.Background(), tp)
		if want == "" {
			require.Nil(t, g, name)
			continue
		}
		require.NotNil(t, g, name)
		require.Equal(t, want, g.String(), name)
		for _, s := range g.gens {
			for v, l := range s.links {
				require.Equal(t, v, tp.Links[l].Src)
				require.Equal(t, g.add(v, s.step), tp.Links[l].Dst)
			}
		}
		links := tp.Links
		tp.Links = links[1:]
		require.Nil(t, recognise(context.Background(), tp), "%s with a link less", name)
		tp.Links = append([]model.Link(nil), links...)
		tp.Links[1].Bandwidth /= 2
		require.Nil(t, recognise(context.Background(), tp), "%s with a slow link", name)
	}
	wires := topo.Options{Bandwidth: []int64{1e9, 2e9}, Alpha: []model.Time{1, 2}}
	tp, err := topo.Parse("torus:3x4", wires)
	require.NoError(t, err)
	require.Equal(t, "group Z3×Z4, 4 generators", recognise(context.Background(), tp).String())
}

// TestColourEdges colours random multigraphs: no two edges at a node alike, and as
// many colours as the largest degree.
func TestColourEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		left, right := 1+rng.IntN(8), 1+rng.IntN(8)
		edges := make([][2]int, rng.IntN(60))
		degree := map[[2]int]int{}
		most := 0
		for i := range edges {
			edges[i] = [2]int{rng.IntN(left), rng.IntN(right)}
			for side, v := range edges[i] {
				degree[[2]int{side, v}]++
				most = max(most, degree[[2]int{side, v}])
			}
		}
		colour, n := colourEdges(edges, left, right)
		require.Equal(t, most, n)
		seen := map[[3]int]bool{}
		for i, e := range edges {
			require.Less(t, colour[i], n)
			for side, v := range e {
				require.False(t, seen[[3]int{side, v, colour[i]}], "two edges at a node alike")
				seen[[3]int{side, v, colour[i]}] = true
			}
		}
	}
}
