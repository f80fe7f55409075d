package symmetry

import (
	"cmp"
	"slices"
)

// extension is the search for one element g with gH = Hg and g^p in H.
type extension struct {
	*search
	h          *Group
	p          int
	how        kind
	took       []int16            // by cell of root: 1 + how far g takes its vertices
	base       [2]int             // nodes whose images tell the elements of h apart
	numbers    map[[2]int32]int   // of the elements of h, by these images
	orbit      []int32            // of a vertex under h
	pairs      map[[2]int32]int32 // of the arcs inside: their orbits under h
	generators []int              // of h
	centre     [][]int32          // of h: the elements that commute with all of it
	src, dst   *partition         // where g is known so far: from cells of src to those of dst
	phi        []int32            // ghg⁻¹ = phi(h), by element
	power      int                // g^p, or -1 if that is not known yet
	ranks      []int              // in the order in which orbits are given images
	switches   []int
	result     []int32
	tries      int // since the first image was chosen
}

// limit is how many images an extension tries after the first one, which it chooses again
// then.
func (e *extension) limit() int { return 100 + 4*(len(e.ranks)+len(e.switches)) }

func newExtension(s *search, h *Group, p int, how kind) *extension {
	e := &extension{search: s, h: h, p: p, how: how, took: make([]int16, s.net.vertices()), power: -1}
	n := s.net.vertices()
	e.orbit = make([]int32, n)
	for v := range e.orbit {
		e.orbit[v] = -1
	}
	for v := range n {
		if e.orbit[v] < 0 {
			for i := range h.nodes {
				e.orbit[h.nodes[i][v]] = int32(v)
			}
		}
	}
	if h.numbers == nil {
		h.findBase()
	}
	e.base, e.numbers = h.base, h.numbers
	for i := 1; i < len(h.orders); i++ {
		e.generators = append(e.generators, h.orders[i-1]) // the first element that is new
	}
	for i := range h.nodes {
		if !slices.ContainsFunc(e.generators, func(g int) bool { return h.Product(i, g) != h.Product(g, i) }) {
			e.centre = append(e.centre, h.nodes[i])
		}
	}
	e.phi = make([]int32, len(h.nodes))
	for i := range e.phi {
		e.phi[i] = int32(i)
	}
	e.pairs = map[[2]int32]int32{}
	for i, a := range e.staying() {
		if _, known := e.pairs[[2]int32{int32(a[0]), int32(a[1])}]; !known {
			for j := range h.nodes {
				e.pairs[[2]int32{h.nodes[j][a[0]], h.nodes[j][a[1]]}] = int32(i)
			}
		}
	}
	e.src, e.dst = s.root, s.root
	seen := make([]bool, n)
	for v := range n {
		if seen[e.orbit[v]] {
			continue
		}
		seen[e.orbit[v]] = true
		if v < s.net.t.Ranks {
			e.ranks = append(e.ranks, v)
		} else {
			e.switches = append(e.switches, v)
		}
	}
	return e
}

// staying returns the arcs that must be moved though their ends are allowed to stay.
func (e *extension) staying() [][2]int {
	switch {
	case e.o.StayingLinks:
		return nil
	case !e.o.StayingRanks:
		return e.net.inside
	}
	var all [][2]int
	for _, l := range e.net.t.Links {
		all = append(all, [2]int{l.Src, l.Dst})
	}
	return all
}

// product returns the number of the element ij of h: j first.
func (e *extension) product(i, j int) int { return e.h.Product(i, j) }

// find returns an element that makes the group larger, or nil.
func (e *extension) find() []int32 {
	if e.how != normal {
		e.next(-1, -1, 0)
		return e.result
	}
	// The base is a rank, or the first that moves; its image decides how g conjugates. What g finds, hg does.
	x := e.base[0]
	for _, y := range oneOfEach(e.candidates(x, e.o.StayingOrbits), e.h.nodes) {
		if e.done() || e.result != nil {
			break
		}
		e.tries = 0
		e.undoable(func() {
			if e.assignOne(x, y) {
				e.conjugate(0, map[int]int{0: 0}, x, y)
			}
		})
	}
	return e.result
}

// conjugate chooses what ghg⁻¹ is for the generators of h from the i-th on; known has it for
// all that those before generate, and is replaced.
func (e *extension) conjugate(i int, known map[int]int, x, y int) {
	if i == len(e.generators) {
		identity := true
		for a, b := range known {
			e.phi[a] = int32(b)
			identity = identity && a == b
		}
		if identity {
			return // that is what the search for elements that commute does
		}
		if e.assign(e.orbitOf(x), y) {
			e.next(-1, -1, 0)
		}
		return
	}
	g := e.generators[i]
	for b := range e.h.nodes {
		if e.result != nil || e.done() || e.tries > e.limit() {
			return
		}
		gx, by := int(e.h.nodes[g][x]), int(e.h.nodes[b][y])
		if b == 0 || e.src.cell[gx] != e.dst.cell[by] {
			continue
		}
		more := e.generate(known, g, b)
		if more == nil {
			continue
		}
		e.undoable(func() {
			if e.assignOne(gx, by) {
				e.conjugate(i+1, more, x, y)
			}
		})
	}
}

// generate extends an isomorphism of subgroups of h to the group that g generates with the
// domain, which is twice the size or more, or returns nil where there is no such one that
// takes g to b.
func (e *extension) generate(known map[int]int, g, b int) map[int]int {
	all := map[int]int{}
	taken := map[int]bool{}
	x, y := 0, 0 // powers of g and b
	for {
		for c, d := range known {
			u, v := e.product(x, c), e.product(y, d)
			if w, had := all[u]; had && w != v || !had && taken[v] {
				return nil
			}
			all[u], taken[v] = v, true
		}
		x, y = e.product(g, x), e.product(b, y)
		if w, had := all[x]; had {
			if w != y {
				return nil
			}
			break
		}
	}
	// the generators that came before must be taken along: c·g = g·c' for some c'
	for c, d := range known {
		if w, had := all[e.product(c, g)]; !had || w != e.product(d, b) {
			return nil
		}
	}
	return all
}

// undoable runs f and puts the partitions back unless an element was found.
func (e *extension) undoable(f func()) {
	src, dst, power := e.src, e.dst, e.power
	f()
	if e.result == nil {
		e.src, e.dst, e.power = src, dst, power
	}
}

// assignOne has g take x to y.
func (e *extension) assignOne(x, y int) bool {
	return e.take(e.domain([]int32{int32(x)}), []int32{int32(y)})
}

// assign has g take x, and so its orbit, to that of y: hx to phi(h)y.
func (e *extension) assign(x *domain, y int) bool {
	to := make([]int32, len(e.h.nodes))
	for i := range to {
		to[i] = e.h.nodes[e.phi[i]][y]
	}
	return e.take(x, to) && (len(x.cells) == 0 || e.moves() && e.uniform())
}

// domain is vertices that are given images at one time, and what becomes of src then.
type domain struct {
	from  []int32 // by vertex: the cell that it was in
	cells []int32 // those that they are in, of those that were not alone before
	src   *partition
	trace []uint64 // of the refinement
}

// domain returns what becomes of src when the vertices of a list are given images.
func (e *extension) domain(list []int32) *domain {
	d := &domain{src: e.src.clone()}
	for _, v := range list {
		c := d.src.cell[v]
		d.from = append(d.from, c)
		if d.src.size[c] > 1 {
			d.cells = append(d.cells, d.src.set(int(v)))
		}
	}
	if len(d.cells) > 0 {
		e.r.refine(d.src, d.cells, false)
		d.trace = e.r.trace
	}
	return d
}

// orbitOf returns the domain of the orbit of x under h.
func (e *extension) orbitOf(x int) *domain {
	list := make([]int32, len(e.h.nodes))
	for i := range list {
		list[i] = e.h.nodes[i][x]
	}
	return e.domain(list)
}

// take has g take the vertices of a domain to their images, and reports whether the partitions are alike then.
func (e *extension) take(d *domain, images []int32) bool {
	e.tries++
	dst, n := e.dst.clone(), 0
	for i, v := range images {
		if dst.cell[v] != d.from[i] {
			return false
		}
		if dst.size[d.from[i]] > 1 {
			if c := dst.set(int(v)); n == len(d.cells) || c != d.cells[n] {
				return false
			}
			n++
		}
	}
	if n < len(d.cells) {
		return false
	}
	e.src, e.dst, e.r.trace = d.src, dst, d.trace
	return n == 0 || e.r.refine(dst, d.cells, true)
}

// oneOfEach returns the first vertex of a list of each orbit under a group.
func oneOfEach(list []int, group [][]int32) (first []int) {
	seen := map[int32]bool{}
	for _, y := range list {
		if seen[int32(y)] {
			continue
		}
		first = append(first, y)
		for i := range group {
			seen[group[i][y]] = true
		}
	}
	return first
}

// image returns the image of x, or -1 if that is not known yet.
func (e *extension) image(x int) int {
	if !e.src.single(x) {
		return -1
	}
	return int(e.dst.order[e.src.place[x]])
}

// moves reports whether g leaves no orbit of arcs that must be moved where it is: then an
// element of the coset gH would leave an arc where it is.
func (e *extension) moves() bool {
	if !e.o.StayingRanks {
		for v := range e.net.t.Ranks {
			if e.src.single(v) && e.orbit[e.dst.order[e.src.place[v]]] == e.orbit[v] {
				return false
			}
		}
	}
	for a, i := range e.pairs {
		u, v := e.image(int(a[0])), e.image(int(a[1]))
		if u >= 0 && v >= 0 && e.pairs[[2]int32{int32(u), int32(v)}] == i {
			return false
		}
	}
	return true
}

// candidates returns the vertices that x may be taken to: those of other orbits first, and
// those of its own only if they may stay.
func (e *extension) candidates(x int, also bool) []int {
	var other, own []int
	for _, y := range e.dst.members(e.src.cell[x]) {
		if e.orbit[y] == e.orbit[x] {
			own = append(own, int(y))
		} else {
			other = append(other, int(y))
		}
	}
	byIndex := func(a, b int) int { return int(e.index[a] - e.index[b]) }
	slices.SortFunc(other, byIndex)
	slices.SortFunc(own, byIndex)
	if also {
		other = append(other, own...)
	}
	if like := e.like(x); like >= 0 {
		far := e.net.far[x]
		slices.SortStableFunc(other, func(a, b int) int {
			return cmp.Compare(max(far[a]-like, like-far[a]), max(far[b]-like, like-far[b]))
		})
	}
	return other
}

// like returns how far g takes the first vertex of x's colour whose image is known, or -1.
func (e *extension) like(x int) int16 {
	if e.net.far == nil {
		return -1
	}
	for _, v := range e.root.members(e.root.cell[x]) {
		if w := e.image(int(v)); w >= 0 {
			return e.net.far[v][w]
		}
	}
	return -1
}

// uniform reports whether g takes all vertices of one colour equally far, if it must.
func (e *extension) uniform() bool {
	if e.how != uniform || e.net.far == nil {
		return true
	}
	clear(e.took)
	for v, c := range e.root.cell {
		if w := e.image(v); w >= 0 {
			if far := 1 + e.net.far[v][w]; e.took[c] == 0 {
				e.took[c] = far
			} else if e.took[c] != far {
				return false
			}
		}
	}
	return true
}

// mayStay reports whether g may take the orbit of x to itself.
func (e *extension) mayStay(x int) bool { return e.o.StayingRanks || !e.net.t.IsRank(x) }

// next gives one more vertex an image: cur, which is where g takes start after this many
// steps, or, if start is negative, that of an orbit without one. Orbits are taken in
// cycles, for g^p must take each to itself, by the same element of h.
func (e *extension) next(start, cur, steps int) {
	for {
		if e.result != nil || e.done() || e.tries > e.limit() {
			return
		}
		if start < 0 {
			if start = e.unknown(); start < 0 {
				e.leaf()
				return
			}
			cur, steps = start, 0
		}
		y := e.image(cur)
		if y < 0 {
			break
		}
		// known already: go on from there
		switch {
		case e.orbit[y] == e.orbit[start]:
			if steps == e.p-1 && !e.closes(start, y) || steps < e.p-1 && (steps > 0 || !e.mayStay(start)) {
				return
			}
			start = -1
		case steps == e.p-1:
			return
		default:
			cur, steps = y, steps+1
		}
	}
	closing, first := steps == e.p-1, e.src.cells == e.root.cells
	var list []int
	switch {
	case closing && e.power >= 0:
		list = []int{int(e.h.nodes[e.power][start])}
	case closing:
		for i := range e.h.nodes {
			list = append(list, int(e.h.nodes[i][start]))
		}
	default:
		list = e.candidates(cur, steps == 0 && e.mayStay(cur))
	}
	if first && e.how == central { // what g finds, zg does, if z commutes with all of h
		list = oneOfEach(list, e.centre)
	}
	x := e.orbitOf(cur)
	for _, y := range list {
		if e.result != nil || e.done() || e.tries > e.limit() {
			return
		}
		if !closing && steps > 0 && e.orbit[y] == e.orbit[start] {
			continue
		}
		if first {
			e.tries = 0
		}
		e.undoable(func() {
			if closing && !e.closes(start, y) || !e.assign(x, y) {
				return
			}
			if e.orbit[y] == e.orbit[start] {
				e.next(-1, -1, 0)
			} else {
				e.next(start, y, steps+1)
			}
		})
	}
}

// closes notes what g^p is if it takes start to y, and reports whether that agrees with
// what is known of it.
func (e *extension) closes(start, y int) bool {
	if e.power >= 0 {
		return int(e.h.nodes[e.power][start]) == y
	}
	found := -1
	for i := range e.h.nodes {
		if int(e.h.nodes[i][start]) == y {
			if found >= 0 {
				return true // several: they stay open
			}
			found = i
		}
	}
	e.power = found
	return found >= 0
}

// unknown returns a vertex whose image is not known, or -1: a rank first, then what has the
// fewest candidates.
func (e *extension) unknown() int {
	best := -1
	better := func(v int) bool {
		if best < 0 {
			return true
		}
		a, b := e.src.size[e.src.cell[v]], e.src.size[e.src.cell[best]]
		return a < b || a == b && e.index[v] < e.index[best]
	}
	for _, list := range [][]int{e.ranks, e.switches} {
		for _, v := range list {
			if !e.src.single(v) && better(v) {
				best = v
			}
		}
		if best >= 0 && e.src.cells == e.root.cells {
			return best
		}
	}
	if best >= 0 {
		return best
	}
	// an orbit in which the first is known and others are not
	for v := range e.src.place {
		if !e.src.single(v) {
			return v
		}
	}
	return -1
}

// leaf checks the permutation that is known by now, exactly.
func (e *extension) leaf() {
	g := make([]int32, e.net.vertices())
	for v := range g {
		g[v] = int32(e.image(v))
	}
	if e.valid(g) {
		e.result = g
	}
}

// valid reports whether g is a symmetry with gH = Hg and g^p in H, and no element of gH
// leaves anything where it is that must be moved.
func (e *extension) valid(g []int32) bool {
	e.r.work += int64(len(e.net.t.Links))
	if !e.net.isSymmetry(g) {
		return false
	}
	for _, i := range e.generators {
		h := e.h.nodes[i]
		at := [2]int32{} // ghg⁻¹ on the base
		back := inverse(g)
		for j, v := range e.base {
			at[j] = g[h[back[v]]]
		}
		k, known := e.numbers[at]
		if !known {
			return false
		}
		for v := range g {
			if g[h[v]] != e.h.nodes[k][g[v]] {
				return false
			}
		}
	}
	power := slices.Clone(g)
	for range e.p - 1 {
		power = compose(g, power)
	}
	k, known := e.numbers[[2]int32{power[e.base[0]], power[e.base[1]]}]
	if !known || !slices.Equal(power, e.h.nodes[k]) {
		return false
	}
	if k, within := e.numbers[[2]int32{g[e.base[0]], g[e.base[1]]}]; within && (!e.o.StayingOrbits || slices.Equal(g, e.h.nodes[k])) {
		return false
	}
	if !e.o.StayingRanks {
		for v := range e.net.t.Ranks {
			if e.orbit[g[v]] == e.orbit[v] {
				return false
			}
		}
	}
	for a, i := range e.pairs {
		if e.pairs[[2]int32{g[a[0]], g[a[1]]}] == i {
			return false
		}
	}
	return true
}

func inverse(g []int32) []int32 {
	back := make([]int32, len(g))
	for v, w := range g {
		back[w] = int32(v)
	}
	return back
}

// compose returns g after h.
func compose(g, h []int32) []int32 {
	gh := make([]int32, len(g))
	for v := range gh {
		gh[v] = g[h[v]]
	}
	return gh
}

// grown returns the group of h and g: the cosets g^jH, one after the other.
func (e *extension) grown(g []int32) *Group {
	n := &Group{net: e.net, nodes: slices.Clone(e.h.nodes), orders: append(slices.Clone(e.h.orders), e.p*len(e.h.nodes))}
	coset := g
	for range e.p - 1 {
		for _, h := range e.h.nodes {
			n.nodes = append(n.nodes, compose(coset, h))
		}
		coset = compose(g, coset)
	}
	return n
}
