package view

import "github.com/oraccl/oraccl/model"

// grid lays out meshes and tori of any dimensions, in the numbering in which the last
// dimension varies fastest, and reports whether the topology is one: every link must join
// neighbours, or the two ends of a row. Of more than two dimensions, the third and so on
// set grids side by side and below each other.
func (l *layout) grid(t *model.Topology) bool {
	dims := t.Grid()
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
