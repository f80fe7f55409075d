package cert

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
)

var _ = rule(Kind{
	Shows:  "at these link prices, which change with time, a transfer pays for all that it serves together, and all links together sell no more than their bandwidth over time",
	Holds:  "prices of links in steps of time, and what it costs at least until what a rank needs is where by when: a dual of the linear program of flows over time of what is copied, or added up, on the way",
	Needs:  "one of the standard collectives, and a price of 0 where several transfers may share a link because switches copy or add",
	Lemmas: "shared flows",
}, func(j *job, w model.TimedPotentials) (model.Time, error) { return j.sharing(&w) })

// Limits above which it is unknown whether a certificate of this kind holds.
const (
	maxSharedTimes  = 1 << 12 // at which inequalities are checked
	maxSharedPrices = 1 << 24 // of walks over switches, which are kept for one link into them
)

// sharing returns the bound that prices of links yield that change with time, where what one
// transfer brings may serve several ranks.
//
// Let y_e(t) >= 0 be the price of a byte on link e at time t, and H a time. A way κ leads from a rank w to a rank d other than w. For each rank v let c_κ(v, t) be a cost
// that does not rise with t, infinite before some time; c_κ(w, t) is 0 once w has arrived. An item is
// served by κ if w contributes to it and d needs it with what w contributes. Let for each item, each hop
// from a rank u over links 1..l and switches to a rank v, and each time t with t + Σα < H
//
//	(shared)   Σ max(0, c_κ(v, t + Σα) - c_κ(u, t)) <= Σ_i y_i(t + α_1 + … + α_{i-1})
//	(own)      y_e = 0 if the source of e is a switch that adds, or is reached from one over switches,
//	           or if its destination is one that copies, or leads to one over switches
//
// where the first sum is over the ways that serve the item and for which c_κ(u, t) is finite. Let the item
// pay for a byte the sum of c_κ(d, T-) over these ways, which is the cost just before T.
//
// Lemma (shared flows). In a right schedule that ends by T <= H the bytes of all items, times what
// each pays, are at most Σ_e B_e·∫ y_e(t) dt over the times at which something can be on its way
// on e.
//
// Proof. Take an item, or where the cut is free any chunk with some of its bytes. For each way κ
// that serves it take a chain of transfers from w to d [(arrive); what w contributes is at the start at w
// alone]. All transfers of the chunk that are in any of these chains fall into hops. A hop of a
// chunk of m bytes begins to occupy its link i at σ_i = σ_1 + α_1 + … + α_{i-1} [(hop)], or later behind a switch
// that adds, where y_i is 0; and
// occupies it for τ or longer, τ being the greatest τ_i; let the part ξ of the chunk, 0 <= ξ < 1, pass
// link i at σ_i + ξτ. It comes to the end of the hop Σα after it passed the first link, at the time a, say, or later;
// and it passes the first link of the next hop of a chain, which starts when this one has
// ended, at σ_1 + Σα + τ + ξτ' or later, which is a or later. So along the chain of κ, c_κ rises from 0 at w [it
// starts when w has arrived, or later (late)] to c_κ(d, T-) or more at the end [the last hop ends by T, so
// that the part comes before T]; between hops it does not rise; and so the sum over the chain's hops of
// max(0, c_κ(v, a) - c_κ(u, a - Σα)) is c_κ(d, T-) or more. [It is finite at each of them, one after the
// other, by (shared).] Add that up over the ways. Hops that occupy a link with a price at one time are of one stream [(apart)],
// and by (own) came to there over the same links from one rank, and go on over the same ones to one rank [two ways that meet
// do so at a switch of both that adds, and those that part at one that copies; a hop visits no rank between its ends]:
// they pass all their links at the same times, and are taken for one. Each hop is counted for those ways whose chains it is
// in, and once for each of them [the transfers of a chain are one after the other]. By (shared) it has
// all of this paid by Σ_i y_i, at the times at which the part passes its links. So what the hops of
// the chunk pay for the part, each of them once, is what the item pays or more.
//
// While it occupies a link a hop passes it at a rate of m/τ <= B_e bytes per second, and no two
// hops occupy a link with a price at a time. So at any time t at most B_e
// bytes per second pass e, at the price y_e(t). A part passes e when something that is needed can have come
// to it, and early enough that it can still come to where something is needed [(times)].
//
// Other cost models, and ports, are as in (flows over time). ∎
//
// Where costs and prices change at whole picoseconds, both sides of (shared) are constant between the
// times at which one of them does. These are looked at. Of the walks over switches from a rank to
// another with one Σα the cheapest counts at each time, whether or not it passes a switch twice: these
// are enough. A hop visits no node twice, so that its Σα is at most the greatest latency of a link out of a
// rank, and of one out of each switch, together: walks that take longer need not pay.
//
// The witness yields the least T that the lemma does not exclude, or H: with T, costs do not rise, and what
// links can sell does not fall.
func (j *job) sharing(w *model.TimedPotentials) (model.Time, error) {
	if err := (&model.Certificate{Problem: j.p, Witness: *w}).Validate(); err != nil {
		return 0, err
	}
	if j.p.Collective.Kind == model.Custom {
		return 0, errors.New("witness: of kind timed-potentials needs one of the standard collectives")
	}
	if err := j.own(w.Classes); err != nil {
		return 0, err
	}
	m := &sharedMarket{timedMarket: timedMarket{job: j, class: make([]int, len(j.t.Links)), curves: []curve{{{0, 0, 0}}}}, w: w, horizon: w.Horizon}
	for i, c := range w.Classes {
		for _, l := range c.Links {
			m.class[l] = i + 1
		}
		m.curves = append(m.curves, curveOf(c.Pieces))
	}
	for i, x := range w.Ways {
		if c := w.Costs[x.Costs[x.Source]].Steps; len(c) != 1 || c[0].Cost != 0 || c[0].From > j.p.ReleaseOf(x.Source) {
			return 0, fmt.Errorf("witness: ways[%d] does not cost 0 at its source, rank %d, once that has arrived", i, x.Source)
		}
	}
	l := j.newLoad()
	m.serve(l)
	if len(m.groups) == 0 {
		return 0, errNothing
	}
	if err := m.shared(); err != nil {
		return 0, err
	}
	sellers := m.sellers(l)
	return min(m.horizon, leastTime(func(t model.Time) bool {
		if t >= m.horizon || !j.work.Go(len(w.Ways)+16*len(sellers)) {
			return true
		}
		due, finite := m.due(t)
		return finite && m.sold(sellers, t).Cmp(due) >= 0
	})), nil
}

// own returns an error if a link has a price that several transfers may share: (own).
func (j *job) own(classes []model.PriceClass) error {
	reversed := j.t.Reversed()
	into, outOf := reversed.Out(), j.t.Out()
	before, behind := map[int]int{}, map[int]int{} // by node: a switch that adds, from which it is reached, or one that copies, to which it leads
	for _, c := range classes {
		if !slices.ContainsFunc(c.Pieces, func(x model.PricePiece) bool { return x.Price != 0 || x.Slope != 0 }) {
			continue
		}
		for _, i := range c.Links {
			k := &j.t.Links[i]
			if _, known := before[k.Src]; !known {
				before[k.Src] = j.found(j.overSwitches(reversed, into, k.Src), func(v int) bool { return j.t.Reduces(v) != model.NoReducing })
			}
			if _, known := behind[k.Dst]; !known {
				behind[k.Dst] = j.found(j.overSwitches(j.t, outOf, k.Dst), j.t.Copies)
			}
			for _, v := range []int{before[k.Src], behind[k.Dst]} {
				if v >= 0 {
					return fmt.Errorf("witness: link %d has a price, and what passes it at one time can be several transfers, because of %s", i, j.t.NodeName(v))
				}
			}
		}
	}
	return nil
}

// sharedMarket knows prices, and what ways cost.
type sharedMarket struct {
	timedMarket
	w       *model.TimedPotentials
	horizon model.Time // H
	groups  []served
	longest model.Time   // Σα of a hop, at most
	times   []model.Time // at which inequalities are checked
	costs   [][]int64    // by cost, place in times
}

// served is bytes that the same ways serve.
type served struct {
	bytes int64
	ways  []int
}

// infinite is the cost of being where nothing can be.
const infinite = math.MaxInt64

// costAt returns a cost at a time.
func costAt(c model.TimedCost, t model.Time) int64 {
	cost := int64(infinite)
	for _, s := range c.Steps {
		if s.From > t {
			break
		}
		cost = s.Cost
	}
	return cost
}

// serve finds what ways serve, and notes in l from which ranks and to which that goes.
func (m *sharedMarket) serve(l *load) {
	number := map[[2]int]int{}
	for i, x := range m.w.Ways {
		number[[2]int{x.Source, x.Dest}] = i
	}
	place := map[string]int{}
	at := -1
	m.each(func(k int) int64 {
		var ways []int
		for w := range m.start(k) {
			for d := range m.goal(k) {
				if i, there := number[[2]int{w, d}]; there && m.work.Go(1) {
					ways = append(ways, i)
					m.startsAt(l, w)
					m.endsAt(l, d)
				}
			}
		}
		if at = -1; len(ways) == 0 {
			return 0
		}
		key := fmt.Sprint(ways)
		i, known := place[key]
		if !known {
			i = len(m.groups)
			place[key] = i
			m.groups = append(m.groups, served{0, ways})
		}
		at = i
		return 1
	}, func(k int, n int64) {
		if n > 0 {
			m.groups[at].bytes += m.size(k)
			m.add(l, k, 1)
		}
	})
}

// due returns what all bytes pay at least if they are where they are needed by t, as twice that
// many areas (picoBytes), and false if one cannot be there.
func (m *sharedMarket) due(t model.Time) (sum *big.Int, finite bool) {
	var total area
	for _, g := range m.groups {
		for _, i := range g.ways {
			x := &m.w.Ways[i]
			cost := costAt(m.w.Costs[x.Costs[x.Dest]], t-1)
			if cost == infinite {
				return nil, false
			}
			total.add(g.bytes, cost)
		}
	}
	sum = total.number()
	return sum.Mul(sum, picoBytes).Lsh(sum, 1), true
}

// onward is the links from one node to another that are alike.
type onward struct {
	dst, class int
	alpha      model.Time
}

// shared checks all inequalities (shared).
func (m *sharedMarket) shared() error {
	out := make([][]onward, m.t.Nodes())
	leaving := map[onward][]int{} // by links out of ranks: the ranks
	var list []onward
	for i, k := range m.t.Links {
		a := onward{k.Dst, m.class[i], k.Alpha}
		if !m.work.Go(1+len(out[k.Src])) || slices.Contains(out[k.Src], a) {
			continue
		}
		out[k.Src] = append(out[k.Src], a)
		if m.t.IsRank(k.Src) {
			if leaving[a] == nil {
				list = append(list, a)
			}
			leaving[a] = append(leaving[a], k.Src)
		}
	}
	m.longest = m.longestHop()
	if err := m.instants(list, out); err != nil {
		return err
	}
	for _, c := range m.w.Costs {
		values := make([]int64, len(m.times))
		for i, t := range m.times {
			values[i] = costAt(c, t)
		}
		m.costs = append(m.costs, values)
	}
	gains := m.gains()
	type inequality struct {
		gain, prices int
		lag          model.Time
	}
	known, numbers := map[inequality]bool{}, map[string]int{}
	for _, a := range list {
		ends, err := m.cheapestWalks(a, out)
		if err != nil {
			return err
		}
		for _, r := range ends {
			key := inequality{prices: number(numbers, text(r.prices)), lag: r.lag}
			for _, u := range leaving[a] {
				for _, gain := range gains.of(u, r.dst) {
					if key.gain = gain; known[key] || !m.work.Go(1) {
						continue
					}
					known[key] = true
					if err := m.paid(gains.list[gain], r); err != nil {
						return fmt.Errorf("witness: a hop from rank %d to rank %d, which takes %v: %w", u, r.dst, r.lag, err)
					}
				}
			}
		}
	}
	return nil
}

// longestHop returns what the latencies of the links of a hop are together, at most: one out of a rank, and one
// out of each switch.
func (m *sharedMarket) longestHop() (sum model.Time) {
	most := make([]model.Time, m.t.Nodes())
	for _, k := range m.t.Links {
		from := k.Src
		if m.t.IsRank(from) {
			from = 0 // for all ranks
		}
		most[from] = max(most[from], k.Alpha)
	}
	for _, alpha := range most {
		sum = sum.Add(alpha)
	}
	return sum
}

// text returns numbers as a key.
func text[N int | int64](list []N) string {
	var b []byte
	for _, x := range list {
		b = binary.AppendVarint(b, int64(x))
	}
	return string(b)
}

// number returns the number of a text, a new one for a new text.
func number(numbers map[string]int, key string) int {
	n, known := numbers[key]
	if !known {
		n = len(numbers)
		numbers[key] = n
	}
	return n
}

// instants finds the times at which something changes for a hop that passes its first link then.
func (m *sharedMarket) instants(first []onward, out [][]onward) error {
	type state struct {
		node int
		lag  model.Time
	}
	lags, seen := map[model.Time]bool{0: true}, map[state]bool{}
	var queue []state
	come := func(s state) {
		if s.lag < m.horizon && s.lag <= m.longest && !seen[s] {
			seen[s], lags[s.lag] = true, true
			if !m.t.IsRank(s.node) {
				queue = append(queue, s)
			}
		}
	}
	for _, a := range first {
		come(state{a.dst, a.alpha})
	}
	for ; len(queue) > 0; queue = queue[1:] {
		if len(lags) > maxSharedTimes || !m.work.Go(8*len(out[queue[0].node])) {
			return stopped(fmt.Sprintf("topology: more than the %d sums of latencies that are looked at", maxSharedTimes))
		}
		for _, a := range out[queue[0].node] {
			come(state{a.dst, queue[0].lag.Add(a.alpha)})
		}
	}
	changes := map[model.Time]bool{0: true, m.horizon: true} // later ones do not matter
	for _, c := range m.w.Classes {
		for _, x := range c.Pieces {
			changes[x.From], changes[x.To] = true, true
		}
	}
	for _, c := range m.w.Costs {
		for _, s := range c.Steps {
			changes[s.From] = true
		}
	}
	all := map[model.Time]bool{}
	for at := range changes {
		if len(all) > maxSharedTimes || !m.work.Go(8*len(lags)) {
			break
		}
		for lag := range lags {
			if t := at - lag; t >= 0 && t < m.horizon {
				all[t] = true
			}
		}
	}
	if len(all) > maxSharedTimes {
		return stopped(fmt.Sprintf("witness: more than the %d times that are looked at", maxSharedTimes))
	}
	m.times = slices.Sorted(maps.Keys(all))
	return nil
}

// reached is what walks that end at a node a while after they passed their first link pay.
type reached struct {
	dst    int
	lag    model.Time
	prices []int64 // by place in times, when they pass their first link: the least
}

// cheapestWalks returns, of the walks over switches that begin with a link, what they pay at least, by
// the rank where they end and how long they take, by correcting what states that wait in a queue lead to.
func (m *sharedMarket) cheapestWalks(first onward, out [][]onward) (ends []reached, err error) {
	type state struct {
		node int
		lag  model.Time
	}
	place := map[state]int{}
	var all []reached
	var queue []int
	var queued []bool
	come := func(a onward, lag model.Time, before []int64) { // over links that are passed lag later than the first
		s := state{a.dst, lag.Add(a.alpha)}
		if s.lag >= m.horizon || s.lag > m.longest {
			return
		}
		i, known := place[s]
		if !known {
			i = len(all)
			place[s] = i
			all, queued = append(all, reached{s.node, s.lag, slices.Repeat([]int64{infinite}, len(m.times))}), append(queued, false)
		}
		y, piece, lower := m.curves[a.class], 0, false
		for k, t := range m.times {
			if t+s.lag >= m.horizon {
				break
			}
			for piece+1 < len(y) && y[piece+1].from <= t+lag {
				piece++
			}
			sum := y[piece].price
			if before != nil {
				sum += before[k]
			}
			if sum < all[i].prices[k] {
				all[i].prices[k], lower = sum, true
			}
		}
		if lower && !m.t.IsRank(s.node) && !queued[i] {
			queued[i] = true
			queue = append(queue, i)
		}
	}
	come(first, 0, nil)
	for ; len(queue) > 0; queue = queue[1:] {
		from := all[queue[0]]
		queued[queue[0]] = false
		for _, a := range out[from.dst] {
			if !m.work.Go(8+len(m.times)) || len(all)*len(m.times) > maxSharedPrices {
				return nil, stopped(fmt.Sprintf("witness: more than the %d prices of ways over switches that are kept", maxSharedPrices))
			}
			come(a, from.lag, from.prices)
		}
	}
	return slices.DeleteFunc(all, func(r reached) bool { return !m.t.IsRank(r.dst) }), nil
}

// gain is that ways cost one thing where a hop begins, and another one where it ends, and how many do.
type gain struct{ before, after, ways int }

// gains are what the ways of each group gain by hops between two ranks, of those that are equal one.
type gains struct {
	list    [][]gain
	between [][]int // by ranks: of groups, places in list
	ranks   int
}

// of returns what hops from a rank to another one gain.
func (g *gains) of(u, v int) []int { return g.between[u*g.ranks+v] }

func (m *sharedMarket) gains() *gains {
	n := m.t.Ranks
	all := &gains{between: make([][]int, n*n), ranks: n}
	numbers := map[string]int{}
	for u := range n {
		for v := range n {
			if u == v {
				continue
			}
			var places []int
			for _, g := range m.groups {
				if !m.work.Go(8 + 8*len(g.ways)) {
					return all
				}
				pairs := make([]int, 0, len(g.ways))
				for _, i := range g.ways {
					if c := m.w.Ways[i].Costs; c[u] != c[v] { // else they cost no more, since costs fall
						pairs = append(pairs, c[u]*len(m.w.Costs)+c[v])
					}
				}
				slices.Sort(pairs)
				i := number(numbers, text(pairs))
				if i == len(all.list) {
					var list []gain
					for _, p := range pairs {
						if k := len(list) - 1; k >= 0 && p == list[k].before*len(m.w.Costs)+list[k].after {
							list[k].ways++
						} else {
							list = append(list, gain{p / len(m.w.Costs), p % len(m.w.Costs), 1})
						}
					}
					all.list = append(all.list, list)
				}
				places = append(places, i)
			}
			slices.Sort(places)
			all.between[u*n+v] = slices.Compact(places)
		}
	}
	return all
}

// paid checks that hops pay for what they gain.
func (m *sharedMarket) paid(gains []gain, r reached) error {
	end := 0 // the place of what is true when the hop ends
	for k, t := range m.times {
		if t+r.lag >= m.horizon || !m.work.Go(1+len(gains)) {
			break
		}
		for end+1 < len(m.times) && m.times[end+1] <= t+r.lag {
			end++
		}
		sum := int64(0)
		for _, g := range gains {
			before, after := m.costs[g.before][k], m.costs[g.after][end]
			if before == infinite || after <= before {
				continue
			}
			if after == infinite {
				return fmt.Errorf("it begins at %v, and ends where a way says that nothing can be by then", t)
			}
			sum += int64(g.ways) * (after - before)
		}
		if sum > r.prices[k] {
			return fmt.Errorf("at %v it pays %d, and serves what costs %d more where it ends", t, r.prices[k], sum)
		}
	}
	return nil
}
