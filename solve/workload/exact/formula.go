//go:build !js

package exact

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/sat"
)

// MaxLiterals is how many a formula has at most.
const MaxLiterals = 12_000_000

// formula states in propositional logic that all that a plan has to begin can be over within its horizon. A
// variable for each act and tick is true if the act has begun by then (order encoding: Tamura, Taga, Kitagawa,
// Banbara, "Compiling finite linear CSP into SAT", CP 2006). It shares with the mixed-integer program what there is
// to begin, and no constraint.
type formula struct {
	*plan
	sat.CNF
	ctx   context.Context
	yes   sat.Lit
	begun map[*act]sat.Lit // of the first tick
	gates map[[4]int]sat.Lit
	enter map[[3]int]sat.Lit
}

// formula writes the formula of a plan. A nil formula cannot be satisfied.
func (x *plan) formula(ctx context.Context) (*formula, error) {
	x.windows()
	f := &formula{plan: x, ctx: ctx, begun: map[*act]sat.Lit{}, gates: map[[4]int]sat.Lit{}, enter: map[[3]int]sat.Lit{}}
	f.yes = f.Block(1)
	f.Add(f.yes)
	for _, a := range x.acts {
		n := a.last - a.first + 1
		if n < 1 {
			if a.needed {
				return nil, nil
			}
			continue
		}
		if f.full() {
			break
		}
		f.begun[a] = f.Block(n)
		for t := a.first; t < a.last; t++ {
			f.state(-f.by(a, t), f.by(a, t+1))
		}
		if a.needed {
			f.state(f.used(a))
		}
	}
	parts := []func(){f.resources, f.collectives, f.orders}
	for id, r := range x.runs {
		for k := range x.w.Edges {
			if from, ok := x.before(&x.w.Edges[k], r); ok {
				parts = append(parts, func() { f.edge(&x.w.Edges[k], from, id) })
			}
		}
	}
	for _, part := range parts {
		part()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if f.full() {
			return nil, fmt.Errorf("more than %d literals at %d ticks of %v: %w", MaxLiterals, x.horizon, x.tick, ErrTooLarge)
		}
	}
	return f, nil
}

// full reports whether there is no use in going on: a limit is passed, or the time is over.
func (f *formula) full() bool { return f.ctx.Err() != nil || f.Literals() > MaxLiterals }

// state adds a clause, without the literals that are known.
func (f *formula) state(lits ...sat.Lit) {
	var rest []sat.Lit
	for _, l := range lits {
		if l == f.yes {
			return
		}
		if l != -f.yes {
			rest = append(rest, l)
		}
	}
	f.Add(rest...)
}

// by is true if an act has begun at a tick or before.
func (f *formula) by(a *act, tick int) sat.Lit {
	first, there := f.begun[a]
	if !there || tick < a.first {
		return -f.yes
	}
	return first + sat.Lit(min(tick, a.last)-a.first)
}

// used is true if an act begins at all.
func (f *formula) used(a *act) sat.Lit { return f.by(a, f.horizon) }

// over is true if an act is over at a tick.
func (f *formula) over(a *act, tick int) sat.Lit { return f.by(a, tick-f.lasts(a)) }

// one states that one of some literals is true, or, with none allowed, at most one.
func (f *formula) one(none bool, lits ...sat.Lit) {
	if !none {
		f.state(lits...)
	}
	lits = slices.DeleteFunc(slices.Clone(lits), func(l sat.Lit) bool { return l == -f.yes })
	f.AtMost(1, lits)
}

// resources states that links, ports and GPUs have room for what uses them.
func (f *formula) resources() {
	busy := map[[3]int][]sat.Lit{} // by resource, from and to, and tick
	var keys [][3]int
	keep := func(a *act, first, end, from, to int) {
		for at := a.first + from; at < a.last+to && from < to; at++ {
			b := f.Block(1)
			f.state(b, -f.by(a, at-from), f.by(a, at-to))
			key := [3]int{first, end, at}
			if busy[key] == nil {
				keys = append(keys, key)
			}
			busy[key] = append(busy[key], b)
		}
	}
	for _, a := range f.acts {
		if _, there := f.begun[a]; !there || f.full() {
			continue
		}
		for _, u := range a.uses {
			keep(a, int(u.Choice), int(u.ChoiceEnd), f.down(u.From), f.up(u.From+u.Extra))
		}
		if a.computes { // GPUs count from -1 down
			keep(a, -2-a.ranks[0], -1-a.ranks[0], 0, f.lasts(a))
		}
	}
	for _, key := range keys {
		if f.full() {
			return
		}
		f.AtMost(key[1]-key[0], busy[key])
	}
}

// collectives states what the transfers of each collective have to do.
func (f *formula) collectives() {
	for _, r := range f.runs {
		if r.problem == nil || len(r.members) == 1 || f.w.Ops[r.op].Given != nil {
			continue
		}
		for k := range r.problem.Chunks {
			if f.full() {
				return
			}
			h := f.hops(r, k)
			if r.problem.Collective.Reduces() {
				f.reduced(r, k, h)
			} else {
				f.copied(r, k, h)
			}
		}
	}
}

// hops are the transfers of a chunk, by where copies come and go, and contributions.
type hops struct{ into, out, added, sent map[int][]*act }

func (f *formula) hops(r *run, chunk int) hops {
	h := hops{map[int][]*act{}, map[int][]*act{}, map[int][]*act{}, map[int][]*act{}}
	for _, i := range r.acts {
		a := f.acts[i]
		u, v := a.ranks[0], a.ranks[1]
		switch {
		case a.chunk != chunk:
		case a.down:
			h.into[v], h.out[u] = append(h.into[v], a), append(h.out[u], a)
		default:
			h.added[v], h.sent[u] = append(h.added[v], a), append(h.sent[u], a)
		}
	}
	return h
}

func (f *formula) usedOf(list []*act) (lits []sat.Lit) {
	for _, a := range list {
		lits = append(lits, f.used(a))
	}
	return lits
}

// passes has each of some copies begin when one of others is over, or where all is known to be.
func (f *formula) passes(out, into []*act, unless ...sat.Lit) {
	for _, a := range out {
		for t := a.first; t <= a.last; t++ {
			clause := append([]sat.Lit{-f.by(a, t)}, unless...)
			for _, b := range into {
				clause = append(clause, f.over(b, t))
			}
			f.state(clause...)
		}
	}
}

// after has each of some acts begin when all of others that begin at all are over.
func (f *formula) after(list, others []*act, unless ...sat.Lit) {
	for _, a := range list {
		for t := a.first; t <= a.last; t++ {
			for _, b := range others {
				f.state(append([]sat.Lit{-f.by(a, t), -f.used(b), f.over(b, t)}, unless...)...)
			}
		}
	}
}

// copied states that a chunk comes once to each rank that wants it, at most once to others, from where it is.
func (f *formula) copied(r *run, k int, h hops) {
	spread, err := network.Spreading(r.problem)
	if err != nil {
		f.Add() // such a collective is refused before
		return
	}
	goals := spread.Goals(k, f.w.Topology.Ranks)
	for _, v := range r.members {
		if slices.Contains(spread.From[k], int32(v)) {
			for _, a := range h.into[v] {
				f.state(-f.used(a))
			}
			continue
		}
		f.one(!slices.Contains(goals, int32(v)), f.usedOf(h.into[v])...)
		f.passes(h.out[v], h.into[v])
	}
}

// reduced states that each rank but one sends its contribution once, with all that come to it, and of an
// allreduce that the sum is copied from there to all; of two, each may send the other its own instead.
func (f *formula) reduced(r *run, k int, h hops) {
	all := r.problem.Collective.Kind == model.AllReduce
	root, both := map[int]sat.Lit{}, -f.yes
	var choices []sat.Lit
	for _, v := range r.members {
		if root[v] = -f.yes; all {
			root[v] = f.Block(1)
			choices = append(choices, root[v])
		} else if int(network.Trees(r.problem, 0).From[k][0]) == v {
			root[v] = f.yes
		}
	}
	if all && len(r.members) == 2 {
		both = f.Block(1)
		choices = append(choices, both)
	}
	if all {
		f.one(false, choices...)
	}
	for _, v := range r.members {
		f.one(false, append(f.usedOf(h.sent[v]), root[v])...)
		f.after(h.sent[v], h.added[v], both)
		if !all {
			continue
		}
		f.one(false, append(f.usedOf(h.into[v]), root[v], both)...)
		f.passes(h.out[v], h.into[v], root[v])
		f.after(h.out[v], h.added[v])
		for _, b := range h.added[v] { // where both send their own, v sends before that of the other has come
			for _, a := range h.sent[v] {
				for t := b.first; t <= f.horizon && both != -f.yes && !f.relaxed; t++ {
					f.state(-both, -f.over(b, t), f.by(a, t-1))
				}
			}
		}
	}
}

// gate is true only if a run, or a chunk of it, has ended on a rank at a tick.
func (f *formula) gate(id, rank, chunk, tick int) sat.Lit {
	key := [4]int{id, rank, chunk, min(tick, f.horizon)}
	if g, there := f.gates[key]; there {
		return g
	}
	g := f.Block(1)
	for _, i := range f.runs[id].acts {
		if a := f.acts[i]; slices.Contains(a.ranks, rank) && (chunk < 0 || a.chunk < 0 || a.chunk == chunk) {
			f.state(-g, -f.used(a), f.by(a, tick-f.up(a.to[rank])))
		}
	}
	f.gates[key] = g
	return g
}

// waits has what a run does on a rank, with a chunk of it (-1: all), begin after a gate.
func (f *formula) waits(id, rank, chunk int, gate func(tick int) sat.Lit) {
	for _, i := range f.runs[id].acts {
		a := f.acts[i]
		if !slices.Contains(a.ranks, rank) || chunk >= 0 && a.chunk >= 0 && a.chunk != chunk {
			continue
		}
		for t := a.first; t <= a.last; t++ {
			f.state(-f.by(a, t), gate(t+f.down(a.from[rank])))
		}
	}
}

// edge states that a run waits for another one.
func (f *formula) edge(e *wl.Edge, from, to int) {
	f.eachWait(e, from, to, func(rank, chunk, other, part int) {
		f.waits(to, rank, chunk, func(tick int) sat.Lit {
			if !e.FromStart {
				return f.gate(from, other, part, tick)
			}
			return f.by(f.starter(from, other), tick-f.up(e.Offset))
		})
	})
}

// entered is true if and only if a collective has begun on a rank at a tick.
func (f *formula) entered(id, rank, tick int) sat.Lit {
	key := [3]int{id, rank, min(tick, f.horizon)}
	if e, there := f.enter[key]; there {
		return e
	}
	e := f.Block(1)
	some := []sat.Lit{-e}
	for _, i := range f.runs[id].acts {
		if a := f.acts[i]; slices.Contains(a.ranks, rank) {
			began := f.by(a, tick-f.down(a.from[rank]))
			f.state(-began, e)
			some = append(some, began)
		}
	}
	f.state(some...)
	f.enter[key] = e
	return e
}

// orders has all ranks begin collectives in one order.
func (f *formula) orders() {
	list := f.ordered()
	if f.relaxed && slices.ContainsFunc(list, func(id int) bool { return f.w.Ops[f.runs[id].op].Given != nil }) {
		return // times within a program are rounded in two ways
	}
	first := map[[2]int]sat.Lit{} // the one comes before the other
	for i, b := range list {
		for _, a := range list[:i] {
			x := f.Block(1)
			first[[2]int{a, b}], first[[2]int{b, a}] = x, -x
			for _, v := range f.sharedInOrder(list, a, b) {
				for t := 0; t <= f.horizon; t++ {
					f.state(-x, -f.entered(b, v, t), f.entered(a, v, t))
					f.state(x, -f.entered(a, v, t), f.entered(b, v, t))
				}
			}
		}
	}
	for _, a := range list {
		for _, b := range list {
			for _, c := range list {
				if a != b && b != c && a != c {
					f.state(-first[[2]int{a, b}], -first[[2]int{b, c}], first[[2]int{a, c}])
				}
			}
		}
	}
}
