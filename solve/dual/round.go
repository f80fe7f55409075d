package dual

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Rounding. Prices in the units of the program are multiplied by a scale and rounded.
const (
	dust      = 1e-9 // of the largest price: less is taken for 0
	fine      = 1e6  // the largest price, where no small whole numbers do
	simplest  = 2000 // how many scales are tried for small whole numbers
	closeness = 1e-4 // how near to whole numbers they must come
)

// witness rounds the duals of the rows to whole prices and shares. Shares that exceed
// the prices after that are cut down, the largest first.
func (e *encoding) witness(duals []float64) model.LPDual {
	value := func(row int) float64 { return max(0, -duals[row]) }
	share := func(r shareRow) float64 { return value(r.row) / float64(len(e.groups[r.group].chunks)) }
	var all []float64
	for _, rows := range [][]priceRow{e.linkRows, e.portRows} {
		for _, r := range rows {
			all = append(all, value(r.row))
		}
	}
	largest := slices.Max(append(all, 0))
	if largest == 0 {
		return model.LPDual{}
	}
	for _, r := range e.shareRows {
		all = append(all, share(r))
	}
	s := scale(all, largest)
	whole := func(x float64) int64 { return int64(math.Round(x * s)) }

	w := model.LPDual{}
	index := map[model.Time]int{}
	type key struct{ bundle, instant int }
	total := map[key]int64{}
	var times []model.Time
	at := func(b, i int) { times = append(times, e.instant(b, i)) }
	for n, r := range e.linkRows {
		if x := int64(math.Round(all[n] * s)); x > 0 {
			total[key{r.of, r.instant}] += x
			at(r.of, r.instant)
		}
	}
	for n, r := range e.portRows {
		if x := int64(math.Round(all[len(e.linkRows)+n] * s)); x > 0 {
			for _, b := range e.resources[r.of].bundles {
				total[key{b, r.instant}] += x
				at(b, r.instant)
			}
		}
	}
	slices.Sort(times)
	w.Instants = slices.Compact(times)
	for i, t := range w.Instants {
		index[t] = i
	}
	for n, r := range e.linkRows {
		if x := int64(math.Round(all[n] * s)); x > 0 {
			w.Links = append(w.Links, model.InstantPrice{Of: e.bundles[r.of].Links[0], Instant: index[e.instant(r.of, r.instant)], Price: x})
		}
	}
	for n, r := range e.portRows {
		if x := int64(math.Round(all[len(e.linkRows)+n] * s)); x > 0 {
			q := &e.resources[r.of]
			p := model.InstantPrice{Of: q.of, Instant: index[e.instant(q.bundles[0], r.instant)], Price: x}
			list := []*[]model.InstantPrice{portPrice: &w.Ports, sendPrice: &w.Sends, receivePrice: &w.Receives}[q.what]
			*list = append(*list, p)
		}
	}

	// Shares of each group.
	w.Groups = make([]model.DualGroup, len(e.groups))
	for i := range e.groups {
		g := &e.groups[i]
		w.Groups[i] = model.DualGroup{Chunks: g.chunks, Demands: slices.Clone(g.demands)}
		if len(g.demands) > 1 {
			for j := range g.demands {
				w.Groups[i].Demands[j].Shares = []model.InstantPrice{}
			}
		}
	}
	byKey := map[int]map[key][]sharing{} // by group
	for _, r := range e.shareRows {
		k := key{r.bundle, r.instant}
		if x := whole(share(r)); x > 0 && total[k] > 0 {
			if byKey[r.group] == nil {
				byKey[r.group] = map[key][]sharing{}
			}
			byKey[r.group][k] = append(byKey[r.group][k], sharing{r.demand, x})
		}
	}
	for i, shares := range byKey {
		for k, list := range shares {
			cut(list, total[k])
			for _, x := range list {
				if x.price > 0 {
					d := &w.Groups[i].Demands[x.demand]
					d.Shares = append(d.Shares, model.InstantPrice{Of: e.bundles[k.bundle].Links[0], Instant: index[e.instant(k.bundle, k.instant)], Price: x.price})
				}
			}
		}
	}
	for i := range w.Groups {
		for j := range w.Groups[i].Demands {
			sorted(w.Groups[i].Demands[j].Shares)
		}
	}
	for _, list := range [][]model.InstantPrice{w.Links, w.Ports, w.Sends, w.Receives} {
		sorted(list)
	}
	return w
}

type sharing struct {
	demand int
	price  int64
}

// cut takes 1 from the largest share until they come to no more than total.
func cut(list []sharing, total int64) {
	sum := int64(0)
	for _, x := range list {
		sum += x.price
	}
	for ; sum > total; sum-- {
		largest := 0
		for i := range list {
			if list[i].price > list[largest].price {
				largest = i
			}
		}
		list[largest].price--
	}
}

func sorted(list []model.InstantPrice) {
	slices.SortFunc(list, func(a, b model.InstantPrice) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Instant, b.Instant))
	})
}

// scale returns a factor with which all values come near to small whole numbers, or, if
// there is none, one that makes the largest fine.
func scale(values []float64, largest float64) float64 {
	least := largest
	for _, v := range values {
		if v > dust*largest {
			least = min(least, v)
		}
	}
	for n := 1.0; n <= simplest && n*largest/least <= fine; n++ {
		s, near := n/least, true
		for _, v := range values {
			if near = math.Abs(v*s-math.Round(v*s)) <= closeness; !near {
				break
			}
		}
		if near {
			return s
		}
	}
	return fine / largest
}
