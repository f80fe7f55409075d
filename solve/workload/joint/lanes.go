package joint

import (
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/network"
)

// lane is a route from rank to rank for one transfer at a time.
type lane struct {
	route int32
	uses  map[int64][]network.Use // by size of chunk
	at    []network.Use           // of any: when it uses what, not how long
}

// pair is all lanes from one rank to another, with what could go over them.
type pair struct {
	src, dst int32
	lanes    []int32
	queue    []item // a heap
	waits    bool   // it is in the row of a class
	marked   bool   // it is to be looked at now
}

// item is a chunk that could be sent.
type item struct {
	order int64 // of the operation, then of arrival
	run   int32
	chunk int32
	down  bool
}

// class is a resource, one of several places of a port, that is used a time after the start of a transfer:
// those pairs wait in one row that could use it next.
type class struct {
	choice int32
	from   model.Time
}

type row struct {
	use   network.Use
	pairs []int32
	due   model.Time // when it is looked at next; MaxTime: never
}

func (g *greedy) hops() {
	g.pairOf = make([]int32, g.ranks*g.ranks)
	for i := range g.pairOf {
		g.pairOf[i] = -1
	}
	g.out, g.into = make([][]int32, g.ranks), make([][]int32, g.ranks)
	most := int32(0)
	all := hop.All(g.w.Topology)
	quickest := map[[2]int]model.Time{}
	lasts := func(h *hop.Hop) model.Time { return g.board.Duration(h.Routes[0], 1<<20) }
	for i := range all {
		ends := [2]int{all[i].Src, all[i].Dst}
		if t, ok := quickest[ends]; !ok || lasts(&all[i]) < t {
			quickest[ends] = lasts(&all[i])
		}
	}
	for i := range all {
		h := &all[i]
		if lasts(h) > quickest[[2]int{h.Src, h.Dst}].Mul(slower) { // such as over the NIC in a machine
			continue
		}
		at := h.Src*g.ranks + h.Dst
		if g.pairOf[at] < 0 {
			g.pairOf[at] = int32(len(g.pairs))
			g.out[h.Src], g.into[h.Dst] = append(g.out[h.Src], g.pairOf[at]), append(g.into[h.Dst], g.pairOf[at])
			g.pairs = append(g.pairs, pair{src: int32(h.Src), dst: int32(h.Dst)})
		}
		p := &g.pairs[g.pairOf[at]]
		for _, r := range h.Routes {
			l := lane{route: int32(len(g.routes)), uses: map[int64][]network.Use{}, at: g.board.Uses(r, 1, nil)}
			for _, u := range l.at {
				most = max(most, u.ChoiceEnd)
			}
			p.lanes = append(p.lanes, int32(len(g.lanes)))
			g.routes, g.lanes = append(g.routes, r), append(g.lanes, l)
		}
	}
	g.free = make([]model.Time, most)
}

// enqueue adds an item to a pair's heap.
func (g *greedy) enqueue(p int32, x item) {
	q := append(g.pairs[p].queue, x)
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if q[up].order <= q[i].order {
			break
		}
		q[i], q[up] = q[up], q[i]
		i = up
	}
	g.pairs[p].queue = q
	if !g.pairs[p].marked {
		g.pairs[p].marked = true
		g.marked = append(g.marked, p)
	}
}

// dequeue takes the first item from a pair's heap.
func (p *pair) dequeue() {
	q := p.queue
	n := len(q) - 1
	q[0] = q[n]
	q = q[:n]
	for i := 0; ; {
		low := i
		for _, c := range []int{2*i + 1, 2*i + 2} {
			if c < n && q[c].order < q[low].order {
				low = c
			}
		}
		if low == i {
			break
		}
		q[i], q[low] = q[low], q[i]
		i = low
	}
	p.queue = q
}

// offer has a pair carry what it can now, and else wait for what is in use. It reports whether it waits.
func (g *greedy) offer(i int32) (c int32, waits bool) {
	p := &g.pairs[i]
	for len(p.queue) > 0 {
		x := p.queue[0]
		r := g.runs[x.run]
		k, v, u := int(x.chunk), int(p.src), int(p.dst)
		from, to := k*g.ranks+v, k*g.ranks+u
		c := &r.plan.chunks[k]
		if x.down && r.claimed[to] || !x.down && (!r.unsent[from] || r.flying[from] > 0 || r.alone[from] > 0 || !r.unsent[to] && int32(u) != c.root ||
			!r.plan.member[u] && r.flying[to] > 0) { // it is offered again when that has changed
			p.dequeue()
			continue
		}
		if !g.may(r, k, u) {
			p.dequeue()
			r.parked[int32(to)] = append(r.parked[int32(to)], parked{i, x})
			continue
		}
		best, at, binding := int32(-1), model.MaxTime, network.Use{}
		for _, l := range p.lanes {
			if t, u := g.soonest(&g.lanes[l]); t < at {
				best, at, binding = l, t, u
			}
		}
		if at > g.now {
			key := class{binding.Choice, binding.From}
			n, known := g.classes[key]
			if !known {
				n = int32(len(g.rows))
				g.classes[key] = n
				g.rows = append(g.rows, row{use: binding, due: model.MaxTime})
			}
			w := &g.rows[n]
			w.pairs = append(w.pairs, i)
			p.waits = true
			g.due(n, at)
			return n, true
		}
		p.dequeue()
		g.start(x, v, u, best)
	}
	return 0, false
}

// due has a row be looked at at a time, or before.
func (g *greedy) due(n int32, at model.Time) {
	if at < g.rows[n].due {
		g.rows[n].due = at
		g.at(at, happening{freed, n, 0})
	}
}

// idle returns from when on a use could start.
func (g *greedy) idle(u *network.Use) model.Time {
	least := model.MaxTime
	for c := u.Choice; c < u.ChoiceEnd; c++ {
		least = min(least, g.free[c])
	}
	return least - u.From
}

// soonest returns from when on a lane can be used, and what keeps it from being used sooner.
func (g *greedy) soonest(l *lane) (at model.Time, binding network.Use) {
	for j := range l.at {
		if t := g.idle(&l.at[j]); t > at || j == 0 {
			at, binding = max(t, at), l.at[j]
		}
	}
	return max(at, 0), binding
}

// wake offers what is free now to the pairs that wait for it, in the order in which they came.
func (g *greedy) wake(n int32) {
	list := g.rows[n].pairs
	g.rows[n].pairs = nil
	for k, i := range list {
		if at := g.idle(&g.rows[n].use); at > g.now {
			g.rows[n].pairs = append(slices.Clone(list[k:]), g.rows[n].pairs...)
			g.due(n, at)
			return
		}
		g.pairs[i].waits = false
		g.offer(i)
	}
}
