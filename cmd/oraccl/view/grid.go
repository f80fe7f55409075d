package view

import "github.com/oraccl/oraccl/model"

// grid lays out meshes and tori of any dimensions, in the numbering in which the last
// dimension varies fastest, and reports whether the topology is one: every link must join
// neighbours, or the two ends of a row. Of more than two dimensions, the third and so on
// set grids side by side and below each other.
func (l *layout) grid(t *model.Topology) bool {
	dims := dimensions(t)
	if dims == nil {
		return false
	}
	l.kind = "grid"
	coordinates := make([]int, len(dims))
	for v := range t.Ranks {
		rest := v
		for d := len(dims) - 1; d >= 0; d-- {
			coordinates[d] = rest % dims[d]
			rest /= dims[d]
		}
		stepX, stepY := 1.0, 1.0
		for i := range dims {
			d := len(dims) - 1 - i
			if i%2 == 0 {
				l.x[v] += stepX * float64(coordinates[d])
				stepX *= float64(dims[d]) + 0.5
			} else {
				l.y[v] += stepY * float64(coordinates[d])
				stepY *= float64(dims[d]) + 0.5
			}
		}
		l.aspect = min(max(stepX/stepY, 0.5), 3)
	}
	return true
}

// dimensions returns the dimensions of a mesh or torus, those of fewest first, or nil.
func dimensions(t *model.Topology) []int {
	if len(t.Links) == 0 {
		return nil
	}
	for count := 1; count <= 6; count++ {
		if dims := factor(t, t.Ranks, count, nil); dims != nil {
			return dims
		}
	}
	return nil
}

// factor tries all ways to write n as that many dimensions after those that are given.
func factor(t *model.Topology, n, count int, dims []int) []int {
	if count == 1 {
		if n < 2 {
			return nil
		}
		if all := append(dims[:len(dims):len(dims)], n); joins(t, all) {
			return all
		}
		return nil
	}
	for d := 2; d <= n/2; d++ {
		if n%d == 0 {
			if found := factor(t, n/d, count-1, append(dims[:len(dims):len(dims)], d)); found != nil {
				return found
			}
		}
	}
	return nil
}

// joins reports whether every link joins neighbours in a grid of these dimensions, and
// whether every two neighbours are joined.
func joins(t *model.Topology, dims []int) bool {
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
