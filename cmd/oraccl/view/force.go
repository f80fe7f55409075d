package view

import "math"

// force lays nodes out by forces: neighbours attract, all repel (Fruchterman and Reingold,
// "Graph drawing by force-directed placement", 1991), from a circle, in a fixed number of
// iterations. It takes O(n²) time for each.
func (l *layout) force(near [][]int) {
	l.circle()
	l.kind = "force"
	n := len(l.x)
	if n < 2 {
		return
	}
	iterations := max(30, min(300, 40_000_000/(n*n)))
	k := math.Sqrt(4 / float64(n))
	dx, dy := make([]float64, n), make([]float64, n)
	for v := range n { // off the circle, where forces may balance
		l.x[v] += 0.01 * math.Sin(float64(v*v))
		l.y[v] += 0.01 * math.Cos(float64(3*v))
	}
	for step := range iterations {
		for v := range n {
			dx[v], dy[v] = 0, 0
		}
		for v := range n {
			for w := v + 1; w < n; w++ {
				x, y := l.x[v]-l.x[w], l.y[v]-l.y[w]
				push := k * k / max(x*x+y*y, 1e-6)
				dx[v] += x * push
				dy[v] += y * push
				dx[w] -= x * push
				dy[w] -= y * push
			}
			for _, w := range near[v] {
				x, y := l.x[v]-l.x[w], l.y[v]-l.y[w]
				pull := math.Hypot(x, y) / k
				dx[v] -= x * pull
				dy[v] -= y * pull
			}
		}
		heat := 0.3 * (1 - float64(step)/float64(iterations))
		for v := range n {
			if d := math.Hypot(dx[v], dy[v]); d > 0 {
				part := min(d, heat) / d
				l.x[v] += dx[v] * part
				l.y[v] += dy[v] * part
			}
		}
	}
}
