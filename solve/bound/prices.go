package bound

import (
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

const (
	// maxPrice is the largest price: enough to tell links apart, and small enough that
	// prices times durations stay far from overflow.
	maxPrice = 1 << 20
	// priceSteps limits the work of the search for prices.
	priceSteps = 20_000_000
	// priceRounds is how often prices are changed at most.
	priceRounds = 200
	// priceStep is by how much the price of the busiest link rises at first.
	priceStep = 0.5
)

// prices returns the best bound of prices of links. It looks for them for alltoall,
// where nothing can be copied or combined on the way: there the best prices, in
// steady state, are as good a bound as there is (the dual of the maximum concurrent
// flow). For other collectives cuts serve better.
//
// It begins with equal prices, which are best where all links are alike, and raises
// those of links that the cheapest paths overload (multiplicative weights: N. Garg, J.
// Könemann, SIAM J. Computing 37, 2007).
func (f *finder) prices() (model.Time, model.Witness) {
	if len(f.members) < 2 || len(f.t.Links) == 0 {
		return 0, nil
	}
	if len(f.parts) > 1<<18 {
		return 0, nil // looking at the parts alone takes too long
	}
	price := slices.Repeat([]float64{1}, len(f.t.Links))
	best, witness := f.priced(price)
	bestRatio := 0.0
	var bestPrice []float64
	left := priceSteps
	for round := 1; round <= priceRounds && left > 0; round++ {
		ratio, load := f.congestion(price)
		if f.budget.Spent() { // then they are of a part of the ranks
			break
		}
		left -= len(f.members) * (2*len(f.t.Links) + 8*f.t.Nodes())
		if ratio > bestRatio*(1+1e-9) {
			bestRatio, bestPrice = ratio, slices.Clone(price)
		}
		most := slices.Max(load)
		if most == 0 || math.IsInf(ratio, 0) {
			return best, witness
		}
		for i := range price {
			price[i] *= 1 + priceStep/math.Sqrt(float64(round))*(load[i]/most-0.5)
		}
		top := slices.Max(price)
		for i := range price {
			price[i] = max(price[i]/top, 1e-9)
		}
	}
	if bestPrice != nil {
		if t, w := f.priced(bestPrice); t > best {
			best, witness = t, w
		}
	}
	return best, witness
}

// congestion returns what all parts pay on their cheapest ways over what all links earn,
// and how long each link is busy if the parts go these ways, divided evenly where
// several are cheapest.
func (f *finder) congestion(price []float64) (ratio float64, load []float64) {
	load = make([]float64, len(price))
	busy := make([]float64, len(price))
	earned, paid := 0.0, 0.0
	size := f.p.Space() / int64(len(f.parts))
	for i := range price {
		busy[i] = float64(f.beside(i).Add(model.TransferTime(max(1, size), f.t.Links[i].Bandwidth)))
		earned += price[i]
	}
	cost := make([]float64, len(price))
	for i := range cost {
		cost[i] = price[i] * busy[i]
	}
	for _, r := range f.members {
		if f.budget.Spent() {
			break
		}
		wants := make([]float64, f.t.Nodes()) // in parts of the average size
		for _, i := range f.bySrc[r] {
			wants[f.parts[i].dst] += float64(f.shape(i).bytes) / float64(max(1, size))
		}
		dist, order := f.cheapest(r, cost)
		ways := make([]float64, len(dist)) // how many cheapest ways there are
		ways[r] = 1
		onWay := func(i int) bool {
			l := &f.t.Links[i]
			return dist[l.Src]+cost[i] <= dist[l.Dst]*(1+1e-12)
		}
		for _, v := range order {
			for _, i := range f.out[v] {
				if onWay(i) {
					ways[f.t.Links[i].Dst] += ways[v]
				}
			}
		}
		through := make([]float64, len(dist))
		for k := len(order) - 1; k > 0; k-- {
			v := order[k]
			paid += wants[v] * dist[v]
			through[v] += wants[v]
			for _, i := range f.in[v] {
				if onWay(i) {
					part := through[v] * ways[f.t.Links[i].Src] / ways[v]
					through[f.t.Links[i].Src] += part
					load[i] += part * busy[i]
				}
			}
		}
	}
	return paid / earned, load
}

// cheapest returns the cost of the cheapest way from a rank to each node, and the
// nodes that can be reached in order of that. It is Dijkstra's algorithm without a
// heap, O(nodes²), which for dense small networks is as good as any.
func (f *finder) cheapest(rank int, cost []float64) (dist []float64, order []int) {
	dist = slices.Repeat([]float64{math.Inf(1)}, f.t.Nodes())
	dist[rank] = 0
	done := make([]bool, len(dist))
	for {
		v := -1
		for u, d := range dist {
			if !done[u] && !math.IsInf(d, 1) && (v < 0 || d < dist[v]) {
				v = u
			}
		}
		if v < 0 {
			return dist, order
		}
		done[v] = true
		order = append(order, v)
		for _, i := range f.out[v] {
			l := &f.t.Links[i]
			if d := dist[v] + cost[i]; d < dist[l.Dst]*(1-1e-12) {
				dist[l.Dst] = d
			}
		}
	}
}

// priced rounds prices to whole numbers and returns the bound that they yield.
func (f *finder) priced(price []float64) (model.Time, model.Witness) {
	w := model.Prices{Links: make([]int64, len(price))}
	least, most := slices.Min(price), slices.Max(price)
	var links []int
	for i := range price {
		if w.Links[i] = 1; least < most {
			w.Links[i] = int64(price[i]/most*maxPrice + 0.5)
		}
		if w.Links[i] > 0 {
			links = append(links, i)
		}
	}
	l := f.newLoad()
	known := map[[2]int64][]model.Time{}
	due := area{}
	for i := range f.parts {
		q, h := &f.parts[i], f.shape(int32(i))
		if q.src == q.dst {
			continue
		}
		if i&0xff == 0 && f.budget.Spent() {
			return 0, nil
		}
		l.src[q.src], l.dst[q.dst] = true, true
		l.add(h, 1)
		for _, z := range h.sizes {
			key := [2]int64{int64(q.src), z.size}
			if known[key] == nil {
				known[key] = f.pathCosts(int(q.src), z.size, w.Links)
			}
			due = due.plus(area{0, uint64(known[key][q.dst])}.times(z.n))
		}
	}
	lanes := f.lanes(links, l, true, nil)
	enough := func(t model.Time) bool {
		var earned area
		for i := range lanes {
			span := lanes[i].span(t)
			if f.free {
				span = max(0, span-lanes[i].beside)
			}
			earned = earned.plus(rectangle(w.Links[lanes[i].link], span))
		}
		return !earned.less(due)
	}
	low, high := model.Time(0), model.Time(1)
	for !enough(high) {
		if f.budget.Spent() {
			return 0, nil
		}
		if high > model.MaxTime/4 {
			return 0, nil
		}
		low, high = high+1, 2*high
	}
	for low < high {
		if mid := low + (high-low)/2; enough(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return high, w
}

// pathCosts returns what it costs for size bytes to go from a rank to each node, MaxTime
// if there is no way. Where the cut is free, bytes pay for their own time alone, each
// link's price rounded down.
func (f *finder) pathCosts(rank int, size int64, price []int64) []model.Time {
	linkCost := make([]model.Time, len(price))
	for i := range linkCost {
		if !f.free {
			linkCost[i] = f.beside(i).Add(model.TransferTime(size, f.t.Links[i].Bandwidth)).Mul(price[i])
			continue
		}
		a := rectangle(size, model.Second).times(price[i])
		linkCost[i] = a.over(f.t.Links[i].Bandwidth)
	}
	cost := slices.Repeat([]model.Time{model.MaxTime}, f.t.Nodes())
	cost[rank] = 0
	queue := []int{rank}
	queued := make([]bool, len(cost))
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		queued[v] = false
		for _, i := range f.out[v] {
			d := f.t.Links[i].Dst
			if c := cost[v].Add(linkCost[i]); c < cost[d] {
				cost[d] = c
				if !queued[d] {
					queued[d] = true
					queue = append(queue, d)
				}
			}
		}
	}
	return cost
}
