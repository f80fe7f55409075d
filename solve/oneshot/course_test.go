package oneshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// searchOn returns a search for compositions on a network by name.
func searchOn(t *testing.T, name string) *search {
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	b, cancel := solve.NewBudget(t.Context(), 0, 1)
	t.Cleanup(cancel)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 16, Cost: model.Pipelined}
	return &search{p: p, b: b, ways: &ways{}}
}

// A side of a grid has plans from that which is soonest over to that which takes the fewest hops: on a ring of eight
// exchanges in pairs and then among all in four latencies, and sums at two neighbours in seven.
func TestSides(t *testing.T) {
	s := searchOn(t, "ring:8")
	var got [][3]int
	for _, y := range s.sides(8, true) {
		got = append(got, [3]int{int(y.latency / 1000), int(y.collects + y.exchange), y.owners})
	}
	require.Equal(t, [][3]int{{4, 56, 8}, {5, 32, 8}, {6, 24, 4}, {7, 14, 2}, {8, 14, 1}}, got)
	for _, y := range s.sides(5, false) {
		require.Equal(t, []int{5}, y.radix)
	}
}

func TestFactorings(t *testing.T) {
	require.Equal(t, [][]int{{2, 2, 2}, {2, 4}, {4, 2}, {8}}, factorings(8))
	require.Equal(t, [][]int{{7}}, factorings(7))
}

// Translations of a torus move every rank and link, and the first of them are subgroups.
func TestTranslations(t *testing.T) {
	for _, name := range []string{"ring:6", "torus:4x6", "torus:3x3x2", "hypercube:3"} {
		s := searchOn(t, name)
		nodes, orders := translations(s.p.Topology)
		require.Len(t, nodes, s.n(), name)
		require.Equal(t, s.n(), orders[len(orders)-1])
		x := newImages(s)
		for _, order := range orders {
			for _, a := range nodes[:order] {
				for _, b := range nodes[:order] {
					both := make([]int32, len(a))
					for v := range both {
						both[v] = a[b[v]]
					}
					require.True(t, slices.ContainsFunc(nodes[:order], func(c []int32) bool { return slices.Equal(both, c) }), name)
				}
			}
			of, size := x.orbits(s.p.Topology, order)
			for l := range of {
				require.Equal(t, order, size[of[l]], "%s: link %d", name, l)
			}
		}
	}
	for _, name := range []string{"mesh:3x3", "line:4", "switch:4", "dgx1"} {
		nodes, _ := translations(searchOn(t, name).p.Topology)
		require.Nil(t, nodes, name)
	}
}

// Images of a course lead from member to member over links that exist.
func TestImages(t *testing.T) {
	for _, name := range []string{"torus:4x4", "fattree:4x4", "dgxh100:2", "dragonfly:3x2x2", "mesh:4x4"} {
		s := searchOn(t, name)
		s.guide, s.images = newGuide(s.p, s.ways), newImages(s)
		q := layouts(s.p)[0].plans()[0]
		c := s.guide.course(q, q.turns[0], 0)
		for e := range s.images.nodes {
			d := s.images.image(e, c, s.guide)
			for i, x := range d.steps {
				for j, w := range x.pairs {
					route := s.ways.routes[w.route]
					at := s.p.Members()[w.from]
					for _, l := range route {
						require.Equal(t, at, s.p.Topology.Links[l].Src, name)
						at = s.p.Topology.Links[l].Dst
					}
					require.Equal(t, s.p.Members()[w.to], at, name)
					require.Len(t, route, len(s.ways.routes[c.steps[i].pairs[j].route]), name)
				}
			}
		}
	}
}
