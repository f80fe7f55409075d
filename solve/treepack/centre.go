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

// reaches are, by rank, the distances to the farthest landmark, and from it.
type reaches struct{ to, from []model.Time }

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

// centres returns ranks that lie centrally: from which, and to which, no landmark is more
// than 1+slack times the distance from the most central one; and for each rank how far it is
// from the landmarks, and how far they are from it, at most. Landmarks are ranks that lie far
// from each other: on a mesh they are its corners. It takes
// O((landmarks+maxRoots)·hops·log ranks).
func centres(n, back *network.Network, slack float64) (roots []centre, reach reaches) {
	ranks := n.Problem.Topology.Ranks
	class := n.Largest()
	measure := func(r int32) centre {
		return centre{r, n.DistancesTo(nil, r, class), back.DistancesTo(nil, r, class)}
	}
	farthest := make([]model.Time, ranks) // from and to any landmark
	reach = reaches{make([]model.Time, ranks), make([]model.Time, ranks)}
	nearest := make([]model.Time, ranks) // from and to the nearest one
	away := func(h centre, v int) model.Time { return h.to[v] + h.from[v] }
	mark := measure(0)
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
		mark = measure(int32(at))
		for v := range ranks {
			farthest[v] = max(farthest[v], away(mark, v))
			reach.to[v], reach.from[v] = max(reach.to[v], mark.to[v]), max(reach.from[v], mark.from[v])
			if nearest[v] = min(nearest[v], away(mark, v)); count == 0 { // rank 0 was not a landmark
				nearest[v] = away(mark, v)
			}
		}
	}
	central := make([]int32, ranks)
	for v := range central {
		central[v] = int32(v)
	}
	slices.SortStableFunc(central, func(a, b int32) int { return cmp.Compare(farthest[a], farthest[b]) })
	limit := model.Time((1 + slack) * float64(farthest[central[0]]))
	count, _ := slices.BinarySearchFunc(central, limit+1, func(v int32, t model.Time) int { return cmp.Compare(farthest[v], t) })
	count = max(1, count)
	most := min(count, maxRoots)
	if ranks > manyRanks {
		most = min(count, fewRoots)
	}
	for i := range most {
		roots = append(roots, measure(central[i*count/most]))
	}
	return roots, reach
}
