// Package joint schedules all operations of a workload together, transfer by transfer: a greedy in the
// manner of TACOS (Won et al., "TACOS: Topology-aware collective algorithm synthesizer for distributed
// machine learning", MICRO 2024), which gives every link something to carry when it is free, over the
// operations of all jobs at once, and every GPU something to compute. Collectives have no schedules of
// their own: each chunk goes over whichever link that leads towards where it is wanted is free first.
//
// A reduction is carried forward in time, which TACOS reverses: a rank sends its part when nobody is left
// that could send to it alone, to one that has not sent yet; so each sends once.
//
// Operations begin on each rank in the order in which they could first begin anywhere, so that no library
// that enters collectives one after the other deadlocks, and nothing here does: of those that have begun to
// be able to, the first waits for nothing that comes after it. Nothing here is trusted: verify/workload decides.
package joint

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	wl "github.com/oraccl/oraccl/model/workload"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/events"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/timing"
)

// Limits.
const (
	maxRanks = 1 << 12
	maxSlots = 1 << 27 // chunks on ranks in all iterations of all collectives
)

// Options steer Schedule.
type Options struct {
	Pieces int // chunks a member, of collectives without a cut
	// Nearest has chunks take the hops that lead nearest to where they are wanted, alone: around one switch a sum
	// is then sent to its root directly. Else more hops are among those of which the first that is free is taken.
	Nearest bool
}

// Schedule returns a schedule of a workload that ends. It takes time of O(transfers·ways·log(transfers)) about. An error that wraps solve.ErrNotServed names
// what it does not serve; once ctx is done it returns its error.
func Schedule(ctx context.Context, w *wl.Workload, o Options) (*wl.Schedule, error) {
	if w.Periodic {
		return nil, solve.NotServed("serves what ends")
	}
	if w.Topology.Ranks > maxRanks {
		return nil, solve.NotServed("%d ranks, serves at most %d", w.Topology.Ranks, maxRanks)
	}
	for i := range w.Topology.Switches {
		if s := &w.Topology.Switches[i]; s.Copies || s.Reduces != model.NoReducing {
			return nil, solve.NotServed("serves no switches that add or copy")
		}
	}
	g := &greedy{ctx: ctx, w: w, ranks: w.Topology.Ranks, board: timing.NewBoard(&model.Problem{Topology: w.Topology, Cost: w.Cost}), classes: map[class]int32{}}
	g.hops()
	if err := g.begin(o); err != nil {
		return nil, err
	}
	if err := g.carry(); err != nil {
		return nil, err
	}
	return g.schedule()
}

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

// what happens
type happening struct {
	what what
	a, b int32
}

type what uint8

const (
	arrival  what = iota // run a, transfer b
	computed             // run a, member b
	offset               // run a, edge and member in b
	released             // run a, rank b
	freed                // class a
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

// greedy is the state of the simulation.
type greedy struct {
	ctx    context.Context
	w      *wl.Workload
	ranks  int
	board  *timing.Board
	routes [][]int
	lanes  []lane
	pairs  []pair
	pairOf []int32   // src·ranks + dst; -1: none
	out    [][]int32 // pairs, by rank
	into   [][]int32

	free    []model.Time // by choice: until when it is in use
	classes map[class]int32
	rows    []row
	queue   events.Queue
	list    []happening
	spare   []int32
	now     model.Time
	marked  []int32
	woken   []int32
	ticks   int64

	runs    []*run
	of      [][]int32 // of each operation, by iteration
	next    [][]int   // edges from each operation
	prior   [][]int   // edges to it
	active  int64
	orders  [][]int32 // of each rank: collectives in the order in which they begin
	heads   []int
	waiting [][]int32 // of each rank: computations that could begin
	busy    []bool
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

func (g *greedy) at(t model.Time, h happening) {
	var id int32
	if n := len(g.spare); n > 0 {
		id, g.spare = g.spare[n-1], g.spare[:n-1]
		g.list[id] = h
	} else {
		id = int32(len(g.list))
		g.list = append(g.list, h)
	}
	g.queue.Add(events.Event{At: t, ID: id})
}

// carry takes time forward until nothing happens any more.
func (g *greedy) carry() error {
	for steps := 0; ; steps++ {
		if steps%256 == 0 {
			if err := g.ctx.Err(); err != nil {
				return err
			}
		}
		for len(g.marked) > 0 || len(g.woken) > 0 {
			for _, p := range g.marked {
				g.pairs[p].marked = false
			}
			marked := g.marked
			g.marked = nil
			for _, p := range marked {
				if !g.pairs[p].waits {
					g.offer(p)
				}
			}
			woken := g.woken
			g.woken = nil
			for _, c := range woken {
				g.wake(c)
			}
		}
		if len(g.queue) == 0 {
			break
		}
		g.now = g.queue.Next()
		for len(g.queue) > 0 && g.queue.Next() == g.now {
			e := g.queue.Take()
			h := g.list[e.ID]
			g.spare = append(g.spare, e.ID)
			g.happens(h)
		}
	}
	for _, r := range g.runs {
		if r.ended < len(r.members) {
			return fmt.Errorf("%s waits for ever", g.w.Ops[r.op].ID)
		}
	}
	return nil
}

func (g *greedy) happens(h happening) {
	switch h.what {
	case arrival:
		g.arrives(h.a, int(h.b))
	case computed:
		r := g.runs[h.a]
		v := r.members[h.b]
		g.busy[v] = false
		g.ends(h.a, v)
		g.compute(v)
	case offset:
		r := g.runs[h.a]
		e := g.next[r.op][int(h.b)/len(r.members)]
		g.fire(e, h.a, r.members[int(h.b)%len(r.members)])
	case released:
		g.satisfied(h.a, int(h.b))
	case freed:
		if g.rows[h.a].due == g.now {
			g.rows[h.a].due = model.MaxTime
			g.woken = append(g.woken, h.a)
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

// push offers what a rank can send of a chunk to all that may get it.
func (g *greedy) push(id int32, k, v int) {
	r := g.runs[id]
	slot := k*g.ranks + v
	if !g.may(r, k, v) {
		return
	}
	c := &r.plan.chunks[k]
	if c.up != nil && r.unsent[slot] && r.flying[slot] == 0 && r.alone[slot] == 0 {
		for _, u := range c.up.next[v] {
			if r.unsent[k*g.ranks+int(u)] || u == c.root {
				g.send(id, k, v, int(u), false)
			}
		}
	}
	if c.down != nil && r.have[slot] {
		for _, u := range c.down.from[v] {
			if !r.claimed[k*g.ranks+int(u)] {
				g.send(id, k, v, int(u), true)
			}
		}
	}
}

func (g *greedy) send(id int32, k, v, u int, down bool) {
	g.ticks++
	g.enqueue(g.pairOf[v*g.ranks+u], item{order: g.runs[id].order<<36 | g.ticks, run: id, chunk: int32(k), down: down})
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

// start has a chunk be sent.
func (g *greedy) start(x item, v, u int, with int32) {
	r := g.runs[x.run]
	k := int(x.chunk)
	from, to := k*g.ranks+v, k*g.ranks+u
	l := &g.lanes[with]
	size := r.plan.problem.Chunks[k].Size
	uses, known := l.uses[size]
	if !known {
		uses = g.board.Uses(g.routes[l.route], size, nil)
		l.uses[size] = uses
	}
	for j := range uses {
		use := &uses[j]
		best := use.Choice
		for c := use.Choice + 1; c < use.ChoiceEnd; c++ {
			if g.free[c] < g.free[best] {
				best = c
			}
		}
		g.free[best] = g.now.Add(use.From).Add(use.Extra)
	}
	t := model.Transfer{Chunk: int32(k), Src: int32(v), Dst: int32(u), Route: l.route, Start: g.now, End: g.now.Add(g.board.Duration(g.routes[l.route], size))}
	if !x.down && (r.plan.member[u] || r.fed[to]) {
		t.Op = model.Reduction
	}
	g.at(t.End, happening{arrival, x.run, int32(len(r.sent))})
	r.sent, r.arrivals = append(r.sent, t), append(r.arrivals, x.down)
	c := &r.plan.chunks[k]
	if x.down {
		r.claimed[to] = true
		for _, other := range c.down.next[u] { // which need not send any more
			if int(other) != v {
				g.finished(x.run, k, int(other))
			}
		}
	} else {
		r.flying[to]++
		r.unsent[from] = false
		if only := r.only[from]; only >= 0 {
			r.alone[k*g.ranks+int(only)]--
			g.push(x.run, k, int(only))
		}
		for _, w := range c.up.from[v] {
			at := k*g.ranks + int(w)
			if !r.unsent[at] {
				continue
			}
			if r.options[at]--; r.options[at] == 1 {
				for _, o := range c.up.next[w] {
					if r.unsent[k*g.ranks+int(o)] || o == c.root {
						r.only[at] = o
						r.alone[k*g.ranks+int(o)]++
					}
				}
			}
		}
	}
	for _, rank := range []int{v, u} {
		if !r.begun[rank] {
			r.begun[rank] = true
			if r.plan.member[rank] {
				g.advance(rank)
			}
		}
	}
}

// arrives ends a transfer.
func (g *greedy) arrives(id int32, i int) {
	r := g.runs[id]
	t := &r.sent[i]
	k, v, u := int(t.Chunk), int(t.Src), int(t.Dst)
	to := k*g.ranks + u
	c := &r.plan.chunks[k]
	switch {
	case r.arrivals[i]:
		r.have[to] = true
		g.push(id, k, u)
		g.finished(id, k, u)
	default:
		r.flying[to]--
		if !r.plan.member[u] { // a relay has a part now, and others may add to it
			r.fed[to] = true
			for _, w := range c.up.from[u] {
				g.push(id, k, int(w))
			}
		}
		if r.missing[k]--; r.missing[k] == 0 {
			r.have[k*g.ranks+int(c.root)] = true
			g.push(id, k, int(c.root))
			g.finished(id, k, int(c.root))
		} else {
			g.push(id, k, u)
		}
	}
	g.finished(id, k, v)
}

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

// schedule returns what happened.
func (g *greedy) schedule() (*wl.Schedule, error) {
	again := *g.w
	again.Ops = slices.Clone(g.w.Ops)
	s := &wl.Schedule{Workload: &again}
	for _, r := range g.runs {
		p := wl.Placement{Op: r.op, Iteration: r.iteration, Program: -1}
		switch {
		case r.plan != nil:
			again.Ops[r.op].Chunks = r.plan.problem.Chunks
			p.Program = len(s.Programs)
			p.At = r.at
			program := &model.Schedule{Form: model.Timed, Transfers: r.sent}
			used := map[int32]int32{}
			for i := range r.sent {
				t := &r.sent[i]
				n, known := used[t.Route]
				if !known {
					n = int32(len(program.Routes))
					used[t.Route] = n
					program.Routes = append(program.Routes, g.routes[t.Route])
				}
				t.Route = n
			}
			s.Programs = append(s.Programs, program)
		case g.w.Ops[r.op].Kind == wl.Compute:
			for _, v := range r.members {
				p.Starts = append(p.Starts, r.starts[v])
			}
		default:
			p.At = r.at
		}
		s.Placed = append(s.Placed, p)
	}
	return s, nil
}
