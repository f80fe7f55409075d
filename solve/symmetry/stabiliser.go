package symmetry

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Stabiliser returns the images of the links of t under some random symmetries that leave a node where it is, or under any
// if there is no such node (node < 0): by symmetry and link. It returns at most n of them, which may be alike, and fewer if
// ctx is done or if random choices end where there is no symmetry. If cells of the refined partition are orbits, as in most
// networks that are built, each symmetry is as likely as the others. Each takes O(nodes·links·log links) time at worst.
//
// The stabiliser of a rank is what is left of the symmetries for a broadcast from it (Seress, "Permutation Group
// Algorithms", 2003, chapter 4): trees from the rank have images there, and together they load links of one orbit alike.
func Stabiliser(ctx context.Context, t *model.Topology, node, n int, rng *rand.Rand) (images [][]int32) {
	var labels []int
	if node >= 0 {
		labels = make([]int, t.Nodes())
		labels[node] = 1
	}
	s := newSearch(ctx, t, Options{Labels: labels, StayingRanks: true, StayingLinks: true})
	base := s.base()
	for range n {
		if ctx.Err() != nil {
			break
		}
		p := s.random(base, rng)
		if p == nil || !s.net.isSymmetry(p) {
			continue
		}
		image := make([]int32, len(t.Links))
		for l := range image {
			image[l] = int32(s.net.image(p, l))
		}
		images = append(images, image)
	}
	return images
}

// level is a vertex that is made a cell of its own, with what comes of it: the partition after that, refined, and how.
type level struct {
	vertex int
	after  *partition
	trace  []uint64
}

// base returns vertices that no symmetry but the identity leaves where they are.
func (s *search) base() (levels []level) {
	for a := s.root; a.cells < len(a.order); {
		v := -1
		for _, u := range a.order { // one of a smallest cell
			if !a.single(int(u)) && (v < 0 || a.size[a.cell[u]] < a.size[a.cell[v]]) {
				v = int(u)
			}
		}
		a = a.clone()
		s.r.refine(a, []int32{a.set(v)}, false)
		levels = append(levels, level{v, a, slices.Clone(s.r.trace)})
	}
	return levels
}

// random returns a random symmetry, or nil: the vertices of a base have random images, one after the other.
func (s *search) random(base []level, rng *rand.Rand) []int32 {
	a, b := s.root, s.root
	for _, l := range base {
		images := slices.Clone(b.members(a.cell[l.vertex]))
		rng.Shuffle(len(images), func(i, j int) { images[i], images[j] = images[j], images[i] })
		found := false
		for _, w := range images {
			c := b.clone()
			from := []int32{c.set(int(w))}
			s.r.trace = l.trace
			if s.r.refine(c, from, true) {
				a, b, found = l.after, c, true
				break
			}
		}
		if !found {
			return nil
		}
	}
	p := make([]int32, len(a.order))
	for i, v := range a.order {
		p[v] = b.order[i]
	}
	return p
}
