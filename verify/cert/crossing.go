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
//	L(u, x)    the least sum of latencies from rank u over switches to x; 0 if x = u
//	D'(z, v)   the least length of a chain for b bytes from rank z to v, over links between
//	           nodes of Q: full[v] of (times) with all ranks there at time 0
//	L'(y, z)   as L, over links between nodes of Q
//	e(w, u, λ) max(D(w, u), arrival of y) + L(u, x), where y arrives at once if it is a switch
//	c(t)       the most of any part for one rank u and one λ: the greatest #{w in P : e(w, u, λ) <= t}/n(P)
//	s(r)       the most of any part Q for one λ into it and one rank z: the greatest
//	           #{v in Q : α + L'(y, z) + D'(z, v) < r}/n(Q)
//	t1         the least, for any part F with members, of the greatest, for any member w elsewhere,
//	           of the least e(w, u, λ) of any λ into F and any u
//
// If x is a rank, u is x; if y is a rank, z is y. A member contributes to, and needs, every
// chunk. No λ has a switch that adds at x, or from which x is reached over switches, nor one that copies
// at y, or that is reached from y over links between switches of Q.
//
// Lemma (crossing). Let a right schedule have the makespan T. Let p(t) be the lesser of
// 2c(t)/(1+c(max(t, t1))) and 2s(T-t)/(1+s(T-t)). Then the sum of B·∫p(t)dt over all λ, from 0
// to T - α - the least L'(y, z), is 2k-2 times the bytes of the buffer or more.
//
// Proof. Take pipelined schedules first, and one byte, which comes after β others of its chunk.
// Say that it passes a link of bandwidth B at σ + β/B if a hop of the chunk begins to occupy
// the link at σ; it occupies the link then [(busy)]. A chain's routes, one after the other, are
// hops from rank to rank. Say that a hop to a rank of Q that
// passes nodes outside of Q crosses into Q when the byte passes the link by which the hop
// enters Q for the last time. Of hops one after the other on a chain the later one crosses
// later: the first has ended before it begins [(hop); of two of one transfer, too].
//
// Let e(Q, w), for w elsewhere, be the earliest time at which a hop from a rank of another part that
// carries what w contributes crosses into Q, and b(Q) the greatest e(Q, w). There is one for
// each part with members [k >= 2, and (arrive)]. Let F be the part with the least b(F), and t*
// be b(F).
//
// X: for each member w, of a part P other than F, take a hop from another part that crosses
// into F at e(F, w) and carries what w contributes, behind hops that bring that from w to
// its beginning by then [(arrive)]. Of these, X(w) is the last one from a rank of P to another
// part. If it is not the one into F, then another one follows, so that it crosses before e(F, w)
// <= t*, and so not into F.
//
// Y: for each part Q other than F take a w with e(Q, w) = b(Q), and for each member v of Q a
// chain that brings v what w contributes. Its routes are a walk. Let Y(v) be the hop with
// which the walk enters Q for the last time. It crosses at b(Q) or later [it comes from another
// part, or follows one that does], which is t* or later. And t* >= t1: what w contributes is not at a λ into F
// before e(w, u, λ) for some u.
//
// All hops whose byte passes λ at t are of one stream [(apart)]. They began at one rank u and came over the same
// links to λ: had they met on the way, it would be at a switch that adds, and from there over switches to x [two ways
// that meet before λ do so at a switch of both, and a hop visits no rank between its ends]. Those of them that cross there
// end at one rank z of Q: had they parted, it would be at a switch that copies, of Q since they stay in it, and
// over switches from y. Count them as one crossing.
// If it is of an X it is of no Y: that one crosses into another part than F, at t* or later.
//
// Let X cross over λ at t. Its hop over λ begins at the rank u, no earlier than D(w, u) for each w
// whose contribution it carries [(times)], nor before y arrives [(late)], and is at x L(u, x)
// later or more [(hop)]. So it is X(w) for c(t)·n(P) members w at most, all of one part P, that of u. Let Y
// cross over λ at t. Its hop ends at the rank z of Q, after t + α + L'(y, z) [(hop)], and the walk
// stays in Q. So it is Y(v) for s(T-t)·n(Q) members at most, all of Q.
//
// All bytes pass before the integral ends [(hop)], and no two at one time on one link.
// So it suffices that p sums up to 2k-2 or more over all X and Y of a
// byte, each at the time at which it crosses.
//
// Let c and s be c(t*) and s(T-t*). Where an X crosses, at t <= t*, p/c(t) is the lesser of
// 2/(1+c(max(t, t1))) and 2s(T-t)/((1+s(T-t))c(t)), and so at least x = min(2/(1+c),
// 2s/((1+s)c)) [max(t, t1) <= t*; c rises, and s(T-t) falls]. So p sums up to x or more over the
// X of a part. Where a Y crosses, at t >= t* >= t1, p/s(T-t) is at least y = min(2/(1+s),
// 2c/((1+c)s)), likewise, and p sums up to y or more over the Y of a part. If c <= s, then x =
// 2/(1+c) and y = 2c/((1+c)s) >= 2c/(1+c); else y = 2/(1+s) and x >= 2s/(1+s). So x + y >= 2,
// and k-1 parts have X, and k-1 have Y. [c and s are not 0, since there are X and Y.]
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
		work := (len(c.heads) + len(c.tails)) * (1 + len(c.enter))
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
	sizes   []int                   // by part: its members
	enter   map[model.Time]*big.Int // by α and the least L': the bandwidth of the links into parts
	heads   []share                 // c
	tails   []share                 // s
	first   model.Time              // t1
}

// share is what a part of the members of a part are from a time on.
type share struct {
	at    model.Time
	n, of int64
}

// look finds the links into parts with their steps, and t1, for chunks of size bytes or more.
func (c *crossed) look(size int64) error {
	c.heads, c.tails, c.enter, c.first = nil, nil, map[model.Time]*big.Int{}, model.MaxTime
	if most := len(c.members) * c.t.Ranks; most > maxMet {
		return stopped(fmt.Sprintf("witness: %d times at which something can be at a rank, more than the %d that are looked at", most, maxMet))
	}
	within := *c.t // the links between nodes of a part
	within.Links = slices.DeleteFunc(slices.Clone(c.t.Links), func(k model.Link) bool {
		return c.part[k.Src] == 0 || c.part[k.Src] != c.part[k.Dst]
	})
	met, served := c.met(size), c.served(&within, size)
	if !c.work.Go(0) {
		return nil
	}
	reversed := c.t.Reversed()
	into, outOf := reversed.Out(), within.Out()
	earliest := make([][]model.Time, len(c.sizes)) // by part and member
	for _, e := range c.entrances() {
		q := c.part[e.dst]
		if earliest[q] == nil {
			earliest[q] = slices.Repeat([]model.Time{model.MaxTime}, len(c.members))
		}
		onward, back := c.overSwitches(&within, outOf, e.dst), c.overSwitches(reversed, into, e.src)
		tails, after := c.behind(e, onward, served)
		if after == model.MaxTime {
			continue // nothing crosses there
		}
		heads := c.before(e, back, met, earliest[q])
		if len(heads) == 0 {
			continue
		}
		if v := c.found(back, func(v int) bool { return c.t.Reduces(v) != model.NoReducing }); v >= 0 {
			return fmt.Errorf("parts[%d]: the link from %s to %s is reached over switches from %s, which adds", q-1, c.t.NodeName(e.src), c.t.NodeName(e.dst), c.t.NodeName(v))
		}
		if v := c.found(onward, c.t.Copies); v >= 0 {
			return fmt.Errorf("parts[%d]: the link from %s to %s leads over switches of the part to %s, which copies", q-1, c.t.NodeName(e.src), c.t.NodeName(e.dst), c.t.NodeName(v))
		}
		c.heads, c.tails = rising(append(c.heads, heads...)), rising(append(c.tails, tails...))
		if c.enter[after] == nil {
			c.enter[after] = new(big.Int)
		}
		c.enter[after].Add(c.enter[after], e.bandwidth)
	}
	for q, at := range earliest {
		if c.sizes[q] == 0 || at == nil {
			continue
		}
		latest := model.Time(0)
		for i, w := range c.members {
			if c.part[w] != q {
				latest = max(latest, at[i])
			}
		}
		c.first = min(c.first, latest)
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
func (c *crossed) served(within *model.Topology, size int64) [][]model.Time {
	served := make([][]model.Time, c.t.Ranks)
	start := slices.Repeat([]model.Time{model.MaxTime}, c.t.Ranks)
	for z := range c.t.Ranks {
		if !c.work.Go(len(c.members)) {
			break
		}
		start[z] = 0
		full := c.arrivals(within, nil, start, size).full
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

// before returns the steps of c that are due to an entrance, to which ranks have the given leads,
// and notes in earliest, by member, the least e.
func (c *crossed) before(e entrance, leads []model.Time, met [][]model.Time, earliest []model.Time) (heads []share) {
	arrival := model.Time(0)
	if c.t.IsRank(e.dst) {
		arrival = c.p.ReleaseOf(e.dst)
	}
	list := make([]model.Time, len(c.members))
	for u, lead := range leads[:c.t.Ranks] {
		if lead == model.MaxTime || !c.work.Go(8*len(list)) {
			continue
		}
		for i, d := range met[u] {
			list[i] = max(d, arrival).Add(lead)
			earliest[i] = min(earliest[i], list[i])
		}
		heads = append(heads, c.shares(list)...)
	}
	return heads
}

// behind returns the steps of s that are due to an entrance, from which ranks of its part have the
// given leads; and α + the least L', which is never if there is no such rank.
func (c *crossed) behind(e entrance, leads []model.Time, served [][]model.Time) (tails []share, after model.Time) {
	after = model.MaxTime
	list := make([]model.Time, len(c.members))
	for z, lead := range leads[:c.t.Ranks] {
		if lead == model.MaxTime || !c.work.Go(8*len(list)) {
			continue
		}
		lead = lead.Add(e.alpha)
		after = min(after, lead)
		for i, d := range served[z] {
			list[i] = model.MaxTime
			if c.part[c.members[i]] == c.part[e.dst] {
				list[i] = d.Add(lead)
			}
		}
		tails = append(tails, c.shares(list)...)
	}
	return tails, after
}

// shares returns, for times by member, which share of its part's have them behind them with each.
func (c *crossed) shares(at []model.Time) (steps []share) {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	count := make([]int64, len(c.sizes))
	for _, i := range order {
		if at[i] == model.MaxTime {
			break
		}
		p := c.part[c.members[i]]
		count[p]++
		steps = append(steps, share{at[i], count[p], int64(c.sizes[p])})
	}
	return steps
}

// rising returns those of the steps that are greater than all that come no later, in lowest terms.
func rising(steps []share) (most []share) {
	slices.SortFunc(steps, func(a, b share) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.n*a.of, a.n*b.of))
	})
	for _, s := range steps {
		if last := len(most) - 1; last < 0 || s.n*most[last].of > most[last].n*s.of {
			r := big.NewRat(s.n, s.of)
			most = append(most, share{s.at, r.Num().Int64(), r.Denom().Int64()})
		}
	}
	return most
}

// area returns the sum of B·∫p(t)dt for the makespan T.
func (c *crossed) area(T model.Time) *big.Rat {
	var bends []model.Time // where p changes, and from where on nothing passes
	for _, s := range c.heads {
		bends = append(bends, s.at)
	}
	for _, s := range c.tails {
		bends = append(bends, max(0, T-s.at)) // s(T-t) counts what is below T-t
	}
	for after := range c.enter {
		bends = append(bends, max(0, T-after))
	}
	bends = append(bends, 0, c.first)
	slices.Sort(bends)
	sum := new(big.Rat)
	for i, from := range bends[:len(bends)-1] {
		to := bends[i+1]
		if from == to {
			continue
		}
		bandwidth := new(big.Int)
		for after, b := range c.enter {
			if to <= T-after {
				bandwidth.Add(bandwidth, b)
			}
		}
		p := c.price(from, T-from)
		sum.Add(sum, p.Mul(p, new(big.Rat).SetInt(bandwidth.Mul(bandwidth, big.NewInt(int64(to-from))))))
	}
	return sum
}

// price returns p from t on until it changes, with left to the makespan.
func (c *crossed) price(t, left model.Time) *big.Rat {
	carried := new(big.Rat).Quo(twice(upTo(c.heads, t)), new(big.Rat).Add(one, upTo(c.heads, max(t, c.first))))
	s := upTo(c.tails, left-1)
	if served := new(big.Rat).Quo(twice(s), new(big.Rat).Add(one, s)); served.Cmp(carried) < 0 {
		return served
	}
	return carried
}

// upTo returns the last of the steps that are not after t.
func upTo(steps []share, t model.Time) *big.Rat {
	r := new(big.Rat)
	for _, s := range steps {
		if s.at <= t {
			r = big.NewRat(s.n, s.of)
		}
	}
	return r
}

var one = big.NewRat(1, 1)

func twice(r *big.Rat) *big.Rat { return new(big.Rat).Add(r, r) }
