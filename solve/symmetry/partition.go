package symmetry

import (
	"cmp"
	"slices"
)

// partition divides the vertices into cells, each a run of order. Two partitions that were
// refined alike have cells at the same places: a symmetry that was chosen so far takes the
// cell of the one to that of the other.
type partition struct {
	order, place []int32 // the vertices by cell; where each is
	cell         []int32 // of a vertex: where its cell begins
	size         []int32 // of a cell, by where it begins
	cells        int
}

func (a *partition) clone() *partition {
	return &partition{order: slices.Clone(a.order), place: slices.Clone(a.place), cell: slices.Clone(a.cell), size: slices.Clone(a.size), cells: a.cells}
}

// byColour returns the partition whose cells are the vertices of one colour, in order of
// colours.
func byColour(colour []int) *partition {
	n := len(colour)
	a := &partition{order: make([]int32, n), place: make([]int32, n), cell: make([]int32, n), size: make([]int32, n)}
	for v := range a.order {
		a.order[v] = int32(v)
	}
	slices.SortStableFunc(a.order, func(u, v int32) int { return cmp.Compare(colour[u], colour[v]) })
	for i, v := range a.order {
		a.place[v] = int32(i)
		if i == 0 || colour[v] != colour[a.order[i-1]] {
			a.cell[v] = int32(i)
			a.cells++
		} else {
			a.cell[v] = a.cell[a.order[i-1]]
		}
		a.size[a.cell[v]]++
	}
	return a
}

// single returns the vertex of the cell of v if it is alone there.
func (a *partition) single(v int) bool { return a.size[a.cell[v]] == 1 }

// members returns the vertices of the cell that begins at c.
func (a *partition) members(c int32) []int32 { return a.order[c : c+a.size[c]] }

// set makes v a cell of its own, the last part of the one that it is in, and returns where
// that begins.
func (a *partition) set(v int) int32 {
	c := a.cell[v]
	if a.size[c] == 1 {
		return c
	}
	last := c + a.size[c] - 1
	a.swap(a.place[v], last)
	a.size[c]--
	a.cell[v], a.size[last] = last, 1
	a.cells++
	return last
}

func (a *partition) swap(i, j int32) {
	u, v := a.order[i], a.order[j]
	a.order[i], a.order[j] = v, u
	a.place[u], a.place[v] = j, i
}

// refiner holds what refinement needs beside the partition.
type refiner struct {
	net     *network
	sum     []uint64 // by vertex: over its arcs to the splitting cell
	touched []int32
	queued  []bool // by cell
	queue   []int32
	trace   []uint64 // what happened
	work    int64
}

func newRefiner(net *network) *refiner {
	n := net.vertices()
	return &refiner{net: net, sum: make([]uint64, n), queued: make([]bool, n)}
}

// stable returns the partition by colours, refined.
func (r *refiner) stable() *partition {
	a := byColour(r.net.colour)
	var all []int32
	for v, c := range a.cell {
		if a.place[v] == c {
			all = append(all, c)
		}
	}
	r.refine(a, all, false)
	return a
}

// refine splits cells until all vertices of one have the same arcs to each cell, beginning
// with the cells of from. It notes what happens in trace, or, if check is set, compares: it
// returns false as soon as something else happens than what trace has.
func (r *refiner) refine(a *partition, from []int32, check bool) bool {
	r.queue = append(r.queue[:0], from...)
	for _, c := range from {
		r.queued[c] = true
	}
	at := 0
	note := func(x uint64) bool {
		if !check {
			r.trace = append(r.trace, x)
			return true
		}
		at++
		return at <= len(r.trace) && r.trace[at-1] == x
	}
	if !check {
		r.trace = nil
	}
	same := true
	for len(r.queue) > 0 && same && a.cells < len(a.order) {
		c := r.queue[0]
		r.queue = r.queue[1:]
		r.queued[c] = false
		same = r.split(a, c, note)
	}
	for _, c := range r.queue {
		r.queued[c] = false
	}
	return same && (!check || at == len(r.trace))
}

// split splits the cells that the arcs to the cell c tell apart.
func (r *refiner) split(a *partition, c int32, note func(uint64) bool) bool {
	r.touched = r.touched[:0]
	for _, w := range a.members(c) {
		r.work += int64(len(r.net.arcs[w]))
		for _, x := range r.net.arcs[w] {
			if r.sum[x.to] == 0 {
				r.touched = append(r.touched, x.to)
			}
			r.sum[x.to] += x.colour
		}
	}
	// by cell, then by sum
	slices.SortFunc(r.touched, func(u, v int32) int {
		return cmp.Or(cmp.Compare(a.cell[u], a.cell[v]), cmp.Compare(r.sum[u], r.sum[v]))
	})
	same := true
	for from := 0; from < len(r.touched); {
		to := from
		d := a.cell[r.touched[from]]
		for to < len(r.touched) && a.cell[r.touched[to]] == d {
			to++
		}
		if same {
			same = r.divide(a, d, r.touched[from:to], note)
		}
		from = to
	}
	for _, v := range r.touched {
		r.sum[v] = 0
	}
	return same
}

// divide splits the cell d into those of its vertices that are not listed and those listed,
// which are sorted by their sums.
func (r *refiner) divide(a *partition, d int32, listed []int32, note func(uint64) bool) bool {
	size := a.size[d]
	if !note(uint64(d)) || !note(r.sum[listed[0]]) || !note(uint64(len(listed))) {
		return false
	}
	if r.sum[listed[0]] == r.sum[listed[len(listed)-1]] && len(listed) == int(size) {
		return true
	}
	// the parts, last first, are put at the end
	end := d + size
	var starts []int32
	for to := len(listed); to > 0; {
		from := to
		for from > 0 && r.sum[listed[from-1]] == r.sum[listed[to-1]] {
			from--
		}
		begin := end - int32(to-from)
		if !note(r.sum[listed[from]]) || !note(uint64(begin)) {
			return false
		}
		if begin == d { // nobody is left over: these keep the place
			a.size[d] = end - d
			starts = append(starts, d)
			break
		}
		for i, v := range listed[from:to] {
			a.swap(a.place[v], begin+int32(i))
		}
		for _, v := range listed[from:to] {
			a.cell[v] = begin
		}
		a.size[begin] = end - begin
		a.size[d] -= end - begin
		a.cells++
		starts = append(starts, begin)
		end, to = begin, from
	}
	if starts[len(starts)-1] != d {
		starts = append(starts, d)
	}
	// Hopcroft: all but the largest, unless the whole was still to be used
	skip := int32(-1)
	if !r.queued[d] {
		for _, s := range starts {
			if skip < 0 || a.size[s] > a.size[skip] {
				skip = s
			}
		}
	}
	for _, s := range starts {
		if s != skip && !r.queued[s] {
			r.queued[s] = true
			r.queue = append(r.queue, s)
		}
	}
	return true
}
