package cert

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
)

var _ = rule(Kind{
	Shows:  "what enters a set of nodes early is a sum of few contributions, and what enters it late can serve few ranks, so that the links into the set must pass so much",
	Holds:  "the set of nodes, and the ranks whose contributions and needs are counted, if not all",
	Needs:  "one of the standard collectives",
	Lemmas: "coverage",
}, (*job).coverage)

// maxMet limits how many times of a rank's contribution at another rank are kept.
const maxMet = 1 << 26

// coverage returns the bound that a set X of nodes yields: the least T by which the links
// into X can have carried all pairs.
//
// W are members outside X, V members in X. A pair is a byte of an item with a w of W that
// contributes to it and a v of V that needs it with what w contributes. λ from x to y is a
// link into X, with latency α and bandwidth B. b is the size of the smallest item that has a
// pair, 1 where the cut is free.
//
//	D(w, u)    the least time at which rank u can have something that w contributes: full[u]
//	           of (times) for b bytes that are at w at the start
//	L(u, x)    the least sum of latencies from rank u over switches to x; 0 if x = u
//	D'(z, v)   the least length of a chain for b bytes from rank z to v: full[v] of (times)
//	           with all ranks there at time 0
//	L'(y, z)   as L
//	c(t)       the most of W for one rank u: #{w : max(D(w,u), arrival of y) + L(u,x) <= t}; if
//	           contributions are not added, 1 at most; and if a switch adds from which x is
//	           reached over switches, or x does, u may be another one for each w
//	s(r)       the most of V for one rank z: #{v : α + L'(y,z) + D'(z,v) <= r}; if a byte is
//	           needed by one rank alone, 1 at most; and if a switch copies that is reached from y
//	           over switches, or y does, z may be another one for each v
//
// If x is a rank, u is x; if y is a rank, z is y, and the arrival of y counts. A way that enters X
// several times is looked at where it does for the last time: then D' and L' are over links between
// nodes of X, and so are ways to switches that copy. Or it is looked at where it does for the
// first time: then D and L are over links between nodes that are not in X, and so are ways from
// switches that add.
//
// Lemma (coverage). A right schedule with makespan T has F(T) >= N, where N is the number of
// pairs and F(T) the sum of B·∫c(t)·s(T-t)dt, from 0 to T, over the links into X.
//
// Proof. Take pipelined schedules first. For each pair take a chain from w to v [(arrive);
// what w contributes is at the start at w alone]. Its routes, one after the other, are a walk
// that begins outside X and ends in X. Let λ be the link over which it enters X for the last
// time, or for the first time, and σ the time at which the hop over it begins to occupy λ, which it does until
// σ + m/B or later, where the chunk has m bytes [(busy)]. Let the pair count at λ at all times
// t with σ <= t < σ + m/B: B times the length of these is the pair's bytes, and it is to be
// shown that at most c(t)·s(T-t) pairs count at λ at one time t.
//
// All that occupies λ at t is of one stream, and so of one chunk [(apart)]. A transfer carries
// what the slot contained that it reads. Of each such contribution of w a chain leads to the
// rank u where its hop over λ begins, relays included, and takes D(w,u) or more [(times)], and
// the hop begins at u no earlier than when the rank y has arrived [(late)], and is at λ's source
// L(u,x) later or more [(hop)]: by σ, and so by t. Of first times all that is outside X [so are the
// walks before λ]. What occupies λ at t came over the same links to there, from one rank u, or met at
// a switch of both hops that adds [two ways that meet before λ do so at a switch of both]. A hop visits
// no rank between its ends, so that from there to x it is over switches. Where no such switch adds, u is the
// same for all. So the pairs that count have at most c(t)
// ranks of W. Where contributions are not added, a chunk has that of one rank.
//
// Of last times the walk stays in X after λ. The hop ends at a rank z, at σ + m/B + α + L'(y,z) or
// later [(hop)], which is after t + α + L'(y,z), and v is reached D'(z,v) later or more [(times),
// of the rest of the chain; if z = v, D' = 0], by T. Transfers that occupy λ at t part at a
// switch that copies, or not at all. If they part before the first rank behind λ, the switch is on
// both walks, behind y and switches alone, or y itself, and each v may have another z; else z is that rank for all. So the
// pairs that count have at most s(T-t) of V, for each contribution. Where a byte is needed by one
// rank, there is one. Added up over all times and links, that is the lemma.
//
// A blocking schedule is a pipelined one: every hop lasts as long, and occupies its links for
// longer. In rounds, let each transfer start with its round and last as long as (hop) has it: then
// it ends within the round, a link is occupied by one chunk, and the ranks have arrived [(round)].
// So the schedule has all that was used. ∎
//
// Where the cut is given, more holds. A transmission of m bytes occupies λ for busy(m) or longer,
// which is τ under pipelined, and else α + τ. Take that as the window, leave α out of s where it
// is part of the window, and weigh each pair of a chunk of m bytes by the least B·busy(m) of any
// link into X instead of m: the sum of these weights is F(T) at most, by the same steps.
func (j *job) coverage(w model.Coverage) (model.Time, error) {
	if j.p.Collective.Kind == model.Custom {
		return 0, errors.New("witness: of kind coverage needs one of the standard collectives")
	}
	inside, err := ascending("nodes", w.Nodes, j.t.Nodes())
	if err != nil {
		return 0, err
	}
	from, err := chosen("from", w.From, j.t.Ranks)
	if err != nil {
		return 0, err
	}
	to, err := chosen("to", w.To, j.t.Ranks)
	if err != nil {
		return 0, err
	}
	l := j.total(func(l *load, k int) int64 { return j.pairs(l, k, inside, from, to) })
	if len(l.count) == 0 {
		return 0, errNothing
	}
	c := &cover{job: j, inside: inside, first: w.First, l: l}
	for i, k := range j.t.Links {
		if !inside[k.Src] && inside[k.Dst] {
			a := lane{link: i, bandwidth: k.Bandwidth}
			if j.p.Cost != model.Pipelined {
				a.each = k.Alpha
			}
			c.lanes = append(c.lanes, a)
		}
	}
	if err := c.meet(); err != nil {
		return 0, err
	}
	bytes, occupied := new(big.Int), new(big.Int)
	for size, n := range l.count {
		if !j.work.Go(16 * len(c.lanes)) {
			break
		}
		bytes.Add(bytes, new(big.Int).Mul(big.NewInt(n), new(big.Int).Mul(big.NewInt(size), picoBytes)))
		occupied.Add(occupied, new(big.Int).Mul(big.NewInt(n), leastArea(c.lanes, size)))
	}
	best := c.least(bytes, false)
	if !j.free {
		best = max(best, c.least(occupied, true))
	}
	return best, nil
}

// pairs returns how many pairs each byte of item k has, and notes in l which ranks contribute
// to them and which need them.
func (j *job) pairs(l *load, k int, inside, from, to []bool) int64 {
	sources, dests := int64(0), int64(0)
	for r := range j.start(k) {
		if !inside[r] && from[r] {
			sources++
		}
	}
	for r := range j.goal(k) {
		if inside[r] && to[r] {
			dests++
		}
	}
	if sources == 0 || dests == 0 {
		return 0
	}
	for r := range j.start(k) {
		if !inside[r] && from[r] {
			j.startsAt(l, r)
		}
	}
	for r := range j.goal(k) {
		if inside[r] && to[r] {
			j.endsAt(l, r)
		}
	}
	return sources * dests
}

// cover is a set of nodes with what its coverage asks for.
type cover struct {
	*job
	inside []bool
	first  bool // ways are looked at where they first enter the set
	l      *load
	lanes  []lane // the links into the set

	before map[int][]model.Time // by node x outside: L(u, x), by node
	beyond map[int][]model.Time // by node y inside: L'(y, z), by node
	met    map[int][]model.Time // by rank u where a hop into the set can begin: D(w, u), by w
	served map[int][]model.Time // by rank z where one can end: D'(z, v), by v
}

// meet computes D, D', L and L', where they are needed.
func (c *cover) meet() error {
	j := c.job
	c.before, c.beyond = map[int][]model.Time{}, map[int][]model.Time{}
	c.met, c.served = map[int][]model.Time{}, map[int][]model.Time{}
	upTo, from := j.t, j.t // the links over which what enters has come, and goes on
	if c.first {
		upTo = c.between(false)
	} else {
		from = c.between(true)
	}
	reversed := upTo.Reversed()
	into, outOf, onwards := reversed.Out(), from.Out(), []int(nil)
	for i := range c.lanes {
		k := &j.t.Links[c.lanes[i].link]
		if c.before[k.Src] == nil {
			c.before[k.Src] = j.overSwitches(reversed, into, k.Src)
			for u := range j.t.Ranks {
				if c.before[k.Src][u] != model.MaxTime {
					c.met[u] = nil
				}
			}
		}
		if c.beyond[k.Dst] == nil {
			c.beyond[k.Dst] = j.overSwitches(from, outOf, k.Dst)
			for z := range j.t.Ranks {
				if _, known := c.served[z]; !known && c.beyond[k.Dst][z] != model.MaxTime {
					c.served[z] = nil
					onwards = append(onwards, z)
				}
			}
		}
	}
	var sources, dests int
	for r := range j.t.Ranks {
		if c.l.from[r] != model.MaxTime {
			sources++
		}
		if c.l.to[r] != model.MaxTime {
			dests++
		}
	}
	if most := max(sources*len(c.met), dests*len(c.served)); most > maxMet {
		return stopped(fmt.Sprintf("witness: %d times at which something can be at a rank, more than the %d that are looked at", most, maxMet))
	}
	start := slices.Repeat([]model.Time{model.MaxTime}, j.t.Ranks)
	for w, at := range c.l.from {
		if at == model.MaxTime || !j.work.Go(len(c.met)) {
			continue
		}
		start[w] = at
		full := j.arrivals(upTo, j.p.Release, start, c.l.least).full
		start[w] = model.MaxTime
		for u := range c.met {
			c.met[u] = append(c.met[u], full[u])
		}
	}
	for _, z := range onwards {
		if !j.work.Go(len(c.l.to)) {
			break
		}
		start[z] = 0
		full := j.arrivals(from, nil, start, c.l.least).full
		start[z] = model.MaxTime
		for v, at := range c.l.to {
			if at != model.MaxTime {
				c.served[z] = append(c.served[z], full[v])
			}
		}
	}
	return nil
}

// between returns the topology with only the links between nodes of the set, or between others.
func (c *cover) between(inside bool) *model.Topology {
	t := *c.t
	t.Links = nil
	for _, k := range c.t.Links {
		if c.inside[k.Src] == inside && c.inside[k.Dst] == inside {
			t.Links = append(t.Links, k)
		}
	}
	return &t
}

// overSwitches returns the least sum of latencies from a node over switches to each node,
// MaxTime where no such way leads. out has the links of t that leave each node.
func (j *job) overSwitches(t *model.Topology, out [][]int, from int) []model.Time {
	least := slices.Repeat([]model.Time{model.MaxTime}, t.Nodes())
	least[from] = 0
	if t.IsRank(from) {
		return least
	}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		u := queue[0]
		if t.IsRank(u) || !j.work.Go(1+len(out[u])) {
			continue
		}
		for _, i := range out[u] {
			if l := &t.Links[i]; least[u].Add(l.Alpha) < least[l.Dst] {
				least[l.Dst] = least[u].Add(l.Alpha)
				queue = append(queue, l.Dst)
			}
		}
	}
	return least
}

// rise is by how much a growing number of ranks grows at a time.
type rise struct {
	at model.Time
	by int64
}

// heads returns the steps of c for a lane.
func (c *cover) heads(a *lane) []rise {
	k := &c.t.Links[a.link]
	arrival := model.Time(0)
	if c.t.IsRank(k.Dst) {
		arrival = c.p.ReleaseOf(k.Dst)
	}
	most := int64(len(c.l.from))
	if !c.p.Collective.Kind.Reduces() {
		most = 1
	}
	var lists [][]model.Time
	for u, lead := range c.before[k.Src][:c.t.Ranks] {
		if lead == model.MaxTime {
			continue
		}
		var list []model.Time
		for _, at := range c.met[u] {
			list = append(list, max(at, arrival).Add(lead))
		}
		lists = append(lists, list)
	}
	if c.found(c.before[k.Src], func(v int) bool { return c.t.Reduces(v) != model.NoReducing }) >= 0 {
		lists = leastOf(lists)
	}
	return c.highest(lists, most)
}

// leastOf returns the least of several lists for each place, as the only list.
func leastOf(lists [][]model.Time) [][]model.Time {
	if len(lists) == 0 {
		return nil
	}
	for _, list := range lists[1:] {
		for i, at := range list {
			lists[0][i] = min(lists[0][i], at)
		}
	}
	return lists[:1]
}

// tails returns the steps of s for a lane, without α.
func (c *cover) tails(a *lane) []rise {
	k := &c.t.Links[a.link]
	most := int64(1)
	switch c.p.Collective.Kind {
	case model.Broadcast, model.AllGather, model.AllReduce:
		most = int64(len(c.l.to))
	}
	var lists [][]model.Time
	for z, lead := range c.beyond[k.Dst][:c.t.Ranks] {
		if lead == model.MaxTime {
			continue
		}
		var list []model.Time
		for _, at := range c.served[z] {
			list = append(list, at.Add(lead))
		}
		lists = append(lists, list)
	}
	if c.found(c.beyond[k.Dst], c.t.Copies) >= 0 {
		lists = leastOf(lists)
	}
	return c.highest(lists, most)
}

// found returns the first switch like that of those that a walk over switches has reached, -1 if there is none.
func (j *job) found(reached []model.Time, like func(v int) bool) int {
	for v := j.t.Ranks; v < j.t.Nodes(); v++ {
		if reached[v] != model.MaxTime && like(v) {
			return v
		}
	}
	return -1
}

// highest returns, as its steps, how many times of one list are over, at most, with time; no
// more than most. Times that never are do not count.
func (c *cover) highest(lists [][]model.Time, most int64) []rise {
	type event struct {
		at   model.Time
		list int
	}
	var events []event
	for i, list := range lists {
		for _, at := range list {
			if at != model.MaxTime {
				events = append(events, event{at, i})
			}
		}
	}
	if !c.work.Go(8 * len(events)) {
		return nil
	}
	slices.SortFunc(events, func(a, b event) int { return int(min(1, max(-1, a.at-b.at))) })
	var steps []rise
	count, height := make([]int64, len(lists)), int64(0)
	for _, e := range events {
		if count[e.list]++; count[e.list] <= height || height == most {
			continue
		}
		height++
		if n := len(steps); n > 0 && steps[n-1].at == e.at {
			steps[n-1].by++
		} else {
			steps = append(steps, rise{e.at, 1})
		}
	}
	return steps
}

// least returns the least T with F(T) >= need, MaxTime if there is none. within tells that the
// windows of lanes hold what occupies them beside their bytes, latencies included.
func (c *cover) least(need *big.Int, within bool) model.Time {
	type ends struct {
		src, dst int
		alpha    model.Time
	}
	total := map[ends]*big.Int{} // bandwidth of links that are alike
	slope := map[model.Time]*big.Int{}
	for i := range c.lanes {
		k := &c.t.Links[c.lanes[i].link]
		e := ends{k.Src, k.Dst, k.Alpha}
		if within {
			e.alpha -= c.lanes[i].each
		}
		if total[e] == nil {
			total[e] = new(big.Int)
		}
		total[e].Add(total[e], big.NewInt(k.Bandwidth))
	}
	for i := range c.lanes {
		k := &c.t.Links[c.lanes[i].link]
		e := ends{k.Src, k.Dst, k.Alpha}
		if within {
			e.alpha -= c.lanes[i].each
		}
		bandwidth := total[e]
		if bandwidth == nil {
			continue // done with one that is alike
		}
		delete(total, e)
		heads, tails := c.heads(&c.lanes[i]), c.tails(&c.lanes[i])
		if !c.work.Go(4 * len(heads) * len(tails)) {
			return 0
		}
		for _, h := range heads {
			for _, t := range tails {
				at := h.at.Add(t.at).Add(e.alpha)
				if slope[at] == nil {
					slope[at] = new(big.Int)
				}
				slope[at].Add(slope[at], new(big.Int).Mul(bandwidth, new(big.Int).Mul(big.NewInt(h.by), big.NewInt(t.by))))
			}
		}
	}
	var bends []model.Time
	for at := range slope {
		bends = append(bends, at)
	}
	slices.Sort(bends)
	have, rate, last := new(big.Int), new(big.Int), model.Time(0) // F at last, and its slope after it
	for _, at := range bends {
		next := new(big.Int).Add(have, new(big.Int).Mul(rate, big.NewInt(int64(at-last))))
		if next.Cmp(need) >= 0 {
			break
		}
		have, last = next, at
		rate.Add(rate, slope[at])
	}
	if rate.Sign() == 0 {
		return model.MaxTime
	}
	left := new(big.Int).Sub(need, have)
	left.Add(left, rate).Sub(left, big.NewInt(1)).Div(left, rate) // rounded up
	if !left.IsInt64() {
		return model.MaxTime
	}
	return last.Add(model.Time(left.Int64()))
}
