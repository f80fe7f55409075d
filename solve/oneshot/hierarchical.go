package oneshot

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// grouping is the members in equal groups.
type grouping [][]int

// Limits of what is tried of a network.
const (
	maxGroupings = 4
	maxLayouts   = 6
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
		size := len(groups[0])
		if len(groups) < 2 || size < 2 || n != size*len(groups) || len(all) == maxGroupings || seen[fmt.Sprint(groups)] {
			return
		}
		for _, g := range groups {
			if len(g) != size {
				return
			}
		}
		seen[fmt.Sprint(groups)] = true
		all = append(all, groups)
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
	t := p.Topology
	root := make([]int, t.Nodes())
	for v := range root {
		root[v] = v
	}
	var find func(v int) int
	find = func(v int) int {
		if root[v] != v {
			root[v] = find(root[v])
		}
		return root[v]
	}
	for i := range t.Links {
		if l := &t.Links[i]; with(l) {
			root[find(l.Src)] = find(l.Dst)
		}
	}
	at := map[int]int{}
	for i, r := range p.Members() {
		g, known := at[find(r)]
		if !known {
			g = len(groups)
			at[find(r)] = g
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
	digits [][]int  // by dimension and member
	member []int    // by the number that the digits make, the first dimension fastest
	pairs  [][]pair // by dimension, of members of a group
	ways   *ways    // of these
}

// layouts returns the layouts to try: those of the network's levels, and those of the members'
// numbers in two dimensions, and in as many as n has prime factors. Ranks of grids, cubes and
// machines are numbered along their dimensions.
func layouts(p *model.Problem) (all []*layout) {
	n := len(p.Members())
	for _, groups := range levels(p) {
		x := &layout{radix: []int{len(groups[0]), len(groups)}, digits: [][]int{make([]int, n), make([]int, n)}}
		for h, list := range groups {
			for i, v := range list {
				x.digits[0][v], x.digits[1][v] = i, h
			}
		}
		all = append(all, x.numbered())
	}
	add := func(radix ...int) {
		x := &layout{radix: radix}
		stride := 1
		for _, r := range radix {
			digit := make([]int, n)
			for v := range digit {
				digit[v] = v / stride % r
			}
			x.digits = append(x.digits, digit)
			stride *= r
		}
		x.numbered()
		if !slices.ContainsFunc(all, func(y *layout) bool { return slices.EqualFunc(x.digits, y.digits, slices.Equal) }) {
			all = append(all, x)
		}
	}
	var primes []int
	for left, f := n, 2; left > 1; {
		if left%f > 0 {
			f++
			continue
		}
		primes = append(primes, f)
		left /= f
	}
	if len(primes) > 2 {
		add(primes...)
	}
	even := n // the least sum of two sides
	for size := 2; size < n; size++ {
		if n%size == 0 {
			even = min(even, size+n/size)
		}
	}
	for size := 2; size < n && len(all) < maxLayouts; size++ {
		if n%size == 0 && size+n/size <= 2*even { // others have many pairs
			add(size, n/size)
		}
	}
	return all
}

// numbered notes which member has which digits.
func (x *layout) numbered() *layout {
	x.member = make([]int, len(x.digits[0]))
	for v := range x.member {
		x.member[x.number(v, -1, 0)] = v
	}
	return x
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

// form is how dimensions are combined.
type form uint8

const (
	// exchange: along each dimension but the last, the members of a group add up a part each;
	// along the last one all send their sums to all; then the sums go back the same way.
	exchange form = iota
	// owners: as exchange, but of the last group one adds up, and sends the result to the others.
	owners
	// steps: along one dimension after the other, all members of a group send all to all.
	steps
	forms
)

func (f form) String() string {
	return []string{"sums of groups exchanged by peers", "sums of groups added up by one of the peers", "one-shot in groups, one dimension after the other"}[f]
}

// plan is a layout with a form, the dimensions in an order.
type plan struct {
	*layout
	form  form
	order []int
	end   model.Time // what it reached with some pieces
}

// Of all plans with a few pieces the best are tried with others.
const (
	fewPieces  = 4
	mostPieces = 64
	bestPlans  = 4
)

// compose tries every plan with a few pieces, and the best plans with other numbers of them as
// long as more of them help.
func (s *search) compose(all []*layout) {
	var plans []*plan
	for _, x := range all {
		s.route(x)
		order := make([]int, len(x.radix))
		for j := range order {
			order[j] = j
		}
		back := slices.Clone(order)
		slices.Reverse(back)
		for f := range forms {
			for _, o := range [][]int{order, back} {
				q := &plan{layout: x, form: f, order: o}
				if q.end = s.combine(q, fewPieces); q.end == model.MaxTime && s.p.Chunks == nil {
					q.end = s.combine(q, 1) // the others are too many transfers
				}
				plans = append(plans, q)
			}
		}
	}
	if s.p.Chunks != nil {
		return
	}
	slices.SortStableFunc(plans, func(a, b *plan) int { return cmp.Compare(a.end, b.end) })
	for _, q := range plans[:min(bestPlans, len(plans))] {
		last, worse := q.end, 0
		for pieces := 2 * fewPieces; pieces <= mostPieces && worse < 2; pieces *= 2 {
			end := s.combine(q, pieces)
			if end >= last/1000*996 {
				worse++
			}
			last = min(last, end)
		}
		for pieces := 1; pieces < fewPieces; pieces *= 2 {
			s.combine(q, pieces)
		}
	}
}

// route finds ways for the pairs of a layout.
func (s *search) route(x *layout) {
	var pairs []pair
	ends := []int{0}
	for j, r := range x.radix {
		for d := 1; d < r; d++ {
			for v := range x.member {
				pairs = append(pairs, pair{from: v, to: x.member[x.number(v, j, d)]})
			}
		}
		ends = append(ends, len(pairs))
	}
	x.ways = newWays(s.b, s.p, pairs)
	for j := range x.radix {
		x.pairs = append(x.pairs, x.ways.pairs[ends[j]:ends[j+1]])
	}
}

// parts returns how many chunks the form divides a piece of the buffer into, so that the members
// share the work.
func (x *layout) parts(f form, order []int) int {
	parts := 1
	for i, j := range order {
		if f == owners || f == exchange && i < len(order)-1 {
			parts *= x.radix[j]
		}
	}
	return parts
}

// combine tries a plan with a number of pieces for each part, and returns its makespan, MaxTime if
// there is none.
func (s *search) combine(q *plan, pieces int) model.Time {
	p := *s.p
	if parts := pieces * q.parts(q.form, q.order); p.Chunks == nil {
		p.Chunks = s.divide(p.Size, int(min(int64(parts), max(1, p.Size/s.unit()))), 0).chunks
	}
	if s.over() || len(p.Chunks)*len(q.ways.pairs) > maxTransfers/4 {
		return model.MaxTime
	}
	s.ways = q.ways
	b := s.builder(&p)
	if !b.compose(q.layout, q.form, q.order) {
		return model.MaxTime
	}
	return s.keep(b, q.form.String())
}

// compose places all chunks by a form.
func (b *builder) compose(x *layout, f form, order []int) bool {
	ready := make([][]model.Time, len(b.p.Chunks)) // by chunk and member
	for k := range ready {
		ready[k] = make([]model.Time, len(x.member))
	}
	if f == steps {
		for _, j := range order {
			for k := range ready {
				if !b.toAll(k, x.pairs[j], ready[k]) {
					return false
				}
			}
		}
		return true
	}
	// owns reports whether a member has the digits of chunk k's owner in the first dimensions.
	owns := func(k, v, dimensions int) bool {
		for _, j := range order[:dimensions] {
			if x.digits[j][v] != k%x.radix[j] {
				return false
			}
			k /= x.radix[j]
		}
		return true
	}
	last := len(order) - 1
	collected := last // dimensions along which one of a group adds up
	if f == owners {
		collected++
	}
	for i := range order {
		for k := range ready {
			var pairs []pair
			for _, w := range x.pairs[order[i]] {
				if owns(k, w.from, i) && owns(k, w.to, min(i+1, collected)) {
					pairs = append(pairs, w)
				}
			}
			if i == last && f == exchange {
				if !b.toAll(k, pairs, ready[k]) {
					return false
				}
				continue
			}
			for _, w := range b.byDuration(k, pairs) {
				t := b.send(k, w, model.Reduction, ready[k][w.from])
				ready[k][w.to] = max(ready[k][w.to], t.End)
			}
			if b.b.Spent() {
				return false
			}
		}
	}
	for i := collected - 1; i >= 0; i-- {
		for k := range ready {
			for _, w := range b.byDuration(k, x.pairs[order[i]]) {
				if owns(k, w.from, i+1) {
					ready[k][w.to] = b.send(k, w, model.Copy, ready[k][w.from]).End
				}
			}
			if b.b.Spent() {
				return false
			}
		}
	}
	return true
}
