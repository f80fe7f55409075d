package oneshot

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// ring is a plan for a ring: sums are collected at some places, go from place to place step by step, and are spread.
type ring struct {
	size    int
	collect []leg   // added one after the other
	main    [][]leg // the legs of each step at once
	spread  []leg   // copied one after the other
	live    [][]int // the places whose data counts when all is collected, and after each step
	latency int
}

// leg is from one place on a ring to another one, and whether it is copied there, not added.
type leg struct {
	from, to int
	copied   bool
}

// newRing returns the plan for a ring of n ranks, n a power of two, or a line of two, in groups of g neighbours, where 2g divides n: the sums of
// groups are collected where pairs of groups meet, so that both neighbours there have the sum of a pair; of each two neighbours one moves on clockwise
// and the other one counterclockwise: they add up the sums of twice as many pairs, at twice the distance each time, which
// ends when those of half of the ring are together. Then they go to the other end of their group, where they meet the sums of
// the other half, and these are exchanged, and spread in the group.
//
// That takes n/2+g-1 latencies, and n/g hops in each of them: with g = 1 no allreduce of a ring is sooner over, and none as
// soon over takes fewer hops, since then what each rank has comes to the opposite rank in as many latencies as there are
// hops, over another link than that of any other rank.
func newRing(size, group int) *ring {
	x := &ring{size: size}
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
	return x.lively()
}

// lively notes which places have data that counts.
func (x *ring) lively() *ring {
	needed := make([]bool, x.size)
	for v := range needed {
		needed[v] = !slices.ContainsFunc(x.spread, func(l leg) bool { return l.to == v })
	}
	x.live = make([][]int, len(x.main)+1)
	for i := len(x.main); ; i-- {
		for v, is := range needed {
			if is {
				x.live[i] = append(x.live[i], v)
			}
		}
		if i == 0 {
			return x
		}
		for _, l := range x.main[i-1] {
			if l.copied {
				needed[l.to] = false
			}
		}
		for _, l := range x.main[i-1] {
			needed[l.from] = true
		}
	}
}

// variants returns plans for a ring, or a line of two, those of fewest latencies first: with groups of each size where there are powers of two
// ranks, else those of the table; none if that has none.
func variants(size int) (list []*ring) {
	if size&(size-1) != 0 {
		return tabled()[size]
	}
	for group := 1; group <= size/2; group *= 2 {
		list = append(list, newRing(size, group))
	}
	return list
}

// torus returns the sides of a torus whose ranks are the members in order, and the variants of each; nil for other networks, and if a side
// has none.
func torus(p *model.Problem) (dims []int, of [][]*ring) {
	dims = wholeGrid(p)
	if dims == nil {
		return nil, nil
	}
	for d, closed := range p.Topology.Closed(dims) {
		list := variants(dims[d])
		if !closed && dims[d] > 2 || list == nil {
			return nil, nil
		}
		of = append(of, list)
	}
	return dims, of
}

// ringPlans returns plans for a torus whose sides have variants (see there). The first side that a chunk goes along has some variant, the
// second one some, and so on: there is a plan for each choice of variants. First the sums of groups are collected side after side,
// then each side is gone through (see sideOrders), and then sums are spread. Each chunk begins with another side. It returns nil for
// other networks, where no side is longer than four, since then layouts serve as well, and, where one is of two, for buffers that are a fluid.
func (s *search) ringPlans() (plans []*plan) {
	dims, of := torus(s.p)
	if of == nil || slices.Max(dims) <= 4 && !slices.Contains(dims, 3) {
		return nil
	}
	fluid := slow(s.p, leastLatencies*s.p.Topology.Links[0].Alpha)
	if fluid && slices.Contains(dims, 2) {
		return nil
	}
	note := "sums of neighbours in rings doubled both ways round"
	if slices.ContainsFunc(dims, func(size int) bool { return size&(size-1) != 0 }) {
		note = "sums passed on along rings in few hops"
	}
	for _, choice := range choices(of) {
		by := map[int]*plan{} // by number of steps: where sides differ, chunks that begin with one may take more than others
		for first := range dims {
			sides := ringsFrom(of, choice, first)
			orders := sideOrders(sides, first)
			if fluid || s.n() > mostInTurn { // timetables have use for other plans
				orders = orders[:1]
			}
			for _, order := range orders {
				steps := torusSteps(dims, sides, first, order)
				q := by[len(steps)]
				if q == nil {
					q = &plan{layout: &layout{member: make([]int, len(s.p.Members()))}, note: note}
					by[len(steps)], plans = q, append(plans, q)
				}
				q.lists, q.turns = append(q.lists, steps), append(q.turns, make([]state, len(steps)))
				if !balances(steps) {
					q.lists, q.turns = append(q.lists, mirrored(steps, len(q.member))), append(q.turns, make([]state, len(steps)))
				}
			}
		}
	}
	return plans
}

// balances reports whether as many hops are in each step as in that step from the end.
func balances(steps []step) bool {
	for i := range steps {
		if len(steps[i].pairs) != len(steps[len(steps)-1-i].pairs) {
			return false
		}
	}
	return true
}

// mostInTurn is among how many ranks chunks go through sides in turn: among more it takes too long to try all these plans.
const mostInTurn = 128

// leastLatencies is how many latencies it takes a member to send the buffer where it is a fluid to rings: what is sent in less is none.
const leastLatencies = 2

// ringsFrom returns the plans for the sides of a torus, of variants: those of some numbers for the sides from one on, or the last ones.
func ringsFrom(of [][]*ring, choice []int, first int) []*ring {
	sides := make([]*ring, len(of))
	for i, k := range choice {
		d := (first + i) % len(of)
		sides[d] = of[d][min(k, len(of[d])-1)]
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

// mostChoices is how many choices of variants there are at most with one for each side.
const mostChoices = 100

// choices returns the numbers of variants that sides may have, from the first side on that a chunk goes along: any, or where these are too many
// the same along all sides.
func choices(of [][]*ring) [][]int {
	most := 0
	for _, list := range of {
		most = max(most, len(list))
	}
	all, same := [][]int{nil}, math.Pow(float64(most), float64(len(of))) > mostChoices
	for i := range of {
		var longer [][]int
		for _, choice := range all {
			for k := range most {
				if i == 0 || !same || choice[0] == k {
					longer = append(longer, append(slices.Clone(choice), k))
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
		if len(legs) == 0 {
			return
		}
		x := step{phase: phase, pairs: along(dims, lines, d, legs)}
		if phase == exchanging {
			each := len(x.pairs) / len(legs)
			for i, w := range x.pairs {
				if legs[i/each].copied {
					x.stale = append(x.stale, w.to)
				}
			}
		}
		steps = append(steps, x)
	}
	for i := range dims {
		d := (first + i) % len(dims)
		add(d, sides[d].collect, collecting)
		lines[d] = sides[d].live[0]
	}
	gone := make([]int, len(dims)) // how often each side has come
	for _, d := range order {
		legs := sides[d].main[gone[d]]
		gone[d]++
		phase := exchanging
		if moved(legs) {
			phase = spreading
		}
		add(d, legs, phase)
		lines[d] = sides[d].live[gone[d]]
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

// moved reports whether all legs of a step are copied, and no place both sends and gets something.
func moved(legs []leg) bool {
	return !slices.ContainsFunc(legs, func(x leg) bool {
		return !x.copied || slices.ContainsFunc(legs, func(y leg) bool { return y.to == x.from })
	})
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
