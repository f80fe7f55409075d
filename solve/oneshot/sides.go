package oneshot

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// side is a plan for one side of a grid: the places along it in digits, those of which owners add up first.
type side struct {
	radix     []int // the fastest first
	collected []int // digits
	exchanged []int

	owners             int
	collects, exchange float64 // hops a line of the grid takes, there and back, and among owners
	latency            float64 // where hops take one
}

// Limits of plans for grids.
const (
	maxSide      = 64
	mostProducts = 1 << 10
	mostGrid     = 16 // plans
)

// sides returns plans for a side of a grid, closed to a ring or a line: of any two one takes fewer hops or is sooner over.
// They are tried on a network that is no more than this side.
func (s *search) sides(size int, closed bool) (best []*side) {
	t := &model.Topology{Ranks: size}
	for v := range size {
		if w := (v + 1) % size; w > 0 || closed && size > 2 {
			t.Links = append(t.Links, model.Link{Src: v, Dst: w, Alpha: 1000, Bandwidth: 1e12}, model.Link{Src: w, Dst: v, Alpha: 1000, Bandwidth: 1e12})
		}
	}
	p := &model.Problem{Topology: t, Collective: s.p.Collective, Size: 1, Cost: s.p.Cost}
	p.Collective.Group = nil
	g := newGuide(p, &ways{})
	numbers := make([]int, size)
	for v := range numbers {
		numbers[v] = v
	}
	var all []*side
	for _, radix := range factorings(size) {
		x := new(layout).with(numbers, radix...)
		for set := range 1 << len(radix) {
			y := &side{radix: radix, owners: 1}
			for j := range radix {
				if set>>j&1 == 1 {
					y.collected = append([]int{j}, y.collected...)
				} else {
					y.exchanged = append(y.exchanged, j)
					y.owners *= radix[j]
				}
			}
			q := &plan{layout: x, nearby: true, turns: [][]state{turn(append(slices.Clone(y.collected), y.exchanged...), len(y.collected))}}
			c := g.course(q, q.turns[0], 0)
			for _, u := range c.uses {
				if c.steps[u.step].phase == exchanging {
					y.exchange += float64(u.times)
				} else {
					y.collects += float64(u.times)
				}
			}
			y.latency = float64(c.tail)
			all = append(all, y)
		}
	}
	slices.SortStableFunc(all, func(a, b *side) int {
		return cmp.Or(cmp.Compare(a.latency, b.latency), cmp.Compare(a.collects+a.exchange, b.collects+b.exchange), cmp.Compare(a.owners, b.owners))
	})
	for _, y := range all {
		worse := func(z *side) bool { return z.collects+z.exchange <= y.collects+y.exchange && z.owners <= y.owners }
		if !slices.ContainsFunc(best, worse) {
			best = append(best, y)
		}
	}
	return best
}

// factorings returns the products that a number is, in every order, of factors of two or more.
func factorings(n int) (all [][]int) {
	if n == 1 {
		return [][]int{nil}
	}
	for f := 2; f <= n; f++ {
		if n%f == 0 {
			for _, rest := range factorings(n / f) {
				all = append(all, append([]int{f}, rest...))
			}
		}
	}
	return all
}

// gridPlans returns plans for a grid, of each of whose sides each has a plan: first all owners add up, side after
// side, then they exchange sums, and then these go back. Chunks take turns to begin with each side. It returns those for
// which no other one takes less time of links and is sooner over, and nil for other networks.
func (s *search) gridPlans() (plans []*plan) {
	t := s.p.Topology
	if n := len(s.p.Members()); n != t.Nodes() || !slices.IsSorted(s.p.Members()) {
		return nil
	}
	dims := t.Grid()
	if dims == nil || slices.Max(dims) > maxSide {
		return nil
	}
	type product struct {
		sides      []*side
		hops, late float64
	}
	all := []product{{}}
	for d, closed := range t.Closed(dims) {
		list := s.sides(dims[d], closed)
		if len(all)*len(list) > mostProducts {
			return nil
		}
		var longer []product
		for _, x := range all {
			for _, y := range list {
				longer = append(longer, product{sides: append(slices.Clone(x.sides), y), late: x.late + y.latency})
			}
		}
		all = longer
	}
	for i := range all {
		all[i].hops = hopsOf(all[i].sides, dims)
	}
	slices.SortStableFunc(all, func(a, b product) int { return cmp.Or(cmp.Compare(a.late, b.late), cmp.Compare(a.hops, b.hops)) })
	least := all[0].hops + 1
	for _, x := range all {
		if x.hops < least && len(plans) < mostGrid {
			least = x.hops
			plans = append(plans, s.product(x.sides, dims))
		}
	}
	return plans
}

// hopsOf returns how many hops plans for the sides of a grid take, if chunks take turns to begin with each.
func hopsOf(sides []*side, dims []int) (sum float64) {
	for first := range sides {
		lines, owners := 1.0, 1.0
		for i := range sides {
			lines *= float64(dims[i])
			owners *= float64(sides[i].owners)
		}
		for i := range sides {
			d := (first + i) % len(sides)
			sum += sides[d].collects * lines / float64(dims[d])
			sum += sides[d].exchange * owners / float64(sides[d].owners)
			lines *= float64(sides[d].owners) / float64(dims[d])
		}
	}
	return sum / float64(len(sides))
}

// product returns a plan for a grid whose sides have plans.
func (s *search) product(sides []*side, dims []int) *plan {
	n := s.p.Topology.Ranks
	x := &layout{}
	first := make([]int, len(sides)) // digit of each side
	stride := n
	for d, y := range sides {
		stride /= dims[d]
		first[d] = len(x.radix)
		within := 1
		for _, r := range y.radix {
			digit := make([]int, n)
			for v := range digit {
				digit[v] = v / stride % dims[d] / within % r
			}
			x.radix, x.digits = append(x.radix, r), append(x.digits, digit)
			within *= r
		}
	}
	x = x.numbered()
	q := &plan{layout: x, nearby: true}
	for start := range sides {
		var order []int
		for _, part := range []func(y *side) []int{func(y *side) []int { return y.collected }, func(y *side) []int { return y.exchanged }} {
			for i := range sides {
				d := (start + i) % len(sides)
				for _, j := range part(sides[d]) {
					order = append(order, first[d]+j)
				}
			}
		}
		collected := 0
		for _, y := range sides {
			collected += len(y.collected)
		}
		q.turns = append(q.turns, turn(order, collected))
	}
	return q
}
