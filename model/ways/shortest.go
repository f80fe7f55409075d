package ways

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Shortest finds routes from rank to rank that pass switches only, with the fewest links.
type Shortest struct {
	t     *model.Topology
	out   [][]int
	known map[[2]int][]int
}

// NewShortest returns a finder for t. It takes O(links) time.
func NewShortest(t *model.Topology) *Shortest {
	return &Shortest{t: t, out: t.Out(), known: map[[2]int][]int{}}
}

// Route returns the links of a route from rank u to rank v, or nil if there is none. Of routes
// of equal length it is the one with the lowest numbers of links, from its beginning. It takes
// O(links) time for each pair that is new. The caller must not change it.
func (w *Shortest) Route(u, v int) []int {
	if way, ok := w.known[[2]int{u, v}]; ok {
		return way
	}
	by := map[int]int{} // the link over which a node was reached
	queue := []int{u}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		if at != u && w.t.IsRank(at) {
			continue
		}
		for _, l := range w.out[at] {
			d := w.t.Links[l].Dst
			if _, seen := by[d]; !seen && d != u {
				by[d] = l
				queue = append(queue, d)
			}
		}
	}
	var way []int
	if _, ok := by[v]; ok {
		for at := v; at != u; at = w.t.Links[by[at]].Src {
			way = append(way, by[at])
		}
		slices.Reverse(way)
	}
	w.known[[2]int{u, v}] = way
	return way
}
