package cert_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
)

// alike returns, for each link, the lowest one that is like it in all but its number.
func alike(t *model.Topology) []int {
	of, low := t.PortsOf(), make([]int, len(t.Links))
	for l := range t.Links {
		low[l] = slices.IndexFunc(t.Links, func(k model.Link) bool { return k == t.Links[l] })
		for low[l] != l && !slices.Equal(of[low[l]], of[l]) {
			low[l]++
			for t.Links[low[l]] != t.Links[l] {
				low[l]++
			}
		}
	}
	return low
}

// randomDual prices links, ports and ranks at a few instants, mostly evenly, and deals
// the prices of each chunk out among its demands.
func randomDual(r *rand.Rand, p *model.Problem) model.LPDual {
	t, low := p.Topology, alike(p.Topology)
	w := model.LPDual{Instants: []model.Time{}}
	step := 1 + r.IntN(4)
	for at := r.IntN(3); at < 14 && (len(w.Instants) == 0 || r.IntN(10) > 0); at += step {
		w.Instants = append(w.Instants, model.Time(at))
		if r.IntN(4) == 0 {
			at++
		}
	}
	even := r.IntN(2) == 0
	deal := func(n int, of func(i int) bool) (list []model.InstantPrice) {
		for i := range n {
			for s := range w.Instants {
				if of(i) && (even || r.IntN(3) > 0) {
					list = append(list, model.InstantPrice{Of: i, Instant: s, Price: int64(1 + r.IntN(2)*r.IntN(3))})
				}
			}
		}
		return list
	}
	if len(t.Ports) == 0 || r.IntN(2) == 0 {
		chosen := r.Uint64() | uint64(r.IntN(2))*0xffff
		w.Links = deal(len(t.Links), func(l int) bool { return low[l] == l && chosen>>l&1 == 1 })
	}
	w.Ports = deal(len(t.Ports), func(int) bool { return true })
	if p.Cost == model.Rounds && r.IntN(2) == 0 {
		w.Sends, w.Receives = deal(t.Ranks, func(int) bool { return true }), deal(t.Ranks, func(int) bool { return r.IntN(2) == 0 })
	}
	for k := range p.Chunks {
		if g := (model.DualGroup{Chunks: []int{k}, Demands: demands(p, k)}); len(g.Demands) > 0 {
			r.Shuffle(len(g.Demands), func(i, j int) { g.Demands[i], g.Demands[j] = g.Demands[j], g.Demands[i] })
			g.Demands = g.Demands[:1+r.IntN(len(g.Demands))]
			if len(g.Demands) > 1 || r.IntN(2) == 0 {
				dealShares(r, p, &w, &g, low)
			}
			w.Groups = append(w.Groups, g)
		}
	}
	return w
}

// demands returns every demand of a chunk.
func demands(p *model.Problem, k int) (list []model.DualDemand) {
	at := map[[2]int]bool{}
	for v, has := range p.Start(k) {
		for c := range has.Terms() {
			at[[2]int{c, v}] = true
		}
	}
	for v, want := range p.Goal(k) {
		for c := range want.Terms() {
			if !at[[2]int{c, v}] {
				list = append(list, model.DualDemand{Source: c, Dest: v})
			}
		}
	}
	slices.SortFunc(list, func(a, b model.DualDemand) int { return cmp.Or(a.Source-b.Source, a.Dest-b.Dest) })
	return list
}

// dealShares gives each demand of a group a part of the prices, all of it between them.
func dealShares(r *rand.Rand, p *model.Problem, w *model.LPDual, g *model.DualGroup, low []int) {
	t := p.Topology
	total := map[[2]int]int64{}
	for _, x := range w.Links {
		total[[2]int{x.Of, x.Instant}] += x.Price
	}
	for l, k := range t.Links {
		if low[l] != l {
			continue
		}
		for _, x := range w.Ports {
			if slices.Contains(t.Ports[x.Of].Links, l) {
				total[[2]int{l, x.Instant}] += x.Price
			}
		}
		for _, x := range w.Sends {
			if k.Src == x.Of {
				total[[2]int{l, x.Instant}] += x.Price
			}
		}
		for _, x := range w.Receives {
			if k.Dst == x.Of {
				total[[2]int{l, x.Instant}] += x.Price
			}
		}
	}
	whole := r.IntN(2) == 0
	for i := range g.Demands {
		g.Demands[i].Shares = []model.InstantPrice{}
	}
	for l := range t.Links {
		for s := range w.Instants {
			left := total[[2]int{l, s}]
			for _, i := range r.Perm(len(g.Demands)) {
				part := left
				if !whole && left > 0 {
					part = 1 + r.Int64N(left)
				}
				if d := &g.Demands[i]; part > 0 {
					d.Shares = append(d.Shares, model.InstantPrice{Of: l, Instant: s, Price: part})
				}
				left -= part
			}
		}
	}
}

// aroundRank prices the links at one rank evenly, and gives each chunk's prices to one
// demand that ends, or begins, there: what a bound of ingress or egress amounts to.
func aroundRank(r *rand.Rand, p *model.Problem) model.LPDual {
	t, low := p.Topology, alike(p.Topology)
	rank, in := r.IntN(t.Ranks), r.IntN(2) == 0
	w := model.LPDual{}
	for at, step := r.IntN(3), 1+r.IntN(3); at < 14; at += step {
		w.Instants = append(w.Instants, model.Time(at))
	}
	until := 1 + r.IntN(len(w.Instants))
	var all []model.InstantPrice
	for l, k := range t.Links {
		for s := range until {
			if low[l] == l && (in && k.Dst == rank || !in && k.Src == rank) {
				all = append(all, model.InstantPrice{Of: l, Instant: s, Price: 2})
			}
		}
	}
	w.Links = all
	for k := range p.Chunks {
		g := model.DualGroup{Chunks: []int{k}, Demands: demands(p, k)}
		given := false
		for i := range g.Demands {
			d := &g.Demands[i]
			d.Shares = []model.InstantPrice{}
			if !given && (in && d.Dest == rank || !in && d.Source == rank) {
				d.Shares, given = slices.Clone(all), true
			}
		}
		w.Groups = append(w.Groups, g)
	}
	return w
}

// disturb changes w a little: a price, a share with what another demand has of it, or
// an instant.
func disturb(r *rand.Rand, p *model.Problem, w model.LPDual) model.LPDual {
	w.Instants, w.Links, w.Groups = slices.Clone(w.Instants), slices.Clone(w.Links), slices.Clone(w.Groups)
	for i := range w.Groups {
		g := &w.Groups[i]
		g.Demands = slices.Clone(g.Demands)
		for n := range g.Demands {
			g.Demands[n].Shares = slices.Clone(g.Demands[n].Shares)
		}
	}
	change := func(list []model.InstantPrice, of, instant int, by int64) []model.InstantPrice {
		i, found := slices.BinarySearchFunc(list, model.InstantPrice{Of: of, Instant: instant}, func(a, b model.InstantPrice) int {
			return cmp.Or(a.Of-b.Of, a.Instant-b.Instant)
		})
		switch {
		case !found && by > 0:
			return slices.Insert(list, i, model.InstantPrice{Of: of, Instant: instant, Price: by})
		case found && list[i].Price+by > 0:
			list[i].Price += by
		case found:
			return slices.Delete(list, i, i+1)
		}
		return list
	}
	if len(w.Instants) == 0 {
		return w
	}
	low := alike(p.Topology)
	of, instant, by := low[r.IntN(len(low))], r.IntN(len(w.Instants)), int64(1-2*r.IntN(2))
	pick := func(g *model.DualGroup) *model.DualDemand { return &g.Demands[r.IntN(len(g.Demands))] }
	switch r.IntN(4) {
	case 0: // an instant
		w.Instants[instant] = max(0, w.Instants[instant]+model.Time(by))
	case 1: // a price, with a share of it in every group
		w.Links = change(w.Links, of, instant, by)
		for i := range w.Groups {
			if g := &w.Groups[i]; len(g.Demands) > 0 {
				d := pick(g)
				d.Shares = change(d.Shares, of, instant, by)
			}
		}
	default: // a share, to another demand
		if len(w.Groups) == 0 {
			return w
		}
		if g := &w.Groups[r.IntN(len(w.Groups))]; len(g.Demands) > 0 {
			from, to := pick(g), pick(g)
			from.Shares = change(from.Shares, of, instant, -1)
			to.Shares = change(to.Shares, of, instant, 1)
		}
	}
	return w
}

// TestDualSound sets prices against the optimum of tiny problems: random ones, and what
// becomes of some that make sense when they are changed again and again, keeping what
// yields as much or more. None may yield more than the optimum. It must happen often
// that they yield more than distance alone does, so that this says something.
func TestDualSound(t *testing.T) {
	decided, open, above, met := 0, 0, 0, 0
	for seed := *firstSeed; seed < *firstSeed+uint64(*problems)/2; seed++ {
		r := rand.New(rand.NewPCG(seed, 12))
		p := tiny(r)
		b := newBrute(p, 2**budget)
		least, state, exhausted := b.optimum(40)
		if exhausted || state == nil {
			continue
		}
		decided++
		if least > 0 {
			v := replay.Check(context.Background(), p, b.schedule(state))
			require.Equal(t, verify.Proved, v.Outcome, "seed %d: %v", seed, v.Violations)
		}
		try := func(w model.LPDual) model.Time {
			y, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: w})
			if err != nil {
				return -1
			}
			require.LessOrEqual(t, y, least, "seed %d: %v\n%+v\nyields %v by %+v, but there is a schedule that ends at %v: %+v",
				seed, p, p.Topology, y, w, least, b.schedule(state))
			return y
		}
		none := model.LPDual{Instants: []model.Time{}} // what distance alone proves
		for k := range p.Chunks {
			g := model.DualGroup{Chunks: []int{k}, Demands: demands(p, k)}
			for i := range g.Demands {
				g.Demands[i].Shares = []model.InstantPrice{}
			}
			none.Groups = append(none.Groups, g)
		}
		distance := max(0, try(none))
		best := distance
		for range 20 {
			best = max(best, try(randomDual(r, p)))
		}
		for range 8 {
			w := aroundRank(r, p)
			y := try(w)
			best = max(best, y)
			for range 30 {
				v := disturb(r, p, w)
				if z := try(v); z >= y {
					w, y = v, z
					best = max(best, y)
				}
			}
		}
		if distance < least {
			open++
			if best > distance {
				above++
			}
			if best == least {
				met++
			}
		}
	}
	t.Logf("%d decided; of %d that distance does not decide, %d have a better bound, %d the optimum", decided, open, above, met)
	require.Greater(t, decided, *problems/10)
	require.Greater(t, above, open/4)
	require.Greater(t, met, open/8)
}
