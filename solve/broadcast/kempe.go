package broadcast

import (
	"math"
	"math/rand/v2"
	"slices"
)

// chains is the arcs of trees in places of a period, so that no rank sends or receives two at a time, and what links between
// switches carry in each place. Two places can be exchanged along a chain of arcs (Kempe, 1879) and no rank sends or
// receives two at a time afterwards, either: so arcs are moved until no link between switches carries two.
type chains struct {
	arcs    []*bough
	out, in [][]int32 // by rank and place: the arc that it sends or receives in, or -1
	way     []int     // by arc: which of its routes
	load    [][]int32 // by link and place: arcs over it
	cost    int       // pairs of arcs that collide
	path    []int32   // scratch
}

func newChains(trees [][]bough, ranks, links, places int) *chains {
	x := &chains{out: make([][]int32, ranks), in: make([][]int32, ranks), load: make([][]int32, links)}
	for v := range ranks {
		x.out[v], x.in[v] = slices.Repeat([]int32{-1}, places), slices.Repeat([]int32{-1}, places)
	}
	for l := range x.load {
		x.load[l] = make([]int32, places)
	}
	for _, arcs := range trees {
		for i := range arcs {
			x.arcs, x.way = append(x.arcs, &arcs[i]), append(x.way, 0)
			x.put(int32(len(x.arcs)-1), arcs[i].colour)
		}
	}
	return x
}

// between returns the links between switches on a way of an arc.
func (x *chains) between(i int32, way int) []int {
	r := x.arcs[i].routes[way]
	return r[min(1, len(r)):max(1, len(r)-1)]
}

// put gives an arc that has none a place, and that of its ways on which it collides least.
func (x *chains) put(i int32, place int) {
	a := x.arcs[i]
	a.colour, x.out[a.from][place], x.in[a.to][place] = place, i, i
	least := int32(math.MaxInt32)
	for way := range a.routes {
		hits := int32(0)
		for _, l := range x.between(i, way) {
			hits += x.load[l][place]
		}
		if hits < least {
			least, x.way[i] = hits, way
		}
		if hits == 0 {
			break
		}
	}
	x.count(i, 1)
}

// take takes an arc out of its place.
func (x *chains) take(i int32) {
	a := x.arcs[i]
	x.out[a.from][a.colour], x.in[a.to][a.colour] = -1, -1
	x.count(i, -1)
}

// count counts an arc once more, or once less.
func (x *chains) count(i, times int32) {
	place := x.arcs[i].colour
	for _, l := range x.between(i, x.way[i]) {
		at := &x.load[l][place]
		x.cost += int(min(*at, *at+times) * times)
		*at += times
	}
}

// exchange gives an arc another place, and those that are in its way that which it had, and so on.
func (x *chains) exchange(i int32, other int) {
	one := x.arcs[i].colour
	if one == other {
		return
	}
	x.path = append(x.path[:0], i)
	if !x.follow(i, other, true) { // else it is a circle
		x.follow(i, other, false)
	}
	for _, j := range x.path {
		x.take(j)
	}
	for _, j := range x.path {
		x.put(j, one+other-x.arcs[j].colour)
	}
}

// follow adds to the path what is in the way of an arc in another place, where it is received or where it is sent, and so
// on, and reports whether it came back to the arc.
func (x *chains) follow(i int32, place int, received bool) bool {
	both := place + x.arcs[i].colour
	for j := i; ; {
		next := x.out[x.arcs[j].from][place]
		if received {
			next = x.in[x.arcs[j].to][place]
		}
		if next < 0 || next == i {
			return next == i
		}
		x.path = append(x.path, next)
		j, place, received = next, both-place, !received
	}
}

// untangle exchanges places, a number of times at most, until no two arcs collide between switches, and reports whether it got
// there (simulated annealing). Then each arc has one route.
func (x *chains) untangle(most int) bool {
	var movable []int32
	for i, a := range x.arcs {
		if len(a.routes[0]) > 2 {
			movable = append(movable, int32(i))
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(x.arcs))))
	heat, cooling := tangled, math.Pow(leastTangled/tangled, 1/float64(most))
	for n := 0; x.cost > 0 && n < most; n++ {
		i, other := movable[rng.IntN(len(movable))], rng.IntN(len(x.out[0]))
		one, before := x.arcs[i].colour, x.cost
		x.exchange(i, other)
		if x.cost > before && rng.Float64() >= math.Exp(float64(before-x.cost)/heat) {
			x.exchange(i, one)
		}
		heat *= cooling
	}
	if x.cost > 0 {
		return false
	}
	for i, a := range x.arcs {
		a.routes = a.routes[x.way[i]:][:1]
	}
	return true
}

// mostUntangled limits the exchanges where links between switches are hardly full, and mostFullUntangled where they are.
const mostUntangled, mostFullUntangled = 1 << 14, 1 << 18

// tangled and leastTangled are how many collisions more are often taken, at the start and at the end.
const tangled, leastTangled = 0.4, 0.12
