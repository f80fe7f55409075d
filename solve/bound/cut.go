package bound

import (
	"cmp"
	"context"
	"slices"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"

	"github.com/oraccl/oraccl/model"
)

const (
	// exhaustive is the number of nodes up to which every set is tried.
	exhaustive = 12
	// climbs is from how many of the best sets a local search starts.
	climbs = 4
	// maxWork limits the search: sets tried times what one costs.
	maxWork = 2e8
)

// cuts returns the best bound of a set of nodes that it finds: of all sets where
// there are few nodes, else of clusters of fast links, balls around nodes, and runs
// of rank numbers, improved by moving single nodes. In steady state the best cut is
// the optimum of allgather (ForestColl, Zhao et al., arXiv:2402.06787, theorem 1).
func (f *finder) cuts(ctx context.Context) (model.Time, model.Witness) {
	n := f.p.Topology.Nodes()
	s := &search{finder: f, ctx: ctx, seen: map[string]bool{}}
	s.left = int(maxWork / float64(len(f.units.Chunks)+len(f.p.Topology.Links)+n))
	if n <= exhaustive {
		inside := make([]bool, n)
		for set := 1; set < 1<<n-1; set++ {
			for v := range inside {
				inside[v] = set>>v&1 == 1
			}
			s.try(inside)
		}
	} else {
		s.clusters()
		s.runs()
		s.balls()
		s.climb()
	}
	if len(s.best) == 0 {
		return 0, nil
	}
	var nodes []int
	for v, in := range s.best[0].inside {
		if in {
			nodes = append(nodes, v)
		}
	}
	return s.best[0].bound, model.Cut{Nodes: nodes}
}

// search keeps the best sets that were tried.
type search struct {
	*finder
	ctx  context.Context
	seen map[string]bool
	best []candidate // by descending bound, at most climbs
	left int         // how many more sets to try
}

type candidate struct {
	bound  model.Time
	inside []bool
}

// try looks at a set and returns its bound, 0 if it yields none.
func (s *search) try(inside []bool) model.Time {
	key := make([]byte, (len(inside)+7)/8)
	for v, in := range inside {
		if in {
			key[v/8] |= 1 << (v % 8)
		}
	}
	if s.seen[string(key)] || s.left <= 0 || s.ctx.Err() != nil {
		return 0
	}
	s.seen[string(key)] = true
	s.left--
	l := s.leaving(inside)
	if l.count == 0 {
		return 0
	}
	var links []int
	for i, link := range s.p.Topology.Links {
		if inside[link.Src] && !inside[link.Dst] {
			links = append(links, i)
		}
	}
	t := s.least(l, [][]int{links}, false)
	if t == model.MaxTime || len(s.best) == climbs && t <= s.best[climbs-1].bound {
		return t
	}
	s.best = append(s.best, candidate{t, slices.Clone(inside)})
	slices.SortStableFunc(s.best, func(a, b candidate) int { return cmp.Compare(b.bound, a.bound) })
	s.best = s.best[:min(len(s.best), climbs)]
	return t
}

// tryBoth tries a set of ranks and its complement, with the switches on the side
// where more of their bandwidth is.
func (s *search) tryBoth(ranks []bool) {
	inside := slices.Clone(ranks)
	s.placeSwitches(inside)
	s.try(inside)
	other := make([]bool, len(inside))
	for v := range inside {
		other[v] = !inside[v]
	}
	s.try(other)
}

// placeSwitches puts every switch on the side of most of its bandwidth, a few times
// over, for switches may hang on switches.
func (s *search) placeSwitches(inside []bool) {
	t := s.p.Topology
	for range 3 {
		for v := t.Ranks; v < t.Nodes(); v++ {
			balance := int64(0)
			weigh := func(links []int, end func(model.Link) int) {
				for _, i := range links {
					w := t.Links[i].Bandwidth / int64(len(t.Links)+1)
					if !inside[end(t.Links[i])] {
						w = -w
					}
					balance += w
				}
			}
			weigh(s.out[v], func(l model.Link) int { return l.Dst })
			weigh(s.in[v], func(l model.Link) int { return l.Src })
			inside[v] = balance > 0
		}
	}
}

// clusters tries the parts into which the network falls without its slower links,
// for every speed: chassis, racks, groups.
func (s *search) clusters() {
	t := s.p.Topology
	var speeds []int64
	for _, l := range t.Links {
		speeds = append(speeds, l.Bandwidth)
	}
	slices.Sort(speeds)
	for _, speed := range slices.Compact(speeds) {
		g := simple.NewUndirectedGraph()
		for v := range t.Nodes() {
			g.AddNode(simple.Node(v))
		}
		for _, l := range t.Links {
			if l.Bandwidth >= speed {
				g.SetEdge(g.NewEdge(simple.Node(l.Src), simple.Node(l.Dst)))
			}
		}
		parts := topo.ConnectedComponents(g)
		if len(parts) > 64 || s.ctx.Err() != nil {
			continue
		}
		var sets [][]bool
		for _, part := range parts {
			inside := make([]bool, t.Nodes())
			for _, v := range part {
				inside[v.ID()] = true
			}
			sets = append(sets, inside)
		}
		first := func(inside []bool) int { return slices.Index(inside, true) }
		slices.SortFunc(sets, func(a, b []bool) int { return cmp.Compare(first(a), first(b)) }) // gonum walks over maps
		for _, inside := range sets {
			s.tryBoth(inside)
		}
	}
}

// runs tries the ranks a..b-1 for halves, quarters and so on: the sides of meshes
// and the chassis of machines are such runs, or strided ones.
func (s *search) runs() {
	n := s.p.Topology.Ranks
	for length := 1; length <= n/2; length++ {
		if n%length != 0 && length*2 != n {
			continue
		}
		for stride := 1; stride*length <= n; stride *= 2 {
			inside := make([]bool, s.p.Topology.Nodes())
			for r := range n {
				inside[r] = r/stride%(max(1, n/stride)) < length && r/stride < length || stride > 1 && r%(length*stride) < stride
			}
			s.tryBoth(inside)
			if s.left <= 0 {
				return
			}
		}
		for first := 0; first+length <= n && first < 4*length; first += length {
			inside := make([]bool, s.p.Topology.Nodes())
			for r := first; r < first+length; r++ {
				inside[r] = true
			}
			s.tryBoth(inside)
		}
	}
	// Sides of meshes: ranks whose coordinate along one dimension is below a limit.
	for block := 2; block <= n; block++ {
		if n%block != 0 {
			continue
		}
		for sub := 1; sub < block; sub++ {
			if block%sub != 0 {
				continue
			}
			for half := sub; half < block; half += sub {
				if half != block/2 && half != (block+1)/2 && half != sub {
					continue
				}
				inside := make([]bool, s.p.Topology.Nodes())
				for r := range n {
					inside[r] = r%block < half
				}
				s.tryBoth(inside)
			}
		}
		if s.left <= 0 {
			return
		}
	}
}

// balls tries, around some ranks, the nodes that a breadth-first search meets
// first, for every number of them.
func (s *search) balls() {
	t := s.p.Topology
	centres := min(t.Ranks, 8)
	for c := range centres {
		start := c * t.Ranks / centres
		inside := make([]bool, t.Nodes())
		inside[start] = true
		queue := []int{start}
		for len(queue) > 0 && s.left > 0 {
			v := queue[0]
			queue = queue[1:]
			for _, i := range s.out[v] {
				if w := t.Links[i].Dst; !inside[w] {
					inside[w] = true
					queue = append(queue, w)
					s.tryBoth(inside)
				}
			}
		}
	}
}

// climb improves the best sets by moving one node at a time, as long as that helps.
func (s *search) climb() {
	for _, start := range slices.Clone(s.best) {
		current := start
		for improved := true; improved && s.left > 0 && s.ctx.Err() == nil; {
			improved = false
			for v := range current.inside {
				next := slices.Clone(current.inside)
				next[v] = !next[v]
				if t := s.try(next); t > current.bound && t < model.MaxTime {
					current, improved = candidate{t, next}, true
				}
			}
		}
	}
}
