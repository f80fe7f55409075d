package dual

import (
	"slices"

	"github.com/oraccl/oraccl/model"
)

// grid is a network with points in time, and the question whether everything can be done
// before end. What starts at a time counts as started at the last point up to it, so
// that what cannot be done on the grid cannot be done at all.
//
// Bundle b is looked at at the instants points[i+1]-1+offset[b], the last of them being
// end-1+offset[b]. A transfer that begins to occupy it between lo+offset[b] and
// hi+offset[b] and goes on for y occupies it for sure at those of them from hi on and
// before lo+y.
type grid struct {
	*network
	end    model.Time
	points []model.Time // ascending, from 0
}

// grid returns the points from which something can happen in a schedule without idle
// time that ends before end: sums of durations, and the same counted back from end. Of
// those less than gap apart one is kept.
func (n *network) grid(end, gap model.Time, sums []model.Time) *grid {
	g := &grid{network: n, end: end}
	for _, t := range sums {
		if t < end {
			g.points = append(g.points, t)
		}
		if 0 < t && t < end {
			g.points = append(g.points, end-t)
		}
	}
	slices.Sort(g.points)
	kept := g.points[:1]
	for _, t := range g.points[1:] {
		if t-kept[len(kept)-1] >= gap {
			kept = append(kept, t)
		}
	}
	g.points = kept
	return g
}

// index returns the number of the last point up to t >= 0.
func (g *grid) index(t model.Time) int {
	i, found := slices.BinarySearch(g.points, t)
	if !found {
		i--
	}
	return i
}

// look returns the i-th instant at which a bundle without offset is looked at.
func (g *grid) look(i int) model.Time {
	if i+1 < len(g.points) {
		return g.points[i+1] - 1
	}
	return g.end - 1
}

// start is a way to start a hop: with which point, and at which it has arrived.
type start struct {
	from, to int
	lo, hi   model.Time // the times that it stands for
}

// starts calls use with every start of a task over an arc that is of use.
func (g *grid) starts(t *task, arc int, use func(start)) {
	a := &g.arcs[arc]
	if t.source[a.Dst] || a.Src == t.dest || t.early[a.Src] == model.MaxTime || t.late[a.Dst] == model.MaxTime {
		return
	}
	h := &g.hops[g.groups[t.group].size][arc]
	first := max(t.early[a.Src], h.soonest)
	last := g.end - 1 - t.late[a.Dst] - h.duration
	if last < first {
		return
	}
	for i := g.index(first); i < len(g.points) && g.points[i] <= last; i++ {
		s := start{from: i, lo: max(first, g.points[i]), hi: min(last, g.look(i))}
		s.to = g.index(s.lo + h.duration)
		use(s)
	}
}

// occupies returns the instants first..last, none if last < first, at which a start of a
// task over an arc occupies the arc's k-th bundle.
func (g *grid) occupies(t *task, arc, k int, s start) (first, last int) {
	b := g.arcs[arc].Bundles[k]
	busy := g.hops[g.groups[t.group].size][arc].busy[k]
	after := busy.From - g.offset[b]
	first = g.index(s.hi + after)
	if first+1 == len(g.points) && s.hi+after >= g.end {
		return 0, -1
	}
	last = first - 1
	for i := first; i < len(g.points) && g.look(i) < s.lo+after+busy.To-busy.From; i++ {
		last = i
	}
	return first, last
}

// waits returns the points first..last between which a task can wait at a rank.
func (g *grid) waits(t *task, rank int) (first, last int) {
	if t.source[rank] || rank == t.dest || t.early[rank] == model.MaxTime || t.late[rank] == model.MaxTime ||
		t.early[rank] > g.end-1-t.late[rank] {
		return 0, -1
	}
	return g.index(t.early[rank]), g.index(g.end - 1 - t.late[rank])
}

// columns returns how many columns the program has, about; where they are more than most, it
// stops counting.
func (g *grid) columns(most int) int {
	n := 0
	for i := range g.tasks {
		t := &g.tasks[i]
		for a := range g.arcs {
			if g.starts(t, a, func(start) { n++ }); n > most {
				return n
			}
		}
		for r := range t.early {
			if first, last := g.waits(t, r); last > first {
				n += last - first
			}
		}
	}
	return n
}
