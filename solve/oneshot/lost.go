//go:build cgo

package oneshot

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/network"
)

// Limits of what is offered.
const (
	mostLost     = 64      // members of a network that was whole before
	mostWhole    = 24      // plans of it that are tried one by one
	mostTaken    = 1 << 19 // hops of all images of its plans
	basesTaken   = 4       // of a plan
	usedTaken    = 0.002   // of the buffer, for a plan of it to be of use
	slowestTaken = 1.3     // times the bound: the latest end of its mixtures
	endsTaken    = 7       // of its mixtures
	mostAdded    = 40      // plans at a time
	cheapEnough  = 0.99    // of what a plan brings, for it to be added
	hubsAtOnce   = 20      // searches for hubs
	hubsSettled  = 20 * hubsAtOnce
	leastWeight  = 0.01 // of the longest way, see hubWeights
	mostWeight   = 3
)

// offer is a plan that may be added to those of the linear program.
type offer struct {
	plan    *plan
	windows []window // of hops that may wait one by one
	abreast []window // of hops that wait as long as each other
}

// windows returns the windows of an offer.
func (x *patterns) windows(y *offer) []window {
	if x.loose {
		return y.windows
	}
	return y.abreast
}

// offer returns the offer of a plan.
func (s *search) offer(q *plan) *offer {
	list := s.windows(q)
	return &offer{q, list, abreast(list)}
}

// fromWhole returns plans of the network before some of it failed: images of the plans that the best mixtures there take, where they still are
// right. Ways over links that have failed are led around them, and what a rank that has failed sent and got is left out. So schedules for symmetric
// networks serve those that have lost little: there are as many images as there are symmetries, and most do without what has been lost.
func (s *search) fromWhole() []*offer {
	if s.whole == nil {
		s.whole = s.wholeOffers()
	}
	return s.whole
}

// before returns the problem on the network before some of it failed, nil if nothing is known of that, or it is too large.
func before(p *model.Problem) *model.Problem {
	t := p.Topology
	if t.Whole == nil || len(t.Was) != t.Nodes() || len(t.Whole.Ports) > 0 || !network.Everyone(p) || len(p.Members()) > mostLost {
		return nil
	}
	q := *p
	q.Topology, q.Collective.Group = t.Whole, nil
	return &q
}

// wasGrouped reports whether the members fell into equal groups before some of the network failed.
func wasGrouped(p *model.Problem) bool {
	q := before(p)
	return q != nil && len(layouts(q)) > 0
}

// wholePlans returns the plans of the whole network that look best, for networks that have none of their own.
func (s *search) wholePlans() (plans []*plan) {
	for _, y := range s.fromWhole() {
		plans = append(plans, y.plan)
	}
	plans = s.worthwhile(plans)
	return plans[:min(mostWhole, len(plans))]
}

// wholeOffers finds what fromWhole returns.
func (s *search) wholeOffers() (all []*offer) {
	p, t := before(s.p), s.p.Topology
	if p == nil {
		return nil
	}
	w := &search{p: p, b: s.b, bound: s.bound, others: model.MaxTime, most: s.most, large: map[int]int64{}, ways: &ways{}, leading: true, makespan: s.makespan}
	of := candidates(best(w.worthwhile(w.plans(layouts(p)))))
	w.together(1)
	m := w.mixer(of)
	used := make([]float64, len(of))
	for i := range endsTaken {
		end := s.bound + model.Time(float64(s.bound)*(slowestTaken-1)*float64(i)/(endsTaken-1))
		parts, _ := m.mix(end)
		for j, x := range parts {
			used[j] = max(used[j], x)
		}
		if s.b.Spent() {
			return nil
		}
	}
	order := make([]int, len(of))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(used[j], used[i]) })
	now := make([]int, t.Whole.Nodes()) // members that are left
	for v := range now {
		now[v] = -1
	}
	for v, old := range t.Was {
		if t.IsRank(v) {
			now[old] = s.images.number[v]
		}
	}
	known := map[string]bool{}
	hops := 0
	for _, i := range order {
		if used[i] < usedTaken && len(all) > 0 { // others are tried if no image of these is right
			break
		}
		q := of[i]
		for n := range min(basesTaken, w.parts(q)) {
			c := w.base(q, n)
			if c == nil {
				continue
			}
			for e := range w.images.nodes {
				if s.b.Spent() || hops > mostTaken {
					return all
				}
				steps := left(w.images, e, c, w.guide.members, now)
				hops += q.transfers(1)
				if !proper(steps, s.n()) {
					continue
				}
				live(steps, s.n())
				if key := fmt.Sprint(steps); !known[key] {
					known[key] = true
					all = append(all, s.offer(s.listed(steps)))
				}
			}
		}
	}
	return all
}

// moreHubs offers plans with hubs that local search finds from random ones, and reports whether there are any. Where there are few symmetries it takes
// several to need each link evenly.
func (x *patterns) moreHubs() (some bool) {
	n := x.s.n()
	if x.hubs == nil || x.settled == hubsSettled {
		return false
	}
	for range hubsAtOnce {
		if x.s.b.Spent() {
			break
		}
		x.settled++
		k := 2 + x.hubs.r.IntN(min(mostHubs, n/2)-1)
		weight := leastWeight * math.Pow(mostWeight/leastWeight, x.hubs.r.Float64())
		y := x.hubs.settle(x.hubs.r.Perm(n)[:k], func(y *hubs) float64 { return y.between + y.around + weight*float64(n)*y.longest })
		slices.Sort(y.list)
		if key := fmt.Sprint(y.list); !x.known[key] {
			x.known[key], some = true, true
			x.offers = append(x.offers, x.s.offer(x.s.hubPlan(y.list)))
		}
	}
	return some
}

// left returns the steps of an image of a course among the members that are left, as they are numbered now.
func left(x *images, e int, c *course, members, now []int) (steps []step) {
	at := func(v int) int { return now[x.nodes[e][members[v]]] }
	for _, old := range c.steps {
		y := step{phase: old.phase}
		for _, w := range old.pairs {
			if u, v := at(w.from), at(w.to); u >= 0 && v >= 0 {
				y.pairs = append(y.pairs, pair{from: u, to: v})
			}
		}
		for _, v := range old.stale {
			if v = at(v); v >= 0 {
				y.stale = append(y.stale, v)
			}
		}
		steps = append(steps, y)
	}
	return steps
}

// proper reports whether steps leave the sum of all at each of n members, at most 64.
func proper(steps []step, n int) bool {
	now := make([]uint64, n) // whose contributions each has
	for v := range now {
		now[v] = 1 << v
	}
	for _, x := range steps {
		sent := now
		if x.phase == exchanging {
			sent = slices.Clone(now)
		}
		for _, v := range x.stale {
			now[v] = 0
		}
		for _, w := range x.pairs {
			if x.phase == spreading {
				now[w.to] = 0
			}
			if now[w.to]&sent[w.from] != 0 {
				return false
			}
			now[w.to] |= sent[w.from]
		}
	}
	all := ^uint64(0) >> (64 - n)
	return !slices.ContainsFunc(now, func(set uint64) bool { return set != all })
}

// listed returns a plan that is no more than some steps.
func (s *search) listed(steps []step) *plan {
	return &plan{layout: &layout{member: make([]int, s.n())}, note: patternNote, lists: [][]step{steps}, turns: [][]state{make([]state, len(steps))}}
}

// abreast returns windows in which all hops wait as long as each other.
func abreast(list []window) []window {
	length := model.Time(0)
	for _, w := range list {
		length = max(length, w.after+w.left)
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].left = length - list[i].after
	}
	return list
}

// take adds the offers that cost least at the prices of a linear program, if they cost less than they bring, and reports whether there are any.
func (x *patterns) take(f *filled) bool {
	by := make([][]int, len(x.s.images.size)) // intervals, by orbit
	for i, c := range f.cuts {
		if f.prices[i] > 0 {
			by[c.orbit] = append(by[c.orbit], i)
		}
	}
	type priced struct {
		offer *offer
		cost  float64
	}
	var list []priced
	for _, y := range x.offers {
		cost := 0.0
		for _, w := range x.windows(y) {
			for _, i := range by[w.orbit] {
				if c := &f.cuts[i]; w.after >= c.after && w.left >= c.left {
					cost += w.load * f.prices[i]
				}
			}
		}
		if cost < cheapEnough && !slices.ContainsFunc(x.windows(y), func(w window) bool { return w.after+w.left >= x.end }) {
			list = append(list, priced{y, cost})
		}
	}
	slices.SortStableFunc(list, func(a, b priced) int { return cmp.Compare(a.cost, b.cost) })
	list = list[:min(mostAdded, len(list))]
	for _, y := range list {
		x.plans, x.m.all = append(x.plans, y.offer.plan), append(x.m.all, x.windows(y.offer))
	}
	x.offers = slices.DeleteFunc(x.offers, func(y *offer) bool { return slices.ContainsFunc(list, func(z priced) bool { return z.offer == y }) })
	return len(list) > 0
}
