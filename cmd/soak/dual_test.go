package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/dual"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestSoakDual sets prices at instants against the least makespan of tiny problems: random
// ones, and now and then those that solve/dual finds, all of them changed again and again for
// the sake of a larger bound. Where they yield more than every chunk's distance does, the
// prices have been of use; that must be so often.
func TestSoakDual(t *testing.T) {
	often := map[string]float64{"optimal": 0.3, "distance falls short": 0.2, "and prices yield more": 0.02, "and the optimum": 0.005, "by linear program": 0.02}
	soak(t, 250, often, func(c *trial) error {
		p, known := drawTiny(c.Rand)
		at, err := optimum(c.Rand, p, known, c.budget())
		if err != nil || at.best == nil {
			return err
		}
		best, least := at.best, at.least
		if at.optimal {
			c.count("optimal")
		}
		x := &claims{c: c, p: p, reached: at}
		distance, err := x.yield(p, priceless(p))
		if err != nil {
			return err
		}
		type found struct {
			w model.LPDual
			y model.Time
		}
		var starts []found
		try := func(w model.LPDual) error {
			y, err := x.yield(p, w)
			starts = append(starts, found{w, y})
			return err
		}
		for range 60 {
			w := cutPrices(c.Rand, p, least)
			if c.IntN(3) == 0 {
				w = drawPrices(c.Rand, p)
			}
			if err := try(w); err != nil {
				return err
			}
		}
		slices.SortStableFunc(starts, func(a, b found) int { return cmp.Compare(b.y, a.y) })
		starts = starts[:4]
		if c.IntN(4) == 0 {
			made, err := dual.Find(context.Background(), p, dual.Options{TimeLimit: 5 * time.Second, Below: least})
			if err != nil && !errors.Is(err, solve.ErrNotServed) {
				return fmt.Errorf("dual.Find: %w\n%s", err, show(p, best))
			}
			for _, f := range made {
				c.count("by linear program")
				if err := try(f.Witness); err != nil {
					return err
				}
			}
		}
		top := distance
		for _, at := range starts {
			for range 50 {
				v := changePrices(c.Rand, p, at.w)
				z, err := x.yield(p, v)
				if err != nil {
					return err
				}
				if z >= at.y {
					at = found{v, z}
				}
			}
			top = max(top, at.y)
		}
		if distance < least {
			c.count("distance falls short")
			if top > distance {
				c.count("and prices yield more")
			}
			if top == least {
				c.count("and the optimum")
			}
		}
		return nil
	})
}

// first returns, for each link, the lowest one of equal ends, figures and ports: the one
// that prices name.
func first(t *model.Topology) []int {
	ports := func(l int) (list []int) {
		for i, port := range t.Ports {
			if slices.Contains(port.Links, l) {
				list = append(list, i)
			}
		}
		return list
	}
	low := make([]int, len(t.Links))
	for l := range t.Links {
		for m := l; m >= 0; m-- {
			if t.Links[m] == t.Links[l] && slices.Equal(ports(m), ports(l)) {
				low[l] = m
			}
		}
	}
	return low
}

// needs returns the contributions that ranks need of a chunk and do not have at the start.
func needs(p *model.Problem, k int) (list []model.DualDemand) {
	start, goal := verifytest.Conditions(p)
	for v := range p.Topology.Ranks {
		at := verifytest.Slot{Rank: v, Chunk: k}
		for j := range goal[at] {
			if start[at][j] == 0 {
				list = append(list, model.DualDemand{Source: j, Dest: v, Shares: []model.InstantPrice{}})
			}
		}
	}
	slices.SortFunc(list, func(a, b model.DualDemand) int {
		return cmp.Or(a.Source-b.Source, a.Dest-b.Dest)
	})
	return list
}

// priceless returns a witness without prices, which yields what distances do.
func priceless(p *model.Problem) model.LPDual {
	w := model.LPDual{Instants: []model.Time{}}
	for k := range p.Chunks {
		if demands := needs(p, k); len(demands) > 0 {
			w.Groups = append(w.Groups, model.DualGroup{Chunks: []int{k}, Demands: demands})
		}
	}
	return w
}

// priceList is a list of prices while it is made.
type priceList map[[2]int]int64 // by what they are of and the instant

func (l priceList) sorted() []model.InstantPrice {
	list := []model.InstantPrice{}
	for at, price := range l {
		if price > 0 {
			list = append(list, model.InstantPrice{Of: at[0], Instant: at[1], Price: price})
		}
	}
	slices.SortFunc(list, func(a, b model.InstantPrice) int { return cmp.Or(a.Of-b.Of, a.Instant-b.Instant) })
	return list
}

func listed(list []model.InstantPrice) priceList {
	l := priceList{}
	for _, x := range list {
		l[[2]int{x.Of, x.Instant}] = x.Price
	}
	return l
}

// drawPrices returns prices of some links, ports and ranks at some instants, and deals those
// of the links, with what ports and ranks add to them, out among some of the demands of each
// chunk, or of some chunks together.
func drawPrices(r *rand.Rand, p *model.Problem) model.LPDual {
	t, low := p.Topology, first(p.Topology)
	w := model.LPDual{Instants: []model.Time{}}
	for at, step := r.IntN(3), 1+r.IntN(3); at < 14; at += step {
		w.Instants = append(w.Instants, model.Time(at))
		if r.IntN(6) == 0 {
			break
		}
	}
	even, until := r.IntN(2) == 0, 1+r.IntN(len(w.Instants))
	deal := func(n int, of func(i int) bool) []model.InstantPrice {
		l := priceList{}
		for i := range n {
			for s := range until {
				if of(i) && (even || r.IntN(3) > 0) {
					l[[2]int{i, s}] = []int64{1, 1, 2, 3}[r.IntN(4)]
					if even {
						l[[2]int{i, s}] = 2
					}
				}
			}
		}
		return l.sorted()
	}
	chosen := func(l int) bool { return true }
	switch rank := r.IntN(t.Ranks); r.IntN(4) { // all links, those at a rank, or any
	case 0:
		chosen = func(l int) bool { return t.Links[l].Dst == rank }
	case 1:
		chosen = func(l int) bool { return t.Links[l].Src == rank }
	case 2:
		set := r.Uint64()
		chosen = func(l int) bool { return set>>l&1 == 1 }
	}
	if len(t.Ports) == 0 && p.Cost != model.Rounds || r.IntN(3) > 0 {
		w.Links = deal(len(t.Links), func(l int) bool { return low[l] == l && chosen(l) })
	}
	if r.IntN(2) == 0 {
		w.Ports = deal(len(t.Ports), func(int) bool { return r.IntN(3) > 0 })
	}
	if p.Cost == model.Rounds && r.IntN(3) > 0 {
		a, b := r.Uint64(), r.Uint64()
		w.Sends = deal(t.Ranks, func(v int) bool { return a>>v&1 == 1 })
		w.Receives = deal(t.Ranks, func(v int) bool { return b>>v&1 == 1 })
	}
	var chunks []int
	for k := range p.Chunks {
		if len(needs(p, k)) > 0 {
			chunks = append(chunks, k)
		}
	}
	for len(chunks) > 0 {
		n := 1
		for n < len(chunks) && r.IntN(3) == 0 && slices.EqualFunc(needs(p, chunks[n]), needs(p, chunks[0]), func(a, b model.DualDemand) bool { return a.Source == b.Source && a.Dest == b.Dest }) {
			n++
		}
		g := model.DualGroup{Chunks: chunks[:n:n], Demands: needs(p, chunks[0])}
		chunks = chunks[n:]
		r.Shuffle(len(g.Demands), func(i, j int) { g.Demands[i], g.Demands[j] = g.Demands[j], g.Demands[i] })
		g.Demands = g.Demands[:1+r.IntN(len(g.Demands))]
		if len(g.Demands) == 1 && r.IntN(2) == 0 {
			g.Demands[0].Shares = nil // all of the prices
		} else {
			share(r, p, &w, &g, r.IntN(2*len(g.Demands)))
		}
		w.Groups = append(w.Groups, g)
	}
	return w
}

// cutPrices prices the links that leave a set of nodes alike, until a little before about, and
// gives the prices to one demand of each chunk that has to pass them: a bound of the kind
// cut, with distances.
func cutPrices(r *rand.Rand, p *model.Problem, about model.Time) model.LPDual {
	t, low := p.Topology, first(p.Topology)
	inside := make([]bool, t.Nodes())
	for v := range inside {
		inside[v] = r.IntN(2) == 0
	}
	if r.IntN(2) == 0 { // a rank alone, or all but one
		rank, in := r.IntN(t.Ranks), r.IntN(2) == 0
		for v := range inside {
			inside[v] = (v == rank) == in
		}
	}
	w := model.LPDual{}
	last := max(0, about-model.Time(r.IntN(4)))
	for at, step := model.Time(r.IntN(3)), model.Time(1+r.IntN(2)); at <= last || len(w.Instants) == 0; at += step {
		w.Instants = append(w.Instants, at)
	}
	alike := func(n int, of func(i int) bool) []model.InstantPrice {
		l := priceList{}
		for i := range n {
			for s := 0; s < len(w.Instants) && of(i); s++ {
				l[[2]int{i, s}] = 2
			}
		}
		return l.sorted()
	}
	leaves := func(l int) bool { return inside[t.Links[l].Src] && !inside[t.Links[l].Dst] }
	switch kind := r.IntN(4); {
	case kind == 0 && len(t.Ports) > 0:
		w.Ports = alike(len(t.Ports), func(i int) bool { return slices.ContainsFunc(t.Ports[i].Links, leaves) })
	case kind == 1 && p.Cost == model.Rounds:
		w.Sends = alike(t.Ranks, func(v int) bool { return inside[v] })
	case kind == 2 && p.Cost == model.Rounds:
		w.Receives = alike(t.Ranks, func(v int) bool { return !inside[v] })
	default:
		w.Links = alike(len(t.Links), func(l int) bool { return low[l] == l && leaves(l) })
	}
	for k := range p.Chunks {
		demands := needs(p, k)
		r.Shuffle(len(demands), func(i, j int) { demands[i], demands[j] = demands[j], demands[i] })
		if i := slices.IndexFunc(demands, func(d model.DualDemand) bool { return inside[d.Source] && !inside[d.Dest] }); i >= 0 {
			demands[0], demands[i] = demands[i], demands[0]
		}
		if len(demands) > 0 {
			g := model.DualGroup{Chunks: []int{k}, Demands: demands}
			share(r, p, &w, &g, 0)
			w.Groups = append(w.Groups, g)
		}
	}
	return w
}

// share gives the whole of all prices to one of the demands of a group, or deals it out among
// them if that one does not exist.
func share(r *rand.Rand, p *model.Problem, w *model.LPDual, g *model.DualGroup, favourite int) {
	t, low := p.Topology, first(p.Topology)
	shares := make([]priceList, len(g.Demands))
	for i := range shares {
		shares[i] = priceList{}
	}
	for l, k := range t.Links {
		if low[l] != l {
			continue
		}
		for s := range w.Instants {
			left := int64(0)
			for _, of := range []struct {
				list []model.InstantPrice
				is   func(i int) bool
			}{
				{w.Links, func(i int) bool { return i == l }},
				{w.Ports, func(i int) bool { return slices.Contains(t.Ports[i].Links, l) }},
				{w.Sends, func(i int) bool { return i == k.Src }},
				{w.Receives, func(i int) bool { return i == k.Dst }},
			} {
				for _, x := range of.list {
					if x.Instant == s && of.is(x.Of) {
						left += x.Price
					}
				}
			}
			if favourite < len(g.Demands) {
				shares[favourite][[2]int{l, s}] = left
				continue
			}
			for ; left > 0; left-- {
				shares[r.IntN(len(shares))][[2]int{l, s}]++
			}
		}
	}
	for i := range g.Demands {
		g.Demands[i].Shares = shares[i].sorted()
	}
}

// changePrices returns w with a small change, which leaves what is shared out as much as
// there is more often than not.
func changePrices(r *rand.Rand, p *model.Problem, w model.LPDual) model.LPDual {
	v := w
	v.Instants = slices.Clone(w.Instants)
	v.Groups = slices.Clone(w.Groups)
	for i := range v.Groups {
		v.Groups[i].Demands = slices.Clone(v.Groups[i].Demands)
	}
	if len(v.Instants) == 0 || len(p.Topology.Links) == 0 {
		return v
	}
	change := func(list []model.InstantPrice, of, instant int, by int64) []model.InstantPrice {
		l := listed(list)
		l[[2]int{of, instant}] += by
		return l.sorted()
	}
	low := first(p.Topology)
	l, s, by := low[r.IntN(len(low))], r.IntN(len(v.Instants)), int64(1-2*r.IntN(2))
	switch r.IntN(6) {
	case 0:
		v.Instants[s] = max(0, v.Instants[s]+model.Time(by))
	case 1, 2: // the price of a link, and somebody's share of it in each group
		v.Links = change(v.Links, l, s, by)
		for i := range v.Groups {
			if d := v.Groups[i].Demands; d[0].Shares != nil {
				x := &d[r.IntN(len(d))]
				x.Shares = change(x.Shares, l, s, by)
			}
		}
	case 3: // a port's or a rank's price, without changing the shares
		switch {
		case len(v.Ports) > 0:
			x := v.Ports[r.IntN(len(v.Ports))]
			v.Ports = change(v.Ports, x.Of, x.Instant, by)
		case len(v.Sends) > 0:
			x := v.Sends[r.IntN(len(v.Sends))]
			v.Sends = change(v.Sends, x.Of, x.Instant, by)
		}
	default: // a share, from one demand to another
		if len(v.Groups) > 0 {
			d := v.Groups[r.IntN(len(v.Groups))].Demands
			from, to := &d[r.IntN(len(d))], &d[r.IntN(len(d))]
			if from.Shares != nil && to.Shares != nil && (listed(from.Shares)[[2]int{l, s}] > 0 || r.IntN(10) == 0) {
				from.Shares = change(from.Shares, l, s, -1)
				to.Shares = change(to.Shares, l, s, 1)
			}
		}
	}
	return v
}
