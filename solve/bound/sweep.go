package bound

import "slices"

// tryBoth tries a set of ranks and its complement, with the switches on the side
// where more of their bandwidth is.
func (s *search) tryBoth(ranks []bool) {
	inside := slices.Clone(ranks)
	s.placeSwitches(inside)
	s.try(inside)
	s.try(complement(inside))
}

// placeSwitches puts every switch on the side of most of its bandwidth, a few times
// over, for switches may hang on switches. One that is as near to both goes outside.
func (s *search) placeSwitches(inside []bool) {
	for range 3 {
		for v := s.t.Ranks; v < s.t.Nodes(); v++ {
			balance := 0.0
			for _, links := range [][]int{s.out[v], s.in[v]} {
				for _, i := range links {
					l := &s.t.Links[i]
					if inside[l.Src+l.Dst-v] {
						balance += float64(l.Bandwidth)
					} else {
						balance -= float64(l.Bandwidth)
					}
				}
			}
			inside[v] = balance > 0
		}
	}
}

// mostParts is into how many parts a network may fall for clusters to try them.
const mostParts = 256

// clusters tries the parts into which the network falls without its slower links,
// for every speed: chassis, racks, groups. It also tries several of them together.
func (s *search) clusters() {
	var speeds []int64
	for i := range s.t.Links {
		speeds = append(speeds, s.t.Links[i].Bandwidth)
	}
	slices.Sort(speeds)
	for _, speed := range slices.Compact(speeds) {
		if s.stopped() {
			return
		}
		parts := s.components(speed)
		if len(parts) < 2 || len(parts) > mostParts {
			continue
		}
		together := make([]bool, s.t.Nodes())
		for _, alone := range parts {
			for v := range alone {
				together[v] = together[v] || alone[v]
			}
			s.tryBoth(alone)
			s.try(alone)
			s.tryBoth(together)
		}
	}
}

// components returns the sets of nodes that hang together by links of at least a
// speed, in order of their first node.
func (s *search) components(speed int64) [][]bool {
	var sets [][]bool
	seen := make([]bool, s.t.Nodes())
	for first := range seen {
		if seen[first] || s.stopped() {
			continue
		}
		set := make([]bool, s.t.Nodes())
		seen[first], set[first] = true, true
		for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
			for _, links := range [][]int{s.out[queue[0]], s.in[queue[0]]} {
				for _, i := range links {
					l := &s.t.Links[i]
					if v := l.Src + l.Dst - queue[0]; l.Bandwidth >= speed && !seen[v] {
						seen[v], set[v] = true, true
						queue = append(queue, v)
					}
				}
			}
		}
		if sets = append(sets, set); len(sets) > mostParts {
			break // too many to try
		}
	}
	return sets
}

// grids tries, for every way in which the ranks can be numbered as a grid, those
// whose coordinate in one dimension is below a limit, or one value: sides of meshes,
// halves of tori and hypercubes, chassis.
func (s *search) grids() {
	n := s.t.Ranks
	for size := 2; size <= n; size++ {
		for stride := 1; stride*size <= n; stride++ {
			if n%(stride*size) != 0 {
				continue
			}
			for _, limit := range limits(size) {
				for _, low := range []int{0, (size - limit) / 2} {
					inside := make([]bool, s.t.Nodes())
					for r := range n {
						c := r / stride % size
						inside[r] = low <= c && c < low+limit
					}
					s.tryBoth(inside)
				}
			}
			if s.stopped() {
				return
			}
		}
	}
}

// limits returns the sizes of sides to try along a dimension: all of a small one,
// the halves and the ends of a large one.
func limits(size int) []int {
	if size > 16 {
		return []int{1, size / 4, size / 2, (size + 1) / 2}
	}
	var all []int
	for i := 1; i < size; i++ {
		all = append(all, i)
	}
	return all
}

// balls tries, around some ranks that look different, the nodes that a breadth-first search meets first,
// for every number of them.
func (s *search) balls() {
	centres, fresh := min(s.t.Ranks, 16), s.fresh()
	budget := s.left / 2 / centres
	for c := range centres {
		start := c * s.t.Ranks / centres
		if !fresh(start) {
			continue
		}
		inside := make([]bool, s.t.Nodes())
		inside[start] = true
		queue := []int{start}
		for stop := s.left - budget; len(queue) > 0 && s.left > stop && !s.stopped(); {
			v := queue[0]
			queue = queue[1:]
			for _, i := range s.out[v] {
				if w := s.t.Links[i].Dst; !inside[w] {
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
	for _, current := range slices.Clone(s.best) {
		for improved := true; improved && !s.stopped(); {
			improved = false
			for v := range current.inside {
				if s.stopped() {
					return
				}
				next := slices.Clone(current.inside)
				next[v] = !next[v]
				if t := s.try(next); t > current.bound {
					current, improved = candidate{t, next}, true
				}
			}
		}
	}
}
