package model

// Grid returns the dimensions of a mesh or torus that is numbered with the last dimension
// fastest, the fewest that there are, or nil if t is none: every link joins neighbours or the
// ends of a row, and all neighbours are joined. It takes O(links) for each way to write the
// number of ranks as a product of at most six factors.
func (t *Topology) Grid() []int {
	if len(t.Links) == 0 {
		return nil
	}
	for count := 1; count <= 6; count++ {
		if dims := t.factor(t.Ranks, count, nil); dims != nil {
			return dims
		}
	}
	return nil
}

// factor tries all ways to write n as that many dimensions after those that are given.
func (t *Topology) factor(n, count int, dims []int) []int {
	if count == 1 {
		if n < 2 {
			return nil
		}
		if all := append(dims[:len(dims):len(dims)], n); t.joins(all) {
			return all
		}
		return nil
	}
	for d := 2; d <= n/2; d++ {
		if n%d == 0 {
			if found := t.factor(n/d, count-1, append(dims[:len(dims):len(dims)], d)); found != nil {
				return found
			}
		}
	}
	return nil
}

// joins reports whether every link joins neighbours in a grid of these dimensions, and
// whether every two neighbours are joined.
func (t *Topology) joins(dims []int) bool {
	joined := map[[2]int]bool{}
	for _, k := range t.Links {
		if !neighbour(k.Src, k.Dst, dims) {
			return false
		}
		joined[[2]int{k.Src, k.Dst}] = true
	}
	step := 1
	for d := len(dims) - 1; d >= 0; d-- {
		for v := range t.Ranks {
			if v/step%dims[d] < dims[d]-1 && !joined[[2]int{v, v + step}] && !joined[[2]int{v + step, v}] {
				return false
			}
		}
		step *= dims[d]
	}
	return true
}

// neighbour reports whether two ranks differ in one coordinate, by one or from end to end.
func neighbour(u, v int, dims []int) bool {
	different := 0
	for d := len(dims) - 1; d >= 0; d-- {
		a, b := u%dims[d], v%dims[d]
		u, v = u/dims[d], v/dims[d]
		if a == b {
			continue
		}
		if gap := max(a, b) - min(a, b); gap != 1 && gap != dims[d]-1 {
			return false
		}
		different++
	}
	return different == 1
}

// Closed reports of each dimension of a grid of ranks, as Grid returns them, whether the ends of its
// rows are joined. In a dimension of two there is no such link.
func (t *Topology) Closed(dims []int) []bool {
	closed := make([]bool, len(dims))
	for _, k := range t.Links {
		u, v := k.Src, k.Dst
		for d := len(dims) - 1; d >= 0; d-- {
			if a, b := u%dims[d], v%dims[d]; max(a, b)-min(a, b) > 1 {
				closed[d] = true
			}
			u, v = u/dims[d], v/dims[d]
		}
	}
	return closed
}
