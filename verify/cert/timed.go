package cert

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
)

var _ = rule(Kind{
	Shows:  "at these link prices, which change with time, every byte pays at least for the cheapest way that is in time, and all links together sell no more than their bandwidth over time",
	Holds:  "prices of links, piecewise linear in time: a dual of the linear program of flows over time",
	Lemmas: "flows over time",
}, func(j *job, w model.TimedPrices) (model.Time, error) { return j.timed(&w) })

// Limits above which it is unknown whether a certificate of this kind holds.
const (
	maxCurves     = 1 << 24 // pieces of costs
	maxTimedNodes = 1 << 20 // whose number times the largest price is far from overflowing
)

// timed returns the bound that prices of links yield that change with time.
//
// Let y_e(t) >= 0 be the price of a byte on link e at time t. For ranks h and d let C_hd(T) be the
// least of Σ y_e(t_e) over all walks from h to d and all times t_e at which their links are passed,
// where no link is passed before h has arrived; a link that leads from u to a rank v not before
// v has arrived and the least latency from any rank over switches to u has passed; the next link
// no earlier than α after this one; and the last one α before T or earlier. It is infinite if there
// is no such walk. An item needs a contribution c at a rank d: of the ranks that have c at the start
// take the one with the least C_hd(T). Of all that it needs let the item pay the dearest.
//
// Lemma (flows over time). In a right schedule that ends by T the bytes of all items, times what
// each pays, are at most Σ_e B_e·∫ y_e(t) dt over the times at which something can be on its way
// on e.
//
// Proof. Take an item, or where the cut is free any chunk with some of its bytes, and what it
// needs at the price that it pays. There is a chain of transfers that brings it there [(arrive)].
// Let a hop of the chain over links 1..l, of a chunk of m bytes, begin to occupy link i at σ_i,
// and let τ be the greatest τ_i. It occupies every link for τ or longer, and σ_{i+1} >= σ_i + α_i
// [(hop), (busy), which have the same duration for all links of a hop]. Let the part ξ of the
// chunk, 0 <= ξ < 1, pass link i at σ_i + ξτ. Then it passes link i+1 no earlier than α_i after link
// i; and the first link of the next hop of the chain, which starts when this one has ended, at
// σ_l + τ + α_l + ξτ' or later. So each part of the chunk goes on a walk as above, and pays C_hd(T)
// at least, for h had what it needs at the start. [A link is passed once a rank at its end has
// arrived: its hop starts no earlier, by (late), and is at u the latencies over switches later.]
//
// While it occupies a link the chunk passes it at a rate of m/τ <= B_e bytes per second. A chain's
// transfers are one after the other, so that it is on a link once at a time; and no two chunks
// occupy one link at a time [(apart)]. So at any time t at most B_e bytes per second pass e, at the
// price y_e(t). A part passes e when something that is needed can have come to it, and early
// enough that it can still come to where something is needed [(times): the first byte of the
// chunk comes to e no sooner, and its last one, which leaves e no earlier, has still to get there].
//
// Blocking, a hop begins to occupy its links at the same times, for longer. In rounds, and in
// link-rounds, let each transfer start with its round and last as long as (hop) has it: then it
// ends within the round, and a link is occupied by one chunk [(round)]. So all that was used
// holds. ∎
//
// Of the links of a port, no more than its capacity are occupied at a time. If all of them have
// the same prices, they pay together no more than the fastest of them would, as often as that.
//
// C_hd is computed for all T at once: for each node, what it costs at least to be there by t, in
// pieces that are linear, with whole numbers. That is exact at whole picoseconds, and where two
// pieces cross between them a little less, for which the lemma holds likewise. The witness yields the
// least T that the lemma does not exclude: with T, costs do not rise, and what links can sell does not fall.
func (j *job) timed(w *model.TimedPrices) (model.Time, error) {
	if err := (&model.Certificate{Problem: j.p, Witness: *w}).Validate(); err != nil {
		return 0, err
	}
	if n := j.t.Nodes(); n > maxTimedNodes {
		return 0, stopped(fmt.Sprintf("topology: %d nodes, more than the %d for which costs fit into 64 bits", n, maxTimedNodes))
	}
	m := &timedMarket{job: j, class: make([]int, len(j.t.Links)), curves: []curve{{{0, 0, 0}}}, paid: map[int][]curve{}}
	for i, c := range w.Classes {
		for _, l := range c.Links {
			m.class[l] = i + 1
		}
		m.curves = append(m.curves, curveOf(c.Pieces))
	}
	l := j.newLoad()
	needs := m.needs(l)
	if len(needs) == 0 {
		return 0, errNothing
	}
	m.out = j.t.Out()
	for i := range needs {
		for _, way := range needs[i].ways {
			for _, h := range way.from {
				if err := m.costs(h); err != nil {
					return 0, err
				}
			}
		}
	}
	sellers := m.sellers(l)
	return leastTime(func(t model.Time) bool {
		if !j.work.Go(len(needs) + 16*len(sellers)) {
			return true
		}
		due, finite := m.due(needs, t)
		return finite && m.sold(sellers, t).Cmp(due) >= 0
	}), nil
}

// curveOf returns the prices of some pieces as a curve from time 0 on.
func curveOf(pieces []model.PricePiece) curve {
	c := curve{{0, 0, 0}}
	for i, x := range pieces {
		c = c.then(piece{x.From, x.Price, x.Slope})
		if i+1 == len(pieces) || pieces[i+1].From > x.To {
			c = c.then(piece{x.To, 0, 0})
		}
	}
	return c
}

// timedMarket knows prices, and what ways from ranks cost.
type timedMarket struct {
	*job
	class  []int // by link: which of curves its prices are
	curves []curve
	out    [][]int
	paid   map[int][]curve // by rank where a way begins: its costs, by rank where it ends
	kept   int

	sum, low curve // scratch of costs
}

// need is what bytes have to be brought, any of which they can pay for.
type need struct {
	bytes int64
	ways  []needed
}

// needed is a rank that needs what others have.
type needed struct {
	from []int
	to   int
}

// needs returns what has to be brought, and notes in l from which ranks and to which.
func (m *timedMarket) needs(l *load) []need {
	var list []need
	m.each(func(k int) int64 {
		n := need{0, m.ways(k)}
		for _, w := range n.ways {
			m.endsAt(l, w.to)
			for _, h := range w.from {
				m.startsAt(l, h)
			}
		}
		list = append(list, n)
		return 1
	}, func(k int, _ int64) {
		n := &list[len(list)-1]
		if len(n.ways) > 0 {
			n.bytes += m.size(k)
			m.add(l, k, 1)
		}
	})
	return slices.DeleteFunc(list, func(n need) bool { return len(n.ways) == 0 })
}

// ways returns where a contribution to item k is needed that is not there at the start.
func (m *timedMarket) ways(k int) (ways []needed) {
	holders := map[int][]int{} // by contribution
	for r, v := range m.start(k) {
		for c := range m.terms(v) {
			holders[c] = append(holders[c], r)
		}
	}
	for r, want := range m.goal(k) {
		for c := range m.terms(want) {
			if m.work.Go(1+len(holders[c])) && len(holders[c]) > 0 && !slices.Contains(holders[c], r) {
				ways = append(ways, needed{holders[c], r})
			}
		}
	}
	return ways
}

// costs computes what ways from a rank cost, by correcting what nodes that wait in a queue lead to.
func (m *timedMarket) costs(from int) error {
	if m.paid[from] != nil {
		return nil
	}
	costs := make([]curve, m.t.Nodes())
	costs[from] = curve{{m.p.ReleaseOf(from), 0, 0}}
	queue, queued := []int{from}, make([]bool, m.t.Nodes())
	for ; len(queue) > 0; queue = queue[1:] {
		u := queue[0]
		queued[u] = false
		for _, i := range m.out[u] {
			k := &m.t.Links[i]
			if k.Dst == from {
				continue
			}
			y := m.curves[m.class[i]]
			if !m.work.Go(2 + 2*len(costs[u]) + len(y) + len(costs[k.Dst])) {
				return stopped(m.work.Why())
			}
			m.sum = costs[u].pays(m.sum[:0], y, m.opens(k), k.Alpha)
			low, changed := costs[k.Dst].least(m.low[:0], m.sum)
			if m.low = low; !changed {
				continue
			}
			costs[k.Dst] = append(costs[k.Dst][:0], low...)
			if !queued[k.Dst] {
				queued[k.Dst] = true
				queue = append(queue, k.Dst)
			}
		}
	}
	for r := range m.t.Ranks {
		m.kept += len(costs[r])
	}
	if m.kept > maxCurves {
		return stopped(fmt.Sprintf("witness: costs of more than the %d pieces that are looked at", maxCurves))
	}
	m.paid[from] = costs[:m.t.Ranks]
	return nil
}

// opens returns when something can pass a link at first, for the sake of the rank at its end.
func (m *timedMarket) opens(k *model.Link) model.Time {
	if !m.t.IsRank(k.Dst) || m.p.ReleaseOf(k.Dst) == 0 {
		return 0
	}
	return m.p.ReleaseOf(k.Dst).Add(m.near.head[k.Src])
}

// due returns what all bytes pay at least if they are where they are needed by t, as twice that
// many areas (picoBytes), and false if one cannot be there.
func (m *timedMarket) due(needs []need, t model.Time) (sum *big.Int, finite bool) {
	var total area
	for i := range needs {
		dearest := int64(0)
		for _, w := range needs[i].ways {
			cheapest, possible := int64(0), false
			for _, h := range w.from {
				if c, never := m.paid[h][w.to].at(t); !never && (!possible || c < cheapest) {
					cheapest, possible = c, true
				}
			}
			if !possible {
				return nil, false
			}
			dearest = max(dearest, cheapest)
		}
		total.add(needs[i].bytes, dearest)
	}
	sum = total.number()
	return sum.Mul(sum, picoBytes).Lsh(sum, 1), true
}

// area is a sum of bytes times prices, in three words, the least first.
type area [3]uint64

// add adds bytes times a price, both 0 or more.
func (a *area) add(bytes, price int64) {
	high, low := bits.Mul64(uint64(bytes), uint64(price))
	var carry uint64
	a[0], carry = bits.Add64(a[0], low, 0)
	a[1], carry = bits.Add64(a[1], high, carry)
	a[2] += carry
}

func (a *area) number() *big.Int {
	sum := new(big.Int)
	for _, word := range []uint64{a[2], a[1], a[0]} {
		sum.Lsh(sum, 64).Or(sum, new(big.Int).SetUint64(word))
	}
	return sum
}

// seller is bandwidth that can be sold from a time until another before the end; of a port, no more
// than its links can sell by themselves.
type seller struct {
	class       int
	from, after model.Time
	bandwidth   *big.Int
	links       []seller
}

// sellers returns what links with prices can sell to a load, the links of a port together where
// they have equal prices and more bandwidth than can be used at a time.
func (m *timedMarket) sellers(l *load) []seller {
	before := m.arrivals(m.t, m.p.Release, l.from, l.least)
	beyond := m.arrivals(m.t.Reversed(), nil, l.to, l.least)
	byLink := map[int]seller{}
	for i := range m.t.Links {
		k := &m.t.Links[i]
		s := seller{m.class[i], max(before.head[k.Src], m.opens(k)), beyond.head[k.Dst].Add(k.Alpha), big.NewInt(k.Bandwidth), nil}
		if s.class > 0 && s.from != model.MaxTime && s.after != model.MaxTime {
			byLink[i] = s
		}
	}
	var ports []seller
	for _, p := range m.t.Ports {
		if s := portOf(p, byLink); s.links != nil {
			ports = append(ports, s)
			for _, i := range p.Links {
				delete(byLink, i)
			}
		}
	}
	return append(ports, alikes(slices.Collect(maps.Values(byLink)))...)
}

// portOf returns what the links of a port can sell together, without links if they have different
// prices, or all of them can sell at a time.
func portOf(p model.Port, byLink map[int]seller) (s seller) {
	for _, i := range p.Links {
		x, there := byLink[i]
		switch {
		case !there:
			continue
		case s.links == nil:
			s = x
		case x.class != s.class:
			return seller{}
		}
		s.from, s.after = min(s.from, x.from), min(s.after, x.after)
		if x.bandwidth.Cmp(s.bandwidth) > 0 {
			s.bandwidth = x.bandwidth
		}
		s.links = append(s.links, x)
	}
	if len(s.links) <= p.Capacity {
		return seller{}
	}
	s.links = alikes(s.links)
	s.bandwidth = new(big.Int).Mul(s.bandwidth, big.NewInt(int64(p.Capacity)))
	return s
}

// alikes returns sellers with those that differ in their bandwidth alone added up, in order.
func alikes(list []seller) []seller {
	slices.SortFunc(list, func(a, b seller) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.from, b.from), cmp.Compare(a.after, b.after))
	})
	var sum []seller
	for _, s := range list {
		if n := len(sum) - 1; n >= 0 && sum[n].class == s.class && sum[n].from == s.from && sum[n].after == s.after {
			sum[n].bandwidth = new(big.Int).Add(sum[n].bandwidth, s.bandwidth)
			continue
		}
		sum = append(sum, s)
	}
	return sum
}

// sold returns what sellers can sell by t at most, as due has it.
func (m *timedMarket) sold(list []seller, t model.Time) *big.Int {
	sum := new(big.Int)
	for _, s := range list {
		until := t - s.after
		if until <= s.from {
			continue
		}
		most := new(big.Int).Mul(s.bandwidth, m.curves[s.class].twice(s.from, until))
		if s.links != nil {
			most = smaller(most, m.sold(s.links, t))
		}
		sum.Add(sum, most)
	}
	return sum
}

// twice returns twice the integral of a curve between two times.
func (c curve) twice(from, until model.Time) *big.Int {
	sum := new(big.Int)
	for i, p := range c {
		begin, end := max(p.from, from), until
		if i+1 < len(c) {
			end = min(end, c[i+1].from)
		}
		if begin < end {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(p.at(begin)+p.at(end)), big.NewInt(int64(end-begin))))
		}
	}
	return sum
}
