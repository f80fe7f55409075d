package quotient

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// router finds the routes of hops.
type router struct {
	t       *model.Topology
	through []bool // by node: hops may lead over it
	out     [][]int
	far     []int // by node
}

func newRouter(t *model.Topology, through []bool) *router {
	return &router{t: t, through: through, out: t.Out(), far: make([]int, t.Nodes())}
}

const (
	maxFound  = 64 // routes that are looked at between two ranks
	maxRoutes = 16 // of which some are kept
)

// from returns routes from rank u to each other member that hops can reach: all links that lead
// there, and of the routes over other nodes some with the fewest links.
func (r *router) from(u int, member []bool) [][]int {
	t := r.t
	for v := range r.far {
		r.far[v] = -1
	}
	indirect := make([]int, t.Nodes()) // links of the shortest route over other nodes
	r.far[u] = 0
	for queue := []int{u}; len(queue) > 0; queue = queue[1:] {
		for _, l := range r.out[queue[0]] {
			v := t.Links[l].Dst
			if queue[0] != u && indirect[v] == 0 {
				indirect[v] = r.far[queue[0]] + 1
			}
			if r.far[v] < 0 && r.through[v] {
				r.far[v] = r.far[queue[0]] + 1
				queue = append(queue, v)
			}
		}
	}
	found := make([][][]int, t.Ranks)
	var path []int
	var walk func(v int)
	walk = func(v int) {
		for _, l := range r.out[v] {
			w := t.Links[l].Dst
			switch path = append(path, l); {
			case w == u:
			case t.IsRank(w) && !r.through[w]:
				if member[w] && (len(path) == 1 || len(path) == indirect[w]) && len(found[w]) < maxFound {
					found[w] = append(found[w], slices.Clone(path))
				}
			case r.far[w] == len(path):
				walk(w)
			}
			path = path[:len(path)-1]
		}
	}
	walk(u)
	var all [][]int
	for v, list := range found {
		if len(list) > maxRoutes { // not always the first: others take those
			turn := (u + v) % len(list)
			list = append(slices.Clone(list[turn:]), list[:turn]...)[:maxRoutes]
		}
		all = append(all, list...)
	}
	return all
}
