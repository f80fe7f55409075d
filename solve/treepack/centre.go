package treepack

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// centre is a rank that may be the root of trees, with the distances of all ranks to it and
// of it to all ranks: times that the largest chunk needs if it meets no other.
type centre struct {
	rank     int32
	to, from []model.Time
}

const (
	// landmarks is how many ranks are looked at to find out which are central.
	landmarks = 16
	// maxRoots is how many ranks may be roots at most, and fewRoots where there are more than
	// manyRanks: there these do, and chunks with the same root pass ranks in their order, so
	// that less memory is in use at a time.
	maxRoots  = 64
	fewRoots  = 16
	manyRanks = 256
)

// middle is how far ranks are from landmarks, which lie far from each other: on a mesh they are
// its corners.
type middle struct {
	n, back  *network.Network
	to, from []model.Time // by rank: the distance to the farthest landmark, and that from the farthest one
	central  []int32      // the ranks, the most central one first
	farthest []model.Time // by rank: to a landmark and back, at most
}

func (m *middle) measure(r int32) centre {
	class := m.n.Largest()
	return centre{r, m.n.DistancesTo(nil, r, class), m.back.DistancesTo(nil, r, class)}
}

// newMiddle finds the landmarks of a network, whose mirror image is back. It takes O(landmarks·hops·log ranks).
func newMiddle(n, back *network.Network) *middle {
	ranks := n.Problem.Topology.Ranks
	m := &middle{n: n, back: back, to: make([]model.Time, ranks), from: make([]model.Time, ranks), farthest: make([]model.Time, ranks)}
	nearest := make([]model.Time, ranks) // from and to the nearest one
	away := func(h centre, v int) model.Time { return h.to[v] + h.from[v] }
	mark := m.measure(0)
	for v := range ranks {
		nearest[v] = away(mark, v)
	}
	for count := range min(landmarks, ranks) {
		at := 0
		for v := range ranks {
			if nearest[v] > nearest[at] {
				at = v
			}
		}
		mark = m.measure(int32(at))
		for v := range ranks {
			m.farthest[v] = max(m.farthest[v], away(mark, v))
			m.to[v], m.from[v] = max(m.to[v], mark.to[v]), max(m.from[v], mark.from[v])
			if nearest[v] = min(nearest[v], away(mark, v)); count == 0 { // rank 0 was not a landmark
				nearest[v] = away(mark, v)
			}
		}
	}
	for v := range int32(ranks) {
		m.central = append(m.central, v)
	}
	slices.SortStableFunc(m.central, func(a, b int32) int { return cmp.Compare(m.farthest[a], m.farthest[b]) })
	return m
}

// centres returns ranks that lie centrally: from which, and to which, no landmark is more
// than 1+slack times the distance from the most central one. It takes O(maxRoots·hops·log ranks).
func (m *middle) centres(slack float64) (roots []centre) {
	limit := model.Time((1 + slack) * float64(m.farthest[m.central[0]]))
	count, _ := slices.BinarySearchFunc(m.central, limit+1, func(v int32, t model.Time) int { return cmp.Compare(m.farthest[v], t) })
	count = max(1, count)
	most := min(count, maxRoots)
	if len(m.central) > manyRanks {
		most = min(count, fewRoots)
	}
	for i := range most {
		roots = append(roots, m.measure(m.central[i*count/most]))
	}
	return roots
}
