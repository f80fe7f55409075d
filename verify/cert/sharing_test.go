package cert_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/cert"
)

// split is prices of links at whole times, of which each way has a share. A wrong one computes what
// that yields wrongly in one place.
type split struct {
	p       *model.Problem
	horizon model.Time
	ways    []model.CostlyWay // without costs
	shares  [][][]int64       // by way, link, time
	wrong   string
}

// wrongShares are the ways in which shares can be counted wrongly so that they yield too much.
var wrongShares = []string{"whole price", "latency", "bandwidth", "window", "before", "arrival"}

// wanted returns the ways of a standard collective from ranks that contribute to others that need it.
func wanted(p *model.Problem) (ways []model.CostlyWay) {
	items := p.WithChunks(p.Shards())
	known := map[[2]int]bool{}
	for k := range items.Chunks {
		for w := range items.Start(k) {
			for d := range items.Goal(k) {
				if w != d && !known[[2]int{w, d}] {
					known[[2]int{w, d}] = true
					ways = append(ways, model.CostlyWay{Source: w, Dest: d})
				}
			}
		}
	}
	return ways
}

// newSplit returns random shares: each way pays where it enters a set of nodes, for some time.
func newSplit(r *rand.Rand, p *model.Problem, horizon model.Time) *split {
	s := &split{p: p, horizon: horizon, ways: wanted(p)}
	t := p.Topology
	copied := beforeCopies(t)
	common := make([]bool, t.Nodes())
	for v := range common {
		common[v] = r.IntN(2) == 0
	}
	mode, early, late := r.IntN(4), model.Time(r.IntN(4)), model.Time(r.IntN(4))
	for _, x := range s.ways {
		shares := make([][]int64, len(t.Links))
		for i := range shares {
			shares[i] = make([]int64, horizon)
		}
		for range 1 + r.IntN(2) {
			in := slices.Clone(common)
			if mode == 1 || mode == 2 && r.IntN(2) == 0 {
				clear(in)
			}
			if mode == 3 {
				for v := range in {
					in[v] = r.IntN(2) == 0
				}
			}
			in[x.Dest], in[x.Source] = true, false
			from, to := early, horizon-late
			if mode == 3 {
				from, to = model.Time(r.IntN(int(horizon))), model.Time(r.IntN(int(horizon)+1))
			}
			for i, l := range t.Links {
				for at := from; at < to && !in[l.Src] && in[l.Dst] && !copied[i]; at++ {
					shares[i][at]++
				}
			}
		}
		s.shares = append(s.shares, shares)
	}
	return s
}

// price returns what a link costs at a time.
func (s *split) price(link int, at model.Time) (sum int64) {
	for _, share := range s.shares {
		sum += share[link][at]
	}
	return sum
}

// hops returns all simple hops of a topology.
func hops(t *model.Topology) (all [][]int) {
	var extend func(route, visited []int)
	extend = func(route, visited []int) {
		at := visited[len(visited)-1]
		if len(route) > 0 && t.IsRank(at) {
			all = append(all, route)
			return
		}
		for i, l := range t.Links {
			if l.Src == at && !slices.Contains(visited, l.Dst) {
				extend(append(slices.Clone(route), i), append(slices.Clone(visited), l.Dst))
			}
		}
	}
	for r := range t.Ranks {
		extend(nil, []int{r})
	}
	return all
}

// beforeCopies returns which links have a switch that copies behind them on some hop.
func beforeCopies(t *model.Topology) []bool {
	list := make([]bool, len(t.Links))
	for _, route := range hops(t) {
		copied := false
		for _, l := range slices.Backward(route) {
			copied = copied || t.Copies(t.Links[l].Dst)
			list[l] = list[l] || copied
		}
	}
	return list
}

// costs returns what it costs at least that a way comes to each rank by each time.
func (s *split) costs(way int, routes [][]int) [][]int64 {
	t := s.p.Topology
	c := make([][]int64, t.Ranks)
	for v := range c {
		c[v] = slices.Repeat([]int64{dear}, int(s.horizon))
	}
	source := s.ways[way].Source
	for at := range s.horizon {
		if at >= s.p.ReleaseOf(source) {
			c[source][at] = 0
		}
		for v := range c {
			if at > 0 {
				c[v][at] = min(c[v][at], c[v][at-1])
			}
		}
		for range t.Ranks { // hops that take no time follow each other
			for _, route := range routes {
				lag := model.Time(0)
				for _, l := range route {
					lag += t.Links[l].Alpha
				}
				if s.wrong == "latency" {
					lag++
				}
				u, v, begin := t.Links[route[0]].Src, t.Links[route[len(route)-1]].Dst, at-lag
				if s.wrong == "arrival" {
					begin = min(begin, begin-s.p.ReleaseOf(v))
				}
				if begin < 0 || c[u][begin] == dear {
					continue
				}
				sum, passed := c[u][begin], begin
				for _, l := range route {
					if s.wrong == "whole price" {
						sum += s.price(l, passed)
					} else {
						sum += s.shares[way][l][passed]
					}
					passed += t.Links[l].Alpha
				}
				c[v][at] = min(c[v][at], sum)
			}
		}
	}
	return c
}

// witness returns the shares as a witness, with what each way costs at its end.
func (s *split) witness() (model.TimedPotentials, [][]int64) {
	w := model.TimedPotentials{Horizon: s.horizon}
	for l := range s.p.Topology.Links {
		class := model.PriceClass{Links: []int{l}}
		for at := range s.horizon {
			y := s.price(l, at)
			if n := len(class.Pieces) - 1; n >= 0 && class.Pieces[n].To == at && class.Pieces[n].Price == y {
				class.Pieces[n].To++
			} else {
				class.Pieces = append(class.Pieces, model.PricePiece{From: at, To: at + 1, Price: y})
			}
		}
		w.Classes = append(w.Classes, class)
	}
	routes := hops(s.p.Topology)
	var ends [][]int64
	for i, x := range s.ways {
		costs := s.costs(i, routes)
		ends = append(ends, costs[x.Dest])
		for _, c := range costs {
			var steps []model.CostStep
			last := dear
			for at, cost := range c {
				if cost < last {
					steps = append(steps, model.CostStep{From: model.Time(at), Cost: cost})
					last = cost
				}
			}
			x.Costs = append(x.Costs, len(w.Costs))
			w.Costs = append(w.Costs, model.TimedCost{Steps: steps})
		}
		w.Ways = append(w.Ways, x)
	}
	return w, ends
}

// yield computes what that yields from its definition, for every cut or that of p.
func (s *split) yield(w model.TimedPotentials, ends [][]int64) model.Time {
	market := newSpots(s.p, model.TimedPrices{Classes: w.Classes}, s.horizon, s.wrong)
	items := s.p
	if s.p.Chunks == nil {
		items = s.p.WithChunks(s.p.Shards())
	}
	sources, dests := map[int]bool{}, map[int]bool{}
	free := make([][][]int64, s.p.Topology.Ranks)
	none := make([][]int64, len(s.p.Topology.Links))
	for i := range none {
		none[i] = make([]int64, market.last+1)
	}
	for _, x := range s.ways {
		sources[x.Source], dests[x.Dest] = true, true
		if free[x.Source] == nil {
			plain := *market
			plain.wrong = ""
			free[x.Source] = plain.costs(x.Source, none)
		}
	}
	for end := model.Time(1); end < s.horizon; end++ {
		due, at := int64(0), end-1
		if s.wrong == "before" {
			at = max(0, end-3)
		}
		for k, chunk := range items.Chunks {
			for i, x := range s.ways {
				serves := false
				for src := range items.Start(k) {
					for dst := range items.Goal(k) {
						serves = serves || src == x.Source && dst == x.Dest
					}
				}
				if serves {
					due = min(dear, due+chunk.Size*ends[i][at])
					if ends[i][at] == dear {
						due = dear
					}
				}
			}
		}
		if due < dear && market.sold(end, free, sources, dests) >= 2*due*int64(model.Second) {
			return end
		}
	}
	return s.horizon
}

// TestSharingIsSound sets random prices, and costs that follow from shares of them, against the
// optimum of random tiny problems, and against what follows from the definition. Each way to count them wrongly must be
// seen: it yields more than some optimum, and the checker does not accept it.
func TestSharingIsSound(t *testing.T) {
	limit := model.Time(60)
	decided, met, caught, same, all, refused, raised, copied := map[model.CostModel]int{}, 0, map[string]int{}, 0, 0, 0, 0, 0
	kinds := map[model.Kind]int{}
	for seed := *firstSeed; seed < *firstSeed+uint64(*problems); seed++ {
		r := rand.New(rand.NewPCG(seed, 26))
		p := covered(r)
		copies := false
		for i := range p.Topology.Switches {
			p.Topology.Switches[i].Copies = p.Topology.Switches[i].Copies && seed%2 == 0
			copies = copies || p.Topology.Switches[i].Copies
		}
		b := newBrute(p, *budget)
		least, state, exhausted := b.optimum(limit)
		if exhausted || state == nil || least == 0 {
			continue
		}
		decided[p.Cost]++
		free := *p
		free.Chunks = nil
		best := model.Time(0)
		for n := range 8 {
			q := []*model.Problem{p, &free}[n%2]
			s := newSplit(r, q, least+model.Time(1+r.IntN(6)))
			w, ends := s.witness()
			y, err := cert.Yield(context.Background(), &model.Certificate{Problem: q, Witness: w})
			if err != nil { // a walk may pass a switch twice, or lead to one that copies, and to no rank
				if !copies {
					require.ErrorContains(t, err, "a hop from rank")
				}
				require.NotEmpty(t, q.Topology.Switches)
				refused++
				continue
			}
			if copies {
				copied++
			}
			require.LessOrEqual(t, y, least, "seed %d: %v %v\n%+v\nyields %v by %+v, but there is a schedule that ends at %v: %+v",
				seed, p, p.Release, p.Topology, y, w, least, b.schedule(state))
			defined := s.yield(w, ends)
			require.LessOrEqual(t, defined, y, "seed %d: %v %v\n%+v\n%+v", seed, q, q.Release, q.Topology, w)
			if all++; defined == y {
				same++
			}
			best = max(best, y)
			kinds[p.Collective.Kind]++
			if c := w.Costs[r.IntN(len(w.Costs))].Steps; len(c) > 0 { // it costs more than it can
				if k := r.IntN(len(c)); k == 0 || c[k-1].Cost > c[k].Cost+1 {
					c[k].Cost++
					y, err := cert.Yield(context.Background(), &model.Certificate{Problem: q, Witness: w})
					if err != nil {
						raised++
					} else {
						require.LessOrEqual(t, y, least, "seed %d: %v", seed, q)
					}
				}
			}
			for _, wrong := range wrongShares {
				if caught[wrong] >= 5 {
					continue
				}
				x := *s
				x.wrong = wrong
				v, ends := x.witness()
				if x.yield(v, ends) <= least {
					continue
				}
				caught[wrong]++
				if y, err := cert.Yield(context.Background(), &model.Certificate{Problem: q, Witness: v}); err == nil {
					require.LessOrEqual(t, y, least, "seed %d: %s: %v", seed, wrong, q)
				}
			}
		}
		if best == least {
			met++
		}
	}
	t.Logf("%v decided, %d met by some shares; %d of %d yields as defined, %d refused, %d where a cost was raised; wrong ones caught: %v; %v", decided, met, same, all, refused, raised, caught, kinds)
	for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds} {
		require.Greater(t, decided[cost], *problems/25, cost)
	}
	require.Greater(t, met, *problems/20)
	require.Greater(t, raised, all/20)
	require.Greater(t, same, all*3/4)
	require.Less(t, refused, all/4)
	require.Greater(t, copied, all/50)
	require.Len(t, kinds, 8)
	for _, wrong := range wrongShares {
		require.Positive(t, caught[wrong], wrong)
	}
}

// Of a broadcast on a star all three ranks that need it pay for the link to them, and nothing is there
// before two latencies have passed. Costs and prices that do not fit are refused by name.
func TestSharingByHand(t *testing.T) {
	ns := model.Nanosecond
	p := problem("switch:4", model.Broadcast, 300, 0, model.Pipelined)
	var into []int
	for i, l := range p.Topology.Links {
		if l.Dst != 0 && p.Topology.IsRank(l.Dst) {
			into = append(into, i)
		}
	}
	fresh := func() model.TimedPotentials {
		w := model.TimedPotentials{
			Horizon: 1000 * ns,
			Classes: []model.PriceClass{{Links: into, Pieces: []model.PricePiece{{To: 1000 * ns, Price: 1}}}},
			Costs:   []model.TimedCost{{Steps: []model.CostStep{{}}}, {Steps: []model.CostStep{{From: 200 * ns, Cost: 1}}}, {Steps: []model.CostStep{{From: 200 * ns}}}},
		}
		for d := 1; d < 4; d++ {
			way := model.CostlyWay{Dest: d, Costs: []int{0, 2, 2, 2}}
			way.Costs[d] = 1
			w.Ways = append(w.Ways, way)
		}
		return w
	}
	yield := func(p *model.Problem, w model.TimedPotentials) (model.Time, error) {
		return cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: w})
	}
	least, err := yield(p, fresh())
	require.NoError(t, err)
	require.Equal(t, 500*ns, least, "900 bytes over three links, from one latency after the start to one before the end")
	for _, x := range []struct {
		says   string
		change func(p *model.Problem, w *model.TimedPotentials)
	}{
		{"pays 0, and serves what costs 1 more", func(_ *model.Problem, w *model.TimedPotentials) { w.Classes[0].Links = into[1:] }},
		{"pays 1, and serves what costs 2 more", func(_ *model.Problem, w *model.TimedPotentials) { w.Costs[1].Steps[0].Cost = 2 }},
		{"pays 1, and serves what costs 2 more", func(_ *model.Problem, w *model.TimedPotentials) { w.Ways[0].Costs[2] = 1 }},
		{"where a way says that nothing can be", func(_ *model.Problem, w *model.TimedPotentials) { w.Costs[1].Steps[0].From++ }},
		{"does not cost 0 at its source", func(_ *model.Problem, w *model.TimedPotentials) { w.Ways[0].Costs[0] = 2 }},
		{"can be several transfers", func(p *model.Problem, _ *model.TimedPotentials) { p.Topology.Switches[0].Reduces = model.SumsTurned }},
		{"can be several transfers", func(p *model.Problem, w *model.TimedPotentials) {
			p.Topology.Switches[0].Copies = true
			w.Classes[0].Links = slices.Concat(into, p.Topology.Out()[0])
			slices.Sort(w.Classes[0].Links)
		}},
		{"nothing has to pass", func(p *model.Problem, _ *model.TimedPotentials) { p.Collective.Root = 3 }},
		{"want descending costs", func(_ *model.Problem, w *model.TimedPotentials) {
			w.Costs[1].Steps = append(w.Costs[1].Steps, model.CostStep{From: 300 * ns, Cost: 2})
		}},
		{"slope", func(_ *model.Problem, w *model.TimedPotentials) { w.Classes[0].Pieces[0].Slope = 1 }},
		{"want one for each of 4 ranks", func(_ *model.Problem, w *model.TimedPotentials) { w.Ways[0].Costs = []int{0} }},
		{"a second way", func(_ *model.Problem, w *model.TimedPotentials) { w.Ways[1].Dest = 1 }},
	} {
		q, w := problem("switch:4", model.Broadcast, 300, 0, model.Pipelined), fresh()
		x.change(q, &w)
		_, err := yield(q, w)
		require.ErrorContains(t, err, x.says)
	}
	p.Topology.Switches[0].Copies = true // behind which transfers part
	least, err = yield(p, fresh())
	require.NoError(t, err)
	require.Equal(t, 500*ns, least)
	w := fresh()
	w.Horizon = 400 * ns
	least, err = yield(p, w)
	require.NoError(t, err)
	require.Equal(t, 400*ns, least)
}

// A hop over a chain of switches pays, however long it is, and a longer one is not looked at.
func TestSharingLooksAtLongHops(t *testing.T) {
	ns := model.Nanosecond
	top := &model.Topology{Name: "chain", Ranks: 2, Switches: make([]model.Switch, 4)}
	for _, ends := range [][2]int{{0, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 1}, {4, 2}} {
		top.Links = append(top.Links, model.Link{Src: ends[0], Dst: ends[1], Alpha: model.Time(1+len(top.Links)) * ns, Bandwidth: 1e9})
	}
	top.Links[5].Alpha = 20 * ns // back: a longer way out of this switch
	p := &model.Problem{Topology: top, Collective: model.Collective{Kind: model.Broadcast}, Size: 100, Cost: model.Pipelined}
	require.NoError(t, p.Validate())
	yield := func(price int64, from model.Time) (model.Time, error) {
		w := model.TimedPotentials{
			Horizon: 1000 * ns,
			Costs:   []model.TimedCost{{Steps: []model.CostStep{{}}}, {Steps: []model.CostStep{{From: from, Cost: 1}}}},
			Ways:    []model.CostlyWay{{Dest: 1, Costs: []int{0, 1}}},
		}
		if price > 0 {
			w.Classes = []model.PriceClass{{Links: []int{4}, Pieces: []model.PricePiece{{To: 1000 * ns, Price: price}}}}
		}
		return cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: w})
	}
	for range 2 {
		_, err := yield(0, 15*ns)
		require.ErrorContains(t, err, "pays 0, and serves what costs 1 more")
		_, err = yield(1, 15*ns+1)
		require.ErrorContains(t, err, "where a way says that nothing can be")
		least, err := yield(1, 15*ns)
		require.NoError(t, err)
		require.Equal(t, 115*ns, least)
		top.Links = top.Links[:5] // then no hop can be longer
	}
}
