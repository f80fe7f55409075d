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
	Shows:  "what leaves a part of the network early carries few of its contributions, and what enters one late reaches few of its ranks, so that the links into the parts must pass more transfers then than 2k-2 of each chunk among k parts",
	Holds:  "the parts, disjoint sets of nodes that hold every rank",
	Needs:  "an allreduce, that no switch adds from which links into parts are reached over switches, and that none copies that is reached from them over switches of the part",
	Lemmas: "crossing",
}, (*job).gathering)

// gathering returns the bound that several parts yield with the times at which transfers go from
// one to another.
//
// Let k parts have members, and P be such a part with n(P) of them. λ from x to y is a link into
// a part Q from elsewhere, with latency α and bandwidth B; b is the size of the smallest chunk, 1
// where the cut is free.
//
//	D(w, u)    the least time at which rank u can have something that w contributes: full[u]
//	           of (times) for b bytes that are at w at the start
//	D'(z, v)   the least length of a chain for b bytes from rank z to rank v: full[v] of (times)
//	           with all ranks there at time 0
//	L(u, x)    the least sum of latencies from rank u over switches to x; 0 if x = u
//	L'(y, z)   as L, from y to rank z, over links between nodes of Q
//	e(w, u, λ) max(D(w, u), arrival of y) + L(u, x), where y arrives at once if it is a switch
//	c(λ, t)    the most for one rank u, not of Q, of 1 - Π (1 - #{w in P : e(w, u, λ) <= t}/n(P)),
//	           the product being over all parts P but Q
//	s(λ, r)    the most for one rank z of 1 - Π (1 - #{v in P : α + L'(y, z) + D'(z, v) < r}/n(P)),
//	           the product being over all parts P but, where all ranks u with an L(u, x) that are
//	           not of Q are of one part, that one
//
// If x is a rank, u is x; if y is a rank, z is y. A member contributes to, and needs, every
// chunk. No λ has a switch that adds at x, or from which x is reached over switches, nor one that copies
// at y, or that is reached from y over links between switches of Q.
//
// Lemma (crossing). Let a right schedule have the makespan T. Then the sum of
// B·∫c(λ, t)·s(λ, T-t)dt over all λ, from 0 to T, is 2k-2 times the bytes of the buffer or more.
//
// Proof. Take pipelined schedules first, and one byte, which comes after β others of its chunk.
// Say that it passes a link of bandwidth B at σ + β/B if a hop of the chunk begins to occupy
// the link at σ; it occupies the link then [(busy)]. A chain's routes, one after the other, are
// hops from rank to rank. Say that a hop from a rank of another part to one of Q crosses into Q
// when the byte passes the link by which the hop
// enters Q for the last time. Of hops one after the other on a chain the later one crosses
// later: the first has ended before it begins [(hop); of two of one transfer, too].
//
// All hops whose byte passes λ at t are of one stream [(apart)]. They began at one rank u and came over the same
// links to λ: had they met on the way, it would be at a switch that adds, and from there over switches to x [two ways
// that meet before λ do so at a switch of both, and a hop visits no rank between its ends]. Those of them that cross there
// end at one rank z of Q: had they parted, it would be at a switch that copies, of Q since they stay in it, and
// over switches from y. Count them as one crossing.
//
// Take a member w(P) and a member v(P) of each part that has some. For each two such parts P and Q take a chain that brings v(Q)
// what w(P) contributes [(arrive)], and of its hops those that cross, from the last one on that
// leaves a rank of P, up to the first one after it that ends in Q. There is such a hop, and none of them
// ends in P, or leaves Q. Call them the way from P to Q, and those of all ways chosen. 2k-2 crossings
// or more are chosen: let b(Q) be the time of the latest crossing into Q with which a way to Q ends, F a part for which
// that is least, and t* be b(F). For each P other than F the first crossing of the way from P to F, X(P), leaves P, at t* or
// before, and before t* if it does not end in F. For each Q other than F let Y(Q) be the crossing into Q at b(Q) with which
// a way ends; that is t* or later. No X(P) is another one, and no Y(Q), since they leave and enter other parts. Nor is an X
// a Y: that does not end in F, and is no earlier than t*.
//
// Now draw w(P) and v(P) at random, each from the members of P, all alike and independent of each other.
// Let a hop from u to z that crosses into Q over λ at t be chosen. It is on a way from a part P other than Q, and
// carries what w(P) contributes. It begins at u, no earlier than D(w(P), u)
// [(times)], nor before y arrives [(late)], and is at x L(u, x)
// later or more [(hop)], so that e(w(P), u, λ) <= t. For a hop the chance that this is so of one P or another is c(λ, t) at most.
// It is on a way to a part that is not u's, and the chain goes on from z to v of that part.
// It is at z after t + α + L'(y, z) [(hop)], so that α + L'(y, z) + D'(z, v) < T-t. The chance that this is so
// is s(λ, T-t) at most, and neither depends on the other. So the number of crossings that are chosen is, in the mean,
// no more than the sum of c(λ, t)·s(λ, T-t) over all crossings of the byte; and it is 2k-2 or more.
// All bytes pass before T, and no two pass a link at one time.
//
// Other cost models: as for (coverage). ∎
func (j *job) gathering(w model.Crossing) (model.Time, error) {
	if j.p.Collective.Kind != model.AllReduce {
		return 0, errors.New("witness: of kind crossing needs an allreduce")
	}
	part, err := j.parts(w.Parts)
	if err != nil {
		return 0, err
	}
	c := &crossed{job: j, part: part, sizes: make([]int, len(w.Parts)+1)}
	c.l = j.total(func(l *load, k int) int64 {
		for r := range j.start(k) {
			j.startsAt(l, r)
			j.endsAt(l, r)
		}
		return 1
	})
	k := 0
	for r, at := range c.l.from {
		if at != model.MaxTime {
			c.members = append(c.members, r)
			if c.sizes[part[r]]++; c.sizes[part[r]] == 1 {
				k++
			}
		}
	}
	if k < 2 {
		return 0, errNothing
	}
	need := new(big.Int)
	for size, n := range c.l.count {
		need.Add(need, new(big.Int).Mul(big.NewInt(n), big.NewInt(size)))
	}
	need.Mul(need, picoBytes).Mul(need, big.NewInt(int64(2*(k-1))))
	area := new(big.Rat).SetInt(need)
	best := model.Time(0)
	for _, size := range slices.Compact([]int64{c.l.least, 1}) { // the lemma holds for what is smaller, too, and may yield more
		if err := c.look(size); err != nil {
			return 0, err
		}
		work := 0
		for _, e := range c.enter {
			work += len(e.heads) + len(e.tails)
		}
		best = max(best, leastTime(func(t model.Time) bool { return !c.work.Go(16*work) || c.area(t).Cmp(area) >= 0 }))
	}
	return best, nil
}

// crossed is a partition with what (crossing) asks for.
type crossed struct {
	*job
	part    []int // by node: 1 + its part, 0 for none
	l       *load // each chunk once, from members to members
	members []int
	sizes   []int // by part: its members
	enter   []passage
}

// passage is links into parts for which the chances are the same.
type passage struct {
	heads, tails []chance // c and s
	bandwidth    *big.Int // of all of them
}

// chance is that of one thing or another from a time on.
type chance struct {
	at model.Time
	p  *big.Rat
}

// look finds the links into parts with their chances, for chunks of size bytes or more.
func (c *crossed) look(size int64) error {
	c.enter = nil
	if most := len(c.members) * c.t.Ranks; most > maxMet {
		return stopped(fmt.Sprintf("witness: %d times at which something can be at a rank, more than the %d that are looked at", most, maxMet))
	}
	within := *c.t // the links between nodes of a part
	within.Links = slices.DeleteFunc(slices.Clone(c.t.Links), func(k model.Link) bool {
		return c.part[k.Src] == 0 || c.part[k.Src] != c.part[k.Dst]
	})
	met, served := c.met(size), c.served(size)
	if !c.work.Go(0) {
		return nil
	}
	reversed := c.t.Reversed()
	into, outOf := reversed.Out(), within.Out()
	index := map[string]int{}
	type way struct { // by which something comes to an entrance
		src, part int
		arrival   model.Time
	}
	type come struct {
		heads []chance
		from  int
	}
	known := map[way]come{}
	for _, e := range c.entrances() {
		q := c.part[e.dst]
		onward, back := c.overSwitches(&within, outOf, e.dst), c.overSwitches(reversed, into, e.src)
		w := way{e.src, q, 0}
		if c.t.IsRank(e.dst) {
			w.arrival = c.p.ReleaseOf(e.dst)
		}
		if _, there := known[w]; !there {
			heads, from := c.before(q, w.arrival, back, met)
			known[w] = come{heads, from}
		}
		heads, from := known[w].heads, known[w].from
		tails := c.behind(e, onward, served, from)
		if len(heads) == 0 || len(tails) == 0 {
			continue // nothing crosses there
		}
		if v := c.found(back, func(v int) bool { return c.t.Reduces(v) != model.NoReducing }); v >= 0 {
			return fmt.Errorf("parts[%d]: the link from %s to %s is reached over switches from %s, which adds", q-1, c.t.NodeName(e.src), c.t.NodeName(e.dst), c.t.NodeName(v))
		}
		if v := c.found(onward, c.t.Copies); v >= 0 {
			return fmt.Errorf("parts[%d]: the link from %s to %s leads over switches of the part to %s, which copies", q-1, c.t.NodeName(e.src), c.t.NodeName(e.dst), c.t.NodeName(v))
		}
		key := fmt.Sprint(heads, tails)
		i, there := index[key]
		if !there {
			i = len(c.enter)
			index[key], c.enter = i, append(c.enter, passage{heads, tails, new(big.Int)})
		}
		c.enter[i].bandwidth.Add(c.enter[i].bandwidth, e.bandwidth)
	}
	return nil
}

// met returns D by rank u and member w.
func (c *crossed) met(size int64) [][]model.Time {
	met := make([][]model.Time, c.t.Ranks)
	start := slices.Repeat([]model.Time{model.MaxTime}, c.t.Ranks)
	for _, w := range c.members {
		if !c.work.Go(c.t.Ranks) {
			break
		}
		start[w] = c.l.from[w]
		for u, at := range c.arrivals(c.t, c.p.Release, start, size).full[:c.t.Ranks] {
			met[u] = append(met[u], at)
		}
		start[w] = model.MaxTime
	}
	return met
}

// served returns D' by rank z and member v.
func (c *crossed) served(size int64) [][]model.Time {
	served := make([][]model.Time, c.t.Ranks)
	start := slices.Repeat([]model.Time{model.MaxTime}, c.t.Ranks)
	for z := range c.t.Ranks {
		if !c.work.Go(len(c.members)) {
			break
		}
		start[z] = 0
		full := c.arrivals(c.t, nil, start, size).full
		start[z] = model.MaxTime
		for _, v := range c.members {
			served[z] = append(served[z], full[v])
		}
	}
	return served
}

// entrance is the links of one latency from one node to another, in a part from outside of it.
type entrance struct {
	ends
	bandwidth *big.Int // of all of them
}

type ends struct {
	src, dst int
	alpha    model.Time
}

// entrances returns them in the order of their first links.
func (c *crossed) entrances() (list []entrance) {
	index := map[ends]int{}
	for _, k := range c.t.Links {
		if q := c.part[k.Dst]; q == 0 || c.part[k.Src] == q {
			continue
		}
		e := ends{k.Src, k.Dst, k.Alpha}
		i, there := index[e]
		if !there {
			i = len(list)
			index[e], list = i, append(list, entrance{e, new(big.Int)})
		}
		list[i].bandwidth.Add(list[i].bandwidth, big.NewInt(k.Bandwidth))
	}
	return list
}

// before returns c for an entrance into a part at a node with some arrival, to which ranks have the given leads, and the part of those ranks, or -1 if they
// are of several.
func (c *crossed) before(part int, arrival model.Time, leads []model.Time, met [][]model.Time) (heads []chance, from int) {
	list := make([]model.Time, len(c.members))
	for u, lead := range leads[:c.t.Ranks] {
		if lead == model.MaxTime || c.part[u] == part || !c.work.Go(8*len(list)) {
			continue
		}
		if from == 0 {
			from = c.part[u]
		} else if from != c.part[u] {
			from = -1
		}
		for i, d := range met[u] {
			list[i] = max(d, arrival).Add(lead)
		}
		heads = append(heads, c.chances(list, part)...)
	}
	return rising(heads), from
}

// behind returns s for an entrance from which ranks of its part have the given leads, and to which ranks of one part lead, or -1.
func (c *crossed) behind(e entrance, leads []model.Time, served [][]model.Time, from int) (tails []chance) {
	list := make([]model.Time, len(c.members))
	for z, lead := range leads[:c.t.Ranks] {
		if lead == model.MaxTime || !c.work.Go(8*len(list)) {
			continue
		}
		for i, d := range served[z] {
			list[i] = d.Add(lead).Add(e.alpha)
		}
		tails = append(tails, c.chances(list, from)...)
	}
	return rising(tails)
}

// chances returns, for times by member, the chance that of members drawn one from each part, but from the one that is
// left out, there is one whose time is over, with each time.
func (c *crossed) chances(at []model.Time, except int) (steps []chance) {
	var order []int
	for i, t := range at {
		if t != model.MaxTime && c.part[c.members[i]] != except {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	count := make([]int64, len(c.sizes))
	for i, m := range order {
		p := c.part[c.members[m]]
		count[p]++
		if i+1 < len(order) && at[order[i+1]] == at[m] {
			continue
		}
		none := big.NewRat(1, 1)
		for p, n := range count {
			if n > 0 {
				size := int64(c.sizes[p])
				none.Mul(none, big.NewRat(size-n, size))
			}
		}
		steps = append(steps, chance{at[m], none.Sub(one, none)})
		if count[p] == int64(c.sizes[p]) {
			break // it is certain
		}
	}
	return steps
}

// rising returns those of the chances that are greater than all that come no later.
func rising(steps []chance) (most []chance) {
	slices.SortFunc(steps, func(a, b chance) int { return cmp.Or(cmp.Compare(a.at, b.at), b.p.Cmp(a.p)) })
	for _, s := range steps {
		if last := len(most) - 1; last < 0 || s.p.Cmp(most[last].p) > 0 {
			most = append(most, s)
		}
	}
	return most
}

// area returns the sum of B·∫c(λ, t)·s(λ, T-t)dt for the makespan T.
func (c *crossed) area(T model.Time) *big.Rat {
	sum := new(big.Rat)
	for _, e := range c.enter {
		sum.Add(sum, new(big.Rat).Mul(e.pass(T), new(big.Rat).SetInt(e.bandwidth)))
	}
	return sum
}

// pass returns ∫c(λ, t)·s(λ, T-t)dt.
func (e *passage) pass(T model.Time) *big.Rat {
	sum := new(big.Rat)
	last := len(e.tails) - 1
	for i, h := range e.heads {
		end := T
		if i+1 < len(e.heads) {
			end = min(T, e.heads[i+1].at)
		}
		for j := last; j >= 0; j-- { // s(T-t) is that of tail j from T - the next one's time on, before T - its own
			from, to := h.at, min(end, T-e.tails[j].at)
			if j < last {
				from = max(from, T-e.tails[j+1].at)
			}
			if from < to {
				x := new(big.Rat).Mul(h.p, e.tails[j].p)
				sum.Add(sum, x.Mul(x, new(big.Rat).SetInt64(int64(to-from))))
			}
		}
	}
	return sum
}

var one = big.NewRat(1, 1)
