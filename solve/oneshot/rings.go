package oneshot

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// ring is a plan for a ring of n ranks, n a power of two, in groups of g neighbours: the sums of groups are collected where
// pairs of groups meet, so that both neighbours there have the sum of a pair; of each two neighbours one moves on clockwise
// and the other one counterclockwise: they add up the sums of twice as many pairs, at twice the distance each time, which
// ends when those of half of the ring are together. Then they go to the other end of their group, where they meet the sums of
// the other half, and these are exchanged, and spread in the group.
//
// That takes n/2+g-1 latencies, and n/g hops in each of them: with g = 1 no allreduce of a ring is sooner over, and none as
// soon over takes fewer hops, since then what each rank has comes to the opposite rank in as many latencies as there are
// hops, over another link than that of any other rank.
type ring struct {
	size, group int
	collect     []leg
	main        [][]leg // exchanges, and moves
	spread      []leg
	latency     int
}

// leg is from one place on a ring to another one, and whether it is copied there, not added.
type leg struct {
	from, to int
	copied   bool
}

// newRing returns the plan for a ring, or a line of two, and a size of groups, which divides it twice.
func newRing(size, group int) *ring {
	x := &ring{size: size, group: group}
	at := func(i int) int { return (i%size + size) % size }
	both := func(low, clockwise, counter int) (legs []leg) { // from each pair of groups
		for i := low; i < low+size; i += 2 * group {
			legs = append(legs, leg{from: at(i), to: at(i + clockwise)}, leg{from: at(i - 1), to: at(i - 1 - counter)})
		}
		return legs
	}
	for j := 1; j < group; j++ {
		for i := 0; i < size; i += 2 * group {
			x.collect = append(x.collect, leg{from: i + j - 1, to: i + j}, leg{from: i + 2*group - j, to: i + 2*group - j - 1})
		}
	}
	x.main, x.latency = append(x.main, both(group, -1, -1)), 2*(group-1)+1
	ends := group // where the pairs meet of which one has the sums last
	if size > 2*group {
		for far := 2 * group; far <= size/4; far *= 2 {
			x.main, x.latency = append(x.main, both(group, far, far)), x.latency+far
		}
		if ends = 2 * group; group > 1 {
			x.main = append(x.main, both(group, group-1, group-1))
			for i := range x.main[len(x.main)-1] {
				x.main[len(x.main)-1][i].copied = true
			}
		}
		x.main, x.latency = append(x.main, both(ends, -1, -1)), x.latency+group
	}
	for j := 1; j < group; j++ {
		for i := ends; i < ends+size; i += 2 * group {
			x.spread = append(x.spread, leg{at(i + j - 1), at(i + j), true}, leg{at(i - j), at(i - j - 1), true})
		}
	}
	return x
}

// ringPlans returns plans for a torus whose sides are powers of two. The first side that a chunk goes along has groups of some size, the
// second one of some size, and so on: there is a plan for each choice of sizes. First the sums of groups are collected side after side,
// then each side is gone through (see sideOrders), and then sums are spread. Each chunk begins with another side. It returns nil for
// other networks, where no side is longer than four, since then layouts serve as well, and, where one is of two, for buffers that are a fluid.
func (s *search) ringPlans() (plans []*plan) {
	dims := evenGrid(s.p)
	if dims == nil || slices.Max(dims) <= 4 {
		return nil
	}
	fluid := slow(s.p, leastLatencies*s.p.Topology.Links[0].Alpha)
	for d, closed := range s.p.Topology.Closed(dims) {
		if !closed && (dims[d] > 2 || fluid) {
			return nil
		}
	}
	for _, groups := range groupings(dims) {
		by := map[int]*plan{} // by number of steps: where sides differ, chunks that begin with one may take more than others
		for first := range dims {
			sides := ringsFrom(dims, groups, first)
			orders := sideOrders(sides, first)
			if fluid || s.n() > mostInTurn { // timetables have use for other plans
				orders = orders[:1]
			}
			for _, order := range orders {
				steps := torusSteps(dims, sides, first, order)
				q := by[len(steps)]
				if q == nil {
					q = &plan{layout: &layout{member: make([]int, len(s.p.Members()))}}
					by[len(steps)], plans = q, append(plans, q)
				}
				q.lists, q.turns = append(q.lists, steps), append(q.turns, make([]state, len(steps)))
			}
		}
	}
	return plans
}

// mostInTurn is among how many ranks chunks go through sides in turn: among more it takes too long to try all these plans.
const mostInTurn = 128

// leastLatencies is how many latencies it takes a member to send the buffer where it is a fluid to rings: what is sent in less is none.
const leastLatencies = 2

// ringsFrom returns the plans for the sides of a torus, whose sizes of groups are those of the sides from one on, or as large as can be.
func ringsFrom(dims, groups []int, first int) []*ring {
	sides := make([]*ring, len(dims))
	for i, group := range groups {
		d := (first + i) % len(dims)
		sides[d] = newRing(dims[d], max(1, min(group, dims[d]/2)))
	}
	return sides
}

// sideOrders returns the orders in which chunks go through the sides of a torus: one side after the other, from one on; and from the first
// one on also in turn, as evenly as can be, beginning with each turn, where sides differ in how often they come. Else the links along the
// longer sides would have more to carry at some times than at others.
func sideOrders(sides []*ring, first int) (all [][]int) {
	type turn struct {
		side  int
		after float64 // part of its side
	}
	var turns []turn
	var plain []int
	differ := false
	for i := range sides {
		d := (first + i) % len(sides)
		n := len(sides[d].main)
		for k := range n {
			turns = append(turns, turn{d, (float64(k) + 0.5) / float64(n)})
			plain = append(plain, d)
		}
		differ = differ || n != len(sides[first].main)
	}
	if all = append(all, plain); !differ || first > 0 {
		return all
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.after, b.after) })
	for i := range turns {
		var order []int
		for _, x := range slices.Concat(turns[i:], turns[:i]) {
			order = append(order, x.side)
		}
		if !slices.ContainsFunc(all, func(x []int) bool { return slices.Equal(x, order) }) {
			all = append(all, order)
		}
	}
	return all
}

// mostGroupings is how many choices of sizes of groups there are at most with a size for each side.
const mostGroupings = 100

// groupings returns the sizes that groups may have along the sides of a torus, from the first side on that a chunk goes along: any, or where
// these are too many the same along all sides.
func groupings(dims []int) [][]int {
	sizes := bits.Len(uint(slices.Max(dims))) - 1 // 1, 2, and so on up to half of the longest side
	all, same := [][]int{nil}, math.Pow(float64(sizes), float64(len(dims))) > mostGroupings
	for i := range dims {
		var longer [][]int
		for _, groups := range all {
			for k := range sizes {
				if i == 0 || !same || groups[0] == 1<<k {
					longer = append(longer, append(slices.Clone(groups), 1<<k))
				}
			}
		}
		all = longer
	}
	return all
}

// torusSteps returns the steps of plans for the sides of a torus, whose groups collect sums from one side on, and which are gone through in
// some order.
func torusSteps(dims []int, sides []*ring, first int, order []int) (steps []step) {
	lines := make([][]int, len(dims)) // by side: the places along it that are in use
	for d, size := range dims {
		for i := range size {
			lines[d] = append(lines[d], i)
		}
	}
	add := func(d int, legs []leg, phase phase) {
		if len(legs) > 0 {
			steps = append(steps, step{phase: phase, pairs: along(dims, lines, d, legs)})
		}
	}
	for i := range dims {
		d := (first + i) % len(dims)
		add(d, sides[d].collect, collecting)
		lines[d] = ends(sides[d].main[0])
	}
	gone := make([]int, len(dims)) // how often each side has come
	for _, d := range order {
		legs := sides[d].main[gone[d]]
		gone[d]++
		if legs[0].copied {
			add(d, legs, spreading)
		} else {
			add(d, legs, exchanging)
		}
		lines[d] = ends(legs)
	}
	for i := range dims {
		d := (first + len(dims) - 1 - i) % len(dims)
		add(d, sides[d].spread, spreading)
		lines[d] = nil
		for i := range dims[d] {
			lines[d] = append(lines[d], i)
		}
	}
	return steps
}

// ends returns the places to which legs lead.
func ends(legs []leg) (places []int) {
	for _, x := range legs {
		places = append(places, x.to)
	}
	return places
}

// along returns legs along a side of a grid, in each line that is in use along the others.
func along(dims []int, lines [][]int, side int, legs []leg) (pairs []pair) {
	base, stride := []int{0}, 1
	own := 1
	for d := len(dims) - 1; d >= 0; d-- {
		if d == side {
			own = stride
		} else {
			var all []int
			for _, b := range base {
				for _, i := range lines[d] {
					all = append(all, b+i*stride)
				}
			}
			base = all
		}
		stride *= dims[d]
	}
	for _, x := range legs {
		for _, b := range base {
			pairs = append(pairs, pair{from: b + x.from*own, to: b + x.to*own})
		}
	}
	return pairs
}
