package cert

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
)

var _ = rule(Kind{
	Shows:  "at these link prices, which change at some instants, the demands cost more than links, ports and ranks can supply, even if each takes its cheapest route",
	Holds:  "prices at instants, and the share of each demand: a dual of the linear program of flows over time",
	Cut:    true,
	Lemmas: "instants",
}, func(j *job, w model.LPDual) (model.Time, error) { return j.dual(&w) })

// dual returns the bound that prices at instants yield.
//
// Lemma (instants). Let W(l,θ) >= 0 be the price of occupying link l at the instant θ:
// its own, and those of the ports it is in. Let demands of a chunk, each a contribution c
// and a rank d that must end with c and does not have it at the start, have shares
// π_cd(l,θ) >= 0 of the prices, together no more than W(l,θ) for any l and θ. Let
// C_cd(T) be the least that a chain of transfers of the chunk from a rank that has c at
// the start to d pays of the shares of (c,d) if it ends by T; infinite if there is none.
// Then in every right schedule of makespan T or less the sum of C_cd(T) over all demands
// of all chunks is no more than the sum of all prices, those of a link once, and those of
// a port as often as it has capacity.
//
// Proof. For each demand there is such a chain, which ends by T [(arrive)]. Let k(l,θ)
// be 1 if chunk k occupies l at θ, else 0. A chain's transfers do not overlap in time, so
// that the chain occupies l at θ once at most, and then k does. So the chains of k pay
// together no more than Σ_cd Σ_lθ π_cd(l,θ)·k(l,θ) <= Σ_lθ W(l,θ)·k(l,θ). [However many
// contributions a transfer carries, and whatever the transfers of a stream share, it is
// counted once here. No switch adds, so that no hop waits, or passes a switch twice.] Over all chunks that is no more than the prices of the links, since
// at no instant do two chunks occupy one link [(apart)], and of the ports times their
// capacities, since at no instant do more links of a port carry something [(apart); a
// route has at most one link of a port, for all of them leave, or enter, one node]. ∎
//
// Under rounds a schedule whose transfers begin with their rounds is one under blocking
// that ends no later [(round)], and in which at no instant a rank sends over two links or
// receives over two: prices of sending and receiving are those of ports of capacity 1.
// Under link-rounds likewise, without these.
//
// C(T) is computed by costs.go, for all T at once. The witness yields the least T that
// the lemma does not exclude.
func (j *job) dual(w *model.LPDual) (model.Time, error) {
	if err := (&model.Certificate{Problem: j.p, Witness: *w}).Validate(); err != nil {
		return 0, err
	}
	if v, adds := j.t.Reducer(); adds {
		return 0, fmt.Errorf("topology: %s adds, so that a hop may wait there or pass it twice, which the ways that are looked at do not", j.t.NodeName(v))
	}
	net, err := j.newArcs(j.t)
	if err != nil {
		return 0, err
	}
	prices, supply, err := j.allPrices(net, w)
	if err != nil {
		return 0, err
	}
	m := &market{job: j, net: net, instants: w.Instants, prices: prices, hops: map[int64][][]hop{}, left: maxSteps}
	var all []fall
	for i := range w.Groups {
		falls, err := m.group(&w.Groups[i])
		if err != nil {
			return 0, fmt.Errorf("groups[%d]%w", i, err)
		}
		all = append(all, falls...)
	}
	if len(all) == 0 {
		return 0, errNothing
	}
	return meet(all, supply), nil
}

// priced is what is known of a bundle: its prices, by instant, and for looking up sums
// of them, sums[i] being that of the first i.
type priced struct {
	at     []model.Time
	prices []int64
	sums   []int64
}

// add adds a price at an instant, later than those before.
func (p *priced) add(at model.Time, price int64) {
	if p.sums == nil {
		p.sums = []int64{0}
	}
	p.at, p.prices = append(p.at, at), append(p.prices, price)
	p.sums = append(p.sums, p.sums[len(p.sums)-1]+price)
}

// between returns the sum of the prices at instants from <= θ < to.
func (p *priced) between(from, to model.Time) int64 {
	if len(p.at) == 0 {
		return 0
	}
	i, _ := slices.BinarySearch(p.at, from)
	k, _ := slices.BinarySearch(p.at, to)
	return p.sums[k] - p.sums[i]
}

// spot is a bundle at an instant.
type spot struct{ bundle, instant int }

// allPrices returns W for every bundle, and the sum of all prices.
func (j *job) allPrices(net *arcs, w *model.LPDual) (map[spot]int64, *big.Int, error) {
	prices, supply := map[spot]int64{}, new(big.Int)
	sell := func(price, times int64) {
		supply.Add(supply, new(big.Int).Mul(big.NewInt(price), big.NewInt(times)))
	}
	for i, x := range w.Links {
		b, err := net.named("links", i, x)
		if err != nil {
			return nil, nil, err
		}
		prices[spot{b, x.Instant}] += x.Price
		sell(x.Price, int64(net.bundles[b].Links))
	}
	member := make([][]int, len(j.t.Ports)) // bundles of each port
	sends, receives := make([][]int, j.t.Ranks), make([][]int, j.t.Ranks)
	for b := range net.bundles {
		for _, p := range net.bundles[b].Ports {
			member[p] = append(member[p], b)
		}
		l := j.t.Links[net.bundles[b].Link]
		if j.t.IsRank(l.Src) {
			sends[l.Src] = append(sends[l.Src], b)
		}
		if j.t.IsRank(l.Dst) {
			receives[l.Dst] = append(receives[l.Dst], b)
		}
	}
	if j.p.Cost != model.Rounds && len(w.Sends)+len(w.Receives) > 0 {
		return nil, nil, fmt.Errorf("sends: cost %v, want rounds for prices of sending and receiving", j.p.Cost)
	}
	steps := 0
	for _, list := range []struct {
		prices []model.InstantPrice
		of     [][]int
		ports  bool
	}{{w.Ports, member, true}, {w.Sends, sends, false}, {w.Receives, receives, false}} {
		for _, x := range list.prices {
			for _, b := range list.of[x.Of] {
				prices[spot{b, x.Instant}] += x.Price
			}
			if steps += len(list.of[x.Of]); steps > model.MaxPriced {
				return nil, nil, errors.New("ports: too many prices of links in ports to look at each")
			}
			capacity := int64(1)
			if list.ports {
				capacity = int64(j.t.Ports[x.Of].Capacity)
			}
			sell(x.Price, capacity)
		}
	}
	return prices, supply, nil
}

// named returns the bundle that entry i of a list names.
func (n *arcs) named(list string, i int, x model.InstantPrice) (int, error) {
	b := n.bundleOf[x.Of]
	if low := n.bundles[b].Link; low != x.Of {
		return 0, fmt.Errorf("%s[%d]: link %d, want link %d, which is the lowest of those alike", list, i, x.Of, low)
	}
	return b, nil
}

// market is where chunks buy their ways.
type market struct {
	*job
	net      *arcs
	instants []model.Time
	prices   map[spot]int64
	hops     map[int64][][]hop // by size, rank: see costs.go
	kept     int               // links in hops
	left     int64             // looks at a price that may still be made
}

// fall is a change of the sum of C(T) as T grows: what was infinite becomes finite
// (begin), or what was finite falls.
type fall struct {
	at    model.Time
	by    *big.Int // what is added, less than 0 unless begin
	begin bool
}

// group returns the falls of all demands of a group of chunks.
func (m *market) group(g *model.DualGroup) ([]fall, error) {
	shares, err := m.shares(g)
	if err != nil {
		return nil, err
	}
	var all []fall
	for i := range g.Demands {
		d := &g.Demands[i]
		same := map[string]int64{} // chunks with equal sizes and equal holders
		first := map[string]int{}
		holders := map[string][]int{}
		var keys []string
		for _, k := range g.Chunks {
			have, err := m.demand(k, d)
			if err != nil {
				return nil, fmt.Errorf(".demands[%d]: %w", i, err)
			}
			key := fmt.Sprint(m.size(k), have)
			if same[key]++; same[key] == 1 {
				keys, first[key], holders[key] = append(keys, key), k, have
			}
		}
		for _, key := range keys {
			stairs, err := m.cheapest(shares[i], holders[key], d.Dest, m.size(first[key]))
			if err != nil {
				return nil, fmt.Errorf(".demands[%d]: %w", i, err)
			}
			if len(stairs) == 0 { // needed and nowhere to be had
				all = append(all, fall{at: model.MaxTime, by: new(big.Int), begin: true})
			}
			before := int64(0)
			for n, s := range stairs {
				by := new(big.Int).Mul(big.NewInt(s.cost-before), big.NewInt(same[key]))
				all = append(all, fall{at: s.at, by: by, begin: n == 0})
				before = s.cost
			}
		}
	}
	return all, nil
}

// demand returns the ranks that have at the start what a demand wants of chunk k.
func (m *market) demand(k int, d *model.DualDemand) ([]int, error) {
	needed := false
	for r, want := range m.goal(k) {
		needed = needed || r == d.Dest && m.contains(want, d.Source)
	}
	if !needed {
		return nil, fmt.Errorf("rank %d need not end with what rank %d contributes to chunk %d", d.Dest, d.Source, k)
	}
	have := []int{}
	for r, v := range m.start(k) {
		if m.contains(v, d.Source) {
			if r == d.Dest {
				return nil, fmt.Errorf("rank %d has what rank %d contributes to chunk %d at the start", d.Dest, d.Source, k)
			}
			have = append(have, r)
		}
	}
	return have, nil
}

// shares returns the shares of each demand of a group, by bundle, and an error if they
// are more than the prices.
func (m *market) shares(g *model.DualGroup) ([]map[int]*priced, error) {
	all := make([]map[int]*priced, len(g.Demands))
	sum := map[spot]int64{}
	for i := range g.Demands {
		d := &g.Demands[i]
		all[i] = map[int]*priced{}
		add := func(b, instant int, price int64) {
			if all[i][b] == nil {
				all[i][b] = &priced{}
			}
			all[i][b].add(m.instants[instant], price)
		}
		if d.Shares == nil {
			if len(g.Demands) > 1 {
				return nil, fmt.Errorf(".demands[%d]: shares missing, want them where there are several demands", i)
			}
			spots := make([]spot, 0, len(m.prices))
			for s := range m.prices {
				spots = append(spots, s)
			}
			slices.SortFunc(spots, func(a, b spot) int {
				return cmp.Or(cmp.Compare(a.bundle, b.bundle), cmp.Compare(a.instant, b.instant))
			})
			for _, s := range spots {
				add(s.bundle, s.instant, m.prices[s])
			}
		}
		for n, x := range d.Shares {
			b, err := m.net.named("shares", n, x)
			if err != nil {
				return nil, fmt.Errorf(".demands[%d].%w", i, err)
			}
			s := spot{b, x.Instant}
			if sum[s] += x.Price; sum[s] > m.prices[s] {
				return nil, fmt.Errorf(".demands[%d].shares[%d]: the shares of link %d at instant %d come to %d here, want no more than its price, %d", i, n, x.Of, x.Instant, sum[s], m.prices[s])
			}
			add(b, x.Instant, x.Price)
		}
	}
	return all, nil
}

// meet returns the least T at which every demand can be met and the sum of what they pay
// is no more than the supply.
func meet(all []fall, supply *big.Int) model.Time {
	slices.SortFunc(all, func(a, b fall) int { return cmp.Compare(a.at, b.at) })
	first := model.Time(0)
	for i := range all {
		if all[i].begin {
			first = max(first, all[i].at)
		}
	}
	sum, t, i := new(big.Int), first, 0
	for ; i < len(all); i++ {
		if all[i].at > t {
			if sum.Cmp(supply) <= 0 {
				return t
			}
			t = all[i].at
		}
		sum.Add(sum, all[i].by)
	}
	return t
}
