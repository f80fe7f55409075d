package cert

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
)

var _ = rule(Kind{
	Shows:  "every chunk pays, for the time on the links on its way, at least the cheapest way, and all links together sell no more than their time",
	Holds:  "a price for each link, a dual of the maximum concurrent flow",
	Lemmas: "prices",
}, (*job).prices)

// prices returns the bound that prices of links yield. An item of which some rank
// needs what is elsewhere pays, for every link that it passes on its way there, the
// link's price for as long as it occupies it; a link earns no more than its price for
// the window in which it can be occupied.
//
// Lemma (prices). Let v have to end with a contribution to an item that it does not
// have at the start. Then the item's transfers on a chain that brings it there pay
// at least the price of the cheapest path to v from where it is, each link of which
// costs price·busy.
//
// Proof. Their routes are a walk from there to v, which contains a path, and they
// occupy each of its links for busy or longer [(lanes)].
//
// Transfers of different items share no time of a link [(apart)], so that the items
// together pay at most Σ price·window over all links. Each item is counted for the
// one rank to which its way is dearest. The cut S has the price bandwidth on the
// links that leave it, and 0 on the others.
func (j *job) prices(w model.Prices) (model.Time, error) {
	if len(w.Links) != len(j.t.Links) {
		return 0, fmt.Errorf("prices: %d, want one for each of %d links", len(w.Links), len(j.t.Links))
	}
	l, links := j.newLoad(), []int{}
	for i, price := range w.Links {
		if price < 0 {
			return 0, fmt.Errorf("prices[%d]: %d, want 0 or more", i, price)
		}
		if price > 0 {
			links = append(links, i)
		}
	}
	f := &pathCosts{job: j, prices: w.Links, known: map[pathKey][]model.Time{}}
	due := new(big.Int)
	for k := range j.items.Chunks {
		if !j.work.Go(1) {
			break
		}
		if cost := f.dearest(l, k); cost > 0 {
			j.add(l, k, 1)
			due.Add(due, big.NewInt(int64(cost)))
		}
	}
	if len(l.count) == 0 {
		return 0, errNothing
	}
	lanes := j.lanes(links, l)
	return leastTime(func(t model.Time) bool {
		if !j.work.Go(16 * len(lanes)) {
			return true
		}
		earned := new(big.Int)
		for i := range lanes {
			a := &lanes[i]
			span := a.window(t)
			if j.free {
				span = max(0, span-a.each)
			}
			earned.Add(earned, product(w.Links[a.link], span))
		}
		return earned.Cmp(due) >= 0
	}), nil
}

// pathCosts knows what the paths of items cost. Costs that do not fit are rounded down.
type pathCosts struct {
	*job
	prices []int64
	known  map[pathKey][]model.Time
	kept   int // costs in known
}

// maxKept limits how many costs are kept.
const maxKept = 1 << 24

type pathKey struct {
	rank int
	size int64
}

// dearest returns the cost of the dearest of the cheapest paths that item k has to
// make, 0 if there is none, and notes in l between which ranks it has to go.
func (f *pathCosts) dearest(l *load, k int) model.Time {
	holders := map[int][]int{} // by contribution
	for r, v := range f.start(k) {
		for c := range f.terms(v) {
			holders[c] = append(holders[c], r)
		}
	}
	dearest := model.Time(0)
	for r, want := range f.goal(k) {
		for c := range f.terms(want) {
			if !f.work.Go(1 + len(holders[c])) {
				return 0
			}
			cheapest := model.MaxTime
			for _, h := range holders[c] {
				cheapest = min(cheapest, f.from(h, f.size(k))[r])
			}
			if cheapest == 0 {
				continue
			}
			dearest = max(dearest, cheapest)
			f.endsAt(l, r)
			for _, h := range holders[c] {
				f.startsAt(l, h)
			}
		}
	}
	return dearest
}

// from returns what it costs for size bytes to go from a rank to each node.
func (f *pathCosts) from(rank int, size int64) []model.Time {
	key := pathKey{rank, size}
	if cost, ok := f.known[key]; ok {
		return cost
	}
	f.work.Go(f.t.Nodes())
	cost := slices.Repeat([]model.Time{model.MaxTime}, f.t.Nodes())
	cost[rank] = 0
	for again := true; again && f.work.Go(8*len(f.t.Links)); {
		again = false
		for i := range f.t.Links {
			k := &f.t.Links[i]
			if at := cost[k.Src].Add(f.linkCost(i, size)); at < cost[k.Dst] {
				cost[k.Dst], again = at, true
			}
		}
	}
	if f.kept += len(cost); f.kept > maxKept { // items of one rank follow each other
		clear(f.known)
		f.kept = len(cost)
	}
	f.known[key] = cost
	return cost
}

// linkCost returns what size bytes pay for passing a link. Where the cut is free, each
// byte pays its part of their time, however it is cut.
func (f *pathCosts) linkCost(i int, size int64) model.Time {
	l := &f.t.Links[i]
	if f.free {
		v := new(big.Int).Mul(big.NewInt(f.prices[i]), big.NewInt(size))
		v.Div(v.Mul(v, picoBytes), big.NewInt(l.Bandwidth))
		if !v.IsInt64() {
			return model.MaxTime
		}
		return model.Time(v.Int64())
	}
	return f.beside(l).Add(model.TransferTime(size, l.Bandwidth)).Mul(f.prices[i])
}
