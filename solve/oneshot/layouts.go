package oneshot

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// grouping is the members in equal groups.
type grouping [][]int

// Limits of what is tried of a network.
const (
	maxGroupings = 4
	maxLayouts   = 6
	maxPairs     = 1 << 16 // of members that meet
)

// levels returns the ways in which the members of a network fall into two or more groups of
// equal size, two or more each: the machines that the topology has as groups, then those that hang
// together without links of some latency or more, without those slower than some bandwidth, without
// switches that have no rank at them, or without one switch.
func levels(p *model.Problem) (all []grouping) {
	t := p.Topology
	n := len(p.Members())
	seen := map[string]bool{}
	take := func(groups grouping) {
		if groups.equal(n) && len(all) < maxGroupings && !seen[fmt.Sprint(groups)] {
			seen[fmt.Sprint(groups)] = true
			all = append(all, groups)
		}
	}
	if groups := machines(p); groups != nil {
		take(groups)
	}
	add := func(with func(l *model.Link) bool) { take(groupsBy(p, with)) }
	var latencies []model.Time
	var speeds []int64
	for i := range t.Links {
		latencies, speeds = append(latencies, t.Links[i].Alpha), append(speeds, t.Links[i].Bandwidth)
	}
	slices.Sort(latencies)
	slices.Sort(speeds)
	latencies, speeds = slices.Compact(latencies), slices.Compact(speeds)
	const most = 8 // steps of a figure, where there are more
	for i := 1; i < len(latencies) && len(latencies) <= most; i++ {
		add(func(l *model.Link) bool { return l.Alpha < latencies[i] })
	}
	for i := 1; i < len(speeds) && len(speeds) <= most; i++ {
		add(func(l *model.Link) bool { return l.Bandwidth >= speeds[i] })
	}
	edge := make([]bool, t.Nodes()) // ranks, and switches with ranks at them
	for i := range t.Links {
		l := &t.Links[i]
		edge[l.Src] = edge[l.Src] || t.IsRank(l.Src) || t.IsRank(l.Dst)
		edge[l.Dst] = edge[l.Dst] || t.IsRank(l.Src) || t.IsRank(l.Dst)
	}
	add(func(l *model.Link) bool { return edge[l.Src] && edge[l.Dst] })
	for v := t.Ranks; v < min(t.Nodes(), t.Ranks+64); v++ {
		add(func(l *model.Link) bool { return l.Src != v && l.Dst != v })
	}
	return all
}

// equal reports whether n members are in two or more groups of equal size, two or more each.
func (groups grouping) equal(n int) bool {
	size := len(groups[0])
	return len(groups) > 1 && size > 1 && n == size*len(groups) && !slices.ContainsFunc(groups, func(g []int) bool { return len(g) != size })
}

// bySwitch returns the members, as their numbers, by the only switch that each of them is at, nil if one is at none or at several.
func bySwitch(p *model.Problem) (groups grouping) {
	t, out, at := p.Topology, p.Topology.Out(), map[int]int{}
	for i, r := range p.Members() {
		one := -1
		for _, l := range out[r] {
			v := t.Links[l].Dst
			if t.IsRank(v) || one >= 0 && one != v {
				return nil
			}
			one = v
		}
		g, known := at[one]
		if !known {
			g = len(groups)
			at[one] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// machines returns the members, as their numbers, by the machines that the topology has as groups, nil
// where it has none or a member is in none.
func machines(p *model.Problem) (groups grouping) {
	number := make([]int, p.Topology.Ranks)
	for r := range number {
		number[r] = -1
	}
	for i, r := range p.Members() {
		number[r] = i
	}
	placed := 0
	for _, ranks := range p.Topology.GroupsOf(model.MachineGroup) {
		var group []int
		for _, r := range ranks {
			if number[r] >= 0 {
				group = append(group, number[r])
			}
		}
		if placed += len(group); len(group) > 0 {
			groups = append(groups, group)
		}
	}
	if placed < len(p.Members()) {
		return nil
	}
	return groups
}

// groupsBy returns the members, as their numbers, that hang together by some of the links.
func groupsBy(p *model.Problem, with func(l *model.Link) bool) (groups grouping) {
	of, at := p.Topology.Parts(with), map[int]int{}
	for i, r := range p.Members() {
		g, known := at[of[r]]
		if !known {
			g = len(groups)
			at[of[r]] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// layout gives every member a digit in each of some dimensions, so that no two have the same
// digits: the members that differ in one digit alone are a group of that dimension.
type layout struct {
	radix  []int
	digits [][]int // by dimension and member
	member []int   // by the number that the digits make, the first dimension fastest
	orders [][]int // in which chunks take turns to go along the dimensions
	doors  *doors  // nil: owners exchange sums with their peers
}

// layouts returns the layouts to try: those of the network's levels, and of the members at each switch if these are no prime number, also with the
// groups in two dimensions; those of a grid; and those of the members' numbers in as many dimensions as n has
// prime factors, and in two. Ranks of grids, cubes and machines are numbered along their dimensions.
func layouts(p *model.Problem) (all []*layout) {
	n := len(p.Members())
	take := func(x *layout) {
		if x == nil || n*x.degree() > maxPairs {
			return
		}
		same := func(y *layout) bool {
			return slices.EqualFunc(x.digits, y.digits, slices.Equal)
		}
		if !slices.ContainsFunc(all, same) {
			all = append(all, x)
		}
	}
	grouped := func(groups grouping, factors ...[]int) {
		along, of := make([]int, n), make([]int, n) // number in its group, and the group's
		for h, list := range groups {
			for i, v := range list {
				along[v], of[v] = i, h
			}
		}
		first := &layout{radix: []int{len(groups[0])}, digits: [][]int{along}}
		take(first.with(of, len(groups)))
		for _, f := range factors {
			if !slices.Contains(f, 1) {
				take(first.with(of, f...))
			}
		}
	}
	known := levels(p)
	for _, groups := range known {
		f := balanced(len(groups))
		grouped(groups, f[:])
	}
	take(cube(p))
	numbers := make([]int, n)
	for v := range numbers {
		numbers[v] = v
	}
	if f := primes(n); len(f) > 2 {
		take(new(layout).with(numbers, f...))
	}
	even := balanced(n)
	for size := 2; size < n && len(all) < maxLayouts; size++ {
		if n%size == 0 && size+n/size <= 2*(even[0]+even[1]) { // others have many pairs
			take(new(layout).with(numbers, size, n/size))
		}
	}
	groups := bySwitch(p)
	isKnown := func(x grouping) bool { return slices.EqualFunc(x, groups, slices.Equal) }
	if groups != nil && groups.equal(n) && len(primes(len(groups[0]))) > 1 && !slices.ContainsFunc(known, isKnown) { // prime ones are there
		f := balanced(len(groups))
		grouped(groups, f[:], []int{f[1], f[0]})
	}
	return all
}

// with returns a layout with more dimensions, whose digits make the numbers given, the first fastest; and chunks that
// take turns to begin with each dimension.
func (x *layout) with(numbers []int, radix ...int) *layout {
	y := &layout{radix: slices.Clone(x.radix), digits: slices.Clone(x.digits)}
	stride := 1
	for _, r := range radix {
		digit := make([]int, len(numbers))
		for v, number := range numbers {
			digit[v] = number / stride % r
		}
		y.radix, y.digits = append(y.radix, r), append(y.digits, digit)
		stride *= r
	}
	return y.numbered()
}

// degree returns with how many others each member is in a group.
func (x *layout) degree() (sum int) {
	for _, r := range x.radix {
		sum += r - 1
	}
	return sum
}

// primes returns the prime factors of n.
func primes(n int) (list []int) {
	for f := 2; n > 1; f++ {
		for ; n%f == 0; n /= f {
			list = append(list, f)
		}
	}
	return list
}

// balanced returns the two factors of n, the smaller one last, that differ least.
func balanced(n int) [2]int {
	for f := int(math.Sqrt(float64(n))); ; f-- {
		if n%f == 0 {
			return [2]int{n / f, f}
		}
	}
}

// cube returns the layout of a grid whose sides are powers of two in which the places along each side have the digits of
// Gray's code, so that neighbours differ in one: a ring of four is a square, and a torus of such rings a hypercube. It
// returns nil for other networks.
func cube(p *model.Problem) *layout {
	dims := evenGrid(p)
	if dims == nil {
		return nil
	}
	n := p.Topology.Ranks
	x := &layout{}
	stride := n
	for _, size := range dims {
		stride /= size
		for d := 1; d < size; d *= 2 {
			digit := make([]int, n)
			for i, r := range p.Members() {
				at := r / stride % size
				digit[i] = (at ^ at>>1) / d % 2
			}
			x.radix, x.digits = append(x.radix, 2), append(x.digits, digit)
		}
	}
	return x.numbered()
}

// evenGrid returns the sides of a grid, all powers of two, whose ranks are the members in order, nil for other networks.
func evenGrid(p *model.Problem) []int {
	if bits.OnesCount(uint(len(p.Members()))) > 1 {
		return nil
	}
	return wholeGrid(p)
}

// wholeGrid returns the sides of a grid whose ranks are the members in order, nil for other networks.
func wholeGrid(p *model.Problem) []int {
	if len(p.Members()) != p.Topology.Nodes() || !slices.IsSorted(p.Members()) {
		return nil
	}
	return p.Topology.Grid()
}

// numbered notes which member has which digits, and has chunks take turns to begin with each dimension.
func (x *layout) numbered() *layout {
	for j := range x.radix {
		var order []int
		for i := range x.radix {
			order = append(order, (j+i)%len(x.radix))
		}
		x.orders = append(x.orders, order)
	}
	x.member = make([]int, len(x.digits[0]))
	for v := range x.member {
		x.member[x.number(v, -1, 0)] = v
	}
	return x
}

// peer returns the member of v's group of a dimension that is some places after v.
func (x *layout) peer(v, dimension, by int) int {
	return x.member[x.number(v, dimension, by)]
}

// number returns what a member's digits make, one of them moved on.
func (x *layout) number(v, dimension, by int) int {
	sum, stride := 0, 1
	for j, r := range x.radix {
		d := x.digits[j][v]
		if j == dimension {
			d = (d + by) % r
		}
		sum += d * stride
		stride *= r
	}
	return sum
}
