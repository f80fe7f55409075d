package exact

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/network"
)

// program is the mixed-integer program of a plan.
type program struct {
	*plan
	m       *lp.Model
	entries int
	busy    map[[3]int][]lp.Term // by resource, from and to, and tick
	gates   map[[3]int]func(int) []lp.Term
	begun   map[[2]int]func(int) []lp.Term
	barred  bool // something that must begin cannot
}

// started returns the terms that sum to 1 once a has begun at a tick or before.
func (a *act) started(tick int, sign int64) (terms []lp.Term) {
	for i := 0; i < len(a.cols) && a.first+i <= tick; i++ {
		terms = append(terms, lp.T(a.cols[i], sign))
	}
	return terms
}

// later returns the terms that sum to 1 if a begins after a tick.
func (a *act) later(tick int, sign int64) (terms []lp.Term) {
	for i := max(0, tick+1-a.first); i < len(a.cols); i++ {
		terms = append(terms, lp.T(a.cols[i], sign))
	}
	return terms
}

func minus(terms []lp.Term) (all []lp.Term) {
	for _, t := range terms {
		all = append(all, lp.Term{Col: t.Col, Coef: t.Coef.Neg()})
	}
	return all
}

// row adds a row of sum <= rhs.
func (x *program) row(rhs int64, lists ...[]lp.Term) {
	var all []lp.Term
	for _, l := range lists {
		all = append(all, l...)
	}
	x.entries += len(all)
	x.m.AddLE("", lp.Int(rhs), all...)
}

// equal adds a row of sum = rhs.
func (x *program) equal(rhs int64, lists ...[]lp.Term) {
	var all []lp.Term
	for _, l := range lists {
		all = append(all, l...)
	}
	if len(all) == 0 && rhs != 0 {
		x.barred = true
		return
	}
	x.entries += len(all)
	x.m.AddEQ("", lp.Int(rhs), all...)
}

// state writes the program. feasible is false if nothing can end in time.
func (x *program) state(ctx context.Context, least int64) (feasible bool, err error) {
	end := x.m.AddColumn(lp.Column{Name: "end", Cost: lp.Int(1), Lower: lp.AtInt(least), Upper: lp.AtInt(int64(x.horizon)), Integer: true})
	x.windows()
	computing := map[[2]int][]lp.Term{}
	for _, a := range x.acts {
		lasts := x.lasts(a)
		var ends []lp.Term
		for t := a.first; t <= a.last; t++ {
			c := x.m.AddBinary("", lp.Int(0))
			a.cols = append(a.cols, c)
			ends = append(ends, lp.T(c, int64(t+lasts)))
			for _, u := range a.uses {
				for at := t + x.down(u.From); at < t+x.up(u.From+u.Extra); at++ {
					key := [3]int{int(u.Choice), int(u.ChoiceEnd), at}
					x.busy[key] = append(x.busy[key], lp.T(c, 1))
				}
			}
			for at := t; a.computes && at < t+lasts; at++ {
				computing[[2]int{a.ranks[0], at}] = append(computing[[2]int{a.ranks[0], at}], lp.T(c, 1))
			}
		}
		if x.m.NumColumns() > MaxColumns {
			return false, fmt.Errorf("more than %d starts at %d ticks of %v, want at most %d: %w", x.m.NumColumns(), x.horizon, x.tick, MaxColumns, ErrTooLarge)
		}
		if a.needed {
			x.equal(1, a.started(x.horizon, 1))
		}
		x.row(0, ends, []lp.Term{lp.T(end, -1)})
	}
	for key, terms := range x.busy {
		if c := key[1] - key[0]; len(terms) > c {
			x.row(int64(c), terms)
		}
	}
	for _, terms := range computing {
		if len(terms) > 1 {
			x.row(1, terms)
		}
	}
	for _, r := range x.runs {
		if r.problem != nil && len(r.members) > 1 && x.w.Ops[r.op].Given == nil {
			if err := x.collective(r); err != nil {
				return false, err
			}
		}
	}
	for id, r := range x.runs {
		for k := range x.w.Edges {
			if from, ok := x.before(&x.w.Edges[k], r); ok {
				x.edge(&x.w.Edges[k], from, id)
			}
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if x.entries > MaxEntries {
			return false, fmt.Errorf("more than %d entries of rows at %d ticks of %v: %w", MaxEntries, x.horizon, x.tick, ErrTooLarge)
		}
	}
	x.orders()
	if x.m.NumColumns() > 2*MaxColumns || x.entries > MaxEntries {
		return false, fmt.Errorf("%d columns, %d entries of rows at %d ticks of %v: %w", x.m.NumColumns(), x.entries, x.horizon, x.tick, ErrTooLarge)
	}
	return !x.barred, nil
}

// collective states what the transfers of a collective have to do.
func (x *program) collective(r *run) error {
	p := r.problem
	var spread *network.Pattern
	if !p.Collective.Reduces() {
		var err error
		if spread, err = network.Spreading(p); err != nil {
			return err
		}
	}
	trees := network.Trees(p, 0)
	for k := range p.Chunks {
		into, out := map[int][]*act{}, map[int][]*act{}   // copies
		added, sent := map[int][]*act{}, map[int][]*act{} // contributions
		for _, i := range r.acts {
			a := x.acts[i]
			if a.chunk != k {
				continue
			}
			u, v := a.ranks[0], a.ranks[1]
			if a.down {
				into[v], out[u] = append(into[v], a), append(out[u], a)
			} else {
				added[v], sent[u] = append(added[v], a), append(sent[u], a)
			}
		}
		begun := func(list []*act, tick int, sign int64) (terms []lp.Term) {
			for _, a := range list {
				terms = append(terms, a.started(tick, sign)...)
			}
			return terms
		}
		arrived := func(list []*act, tick int, sign int64) (terms []lp.Term) {
			for _, a := range list {
				terms = append(terms, a.started(tick-x.lasts(a), sign)...)
			}
			return terms
		}
		if spread != nil {
			var holds, wants []int
			for _, v := range spread.From[k] {
				holds = append(holds, int(v))
			}
			for _, v := range spread.Goals(k, x.w.Topology.Ranks) {
				wants = append(wants, int(v))
			}
			for _, v := range r.members {
				switch {
				case slices.Contains(holds, v):
					x.equal(0, begun(into[v], x.horizon, 1))
					continue
				case slices.Contains(wants, v):
					x.equal(1, begun(into[v], x.horizon, 1))
				default:
					x.row(1, begun(into[v], x.horizon, 1))
				}
				x.passes(out[v], func(t int) []lp.Term { return arrived(into[v], t, -1) })
			}
			continue
		}
		root := map[int][]lp.Term{} // 1 where the sum is
		both := []lp.Term(nil)      // 1 if two send each other their own
		if p.Collective.Kind == model.AllReduce {
			var one []lp.Term
			for _, v := range r.members {
				root[v] = []lp.Term{lp.T(x.m.AddBinary("", lp.Int(0)), 1)}
				one = append(one, root[v]...)
			}
			if len(r.members) == 2 {
				both = []lp.Term{lp.T(x.m.AddBinary("", lp.Int(0)), 1)}
			}
			x.equal(1, one, both)
		}
		for _, v := range r.members {
			fixed := int64(1) // contributions that it sends
			if p.Collective.Kind != model.AllReduce && int(trees.From[k][0]) == v {
				fixed = 0
			}
			x.equal(fixed, begun(sent[v], x.horizon, 1), root[v])
			for _, a := range added[v] {
				for t := 0; t <= x.horizon; t++ { // it has come before v sends its own, but where both do
					if late := a.later(t-x.lasts(a), 1); len(late) > 0 && len(begun(sent[v], t, 1)) > 0 {
						x.row(1, late, begun(sent[v], t, 1), minus(both))
					}
					if both != nil { // then v sends before it has come
						x.row(2, a.started(t-x.lasts(a), 1), x.from(sent[v], t), both)
					}
				}
			}
			if p.Collective.Kind != model.AllReduce {
				continue
			}
			x.equal(1, begun(into[v], x.horizon, 1), root[v], both)
			x.passes(out[v], func(t int) []lp.Term { return append(arrived(into[v], t, -1), minus(root[v])...) })
			for _, c := range out[v] { // the root has all contributions when it sends the sum
				for t := c.first; t < c.first+len(c.cols); t++ {
					for _, a := range added[v] {
						if late := a.later(t-x.lasts(a), 1); len(late) > 0 {
							x.row(1, late, []lp.Term{lp.T(c.cols[t-c.first], 1)})
						}
					}
				}
			}
		}
	}
	return nil
}

// from returns the terms of those that begin at a tick or later.
func (x *program) from(list []*act, tick int) (terms []lp.Term) {
	for _, a := range list {
		terms = append(terms, a.later(tick-1, 1)...)
	}
	return terms
}

// passes has each of some transfers begin when what it sends is there: has is minus one then.
func (x *program) passes(list []*act, has func(tick int) []lp.Term) {
	for _, a := range list {
		for t := a.first; t < a.first+len(a.cols); t++ {
			x.row(0, a.started(t, 1), has(t))
		}
	}
}

// gate returns, by tick, terms that sum to 1 only if a run, or a chunk of it, has ended on a rank.
func (x *program) gate(id, rank, chunk int) func(tick int) []lp.Term {
	key := [3]int{id, rank, chunk}
	if g := x.gates[key]; g != nil {
		return g
	}
	var list []*act
	for _, i := range x.runs[id].acts {
		if a := x.acts[i]; slices.Contains(a.ranks, rank) && (chunk < 0 || a.chunk < 0 || a.chunk == chunk) {
			list = append(list, a)
		}
	}
	if len(list) == 1 && list[0].needed {
		a := list[0]
		x.gates[key] = func(tick int) []lp.Term { return a.started(tick-x.up(a.to[rank]), 1) }
		return x.gates[key]
	}
	var cols []int
	for t := 0; t <= x.horizon; t++ {
		c := x.m.AddBinary("", lp.Int(0))
		for _, a := range list {
			if late := a.later(t-x.up(a.to[rank]), 1); len(late) > 0 {
				x.row(1, late, []lp.Term{lp.T(c, 1)})
			}
		}
		cols = append(cols, c)
	}
	x.gates[key] = func(tick int) []lp.Term {
		if tick < 0 {
			return nil
		}
		return []lp.Term{lp.T(cols[min(tick, x.horizon)], 1)}
	}
	return x.gates[key]
}

// waits has what a run does on a rank, with a chunk of it (-1: all), begin after a gate.
func (x *program) waits(id, rank, chunk int, gate func(tick int) []lp.Term) {
	for _, i := range x.runs[id].acts {
		a := x.acts[i]
		if !slices.Contains(a.ranks, rank) || chunk >= 0 && a.chunk >= 0 && a.chunk != chunk {
			continue
		}
		for t := a.first; t < a.first+len(a.cols); t++ {
			x.row(0, a.started(t, 1), minus(gate(t+x.down(a.from[rank]))))
		}
	}
}

// edge states that a run waits for another one.
func (x *program) edge(e *wl.Edge, from, to int) {
	x.eachWait(e, from, to, func(rank, chunk, other, part int) {
		gate := func(tick int) []lp.Term { return x.starter(from, other).started(tick-x.up(e.Offset), 1) }
		if !e.FromStart {
			gate = x.gate(from, other, part)
		}
		x.waits(to, rank, chunk, gate)
	})
}

// entered returns, by tick, terms that sum to 1 if a collective has begun on a rank, and else to 0.
func (x *program) entered(id, rank int) func(tick int) []lp.Term {
	key := [2]int{id, rank}
	if g := x.begun[key]; g != nil {
		return g
	}
	var list []*act
	for _, i := range x.runs[id].acts {
		if a := x.acts[i]; slices.Contains(a.ranks, rank) {
			list = append(list, a)
		}
	}
	if len(list) == 1 && list[0].needed {
		a := list[0]
		x.begun[key] = func(tick int) []lp.Term { return a.started(tick-x.down(a.from[rank]), 1) }
		return x.begun[key]
	}
	var cols []int
	for t := 0; t <= x.horizon; t++ {
		c := x.m.AddBinary("", lp.Int(0))
		var some []lp.Term
		for _, a := range list {
			if began := a.started(t, 1); len(began) > 0 {
				x.row(0, began, []lp.Term{lp.T(c, -1)})
				some = append(some, a.started(t, -1)...)
			}
		}
		x.row(0, []lp.Term{lp.T(c, 1)}, some)
		cols = append(cols, c)
	}
	x.begun[key] = func(tick int) []lp.Term {
		if tick < 0 {
			return nil
		}
		return []lp.Term{lp.T(cols[min(tick, x.horizon)], 1)}
	}
	return x.begun[key]
}

// orders has all ranks begin collectives in one order: each has a place in it.
func (x *program) orders() {
	list := x.ordered()
	n := int64(len(list))
	places := map[int]int{}
	for i, b := range list {
		for _, a := range list[:i] {
			shared := x.sharedInOrder(list, a, b)
			if len(shared) == 0 {
				continue
			}
			for _, id := range []int{a, b} {
				if _, there := places[id]; !there {
					places[id] = x.m.AddColumn(lp.Column{Upper: lp.AtInt(n - 1)})
				}
			}
			first := x.m.AddBinary("", lp.Int(0)) // a comes first
			x.row(n-1, []lp.Term{lp.T(places[a], 1), lp.T(places[b], -1), lp.T(first, n)})
			x.row(-1, []lp.Term{lp.T(places[b], 1), lp.T(places[a], -1), lp.T(first, -n)})
			for _, v := range shared {
				ea, eb := x.entered(a, v), x.entered(b, v)
				for t := 0; t <= x.horizon; t++ {
					x.row(1, eb(t), minus(ea(t)), []lp.Term{lp.T(first, 1)})
					x.row(0, ea(t), minus(eb(t)), []lp.Term{lp.T(first, -1)})
				}
			}
		}
	}
}
