package view

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// layout says where nodes are drawn, from 0 to 1 either way.
type layout struct {
	kind   string // "circle", "grid", "machines", "blocks", "levels" or "force"
	x, y   []float64
	aspect float64 // width by height that suits it
	whole  bool    // it is not to be squashed to another aspect
	sets   [][]int // nodes that stand in a box
}

// arrange lays a topology out by its links, whatever it calls itself: rings and full
// networks on a circle, meshes and tori as grids, machines as boxes, runs of ranks that are full
// networks on circles of their own, trees and networks of switches in levels, and others by
// forces between their nodes. The same topology is always laid out alike.
func arrange(t *model.Topology) *layout {
	n := t.Nodes()
	l := &layout{x: make([]float64, n), y: make([]float64, n), aspect: 1}
	near := neighbours(t)
	switch {
	case len(t.Switches) == 0 && (n <= 3 || isRing(t) || isFull(t, near)):
		l.circle()
	case len(t.Switches) == 0 && l.grid(t):
		l.whole = true
	case l.boxed(t, near):
	case len(t.Switches) > 0:
		l.levels(near, fromRanks(t, near))
	case isTree(near):
		l.levels(near, fromCentre(near))
	case n <= 1500:
		l.force(near)
	default:
		l.circle()
	}
	l.fit()
	return l
}

// boxed draws a network of machines, or of blocks, if it is one.
func (l *layout) boxed(t *model.Topology, near [][]int) bool {
	sets := machines(t)
	switch {
	case sets != nil && len(t.Switches) > 0:
		l.hall(t, near, sets)
	case sets != nil:
		l.circles(sets)
		l.sets = sets
	case len(t.Switches) == 0 && blocks(t, near) != nil:
		l.circles(blocks(t, near))
	default:
		return false
	}
	return true
}

// neighbours returns the nodes that have a link with each, ascending.
func neighbours(t *model.Topology) [][]int {
	near := make([][]int, t.Nodes())
	for _, k := range t.Links {
		near[k.Src] = append(near[k.Src], k.Dst)
		near[k.Dst] = append(near[k.Dst], k.Src)
	}
	for v := range near {
		slices.Sort(near[v])
		near[v] = slices.Compact(near[v])
	}
	return near
}

func isRing(t *model.Topology) bool {
	closed := false
	for _, k := range t.Links {
		d := (k.Dst - k.Src + t.Ranks) % t.Ranks
		if d != 1 && d != t.Ranks-1 {
			return false
		}
		closed = closed || max(k.Src, k.Dst)-min(k.Src, k.Dst) == t.Ranks-1
	}
	return closed
}

func isFull(t *model.Topology, near [][]int) bool {
	return !slices.ContainsFunc(near, func(list []int) bool { return len(list) < t.Ranks-1 })
}

// isTree reports whether the network is connected and has no circle.
func isTree(near [][]int) bool {
	edges := 0
	for _, list := range near {
		edges += len(list)
	}
	depth := distances(near, []int{0})
	return edges == 2*(len(near)-1) && !slices.Contains(depth, -1)
}

// distances returns how many links each node is from the nearest of some, -1 if cut off.
func distances(near [][]int, from []int) []int {
	far := make([]int, len(near))
	for v := range far {
		far[v] = -1
	}
	queue := slices.Clone(from)
	for _, v := range from {
		far[v] = 0
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, w := range near[v] {
			if far[w] < 0 {
				far[w] = far[v] + 1
				queue = append(queue, w)
			}
		}
	}
	return far
}

// fromRanks puts ranks at the bottom, and switches as far up as they are from ranks.
func fromRanks(t *model.Topology, near [][]int) []int {
	ranks := make([]int, t.Ranks)
	for r := range ranks {
		ranks[r] = r
	}
	level := distances(near, ranks)
	for v := range level {
		level[v] = max(level[v], 0)
	}
	return level
}

// fromCentre puts the node that is nearest to all others at the top of a tree.
func fromCentre(near [][]int) []int {
	// The middle of a longest path is the centre of a tree.
	far := func(from int) (int, []int) {
		d := distances(near, []int{from})
		at := 0
		for v := range d {
			if d[v] > d[at] {
				at = v
			}
		}
		return at, d
	}
	a, _ := far(0)
	b, toA := far(a)
	centre := b
	for toA[centre] > (toA[b]+1)/2 {
		for _, w := range near[centre] {
			if toA[w] < toA[centre] {
				centre = w
				break
			}
		}
	}
	depth := distances(near, []int{centre})
	deepest := slices.Max(depth)
	for v := range depth {
		depth[v] = deepest - depth[v]
	}
	return depth
}

func (l *layout) circle() {
	l.kind = "circle"
	for v := range l.x {
		a := 2*math.Pi*float64(v)/float64(len(l.x)) - math.Pi/2
		l.x[v], l.y[v] = math.Cos(a), math.Sin(a)
	}
}

// levels draws each level as a row, the ranks at the bottom, in an order that keeps
// neighbours near: each node goes to the mean of its neighbours below and above, some times.
func (l *layout) levels(near [][]int, level []int) {
	l.kind, l.aspect = "levels", 1.8
	rows := make([][]int, slices.Max(level)+1)
	for v, h := range level {
		rows[h] = append(rows[h], v)
	}
	spread := func(row []int) {
		for i, v := range row {
			l.x[v] = (float64(i) + 0.5) / float64(len(row))
		}
	}
	for _, row := range rows {
		spread(row)
	}
	for sweep := range 6 {
		for h := range rows {
			if sweep%2 == 1 {
				h = len(rows) - 1 - h
			}
			mean := map[int]float64{}
			for _, v := range rows[h] {
				sum, count := 0.0, 0
				for _, w := range near[v] {
					if level[w] != h {
						sum += l.x[w]
						count++
					}
				}
				mean[v] = l.x[v]
				if count > 0 {
					mean[v] = sum / float64(count)
				}
			}
			slices.SortStableFunc(rows[h], func(a, b int) int { return cmp.Or(cmp.Compare(mean[a], mean[b]), a-b) })
			spread(rows[h])
		}
	}
	for h, row := range rows { // a long row is staggered, towards the one below it
		lines := min(6, (len(row)+wideRow-1)/wideRow)
		for i, v := range row {
			l.y[v] = -float64(h) / float64(max(1, len(rows)-1))
			if lines > 1 {
				l.y[v] += 0.45 / float64(max(1, len(rows)-1)) * float64(i%lines) / float64(lines-1)
			}
		}
	}
}

// wideRow is how many nodes stand side by side before they are staggered.
const wideRow = 32

// fit scales the layout into the unit square, with a margin.
func (l *layout) fit() {
	for _, c := range [][]float64{l.x, l.y} {
		lo, hi := slices.Min(c), slices.Max(c)
		for i := range c {
			if hi > lo {
				c[i] = 0.06 + 0.88*(c[i]-lo)/(hi-lo)
			} else {
				c[i] = 0.5
			}
		}
	}
}
