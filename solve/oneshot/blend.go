package oneshot

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Limits of the search for a blend.
const (
	mostPlans   = 40 // of which chunks choose
	blendTrials = 7  // of makespans
	fewBlended  = 32 // chunks
	mostBlended = 256
)

// candidate is a plan with one order.
type candidate struct {
	*plan
	uses  [][]linkUse // by which members are owners
	times []int       // scratch
}

// linkUse is how many times a chunk goes over a link.
type linkUse struct{ link, times int }

// candidates returns plans with one order each, up to some number of them, on a network of some links.
func candidates(plans []*plan, links int) (single []*candidate) {
	times := make([]int, links)
	for _, q := range plans {
		for _, order := range q.orders {
			same := func(r *candidate) bool {
				return r.layout == q.layout && r.collected == q.collected && slices.Equal(r.orders[0], order)
			}
			if len(single) < mostPlans && !slices.ContainsFunc(single, same) {
				x := &plan{layout: q.layout, collected: q.collected, orders: [][]int{order}}
				single = append(single, &candidate{x, make([][]linkUse, x.parts()), times})
			}
		}
	}
	return single
}

// links returns which links the n-th chunk uses that follows the plan.
func (c *candidate) links(w *ways, n int) []linkUse {
	n %= len(c.uses)
	if c.uses[n] == nil {
		clear(c.times)
		c.count(w, n, c.times)
		for l, times := range c.times {
			if times > 0 {
				c.uses[n] = append(c.uses[n], linkUse{l, times})
			}
		}
	}
	return c.uses[n]
}

// blend has each chunk choose a plan, so that links which one plan leaves idle serve another one. For
// a makespan, chunk after chunk takes of the plans by which it is over in time the one that costs least: a link
// costs the more the longer it is busy. The makespan is bisected between the bound and the best that is known.
func (s *search) blend(plans []*plan) {
	of := candidates(plans, len(s.p.Topology.Links))
	for chunks := fewBlended; chunks <= mostBlended && !s.over(); chunks *= 2 {
		p := *s.p
		p.Chunks = s.divide(p.Size, int(min(int64(chunks), max(1, p.Size/s.unit()))), 0).chunks
		low, high := max(s.bound, s.makespan/2), min(s.makespan, s.others)
		for range blendTrials {
			if high-low < high/500 || s.over() {
				break
			}
			end := low + (high-low)/2
			b := s.builder(&p)
			if b.blend(of, end) && len(b.transfers) <= maxComposition {
				s.keep(b, "each chunk by one of several compositions")
				high = min(end, s.makespan)
			} else {
				low = end
			}
		}
	}
}

// blend places all chunks, each by one of the plans, or returns false if one is not over in time.
func (b *builder) blend(plans []*candidate, end model.Time) bool {
	busy := make([]float64, len(b.p.Topology.Links)) // for which part of the makespan
	price := make([]float64, len(busy))
	taken := make([]int, len(plans)) // chunks that follow each plan
	order := make([]int, len(plans))
	costs := make([]float64, len(plans))
	for k, c := range b.p.Chunks {
		const least, steep = 0.1, 3
		for l := range price {
			price[l] = math.Pow(least+busy[l], steep) / float64(b.p.Topology.Links[l].Bandwidth)
		}
		for i, q := range plans {
			order[i], costs[i] = i, 0
			for _, x := range q.links(b.ways, taken[i]) {
				costs[i] += float64(x.times) * price[x.link]
			}
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(costs[i], costs[j]), cmp.Compare(i, j)) })
		chosen := slices.IndexFunc(order, func(i int) bool {
			mark := len(b.transfers)
			if b.follow(plans[i].plan, taken[i], k, end) {
				return true
			}
			b.cancel(mark)
			return false
		})
		if chosen < 0 || b.b.Spent() {
			return false
		}
		i := order[chosen]
		for _, x := range plans[i].links(b.ways, taken[i]) {
			busy[x.link] += float64(x.times) * float64(c.Size) / float64(b.p.Topology.Links[x.link].Bandwidth) / (float64(end) * 1e-12)
		}
		taken[i]++
	}
	return true
}

// follow places chunk k as the n-th of a plan, or returns false where it is not over in time; then some of its transfers
// may be placed.
func (b *builder) follow(q *plan, n, k int, end model.Time) bool {
	ready := make([]model.Time, len(q.member))
	for step := range q.steps() {
		mark := len(b.transfers)
		if !b.step(q, step, n, k, ready) {
			return false
		}
		for _, t := range b.transfers[mark:] {
			if t.End > end {
				return false
			}
		}
	}
	return true
}
