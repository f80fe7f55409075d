package place

import (
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/heap"
	"github.com/oraccl/oraccl/solve/network"
)

// Limits of the shortest paths between two ranks that are tried: over one switch each, as on the planes of a machine, which are all needed to use
// all links of a rank, and longer ones.
const (
	maxPlanes     = 64
	maxCandidates = 8
)

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
	sights   map[int]*sight   // by the rank from which paths begin
	known    map[[2]int][][][]int
	on       []bool // scratch: see onPath
}

// mostKnown is for how many pairs of ranks paths are kept.
const mostKnown = 1 << 14

// sight is what is known of the shortest paths from a rank.
type sight struct {
	dist []model.Time
	back [][]int32 // by node: those before it on shortest paths
}

type edge struct {
	to     int
	weight model.Time
}

func newRouter(p *model.Problem) *router {
	t := p.Topology
	r := &router{
		t: t, single: p.Cost == model.LinkRounds, parallel: map[[2]int][]int{}, next: make([][]edge, t.Nodes()),
		sights: map[int]*sight{}, known: map[[2]int][][][]int{}, on: make([]bool, t.Nodes()),
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
		from := r.sights[u]
		if from == nil {
			from = r.look(u)
			r.sights[u] = from
		}
		if from.dist[v] == model.MaxTime && r.single {
			return nil, fmt.Errorf("rank %d is more than one hop from rank %d on %s, which link-rounds do not allow a transfer", u, v, r.t.Name)
		} else if from.dist[v] == model.MaxTime {
			return nil, fmt.Errorf("rank %d cannot reach rank %d on %s", u, v, r.t.Name)
		}
		nodes = r.walk(from, u, v)
	}
	var paths [][][]int
	for _, n := range nodes {
		var steps [][]int
		for i := range len(n) - 1 {
			steps = append(steps, r.parallel[[2]int{n[i], n[i+1]}])
		}
		paths = append(paths, steps)
	}
	if len(r.known) == mostKnown {
		clear(r.known)
	}
	r.known[pair] = paths
	return paths, nil
}

// walk returns the shortest paths from u to v, up to maxPlanes where they are over one switch, up to maxCandidates where they are not.
func (r *router) walk(from *sight, u, v int) (found [][]int) {
	on, most := r.onPath(from, v), maxCandidates
	var extend func(path []int)
	extend = func(path []int) {
		last := path[len(path)-1]
		if last == v {
			if found = append(found, slices.Clone(path)); len(found) == 1 && len(path) == 3 && !r.t.IsRank(path[1]) {
				most = maxPlanes
			}
			return
		}
		for _, e := range r.next[last] {
			if len(found) < most && r.on[e.to] && from.dist[last].Add(e.weight) == from.dist[e.to] {
				extend(append(path, e.to))
			}
		}
	}
	extend([]int{u})
	for _, w := range on {
		r.on[w] = false
	}
	return found
}

// onPath marks in r.on the nodes that lie on a shortest path to v, and lists them: no ranks where
// a transfer is one hop, even if the way over them is as short.
func (r *router) onPath(from *sight, v int) []int32 {
	on := []int32{int32(v)}
	r.on[v] = true
	for i := 0; i < len(on); i++ {
		for _, u := range from.back[on[i]] {
			if !r.on[u] {
				r.on[u] = true
				on = append(on, u)
			}
		}
	}
	return on
}

// look finds the shortest paths from u to all nodes.
func (r *router) look(u int) *sight {
	s := &sight{dist: r.distances(u), back: make([][]int32, len(r.next))}
	for v, edges := range r.next {
		if s.dist[v] == model.MaxTime || r.single && r.t.IsRank(v) && s.dist[v] > 0 {
			continue
		}
		for _, e := range edges {
			if s.dist[v].Add(e.weight) == s.dist[e.to] {
				s.back[e.to] = append(s.back[e.to], int32(v))
			}
		}
	}
	return s
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
