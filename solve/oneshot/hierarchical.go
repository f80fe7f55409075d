package oneshot

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// plan is how the dimensions of a layout are combined: along the first of them one member of each group, an owner,
// adds up what the others have; along the rest all send what they have to all of their group; and then the sums go back
// to the groups of the first.
type plan struct {
	*layout
	collected int        // dimensions along which owners add up
	orders    [][]int    // of the dimensions; chunks take turns
	end       model.Time // what it reached with some pieces
}

func (q *plan) String() string {
	s, of := "", len(q.orders[0])
	switch q.collected {
	case 0:
		s = "one-shot in groups, one dimension after the other"
	case of - 1:
		s = "sums of groups exchanged by peers"
	case of:
		s = "sums of groups added up by one of the peers"
	default:
		s = fmt.Sprintf("sums of groups in %d of %d dimensions exchanged by peers", q.collected, of)
	}
	if len(q.orders) > 1 {
		s += ", chunks in turn from each dimension"
	}
	return s
}

// order returns the order of the dimensions for chunk k.
func (q *plan) order(k int) []int { return q.orders[k%len(q.orders)] }

// parts returns how many chunks a piece of the buffer is divided into, so that the members share the work.
func (q *plan) parts() int {
	most := 0
	for _, order := range q.orders {
		owners := 1
		for _, j := range order[:q.collected] {
			owners *= q.radix[j]
		}
		most = max(most, owners)
	}
	return most * len(q.orders)
}

// transfers returns how many transfers the plan makes of a number of chunks.
func (q *plan) transfers(chunks int) (sum int) {
	for k, order := range q.orders {
		have, each := len(q.member), 0
		for i, j := range order {
			if i < q.collected {
				each += 2 * (have - have/q.radix[j])
				have /= q.radix[j]
			} else {
				each += have * (q.radix[j] - 1)
			}
		}
		sum += each * ((chunks + len(q.orders) - 1 - k) / len(q.orders))
	}
	return sum
}

// owns reports whether a member has the digits of chunk k's owner in some dimensions, the first of its order.
func (q *plan) owns(k, v, dimensions int) bool {
	order := q.order(k)[:dimensions]
	k /= len(q.orders)
	for _, j := range order {
		if q.digits[j][v] != k%q.radix[j] {
			return false
		}
		k /= q.radix[j]
	}
	return true
}

// plans returns the plans of a layout.
func (x *layout) plans() (plans []*plan) {
	if x.matching != nil {
		return []*plan{{layout: x, orders: x.orders}}
	}
	order := x.orders[0]
	back := slices.Clone(order)
	slices.Reverse(back)
	for collected := len(order); collected >= 0; collected-- {
		for _, orders := range [][][]int{{order}, {back}, x.orders} {
			plans = append(plans, &plan{layout: x, collected: collected, orders: orders})
		}
	}
	return plans
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
		for _, q := range x.plans() {
			if q.end = s.combine(q, fewPieces); q.end == model.MaxTime && s.p.Chunks == nil {
				q.end = s.combine(q, 1) // the others are too many transfers
			}
			plans = append(plans, q)
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
				pairs = append(pairs, pair{from: v, to: x.peer(v, j, d)})
			}
		}
		ends = append(ends, len(pairs))
	}
	x.ways = newWays(s.b, s.p, pairs)
	for j := range x.radix {
		x.pairs = append(x.pairs, x.ways.pairs[ends[j]:ends[j+1]])
	}
}

// combine tries a plan with a number of pieces for each part, and returns its makespan, MaxTime if
// there is none.
func (s *search) combine(q *plan, pieces int) model.Time {
	p := *s.p
	if parts := pieces * q.parts(); p.Chunks == nil {
		p.Chunks = s.divide(p.Size, int(min(int64(parts), max(1, p.Size/s.unit()))), 0).chunks
	}
	if s.over() || q.transfers(len(p.Chunks)) > maxComposition {
		return model.MaxTime
	}
	s.ways = q.ways
	b := s.builder(&p)
	if !b.compose(q) {
		return model.MaxTime
	}
	return s.keep(b, q.String())
}

// compose places all chunks by a plan.
func (b *builder) compose(q *plan) bool {
	ready := make([][]model.Time, len(b.p.Chunks)) // by chunk and member
	for k := range ready {
		ready[k] = make([]model.Time, len(q.member))
	}
	along := make([][]pair, len(q.pairs)) // by dimension
	for j, pairs := range q.pairs {
		along[j] = b.byDuration(0, pairs)
	}
	for i := range q.orders[0] {
		for k := range ready {
			var pairs []pair
			for _, w := range along[q.order(k)[i]] {
				if q.owns(k, w.from, min(i, q.collected)) && q.owns(k, w.to, min(i+1, q.collected)) {
					pairs = append(pairs, w)
				}
			}
			if i >= q.collected {
				if !b.toAll(k, pairs, ready[k]) {
					return false
				}
				continue
			}
			for _, w := range pairs {
				t := b.send(k, w, model.Reduction, ready[k][w.from])
				ready[k][w.to] = max(ready[k][w.to], t.End)
			}
			if b.b.Spent() {
				return false
			}
		}
	}
	for i := q.collected - 1; i >= 0; i-- {
		for k := range ready {
			for _, w := range along[q.order(k)[i]] {
				if q.owns(k, w.from, i+1) {
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
