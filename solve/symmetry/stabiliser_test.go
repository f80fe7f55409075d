package symmetry

import (
	"math/rand/v2"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// TestStabiliser looks at random symmetries that leave a rank where it is: links go to links with the same figures whose
// ends are images of its ends, those of the rank stay at it, and the orbits are as many as by hand.
func TestStabiliser(t *testing.T) {
	for _, c := range []struct {
		name   string
		node   int
		orbits int
	}{
		{"ring:6", 0, 6},           // both ways: the reflection exchanges pairs of links
		{"switch:5", 2, 4},         // up and down, of the rank and of the others
		{"switch:5", -1, 2},        // all symmetries
		{"rfs:2x2x4", 1, 20},       // rings and full graphs of two are alike: 6 classes of ranks, up, down, and 8 of pairs
		{"dragonfly:3x2x2", 0, 16}, // as many as colour refinement tells apart
		{"torus:4x4", 5, 8},        // it is a hypercube: from each of four distances on and back
		{"line:4", 0, 6},           // only the identity
	} {
		top, err := topo.Parse(c.name, topo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		images := Stabiliser(t.Context(), top, c.node, 40, rand.New(rand.NewPCG(1, 1)))
		if len(images) != 40 {
			t.Fatalf("%s: %d symmetries, want 40", c.name, len(images))
		}
		orbits := model.NewSets(len(top.Links))
		for _, image := range images {
			at := map[int]int{}
			for l, m := range image {
				a, b := top.Links[l], top.Links[m]
				if a.Alpha != b.Alpha || a.Bandwidth != b.Bandwidth {
					t.Fatalf("%s: link %d goes to %d, which differs", c.name, l, m)
				}
				for _, pair := range [][2]int{{a.Src, b.Src}, {a.Dst, b.Dst}} {
					if was, known := at[pair[0]]; known && was != pair[1] {
						t.Fatalf("%s: node %d has two images", c.name, pair[0])
					}
					at[pair[0]] = pair[1]
				}
				orbits.Join(l, int(m))
			}
			if c.node >= 0 && at[c.node] != c.node {
				t.Fatalf("%s: node %d is moved", c.name, c.node)
			}
		}
		if _, n := orbits.Numbers(); n != c.orbits {
			t.Errorf("%s: %d orbits of links, want %d", c.name, n, c.orbits)
		}
	}
}
