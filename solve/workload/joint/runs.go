package joint

import (
	"cmp"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
)

// run is an iteration of an operation.
type run struct {
	op, iteration int
	plan          *plan // of a collective
	members       []int
	active        bool
	order         int64
	needs         []int32 // by rank: what it waits for there
	ready, opened []bool  // by rank
	begun         []bool
	ended         int
	fired         map[int]int // of edges of scope all, on how many ranks

	// Of collectives, by chunk·ranks + rank.
	unsent   []bool
	flying   []uint16 // parts that are on their way there
	alone    []uint16 // how many have nobody else left to send to
	options  []uint16 // how many are left to send to
	only     []int32  // the one that is left, or -1
	fed      []bool   // of one that has no part of its own: it has one of another
	have     []bool   // the whole
	claimed  []bool   // likewise, or it is on its way
	waits    []uint16 // chunks of other operations
	duties   []int32
	left     []int32
	missing  []int32 // of each chunk: parts that are not sent yet, or on their way
	parked   map[int32][]parked
	sent     []model.Transfer
	arrivals []bool // of each transfer: whether it goes down
	starts   []model.Time
	at       model.Time // of a barrier
}

// parked is an item whose destination may not begin yet.
type parked struct {
	pair int32
	item item
}

// begin makes the runs.
func (g *greedy) begin(o Options) error {
	x := &planner{Options: o, w: g.w, g: g, known: map[string]*plan{}, costs: map[int64][]model.Time{}}
	g.next, g.prior, g.of = make([][]int, len(g.w.Ops)), make([][]int, len(g.w.Ops)), make([][]int32, len(g.w.Ops))
	for i, e := range g.w.Edges {
		g.next[e.From], g.prior[e.To] = append(g.next[e.From], i), append(g.prior[e.To], i)
	}
	g.orders, g.heads = make([][]int32, g.ranks), make([]int, g.ranks)
	g.waiting, g.busy = make([][]int32, g.ranks), make([]bool, g.ranks)
	slots := 0
	plans := make([]*plan, len(g.w.Ops))
	for i := range g.w.Ops {
		if err := g.ctx.Err(); err != nil {
			return err
		}
		if _, collective := g.w.Ops[i].Kind.Collective(); collective {
			var err error
			if plans[i], err = x.of(i); err != nil {
				return err
			}
			if slots += len(plans[i].chunks) * g.ranks * g.w.Iterations(i); slots > maxSlots {
				return solve.NotServed("%d chunks on ranks, or more, serves at most %d", slots, maxSlots)
			}
		}
		for k := range g.w.Iterations(i) {
			r := &run{op: i, iteration: k, plan: plans[i], members: g.w.Members(g.w.Ops[i].Group), needs: make([]int32, g.ranks), ready: make([]bool, g.ranks),
				opened: make([]bool, g.ranks), begun: make([]bool, g.ranks), fired: map[int]int{}, starts: make([]model.Time, g.ranks)}
			g.of[i] = append(g.of[i], int32(len(g.runs)))
			g.runs = append(g.runs, r)
			if r.plan != nil {
				r.prepare(g.ranks)
			}
		}
	}
	for _, e := range g.w.Edges {
		if e.Scope != wl.ByChunk {
			continue
		}
		for _, i := range []int{e.From, e.To} {
			if g.w.Ops[i].Into.Buffer != "" {
				return solve.NotServed("%s has chunks in several buffers, and what waits for single ones", g.w.Ops[i].ID)
			}
		}
	}
	for id, r := range g.runs {
		inside := map[int]bool{}
		for _, v := range r.members {
			inside[v] = true
		}
		for _, i := range g.prior[r.op] {
			e := &g.w.Edges[i]
			from := g.before(e, r.iteration)
			if from == nil {
				continue
			}
			switch e.Scope {
			case wl.ByRank:
				for _, v := range from.members {
					if inside[v] {
						r.needs[v]++
					}
				}
			case wl.ByAll:
				for _, v := range r.members {
					r.needs[v]++
				}
			case wl.ByChunk:
				g.eachOverlap(e, from, -1, func(a, b int) {
					for v := range g.ranks {
						if from.plan.duties[a*g.ranks+v] > 0 {
							r.waits[b*g.ranks+v]++
						}
					}
				})
			}
		}
		for v := range g.ranks {
			if !inside[v] && (r.plan == nil || len(r.members) == 1) {
				continue
			}
			if t := g.w.ReleaseOf(r.op, v); t > 0 {
				r.needs[v]++
				g.at(t, happening{released, int32(id), int32(v)})
			} else if !inside[v] {
				r.ready[v], r.opened[v] = true, true
			}
		}
	}
	var first [][2]int // before one of them makes others ready
	for id, r := range g.runs {
		for _, v := range r.members {
			if r.needs[v] == 0 {
				first = append(first, [2]int{id, v})
			}
		}
	}
	for _, x := range first {
		g.isReady(int32(x[0]), x[1])
	}
	return nil
}

// prepare sets what has been sent of a collective.
func (r *run) prepare(ranks int) {
	n := len(r.plan.chunks) * ranks
	r.unsent, r.fed, r.have, r.claimed = make([]bool, n), make([]bool, n), make([]bool, n), make([]bool, n)
	r.flying, r.alone, r.options, r.waits = make([]uint16, n), make([]uint16, n), make([]uint16, n), make([]uint16, n)
	r.only = make([]int32, n)
	r.duties, r.left = slices.Clone(r.plan.duties), slices.Clone(r.plan.left)
	r.missing = make([]int32, len(r.plan.chunks))
	r.parked = map[int32][]parked{}
	for k := range r.plan.chunks {
		c, at := &r.plan.chunks[k], k*ranks
		for v := range ranks {
			r.only[at+v] = -1
		}
		if c.up == nil {
			for _, v := range c.holders {
				r.have[at+int(v)], r.claimed[at+int(v)] = true, true
			}
			continue
		}
		for v, next := range c.up.next {
			if next == nil {
				continue
			}
			r.missing[k]++
			r.unsent[at+v] = true
			r.options[at+v] = uint16(len(next))
			if len(next) == 1 {
				r.only[at+v] = next[0]
				r.alone[at+int(next[0])]++
			}
		}
		r.claimed[at+int(c.root)] = true
	}
}

// before returns the run that an iteration of an edge's end waits for; nil: none.
func (g *greedy) before(e *wl.Edge, iteration int) *run {
	if iteration < e.Height {
		return nil
	}
	return g.runs[g.of[e.From][iteration-e.Height]]
}

// after returns the run that waits for an iteration of an edge's origin, -1: none.
func (g *greedy) after(e *wl.Edge, iteration int) int32 {
	if k := iteration + e.Height; k < len(g.of[e.To]) {
		return g.of[e.To][k]
	}
	return -1
}

// eachOverlap visits the pairs of chunks of an edge's ends that overlap, those of one chunk of its origin,
// or, for -1, of all.
func (g *greedy) eachOverlap(e *wl.Edge, from *run, chunk int, visit func(a, b int)) {
	to := g.runs[g.of[e.To][0]]
	_, offA := g.w.BufferOf(e.From, 0)
	_, offB := g.w.BufferOf(e.To, 0)
	for a, x := range from.plan.problem.Chunks {
		if chunk >= 0 && a != chunk {
			continue
		}
		lo, hi := offA+x.Offset-offB, offA+x.Offset+x.Size-offB
		b, _ := slices.BinarySearchFunc(to.plan.problem.Chunks, lo, func(y model.Chunk, at int64) int { return cmp.Compare(y.Offset+y.Size, at+1) })
		for ; b < len(to.plan.problem.Chunks) && to.plan.problem.Chunks[b].Offset < hi; b++ {
			visit(a, b)
		}
	}
}

// satisfied notes that a run waits for one thing less on a rank.
func (g *greedy) satisfied(id int32, v int) {
	r := g.runs[id]
	if r.needs[v]--; r.needs[v] > 0 {
		return
	}
	if r.plan != nil && !r.plan.member[v] {
		r.ready[v] = true
		g.open(id, v)
		return
	}
	g.isReady(id, v)
}

// isReady notes that nothing of other operations is in the way of a run on a rank.
func (g *greedy) isReady(id int32, v int) {
	r := g.runs[id]
	r.ready[v] = true
	if !r.active {
		g.activate(id)
		return
	}
	g.proceed(id, v)
}

// proceed has a run that is active and ready on a rank begin there, or wait for its turn.
func (g *greedy) proceed(id int32, v int) {
	r := g.runs[id]
	switch {
	case r.plan != nil:
		g.advance(v)
	case g.w.Ops[r.op].Kind == wl.Compute:
		g.waiting[v] = append(g.waiting[v], id)
		g.compute(v)
	default: // a barrier
		for _, u := range r.members {
			if !r.ready[u] {
				return
			}
		}
		r.at = g.now
		for _, u := range r.members {
			g.ends(id, u)
		}
	}
}

// activate gives a run its place in the order, if it is ready somewhere and all that it waits for have theirs.
func (g *greedy) activate(id int32) {
	r := g.runs[id]
	if r.active || !slices.ContainsFunc(r.members, func(v int) bool { return r.ready[v] }) {
		return
	}
	for _, i := range g.prior[r.op] {
		if from := g.before(&g.w.Edges[i], r.iteration); from != nil && !from.active {
			return
		}
	}
	r.active, r.order = true, g.active
	g.active++
	if r.plan != nil {
		for _, v := range r.members {
			g.orders[v] = append(g.orders[v], id)
		}
	}
	for _, v := range r.members {
		if r.ready[v] {
			g.proceed(id, v)
			if r.plan == nil && g.w.Ops[r.op].Kind != wl.Compute {
				break
			}
		}
	}
	for _, i := range g.next[r.op] {
		if to := g.after(&g.w.Edges[i], r.iteration); to >= 0 {
			g.activate(to)
		}
	}
}

// advance opens the first collective on a rank that has not begun there, if it is ready.
func (g *greedy) advance(v int) {
	for g.heads[v] < len(g.orders[v]) {
		id := g.orders[v][g.heads[v]]
		r := g.runs[id]
		switch {
		case r.begun[v]:
			g.heads[v]++
		case r.ready[v] && !r.opened[v]:
			g.open(id, v) // it may come here again
		default:
			return
		}
	}
}

// open lets a run begin on a rank.
func (g *greedy) open(id int32, v int) {
	r := g.runs[id]
	r.opened[v] = true
	if len(r.members) == 1 { // nothing to do
		r.begun[v], r.at = true, g.now
		g.ends(id, v)
		return
	}
	for k := range r.plan.chunks {
		if r.waits[k*g.ranks+v] == 0 {
			g.unpark(r, k, v)
			g.push(id, k, v)
		}
	}
}

// unpark puts back what waited for a chunk's destination.
func (g *greedy) unpark(r *run, k, v int) {
	slot := int32(k*g.ranks + v)
	for _, p := range r.parked[slot] {
		g.enqueue(p.pair, p.item)
	}
	delete(r.parked, slot)
}

// may reports whether a run may begin with a chunk on a rank.
func (g *greedy) may(r *run, k, v int) bool { return r.opened[v] && r.waits[k*g.ranks+v] == 0 }

// finished notes that a rank has one duty less on a chunk.
func (g *greedy) finished(id int32, k, v int) {
	r := g.runs[id]
	slot := k*g.ranks + v
	if r.duties[slot]--; r.duties[slot] > 0 {
		return
	}
	for _, i := range g.next[r.op] {
		e := &g.w.Edges[i]
		if e.Scope != wl.ByChunk {
			continue
		}
		next := g.after(e, r.iteration)
		if next < 0 {
			continue
		}
		to := g.runs[next]
		g.eachOverlap(e, r, k, func(_, b int) {
			if to.waits[b*g.ranks+v]--; to.waits[b*g.ranks+v] == 0 && to.opened[v] {
				g.unpark(to, b, v)
				g.push(next, b, v)
			}
		})
	}
	if r.left[v]--; r.left[v] == 0 && r.plan.member[v] {
		g.ends(id, v)
	}
}

// compute has a rank begin the first computation that it could.
func (g *greedy) compute(v int) {
	if g.busy[v] || len(g.waiting[v]) == 0 {
		return
	}
	best := 0
	for i, id := range g.waiting[v] {
		if g.runs[id].order < g.runs[g.waiting[v][best]].order {
			best = i
		}
	}
	id := g.waiting[v][best]
	g.waiting[v] = slices.Delete(g.waiting[v], best, best+1)
	r := g.runs[id]
	m := slices.Index(r.members, v)
	g.busy[v] = true
	r.starts[v] = g.now
	g.at(g.now.Add(g.w.DurationOn(r.op, m)), happening{computed, id, int32(m)})
	for k, i := range g.next[r.op] {
		if e := &g.w.Edges[i]; e.FromStart {
			g.at(g.now.Add(e.Offset), happening{offset, id, int32(k*len(r.members) + m)})
		}
	}
}

// ends notes that a run has ended on a rank.
func (g *greedy) ends(id int32, v int) {
	r := g.runs[id]
	r.ended++
	for _, i := range g.next[r.op] {
		if e := &g.w.Edges[i]; !e.FromStart && e.Scope != wl.ByChunk {
			g.fire(i, id, v)
		}
	}
}

// fire notes that an edge's origin is ready on a rank.
func (g *greedy) fire(i int, id int32, v int) {
	e, r := &g.w.Edges[i], g.runs[id]
	next := g.after(e, r.iteration)
	if next < 0 {
		return
	}
	to := g.runs[next]
	if e.Scope == wl.ByRank {
		if slices.Contains(to.members, v) {
			g.satisfied(next, v)
		}
		return
	}
	if r.fired[i]++; r.fired[i] == len(r.members) {
		for _, u := range to.members {
			g.satisfied(next, u)
		}
	}
}
