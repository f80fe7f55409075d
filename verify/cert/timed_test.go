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

// spots computes what prices that change with time yield from their definition, spot by spot: spot
// 2t is the time t, and spot 2t-1 just before it, which is where the least of what is linear
// between whole times can be. A wrong one differs from it in one place.
type spots struct {
	p     *model.Problem
	price [][]int64 // by link, spot
	last  int
	wrong string
}

// wrongPrices are the ways in which prices can be counted wrongly so that they yield too much.
var wrongPrices = []string{"latency", "bandwidth", "arrival", "order", "all needs", "window", "dearest holder"}

func newSpots(p *model.Problem, w model.TimedPrices, limit model.Time, wrong string) *spots {
	s := &spots{p: p, last: 2 * int(limit+8), wrong: wrong}
	for range p.Topology.Links {
		s.price = append(s.price, make([]int64, s.last+1))
	}
	for _, c := range w.Classes {
		for _, l := range c.Links {
			for _, x := range c.Pieces {
				for at := 2 * int(x.From); at < 2*int(x.To) && at <= s.last; at++ {
					s.price[l][at] = x.Price + x.Slope*(int64(at+1)/2-int64(x.From))
				}
			}
		}
	}
	return s
}

const dear = int64(1) << 60

// costs returns the least cost of being at each node by each spot, from a rank on, at prices.
func (s *spots) costs(from int, price [][]int64) [][]int64 {
	t := s.p.Topology
	costs := make([][]int64, t.Nodes())
	for v := range costs {
		costs[v] = slices.Repeat([]int64{dear}, s.last+1)
	}
	for at := 2 * int(s.p.ReleaseOf(from)); at <= s.last; at++ {
		costs[from][at] = 0
	}
	for range t.Nodes() {
		for i, l := range t.Links {
			lag := 2 * int(l.Alpha)
			switch s.wrong {
			case "latency":
				lag += 2
			case "order":
				lag++
			}
			open := 0
			if t.IsRank(l.Dst) && s.p.ReleaseOf(l.Dst) > 0 {
				open = 2 * int(s.p.ReleaseOf(l.Dst)+s.nearest(l.Src))
			}
			if s.wrong == "arrival" {
				open = 2 * int(slices.Max(append([]model.Time{0}, s.p.Release...)))
			}
			least := dear
			for at := open; at+lag <= s.last; at++ {
				least = min(least, costs[l.Src][at]+price[i][at])
				costs[l.Dst][at+lag] = min(costs[l.Dst][at+lag], least)
			}
		}
	}
	return costs
}

// nearest returns the least latency from any rank over switches to a node.
func (s *spots) nearest(v int) model.Time {
	t := s.p.Topology
	least := slices.Repeat([]model.Time{1 << 40}, t.Nodes())
	for r := range t.Ranks {
		least[r] = 0
	}
	for range t.Nodes() {
		for _, l := range t.Links {
			if !t.IsRank(l.Dst) {
				least[l.Dst] = min(least[l.Dst], least[l.Src]+l.Alpha)
			}
		}
	}
	return least[v]
}

// yield returns the bound, forever if it is beyond limit.
func (s *spots) yield(limit model.Time) model.Time {
	items := s.p
	if s.p.Chunks == nil {
		items = s.p.WithChunks(s.p.Shards())
	}
	ranks := s.p.Topology.Ranks
	costs, free := make([][][]int64, ranks), make([][][]int64, ranks)
	none := make([][]int64, len(s.price))
	for i := range none {
		none[i] = make([]int64, s.last+1)
	}
	for r := range ranks {
		costs[r], free[r] = s.costs(r, s.price), s.costs(r, none)
	}
	type way struct {
		from []int
		to   int
	}
	ways := make([][]way, len(items.Chunks))
	sources, dests := map[int]bool{}, map[int]bool{}
	for k := range items.Chunks {
		for r, want := range items.Goal(k) {
			for c := range want.Terms() {
				var from []int
				for h, v := range items.Start(k) {
					for x := range v.Terms() {
						if x == c {
							from = append(from, h)
						}
					}
				}
				if len(from) == 0 || slices.Contains(from, r) {
					continue
				}
				ways[k] = append(ways[k], way{from, r})
				dests[r] = true
				for _, h := range from {
					sources[h] = true
				}
			}
		}
	}
	if len(sources) == 0 {
		return -1
	}
	for end := model.Time(0); end <= limit; end++ {
		due := int64(0)
		for k, chunk := range items.Chunks {
			pays := int64(0)
			for _, w := range ways[k] {
				cost := dear
				if s.wrong == "dearest holder" {
					cost = 0
				}
				for _, h := range w.from {
					c := costs[h][w.to][2*end]
					if s.wrong == "dearest holder" {
						cost = max(cost, c)
					} else {
						cost = min(cost, c)
					}
				}
				if pays = max(pays, cost); s.wrong == "all needs" && cost < dear {
					pays += cost
				}
			}
			if size := chunk.Size; pays < dear && (s.p.Chunks != nil || s.p.Collective.Cuttable()) {
				pays *= size
			}
			due = min(dear, due+pays)
		}
		if due == dear {
			continue
		}
		if s.sold(end, free, sources, dests) >= 2*due*int64(model.Second) {
			return end
		}
	}
	return forever
}

// sold returns twice what all links can sell by a time, to what can have come to them from a
// source, and can still come to a destination. Ports are left out.
func (s *spots) sold(end model.Time, free [][][]int64, sources, dests map[int]bool) int64 {
	sum := int64(0)
	for i, l := range s.p.Topology.Links {
		bandwidth := l.Bandwidth
		if s.wrong == "bandwidth" {
			bandwidth = bandwidth * 4 / 5
		}
		from, left := forever, forever // when something can come there first, and what it has left to go
		for h := range sources {
			if at := slices.Index(free[h][l.Src], 0); at >= 0 {
				from = min(from, model.Time(at+1)/2)
			}
		}
		far := newSpots(&model.Problem{Topology: s.p.Topology, Collective: s.p.Collective}, model.TimedPrices{}, model.Time(s.last), "")
		for d := range dests {
			if at, reaches := far.latency(l.Dst, d); reaches {
				left = min(left, at+l.Alpha)
			}
		}
		if s.wrong == "window" {
			left++
		}
		for t := from; t < end-left; t++ {
			sum += bandwidth * (s.price[i][2*t] + s.price[i][2*t+1])
		}
	}
	return sum
}

// latency returns the least sum of latencies from a node to another.
func (s *spots) latency(from, to int) (model.Time, bool) {
	least := slices.Repeat([]model.Time{forever}, s.p.Topology.Nodes())
	least[from] = 0
	for range least {
		for _, l := range s.p.Topology.Links {
			least[l.Dst] = min(least[l.Dst], least[l.Src]+l.Alpha)
		}
	}
	return least[to], least[to] < forever
}

// timedPrices returns random prices for a problem that may take until a time: ramps at the links
// from where something is and to where it is needed, which fall and rise for as long; prices of the
// times from which nodes can be reached; and pieces of any kind.
func timedPrices(r *rand.Rand, p *model.Problem, until model.Time) model.TimedPrices {
	t := p.Topology
	var w model.TimedPrices
	class := func(links []int, pieces ...model.PricePiece) {
		pieces = slices.DeleteFunc(pieces, func(x model.PricePiece) bool { return x.To <= x.From })
		if len(links) > 0 && len(pieces) > 0 {
			w.Classes = append(w.Classes, model.PriceClass{Links: links, Pieces: pieces})
		}
	}
	whole := model.Time(1 + r.Int64N(int64(until)+1))
	switch r.IntN(4) {
	case 0: // ramps
		theta := model.Time(1 + r.Int64N(int64(whole)))
		var out, in, both []int
		for i, l := range t.Links {
			switch {
			case t.IsRank(l.Src) && t.IsRank(l.Dst):
				both = append(both, i)
			case t.IsRank(l.Src):
				out = append(out, i)
			case t.IsRank(l.Dst):
				in = append(in, i)
			}
		}
		falls := model.PricePiece{To: theta, Price: int64(theta), Slope: -1}
		rises := model.PricePiece{From: whole - theta, To: whole + 8, Slope: 1}
		class(out, falls)
		class(in, rises)
		class(both, []model.PricePiece{falls, rises}[r.IntN(2)])
	case 1: // by when nodes can be reached
		reach := make([]model.Time, t.Nodes())
		for v := range reach {
			reach[v] = model.Time(r.Int64N(int64(whole) + 4))
		}
		for i, l := range t.Links {
			class([]int{i}, model.PricePiece{From: reach[l.Src], To: reach[l.Dst] - l.Alpha, Price: 1})
		}
	case 2: // constant
		for i := range t.Links {
			class([]int{i}, model.PricePiece{To: whole + 8, Price: r.Int64N(3)})
		}
	default:
		for i := range t.Links {
			var pieces []model.PricePiece
			at := model.Time(r.IntN(3))
			for range 1 + r.IntN(3) {
				to := at + model.Time(1+r.IntN(6))
				x := model.PricePiece{From: at, To: to, Price: r.Int64N(9)}
				if end := r.Int64N(9); r.IntN(2) == 0 {
					x.Slope = (end - x.Price) / int64(to-at)
				}
				pieces = append(pieces, x)
				at = to + model.Time(r.IntN(2)*r.IntN(4))
			}
			class([]int{i}, pieces...)
		}
	}
	return w
}

// TestTimedPricesAreSound sets random prices of random tiny problems against the optimum, and
// against what spots computes from the definition. Each way to count them wrongly must be seen:
// it yields more than some optimum.
func TestTimedPricesAreSound(t *testing.T) {
	limit := model.Time(60)
	decided, met, caught, same, all := map[model.CostModel]int{}, 0, map[string]int{}, 0, 0
	against := func(p *model.Problem, r *rand.Rand, budget int) {
		b := newBrute(p, budget)
		least, state, exhausted := b.optimum(limit)
		if exhausted || state == nil {
			return
		}
		decided[p.Cost]++
		free := *p
		free.Chunks = nil
		best := model.Time(0)
		for n := range 40 {
			w := timedPrices(r, p, least)
			q := []*model.Problem{p, &free}[n%2]
			y, err := cert.Yield(context.Background(), &model.Certificate{Problem: q, Witness: w})
			if err != nil {
				require.ErrorContains(t, err, "nothing has to pass")
				continue
			}
			require.LessOrEqual(t, y, least, "%v %v\n%+v\nyields %v by %#v, but there is a schedule that ends at %v: %+v",
				p, p.Release, p.Topology, y, w, least, b.schedule(state))
			best = max(best, y)
			if n%5 == 0 {
				defined := newSpots(q, w, limit, "").yield(least)
				require.LessOrEqual(t, defined, y, "%v %v\n%+v\n%#v", q, q.Release, q.Topology, w)
				if all++; defined == y {
					same++
				}
			}
			if y+1 < least {
				continue
			}
			for _, wrong := range wrongPrices {
				if caught[wrong] < 30 && newSpots(q, w, limit, wrong).yield(least) > least {
					caught[wrong]++
				}
			}
		}
		if best == least {
			met++
		}
	}
	for i, p := range special() {
		against(p, rand.New(rand.NewPCG(uint64(i), 17)), 1_000_000)
	}
	for seed := *firstSeed; seed < *firstSeed+uint64(*problems); seed++ {
		r := rand.New(rand.NewPCG(seed, 16))
		p := covered(r)
		if seed%4 == 0 {
			p = tiny(r)
		}
		if members := p.Members(); len(members) < p.Topology.Ranks { // one that is late can help
			p.Release = make([]model.Time, p.Topology.Ranks)
			for v := range p.Release {
				if !slices.Contains(members, v) {
					p.Release[v] = model.Time(r.IntN(9))
				}
			}
		}
		against(p, r, *budget)
	}
	t.Logf("%v decided, %d met by some prices; %d of %d yields as defined; wrong ones caught: %v", decided, met, same, all, caught)
	for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds} {
		require.Greater(t, decided[cost], *problems/20, cost)
	}
	require.Greater(t, met, *problems/10)
	require.Greater(t, same, all*3/4)
	for _, wrong := range wrongPrices {
		require.Positive(t, caught[wrong], wrong)
	}
}
