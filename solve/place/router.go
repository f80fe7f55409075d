package place

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/heap"
	"github.com/oraccl/oraccl/solve/network"
)

// maxCandidates is how many of the shortest paths between two ranks are tried.
const maxCandidates = 8

// router finds paths from rank to rank: a direct link if there is one, else the
// shortest paths, the first ones in order of their nodes. A link that leaves a
// rank counts as its latency and the time of a chunk, one that leaves a switch as
// its latency: chunks pass switches cut-through.
//
// It is Dijkstra's algorithm by hand: the one of gonum's graph/path walks over
// maps, so that of several shortest paths it returns another one each time.
type router struct {
	t        *model.Topology
	single   bool             // one hop a transfer: no rank inside a route
	parallel map[[2]int][]int // the links between two nodes, in order of index
	next     [][]edge         // by node
	dist     map[int][]model.Time
	known    map[[2]int][][][]int
}

type edge struct {
	to     int
	weight model.Time
}

func newRouter(p *model.Problem) *router {
	t := p.Topology
	r := &router{
		t: t, single: p.Cost == model.LinkRounds, parallel: map[[2]int][]int{}, next: make([][]edge, t.Nodes()),
		dist: map[int][]model.Time{}, known: map[[2]int][][][]int{},
	}
	typical := max(1, p.Space()/int64(len(p.Chunks)))
	for i, l := range t.Links {
		pair := [2]int{l.Src, l.Dst}
		weight := l.Alpha + 1 // no link is free, so that shortest paths are simple
		if t.IsRank(l.Src) {
			weight = weight.Add(model.TransferTime(typical, l.Bandwidth))
		}
		if r.parallel[pair] == nil {
			r.next[l.Src] = append(r.next[l.Src], edge{l.Dst, weight})
		} else {
			for n := range r.next[l.Src] {
				if e := &r.next[l.Src][n]; e.to == l.Dst {
					e.weight = min(e.weight, weight)
				}
			}
		}
		r.parallel[pair] = append(r.parallel[pair], i)
	}
	return r
}

// between returns paths from rank u to rank v, each a list of steps, each step the
// parallel links to choose from.
func (r *router) between(u, v int) ([][][]int, error) {
	pair := [2]int{u, v}
	if paths, ok := r.known[pair]; ok {
		return paths, nil
	}
	var nodes [][]int
	if len(r.parallel[pair]) > 0 {
		nodes = [][]int{{u, v}}
	} else {
		dist, ok := r.dist[u]
		if !ok {
			dist = r.distances(u)
			r.dist[u] = dist
		}
		if dist[v] == model.MaxTime && r.single {
			return nil, fmt.Errorf("rank %d is more than one hop from rank %d on %s, which link-rounds do not allow a transfer", u, v, r.t.Name)
		} else if dist[v] == model.MaxTime {
			return nil, fmt.Errorf("rank %d cannot reach rank %d on %s", u, v, r.t.Name)
		}
		nodes = r.walk(dist, []int{u}, v, nil)
	}
	var paths [][][]int
	for _, n := range nodes {
		var steps [][]int
		for i := range len(n) - 1 {
			steps = append(steps, r.parallel[[2]int{n[i], n[i+1]}])
		}
		paths = append(paths, steps)
	}
	r.known[pair] = paths
	return paths, nil
}

// walk appends the shortest paths to v that begin with path, up to maxCandidates.
func (r *router) walk(dist []model.Time, path []int, v int, found [][]int) [][]int {
	back := r.onPath(dist, v)
	var extend func(path []int)
	extend = func(path []int) {
		last := path[len(path)-1]
		if last == v {
			found = append(found, append([]int(nil), path...))
			return
		}
		for _, e := range r.next[last] {
			if len(found) < maxCandidates && back[e.to] && dist[last].Add(e.weight) == dist[e.to] {
				extend(append(path, e.to))
			}
		}
	}
	extend(path)
	return found
}

// onPath returns the nodes that lie on a shortest path to v: no ranks where a transfer is
// one hop, even if the way over them is as short.
func (r *router) onPath(dist []model.Time, v int) []bool {
	on := make([]bool, len(dist))
	on[v] = true
	in := make([][]edge, len(dist))
	for u, edges := range r.next {
		if r.single && r.t.IsRank(u) && dist[u] > 0 {
			continue
		}
		for _, e := range edges {
			if dist[u] != model.MaxTime && dist[u].Add(e.weight) == dist[e.to] {
				in[e.to] = append(in[e.to], edge{u, e.weight})
			}
		}
	}
	stack := []int{v}
	for len(stack) > 0 {
		w := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, e := range in[w] {
			if !on[e.to] {
				on[e.to] = true
				stack = append(stack, e.to)
			}
		}
	}
	return on
}

// distances returns the distance of every node from u, MaxTime if there is no path.
func (r *router) distances(u int) []model.Time {
	dist := make([]model.Time, len(r.next))
	for v := range dist {
		dist[v] = model.MaxTime
	}
	dist[u] = 0
	queue := heap.Heap[readyGroup]{{0, int32(u)}}
	for len(queue) > 0 {
		q := queue.Pop()
		v := int(q.group)
		if q.at > dist[v] || r.single && v != u && r.t.IsRank(v) {
			continue
		}
		for _, e := range r.next[v] {
			if d := dist[v].Add(e.weight); d < dist[e.to] {
				dist[e.to] = d
				queue.Push(readyGroup{d, int32(e.to)})
			}
		}
	}
	return dist
}

// Reachable returns an error that names a pair of ranks between which there is no
// path, or nil if from every rank there is one to every other. It takes O(links).
func Reachable(t *model.Topology) error {
	if v := slices.Index(network.Reached(t, 0, true)[:t.Ranks], false); v >= 0 {
		return fmt.Errorf("rank 0 cannot reach rank %d on %s", v, t.Name)
	}
	if v := slices.Index(network.Reached(t, 0, false)[:t.Ranks], false); v >= 0 {
		return fmt.Errorf("rank %d cannot reach rank 0 on %s", v, t.Name)
	}
	return nil
}
