package sat

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/hop"
)

// Question asks whether a problem with chunks has a schedule within a horizon.
type Question struct {
	Problem *model.Problem
	Epoch   model.Time // under the synchronous cost models 0
	Horizon int        // epochs, at least 1
	// Steps, if not 0, is into how many steps the rounds may fall, a step being
	// a run of rounds that reads nothing that was written in it. Synchronous
	// cost models only.
	Steps int
	// Trees asks of an allreduce that each chunk be reduced along an in-tree to one root
	// and spread from there along an out-tree. That is no part of section 10.
	Trees bool
	// Transfers, if not 0, is how many transfers an allreduce may take. That is no part of
	// section 10 either.
	Transfers int
	// Cost, if not nil, is how many transfers one from a rank to another one in a round, from 0 on, counts as, 0 or more. What counts
	// as more than Transfers is not made.
	Cost func(src, dst, round int) int
}

const never = 1 << 30

// Formula is the formula of one question, with what its variables stand for.
type Formula struct {
	CNF
	q       *Question
	p       *model.Problem // for reduce and reducescatter, the problem read backwards
	bundles []hop.Bundle
	arcs    []hop.Bundled
	into    [][]int // arcs by destination
	ready   []int   // by rank: the epoch of its arrival
	holder  []int   // by chunk
	wanted  [][]int // by chunk: ranks in order, without the holder
	class   []int   // by chunk: index into paces
	paces   [][]pace
	early   [][]int    // by chunk and rank
	has     [][]Lit    // by chunk and rank: of epoch early
	send    [][]window // by chunk and arc
	cut     Lit        // of round 1
	avail   [][]Lit    // as has
	sums    *sums      // of an allreduce, in place of all from ready on
}

// window holds the variables of one chunk and arc, for the epochs first..last.
type window struct {
	lit         Lit
	first, last int
}

// Encode returns the formula of section 10 that is satisfiable if the problem has a
// schedule within q.Horizon. It serves what sections 10.1 and 10.2 serve. It takes
// time and memory in the order of the formula's size.
func (q *Question) Encode() (*Formula, error) { return q.encode(context.Background()) }

// encode is Encode until ctx is done, whose error it then returns.
func (q *Question) encode(ctx context.Context) (*Formula, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	e := &Formula{q: q, p: q.Problem}
	e.ctx = ctx
	switch q.Problem.Collective.Kind {
	case model.AllReduce:
		return e, e.allReduce()
	case model.Reduce, model.ReduceScatter:
		back, ok := solve.Reverse(q.Problem)
		if !ok {
			return nil, solve.NotServed("reductions where ranks are late, or where a port has links of unequal latencies")
		}
		e.p = back
	}
	if err := e.demands(); err != nil {
		return nil, err
	}
	if err := e.network(); err != nil {
		return nil, err
	}
	for _, part := range []func() error{e.variables, e.flow, e.capacities, e.steps} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (q *Question) check() error {
	p := q.Problem
	sync := p.Cost.Synchronous()
	switch {
	case p.Chunks == nil:
		return errors.New("sat: the problem has no chunks")
	case q.Horizon < 1 || q.Horizon > maxVars:
		return fmt.Errorf("sat: horizon %d, want 1 to %d", q.Horizon, maxVars)
	case sync != (q.Epoch == 0) || q.Epoch < 0:
		return fmt.Errorf("sat: epochs of %v under %v", q.Epoch, p.Cost)
	case q.Steps < 0 || q.Steps > 0 && !sync:
		return fmt.Errorf("sat: %d steps under %v", q.Steps, p.Cost)
	case p.Late() && (sync || p.Collective.Reduces()):
		return solve.NotServed("late ranks with reductions or in rounds")
	case q.Trees && p.Collective.Kind != model.AllReduce:
		return solve.NotServed("trees of %v", p.Collective.Kind)
	case q.Transfers < 0 || q.Transfers > 0 && p.Collective.Kind != model.AllReduce:
		return solve.NotServed("at most %d transfers of %v", q.Transfers, p.Collective.Kind)
	case q.Cost != nil && q.Transfers == 0:
		return errors.New("sat: costs of transfers, but no limit of them")
	case p.Collective.Kind == model.AllReduce && !sync:
		return solve.NotServed("serves allreduce in rounds only, not under %v", p.Cost)
	case p.Collective.Kind == model.AllReduce && q.Steps > 0:
		return solve.NotServed("serves allreduce in rounds, not in steps")
	case p.Collective.Kind == model.AllReduce && len(p.Members()) != p.Topology.Ranks:
		return solve.NotServed("allreduce among some ranks")
	case p.Collective.Kind == model.Custom && p.Collective.Reduces():
		return solve.NotServed("serves custom collectives that reduce nothing, not %s", p.Collective.Label())
	}
	if k := p.Collective.Kind; p.Cost == model.Pipelined && (k == model.Reduce || k == model.ReduceScatter) {
		// Backwards, links of a port are busy at other times than forwards.
		for i, port := range p.Topology.Ports {
			for _, l := range port.Links {
				if p.Topology.Links[l].Alpha != p.Topology.Links[port.Links[0]].Alpha {
					return solve.NotServed("a reduction where port %d has links of different latency", i)
				}
			}
		}
	}
	for _, s := range p.Topology.Switches {
		if s.Copies {
			return solve.NotServed("switches that copy")
		}
	}
	if _, adds := p.Topology.Reducer(); adds {
		return solve.NotServed("switches that add")
	}
	return nil
}

// demands finds who holds and who wants each chunk.
func (e *Formula) demands() error {
	for k := range e.p.Chunks {
		holder, unit, n := -1, -1, 0
		for r, v := range e.p.Start(k) {
			u, single := v.Single()
			if !single {
				return solve.NotServed("chunk %d starts as more than one contribution", k)
			}
			holder, unit = r, u
			n++
		}
		if n != 1 {
			return solve.NotServed("chunk %d starts at %d ranks, want 1", k, n)
		}
		var wanted []int
		for r, v := range e.p.Goal(k) {
			if u, single := v.Single(); !single || u != unit {
				return solve.NotServed("chunk %d must end as something else than it starts", k)
			}
			if r != holder {
				wanted = append(wanted, r)
			}
		}
		slices.Sort(wanted)
		e.holder, e.wanted = append(e.holder, holder), append(e.wanted, wanted)
	}
	return nil
}

func (e *Formula) network() error {
	t := e.p.Topology
	e.bundles = hop.Bundles(t)
	var err error
	if e.arcs, err = arcsOf(t, e.p.Cost, e.bundles); err != nil {
		return err
	}
	e.into = make([][]int, t.Ranks)
	for a := range e.arcs {
		e.into[e.arcs[a].Dst] = append(e.into[e.arcs[a].Dst], a)
	}
	e.ready = make([]int, t.Ranks)
	if e.q.Epoch > 0 {
		for r := range e.ready {
			e.ready[r] = int(e.p.ReleaseOf(r) / e.q.Epoch)
		}
	}
	of := map[int64]int{}
	back := Question{Problem: e.p, Epoch: e.q.Epoch}
	for k, c := range e.p.Chunks {
		i, known := of[c.Size]
		if !known {
			i = len(e.paces)
			of[c.Size] = i
			list := make([]pace, len(e.arcs))
			for a := range e.arcs {
				if list[a], err = back.paceOf(e.arcs[a], e.bundles, c.Size); err != nil {
					return err
				}
			}
			e.paces = append(e.paces, list)
		}
		e.class = append(e.class, i)
		e.early = append(e.early, e.earliest(k))
	}
	return nil
}

// earliest relaxes over arcs until nothing changes.
func (e *Formula) earliest(k int) []int {
	at := slices.Repeat([]int{never}, e.p.Topology.Ranks)
	at[e.holder[k]] = 0
	for changed := true; changed; {
		changed = false
		for a, x := range e.arcs {
			if at[x.Src] == never {
				continue
			}
			if t := max(at[x.Src], e.ready[x.Src], e.ready[x.Dst]) + e.pace(k, a).delay; t < at[x.Dst] {
				at[x.Dst], changed = t, true
			}
		}
	}
	return at
}

func (e *Formula) pace(k, a int) *pace { return &e.paces[e.class[k]][a] }

// variables numbers those of section 10.4, except for the counters'.
func (e *Formula) variables() error {
	h, ranks := e.q.Horizon, e.p.Topology.Ranks
	upTo := func(last int) ([][]Lit, error) { // of each chunk and rank, from early to last
		lits := make([][]Lit, len(e.holder))
		for k := range lits {
			lits[k] = make([]Lit, ranks)
			for v := range ranks {
				if v != e.holder[k] && e.early[k][v] <= last {
					lits[k][v] = e.Block(last - e.early[k][v] + 1)
				}
			}
			if err := e.full(); err != nil {
				return nil, err
			}
		}
		return lits, nil
	}
	var err error
	if e.has, err = upTo(h); err != nil {
		return err
	}
	for k := range e.holder {
		list := make([]window, len(e.arcs))
		for a, x := range e.arcs {
			list[a] = window{last: -1}
			if x.Dst == e.holder[k] || e.early[k][x.Src] == never {
				continue
			}
			first, last := max(e.early[k][x.Src], e.ready[x.Src], e.ready[x.Dst]), h-e.pace(k, a).delay
			if first <= last {
				list[a] = window{e.Block(last - first + 1), first, last}
			}
		}
		e.send = append(e.send, list)
		if err := e.full(); err != nil {
			return err
		}
	}
	if e.q.Steps > 0 {
		e.cut = e.Block(h - 1)
		e.avail, err = upTo(h - 1)
	}
	return err
}

// hasAt returns has(k,v,t), or 0 where it does not exist; holders are not asked for.
func (e *Formula) hasAt(k, v, t int) Lit { return e.at(e.has, e.q.Horizon, k, v, t) }

func (e *Formula) availAt(k, v, t int) Lit { return e.at(e.avail, e.q.Horizon-1, k, v, t) }

func (e *Formula) at(of [][]Lit, last, k, v, t int) Lit {
	if t < e.early[k][v] || t > last || of[k][v] == 0 {
		return 0
	}
	return of[k][v] + Lit(t-e.early[k][v])
}

// flow makes the clauses 1 to 4 of section 10.5.
func (e *Formula) flow() error {
	h := e.q.Horizon
	for k := range e.holder {
		for v := range e.p.Topology.Ranks {
			if v == e.holder[k] {
				continue
			}
			for t := e.early[k][v]; t <= h; t++ {
				e.lits = append(e.lits, -e.hasAt(k, v, t))
				if before := e.hasAt(k, v, t-1); before != 0 {
					e.lits = append(e.lits, before)
				}
				for _, a := range e.into[v] {
					w := e.send[k][a]
					if s := t - e.pace(k, a).delay; w.first <= s && s <= w.last {
						e.lits = append(e.lits, w.lit+Lit(s-w.first))
					}
				}
				e.end()
			}
		}
		if err := e.full(); err != nil {
			return err
		}
	}
	for k := range e.holder {
		for a, x := range e.arcs {
			if x.Src == e.holder[k] {
				continue
			}
			w := e.send[k][a]
			for t := w.first; t <= w.last; t++ {
				source := e.hasAt(k, x.Src, t)
				if e.q.Steps > 0 {
					source = e.availAt(k, x.Src, t)
				}
				e.Add(-(w.lit + Lit(t-w.first)), source)
			}
		}
		if err := e.full(); err != nil {
			return err
		}
	}
	for k := range e.holder {
		for _, v := range e.wanted[k] {
			if l := e.hasAt(k, v, h); l != 0 {
				e.Add(l)
			} else {
				e.Add()
			}
		}
	}
	for k := 1; k < len(e.holder); k++ {
		if e.p.Chunks[k].Size != e.p.Chunks[k-1].Size || e.holder[k] != e.holder[k-1] ||
			len(e.wanted[k]) == 0 || !slices.Equal(e.wanted[k], e.wanted[k-1]) {
			continue
		}
		v := e.wanted[k][0]
		for t := e.early[k][v]; t < h; t++ {
			e.Add(-e.hasAt(k, v, t), e.hasAt(k-1, v, t))
		}
	}
	return nil
}

// capacities makes clause 5.
func (e *Formula) capacities() error { return e.limits(e.sending) }

// limits says that no link, port or, under Rounds, rank is overloaded in an epoch.
// sending lists the sends of an epoch that use some place of an arc: see Formula.sending.
func (e *Formula) limits(sending func(t int, places func(hop.Bundled) []int) []Lit) error {
	if e.p.Cost == model.Rounds {
		for r := range e.p.Topology.Ranks {
			for t := range e.q.Horizon {
				for _, end := range []func(hop.Bundled) int{func(a hop.Bundled) int { return a.Src }, func(a hop.Bundled) int { return a.Dst }} {
					e.AtMost(1, sending(t, func(a hop.Bundled) []int {
						if end(a) == r {
							return []int{-1}
						}
						return nil
					}))
				}
			}
			if err := e.full(); err != nil {
				return err
			}
		}
		return nil
	}
	limit := func(of func(b int) bool, most int) error {
		uses := func(a hop.Bundled) []int { // places in a.bundles
			var places []int
			for i, b := range a.Bundles {
				if of(b) {
					places = append(places, i)
				}
			}
			return places
		}
		for t := range e.q.Horizon {
			e.AtMost(most, sending(t, uses))
			if err := e.full(); err != nil {
				return err
			}
		}
		return nil
	}
	for b := range e.bundles {
		if err := limit(func(c int) bool { return c == b }, len(e.bundles[b].Links)); err != nil {
			return err
		}
	}
	for i, port := range e.p.Topology.Ports {
		if err := limit(func(b int) bool { return slices.Contains(e.bundles[b].Ports, i) }, port.Capacity); err != nil {
			return err
		}
	}
	return nil
}

// sending lists the sends that are in the way of others in epoch t, by chunk, arc
// and start. Of an arc it looks at the given places; -1 stands for the first epoch
// after the start.
func (e *Formula) sending(t int, places func(hop.Bundled) []int) []Lit {
	use := make([][]int, len(e.arcs))
	var used []int
	for a := range e.arcs {
		if use[a] = places(e.arcs[a]); use[a] != nil {
			used = append(used, a)
		}
	}
	var lits []Lit
	for k := range e.holder {
		for _, a := range used {
			w, pace := e.send[k][a], e.pace(k, a)
			for s := w.first; s <= min(w.last, t); s++ {
				if slices.ContainsFunc(use[a], func(i int) bool {
					b := span{0, 1}
					if i >= 0 {
						b = pace.busy[i]
					}
					return s+b.from <= t && t < s+b.from+b.length
				}) {
					lits = append(lits, w.lit+Lit(s-w.first))
				}
			}
		}
	}
	return lits
}

// steps makes clause 6.
func (e *Formula) steps() error {
	h := e.q.Horizon
	if e.q.Steps == 0 {
		return nil
	}
	for k := range e.holder {
		for v := range e.p.Topology.Ranks {
			if v == e.holder[k] {
				continue
			}
			for t := e.early[k][v]; t < h; t++ {
				now, before := e.availAt(k, v, t), e.availAt(k, v, t-1)
				e.Add(-now, e.hasAt(k, v, t))
				e.lits = append(e.lits, -now)
				if t > 0 {
					e.lits = append(e.lits, e.cut+Lit(t-1))
				}
				if before != 0 {
					e.lits = append(e.lits, before)
				}
				e.end()
			}
		}
	}
	cuts := make([]Lit, h-1)
	for i := range cuts {
		cuts[i] = e.cut + Lit(i)
	}
	e.AtMost(e.q.Steps-1, cuts)
	return e.full()
}
