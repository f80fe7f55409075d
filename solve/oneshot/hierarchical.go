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
	collected int     // dimensions along which owners add up
	orders    [][]int // of the dimensions; chunks take turns

	busy    model.Time // the busiest link
	latency model.Time // all steps, about
	end     model.Time // what it reached with some pieces
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
// long as more of them help; then each chunk may choose a plan. It begins with those that look best.
func (s *search) compose(all []*layout) {
	var plans []*plan
	for _, x := range all {
		s.route(x)
		plans = append(plans, x.plans()...)
	}
	if s.p.Chunks != nil {
		for _, q := range plans {
			s.combine(q, 1)
		}
		return
	}
	plans = slices.DeleteFunc(plans, func(q *plan) bool { return !s.estimate(q) })
	slices.SortStableFunc(plans, func(a, b *plan) int { return cmp.Compare(a.looks(), b.looks()) })
	for _, q := range plans {
		if q.end = s.combine(q, fewPieces); q.end == model.MaxTime {
			q.end = s.combine(q, 1) // the others are too many transfers
		}
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
	if s.best != nil {
		s.blend(plans)
	}
}

// estimate notes how long the plan keeps its busiest link busy, and how long a small chunk is under way, about. It returns
// false if the plan makes too many transfers.
func (s *search) estimate(q *plan) bool {
	parts := q.parts()
	if q.transfers(parts) > maxComposition {
		return false
	}
	load := make([]int, len(s.p.Topology.Links))
	for n := range parts {
		q.count(s.ways, n, load)
		if s.b.Spent() {
			return false
		}
	}
	for l, times := range load {
		q.busy = max(q.busy, model.Time(float64(times)*float64(s.p.Size)/float64(parts)/float64(s.p.Topology.Links[l].Bandwidth)*1e12))
	}
	for i, j := range q.orders[0] {
		longest := model.Time(0)
		for _, w := range q.pairs[j] {
			longest = max(longest, s.p.Topology.Duration(s.ways.routes[w.route], 1))
		}
		if q.latency += longest; i < q.collected {
			q.latency += longest
		}
	}
	return true
}

// looks returns about how long a plan takes.
func (q *plan) looks() model.Time {
	return max(q.latency, q.busy) + min(q.latency, q.busy)/4
}

// route finds ways for the pairs of a layout; those of a dimension that take longest for a small chunk come first.
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
	w := newWays(s.b, s.p, pairs)
	for i := range w.pairs {
		w.pairs[i].route += int32(len(s.ways.routes))
	}
	s.ways.routes = append(s.ways.routes, w.routes...)
	small := s.builder(&model.Problem{Topology: s.p.Topology, Collective: s.p.Collective, Cost: s.p.Cost, Chunks: []model.Chunk{{Size: 1}}})
	for j := range x.radix {
		x.pairs = append(x.pairs, small.byDuration(0, w.pairs[ends[j]:ends[j+1]]))
	}
}

// combine tries a plan with a number of pieces for each part, and returns its makespan, MaxTime if
// there is none.
func (s *search) combine(q *plan, pieces int) model.Time {
	p := *s.p
	if parts := pieces * q.parts(); p.Chunks == nil {
		p.Chunks = s.divide(p.Size, int(min(int64(parts), max(1, p.Size/s.unit()))), 0).chunks
	}
	if s.over() || s.best != nil && q.busy >= min(s.makespan, s.others) || q.transfers(len(p.Chunks)) > maxComposition {
		return model.MaxTime
	}
	b := s.builder(&p)
	if !b.compose(q) {
		return model.MaxTime
	}
	return s.keep(b, q.String())
}

// steps returns how many steps the plan takes: along each dimension, and back along those in which owners add up.
func (q *plan) steps() int { return len(q.orders[0]) + q.collected }

// compose places all chunks by a plan, step by step.
func (b *builder) compose(q *plan) bool {
	ready := make([][]model.Time, len(b.p.Chunks)) // by chunk and member
	for k := range ready {
		ready[k] = make([]model.Time, len(q.member))
	}
	for step := range q.steps() {
		for k := range ready {
			if !b.step(q, step, k, k, ready[k]) {
				return false
			}
		}
	}
	return true
}

// meeting appends to dst the pairs that meet in a step, of the n-th chunk that follows the plan.
func (q *plan) meeting(step, n int, dst []pair) []pair {
	order, froms, tos := q.order(n), min(step, q.collected), min(step+1, q.collected) // dimensions in which both are owners
	if back := step - len(order); back >= 0 {
		step = q.collected - 1 - back
		froms, tos = step+1, 0
	}
	for _, w := range q.pairs[order[step]] {
		if q.owns(n, w.from, froms) && q.owns(n, w.to, tos) {
			dst = append(dst, w)
		}
	}
	return dst
}

// count adds to times, by link, how often the n-th chunk that follows the plan goes over each.
func (q *plan) count(w *ways, n int, times []int) {
	var along []pair
	for step := range q.steps() {
		along = q.meeting(step, n, along[:0])
		for _, p := range along {
			for _, l := range w.routes[p.route] {
				times[l]++
			}
		}
	}
}

// step places a step of chunk k, the n-th that follows the plan, whose members are ready at some times, or
// returns false if that cannot be or the time is over.
func (b *builder) step(q *plan, step, n, k int, ready []model.Time) bool {
	b.along = q.meeting(step, n, b.along[:0])
	switch all := len(q.orders[0]); {
	case step >= all:
		for _, w := range b.along {
			ready[w.to] = b.send(k, w, model.Copy, ready[w.from]).End
		}
	case step >= q.collected:
		return b.toAll(k, b.along, ready)
	default:
		for _, w := range b.along {
			t := b.send(k, w, model.Reduction, ready[w.from])
			ready[w.to] = max(ready[w.to], t.End)
		}
	}
	return !b.b.Spent()
}
