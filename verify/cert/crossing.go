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
	Needs:  "an allreduce, that no switch adds, and that those that copy are in no part",
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
//	c(λ, t)    the most of any part for one rank u: the greatest #{w in P : e(w, u, λ) <= t}/n(P)
//	r(λ, t)    the most of Q for one rank z: the greatest #{v : α + L'(y, z) + D'(z, v) < t}/n(Q)
//	t1         the least, for any part F with members, of the greatest, for any member w elsewhere,
//	           of the least e(w, u, λ) of any λ into F and any u
//
// If x is a rank, u is x; if y is a rank, z is y. A member contributes to, and needs, every chunk.
//
// Lemma (crossing). Let a right schedule have the makespan T, and let l >= 0 be a time, 0 if the links into
// parts differ in bandwidth. Let ρ be the greatest r(λ, l), and q = 2ρ/(1+ρ). Let p(λ, t) be c(λ, t) for t < t1,
// and 1 from then on; and from T-l on q at most. Then the sum of B·∫p(λ, t)dt over all λ, from 0 to
// T - α - the least L'(y, z), is 2k-2 times the bytes of the buffer or more.
//
// Proof. Take pipelined schedules first, and one chunk. Say that a transfer to a rank of Q that passes nodes
// outside of Q crosses into Q at the time at which it begins to occupy the link λ by which it enters Q for the last
// time. Let e(Q, w), for w elsewhere, be the earliest time at which a transfer from another part that carries what w
// contributes crosses into Q, and b(Q) the greatest e(Q, w). There is one for each part with members
// [k >= 2, and (arrive)]. Let F be the part with the least b(F).
//
// X: for each member w, of a part P other than F, take a transfer from another part that crosses into F at e(F, w) and carries what w
// contributes, behind a chain that brings that from w to its source by its start [(arrive)]. Of these, X(w) is the last one
// from a rank of P to another part. If it is not the one into F, then it is followed by another one, so that it ends, and
// crosses, before e(F, w) <= b(F), and so not into F.
//
// Y: for each part Q other than F take a w with e(Q, w) = b(Q), and for each member v of Q a chain that brings v
// what w contributes. Its routes are a walk. Let Y(v) be the transfer with which the walk enters Q for the last time. It crosses at
// b(Q) or later [it comes from another part, or follows one that does], which is b(F) or later, and so
// at t1 or later. No Y(v) is an X(w): it crosses into another part than F, at b(F) or later.
//
// Let X cross over λ at σ. Its hop over λ begins at a rank u, no earlier than D(w, u) for each w whose contribution
// it carries [(times)], nor before y arrives [(late)], and is at x L(u, x) later or more [(hop)]. So it is X(w) for c(λ, σ)·n(P)
// members w at most, all of one part P. Let Y occupy λ at t, until it has passed all bytes. Its hop ends at a rank z of Q, after t + α + L'(y, z)
// [(hop)], and the walk stays in Q. So it is Y(v) for r(λ, T-t)·n(Q) members at most, all of Q.
//
// Say that the byte after β others of the chunk passes λ at σ + β/B. A transfer occupies λ when its bytes pass [(busy)], all pass before the
// integral ends [(hop)], and those of two transfers do not at one time: no switch adds, and branches of a multicast part at a switch
// in no part, after which one of them would enter Q again [(apart)]. So it suffices that for each byte p sums up to 2k-2 or
// more, over all X and Y, each at the time at which the byte passes.
//
// If it passes with all X before T-l: p is c or more then, so that it sums up to 1 over the X of a part. With a
// Y p is 1, or it is q >= ρ, and Y is Y(v) for ρ·n(Q) members v at most: so it sums up to 1 over the Y of a part. That makes 2(k-1).
//
// If it passes with some X at T-l or later, so it does with all Y [they cross later, and bandwidths are equal]. With an X p is
// c or q, or more, so that it sums up to q or more over the X of a part [q <= 1]; and each Q has 1/ρ of Y or more,
// with q each. That makes (k-1)(q + q/ρ) = 2(k-1). [ρ = 0 is not: there is a Y.]
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
	for i, s := range j.t.Switches {
		if s.Reduces != model.NoReducing {
			return 0, fmt.Errorf("topology: switch %d adds, want none that does", i)
		}
		if v := j.t.Ranks + i; s.Copies && part[v] != 0 {
			return 0, fmt.Errorf("parts[%d]: node %d is a switch that copies, want it in no part", part[v]-1, v)
		}
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
	if err := c.look(); err != nil {
		return 0, err
	}
	need := new(big.Int)
	for size, n := range c.l.count {
		need.Add(need, new(big.Int).Mul(big.NewInt(n), big.NewInt(size)))
	}
	need.Mul(need, picoBytes).Mul(need, big.NewInt(int64(2*(k-1))))
	return c.least(new(big.Rat).SetInt(need)), nil
}

// crossed is a partition with what (crossing) asks for.
type crossed struct {
	*job
	part    []int // by node: 1 + its part, 0 for none
	l       *load // each chunk once, from members to members
	members []int
	sizes   []int // by part: its members
	lanes   []*entrance
	first   model.Time // t1
}

// entrance is a number of links into parts that have the same steps.
type entrance struct {
	bandwidth *big.Int // of all
	each      int64
	after     model.Time // α and the least L'
	heads     []share    // c
	tails     []share    // r
}

// share is what a part of the members of a part are from a time on.
type share struct {
	at    model.Time
	n, of int64
}

// look finds the links into parts with their steps, and t1.
func (c *crossed) look() error {
	within := *c.t // the links between nodes of a part
	within.Links = nil
	for _, k := range c.t.Links {
		if c.part[k.Src] != 0 && c.part[k.Src] == c.part[k.Dst] {
			within.Links = append(within.Links, k)
		}
	}
	n := len(c.members)
	if most := n * c.t.Ranks; most > maxMet {
		return stopped(fmt.Sprintf("witness: %d times at which something can be at a rank, more than the %d that are looked at", most, maxMet))
	}
	met, served := make([][]model.Time, c.t.Ranks), make([][]model.Time, c.t.Ranks) // D by rank u and member w, D' by z and v
	start := slices.Repeat([]model.Time{model.MaxTime}, c.t.Ranks)
	for _, w := range c.members {
		if !c.work.Go(c.t.Ranks) {
			return nil
		}
		start[w] = c.l.from[w]
		for u, at := range c.arrivals(c.t, c.p.Release, start, c.l.least).full[:c.t.Ranks] {
			met[u] = append(met[u], at)
		}
		start[w] = model.MaxTime
	}
	for z := range c.t.Ranks {
		if !c.work.Go(n) {
			return nil
		}
		start[z] = 0
		full := c.arrivals(&within, nil, start, c.l.least).full
		start[z] = model.MaxTime
		for _, v := range c.members {
			served[z] = append(served[z], full[v])
		}
	}
	type ends struct {
		src, dst         int
		alpha            model.Time
		bandwidth, total int64
	}
	var kinds []*ends // of links into parts
	index := map[ends]*ends{}
	for _, k := range c.t.Links {
		if q := c.part[k.Dst]; q == 0 || c.part[k.Src] == q {
			continue
		}
		e := ends{k.Src, k.Dst, k.Alpha, k.Bandwidth, 0}
		if index[e] == nil {
			one := e
			index[e] = &one
			kinds = append(kinds, &one)
		}
		index[e].total += k.Bandwidth
	}
	reversed := c.t.Reversed()
	into, outOf := reversed.Out(), within.Out()
	alike := map[string]*entrance{}
	earliest := make([][]model.Time, len(c.sizes)) // by part and member
	for _, e := range kinds {
		before, beyond := c.overSwitches(reversed, into, e.src), c.overSwitches(&within, outOf, e.dst)
		arrival := model.Time(0)
		if c.t.IsRank(e.dst) {
			arrival = c.p.ReleaseOf(e.dst)
		}
		q := c.part[e.dst]
		a := &entrance{each: e.bandwidth, bandwidth: new(big.Int), after: model.MaxTime}
		var at []share
		for u, lead := range before[:c.t.Ranks] {
			if lead == model.MaxTime || !c.work.Go(8*n) {
				continue
			}
			list := make([]model.Time, n)
			for i, d := range met[u] {
				list[i] = max(d, arrival).Add(lead)
			}
			if earliest[q] == nil {
				earliest[q] = slices.Clone(list)
			}
			for i, d := range list {
				earliest[q][i] = min(earliest[q][i], d)
			}
			at = append(at, c.shares(list)...)
		}
		a.heads = rising(at)
		at = at[:0]
		for z, lead := range beyond[:c.t.Ranks] {
			if lead == model.MaxTime || !c.work.Go(8*n) {
				continue
			}
			lead = lead.Add(e.alpha)
			a.after = min(a.after, lead)
			list := make([]model.Time, n)
			for i, d := range served[z] {
				list[i] = model.MaxTime
				if c.part[c.members[i]] == q {
					list[i] = d.Add(lead)
				}
			}
			at = append(at, c.shares(list)...)
		}
		a.tails = rising(at)
		if len(a.heads) == 0 || a.after == model.MaxTime {
			continue // nothing crosses there
		}
		key := fmt.Sprint(a.each, a.after, a.heads, a.tails)
		if alike[key] == nil {
			alike[key] = a
			c.lanes = append(c.lanes, a)
		}
		alike[key].bandwidth.Add(alike[key].bandwidth, big.NewInt(e.total))
	}
	c.first = model.MaxTime
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

// least returns the least T that the lemma allows for each l, and of these the greatest, where all bytes in
// all transfers have the area need.
func (c *crossed) least(need *big.Rat) (best model.Time) {
	lates := []model.Time{0} // with r(λ, l) = 0 for the first, and then from step to step
	equal := true
	for _, a := range c.lanes {
		equal = equal && a.each == c.lanes[0].each
		for _, s := range a.tails {
			lates = append(lates, s.at)
		}
	}
	slices.Sort(lates)
	lates = slices.Compact(lates)
	if !equal {
		lates = lates[:1]
	}
	for _, late := range lates {
		rho := new(big.Rat)
		for _, a := range c.lanes {
			for _, s := range a.tails {
				if r := big.NewRat(s.n, s.of); s.at < late && r.Cmp(rho) > 0 {
					rho = r
				}
			}
		}
		if rho.Cmp(one) >= 0 || !c.work.Go(1) {
			break // as for l = 0
		}
		price := new(big.Rat).Quo(new(big.Rat).Add(rho, rho), new(big.Rat).Add(rho, one))
		best = max(best, leastTime(func(t model.Time) bool {
			return !c.work.Go(64*len(c.lanes)) || c.area(t, late, price).Cmp(need) >= 0
		}))
	}
	return best
}

var one = big.NewRat(1, 1)

// area returns the sum of B·∫p(λ, t)dt, where p is price at most for the time late before t.
func (c *crossed) area(t, late model.Time, price *big.Rat) *big.Rat {
	sum := new(big.Rat)
	for _, a := range c.lanes {
		if a.after >= t {
			continue
		}
		end := t - a.after
		since := min(max(0, t-late), end)
		whole := new(big.Rat)
		add := func(from, to model.Time, p *big.Rat) { // where p(λ, t) is p, unless that is too late
			from, to = min(from, end), min(to, end)
			whole.Add(whole, times64(p, max(0, min(to, since)-from)))
			if p.Cmp(price) > 0 {
				p = price
			}
			whole.Add(whole, times64(p, max(0, to-max(from, since))))
		}
		for i, s := range a.heads {
			if s.at >= c.first {
				break
			}
			next := c.first
			if i+1 < len(a.heads) {
				next = min(next, a.heads[i+1].at)
			}
			add(s.at, next, big.NewRat(s.n, s.of))
		}
		add(c.first, end, one)
		sum.Add(sum, whole.Mul(whole, new(big.Rat).SetInt(a.bandwidth)))
	}
	return sum
}

func times64(p *big.Rat, t model.Time) *big.Rat { return new(big.Rat).Mul(p, big.NewRat(int64(t), 1)) }
