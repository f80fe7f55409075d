package view

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// machines returns the sets of nodes that are drawn in a box each, ascending, or none: two or more
// that hang together by links at least twice as fast as those between them, or a half of their
// latency, parallel ones taken together, so that every rank has another one in its box. Where
// there are several ways it takes the one with the fewest boxes. It takes O(links log links).
func machines(t *model.Topology) [][]int {
	type pair struct{ u, v int }
	between := map[pair]int64{}
	nearest := map[pair]model.Time{}
	for _, k := range t.Links {
		p := pair{k.Src, k.Dst}
		between[p] += k.Bandwidth
		if a, ok := nearest[p]; !ok || k.Alpha < a {
			nearest[p] = k.Alpha
		}
	}
	for _, fast := range steps(between, func(b int64) int64 { return -b }) {
		if all := together(t, func(k *model.Link) bool { return between[pair{k.Src, k.Dst}] >= -fast }); all != nil {
			return all
		}
	}
	for _, near := range steps(nearest, func(a model.Time) int64 { return int64(a) }) {
		if all := together(t, func(k *model.Link) bool { return int64(nearest[pair{k.Src, k.Dst}]) <= near }); all != nil {
			return all
		}
	}
	return nil
}

// steps returns the values that are at most a half, in what they measure, of the next one,
// descending; of negative ones, which measure their amounts, the next one is at most a half.
// There are at most eight.
func steps[K comparable, V any](of map[K]V, measure func(V) int64) []int64 {
	var all []int64
	for _, v := range of {
		all = append(all, measure(v))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	var found []int64
	for i := len(all) - 2; i >= 0 && len(found) < 8; i-- {
		if a, b := all[i], all[i+1]; a < 0 && -a/2 >= -b || a >= 0 && a <= b/2 {
			found = append(found, a)
		}
	}
	return found
}

// together returns the sets of nodes with ranks that hang together by some links, or nil if there
// are fewer than two or one has a single rank.
func together(t *model.Topology, by func(k *model.Link) bool) [][]int {
	parts := t.Parts(by)
	var all [][]int
	at := map[int]int{}
	for r := range t.Ranks {
		i, ok := at[parts[r]]
		if !ok {
			i, at[parts[r]] = len(all), len(all)
			all = append(all, nil)
		}
		all[i] = append(all[i], r)
	}
	if len(all) < 2 || slices.ContainsFunc(all, func(list []int) bool { return len(list) < 2 }) {
		return nil
	}
	for v := t.Ranks; v < t.Nodes(); v++ {
		if i, ok := at[parts[v]]; ok {
			all[i] = append(all[i], v)
		}
	}
	return all
}

// blocks returns the ranks in equal runs, each of which is a full network of three or more, the
// longest that there are, or none. A DGX-1 is two of four.
func blocks(t *model.Topology, near [][]int) [][]int {
	for size := t.Ranks / 2; size >= 3; size-- {
		if t.Ranks%size != 0 {
			continue
		}
		full := true
		for u := 0; u < t.Ranks && full; u++ {
			for v := u + 1; v < u-u%size+size && full; v++ {
				_, full = slices.BinarySearch(near[u], v)
			}
		}
		if !full {
			continue
		}
		var all [][]int
		for from := 0; from < t.Ranks; from += size {
			var list []int
			for v := from; v < from+size; v++ {
				list = append(list, v)
			}
			all = append(all, list)
		}
		return all
	}
	return nil
}

// circles draws each set of ranks on a circle of its own: few beside each other, many in rows. The
// circles are turned a little, so that no link from one to the same place of the next passes over
// another rank.
func (l *layout) circles(sets [][]int) {
	l.kind, l.whole = "blocks", true
	across := int(math.Ceil(math.Sqrt(1.8 * float64(len(sets)))))
	if len(sets) <= 4 {
		across = min(len(sets), 2+len(sets)%2)
	}
	down := (len(sets) + across - 1) / across
	for i, list := range sets {
		for k, v := range list {
			a := 2*math.Pi*float64(k)/float64(len(list)) - 0.68*math.Pi
			l.x[v], l.y[v] = 3.2*float64(i%across)+math.Cos(a), 3.2*float64(i/across)+math.Sin(a)
		}
	}
	l.aspect = min(max((3.2*float64(across)-1)/(3.2*float64(down)-1), 0.5), 3)
}

// hall draws machines as boxes, in rows, and above them the switches that are in none, in levels.
// In a box the ranks stand above the switches that lead to no other box and below those that do.
func (l *layout) hall(t *model.Topology, near, sets [][]int) {
	l.kind, l.whole = "machines", true
	of := make([]int, t.Nodes())
	for v := range of {
		of[v] = -1
	}
	widest := 0
	for i, list := range sets {
		ranks := 0
		for _, v := range list {
			of[v] = i
			if t.IsRank(v) {
				ranks++
			}
		}
		widest = max(widest, ranks)
	}
	level := fromRanks(t, near)
	leads := outward(t, near, of)
	across := widest // ranks side by side
	if len(sets)*widest > 32 {
		across = int(math.Ceil(math.Sqrt(2 * float64(widest))))
	}
	// A box is some rows, each of nodes, from the top.
	rowsOf := func(list []int) (rows [][]int) {
		var up, down, ranks []int
		for _, v := range list {
			switch {
			case t.IsRank(v):
				ranks = append(ranks, v)
			case leads[v]:
				up = append(up, v)
			default:
				down = append(down, v)
			}
		}
		tiers := func(list []int) (rows [][]int) {
			slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(level[a], level[b]) })
			for i, v := range list {
				if n := len(rows); i == 0 || level[v] != level[list[i-1]] || len(rows[n-1]) == across {
					rows = append(rows, nil)
				}
				rows[len(rows)-1] = append(rows[len(rows)-1], v)
			}
			return rows
		}
		rows = tiers(up)
		slices.Reverse(rows)
		return append(append(rows, slices.Collect(slices.Chunk(ranks, across))...), tiers(down)...)
	}
	boxes, high := make([][][]int, len(sets)), 0
	for i, list := range sets {
		boxes[i] = rowsOf(list)
		high = max(high, len(boxes[i]))
	}
	wide, tall := float64(across)+1, 1.5*float64(high)+1
	line := len(sets) // boxes side by side
	if float64(line)*wide > 40 {
		line = min(line, int(math.Ceil(math.Sqrt(1.8*float64(len(sets))*tall/wide))))
	}
	for i, rows := range boxes {
		left, top := wide*float64(i%line), tall*float64(i/line)
		for y, row := range rows {
			for x, v := range row {
				l.x[v] = left + (float64(x)+0.5)*float64(across)/float64(len(row))
				l.y[v] = top + 1.5*float64(y)
			}
		}
		l.sets = append(l.sets, sets[i])
	}
	width := wide*float64(line) - 1
	l.above(t, near, of, width)
	height := 1.0
	for v := range l.y {
		height = max(height, l.y[v]-slices.Min(l.y))
	}
	l.aspect = min(max(width/height, 0.5), 1.8) // the levels may be farther apart
}

// above draws the switches that are in no box, in levels by how many of them are between each and
// the boxes, in the order of their neighbours below.
func (l *layout) above(t *model.Topology, near [][]int, of []int, width float64) {
	var boxed []int
	for v, i := range of {
		if i >= 0 {
			boxed = append(boxed, v)
		}
	}
	far := distances(near, boxed)
	var rows [][]int
	for v, i := range of {
		if i >= 0 {
			continue
		}
		h := max(far[v], 1) - 1
		for len(rows) <= h {
			rows = append(rows, nil)
		}
		rows[h] = append(rows[h], v)
	}
	y := -2.5
	for h, row := range rows {
		mean := map[int]float64{}
		for _, v := range row {
			count := 0.0
			for _, u := range near[v] {
				if far[u] == h {
					mean[v] += l.x[u]
					count++
				}
			}
			mean[v] /= max(1, count)
		}
		slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
		lines := 1 + (len(row)-1)/wideRow
		for i, v := range row {
			l.x[v] = (float64(i) + 0.5) / float64(len(row)) * width
			l.y[v] = y - float64(i%lines)
		}
		y -= 2 + float64(lines-1)
	}
}

// outward reports of each switch in a box whether a way over switches leads from it out of the box.
func outward(t *model.Topology, near [][]int, of []int) []bool {
	out := make([]bool, t.Nodes())
	var queue []int
	for v := t.Ranks; v < t.Nodes(); v++ {
		for _, u := range near[v] {
			if of[v] >= 0 && of[u] != of[v] {
				out[v] = true
				queue = append(queue, v)
				break
			}
		}
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, u := range near[v] {
			if !t.IsRank(u) && of[u] == of[v] && !out[u] {
				out[u] = true
				queue = append(queue, u)
			}
		}
	}
	return out
}
