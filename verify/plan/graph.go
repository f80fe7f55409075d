package plan

import (
	"cmp"
	"context"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// kind is what an event is.
type kind uint8

const (
	started kind = iota // a rank's kernel
	ended
	begins // of a move: before all its elements
	isDone // and after all
	thread // what one thread does: a signal, a wait, a request handed over
	meets  // the threads of a threadblock
	afar   // what a proxy does: a signal
)

// event is a point of an execution.
type event struct {
	kind          kind
	launch        int
	block, op     int // -1: none
	part          int // the move, or the identifier, of an operation: the thread that does it
	segment       int // how many joins of the threadblock are before it
	move          int // of begins and isDone
	counterWaited int // of a wait or acquire: the counter, else -1
}

// move is a move of an operation.
type move struct {
	*model.PlanMove
	launch, block, op, part int
	begin, done             int // events
	proxy                   bool
	rank                    int
}

// counter is a counter or semaphore with who raises it and who takes from it.
type counter struct {
	name           string
	credit         int   // its initial value
	raises, takes  []int // events
	relaxed        map[int]bool
	semaphore      bool
	shared, unfair bool // several threadblocks raise it, take from it
}

// graph is what is ordered in every execution of some launches, one after the other. An
// edge of weak orders execution; one of strong orders memory as well, and is not repeated in weak.
type graph struct {
	plans        []*model.Plan // of each launch
	events       []event
	strong, weak [][]int32
	moves        []move
	start, end   [][]int // of each launch and rank
	counters     []counter
	channels     map[[2]int]*channel // port channels of ranks
	order        []int32             // topological; nil: there is a cycle
	reads        map[int][]slot
	parts        []parts
	cache        map[int][2][]uint64
	tooMany      bool // packets to look at; then there is no order
}

// channel is what goes through a port channel.
type channel struct {
	pushes []int // events of threads
	effect []int // what then happens: a transfer's begin, or a signal
	done   []int // when that is done
}

// parts is a read of packets that several moves write, each a part.
type parts struct {
	read   int // its begin
	writes []int
}

// slot is an access to packets.
type slot struct {
	move       int
	start, end int64
}

func (g *graph) add(e event) int {
	if e.kind != isDone && e.kind != begins {
		e.move = -1
	}
	g.events = append(g.events, e)
	g.strong, g.weak = append(g.strong, nil), append(g.weak, nil)
	return len(g.events) - 1
}

func (g *graph) before(a, b int)       { g.strong[a] = append(g.strong[a], int32(b)) }
func (g *graph) weaklyBefore(a, b int) { g.weak[a] = append(g.weak[a], int32(b)) }

// newGraph builds what is ordered in launches of plans that differ only in where scratch is.
func newGraph(ctx context.Context, plans []*model.Plan) *graph {
	g := &graph{plans: plans, channels: map[[2]int]*channel{}, reads: map[int][]slot{}}
	p := plans[0]
	for _, c := range p.Counters {
		g.counters = append(g.counters, counter{name: c.Name, relaxed: map[int]bool{}})
	}
	for i, v := range p.Semaphores {
		g.counters = append(g.counters, counter{name: "semaphore " + word(i), credit: v, relaxed: map[int]bool{}, semaphore: true})
	}
	for launch, p := range plans {
		var starts, ends []int
		for range p.Ranks {
			starts = append(starts, g.add(event{kind: started, launch: launch, block: -1, op: -1, counterWaited: -1}))
			ends = append(ends, g.add(event{kind: ended, launch: launch, block: -1, op: -1, counterWaited: -1}))
		}
		g.start, g.end = append(g.start, starts), append(g.end, ends)
		meetings := map[[3]int]int{}
		for b := range p.Blocks {
			g.block(launch, b, starts[p.Blocks[b].Rank], ends[p.Blocks[b].Rank], meetings)
		}
		for r := range p.Ranks {
			g.before(starts[r], ends[r])
			if launch > 0 {
				g.before(g.end[launch-1][r], starts[r])
			}
		}
	}
	if g.tooMany = !g.packets(ctx); g.tooMany {
		return g
	}
	for _, c := range g.channels {
		g.fifo(c)
	}
	g.match(ctx)
	g.sort()
	g.joint()
	return g
}

// block adds the events of a threadblock.
func (g *graph) block(launch, b, start, end int, meetings map[[3]int]int) {
	p := g.plans[launch]
	x := &p.Blocks[b]
	last, segment := start, 0
	var open []int           // what the next join waits for
	threads := map[int]int{} // of each thread the last event in this segment
	var previous = -1        // the last move of this segment
	round := map[int]int{}   // of each barrier
	join := func(op int) int {
		j := g.add(event{kind: meets, launch: launch, block: b, op: op, segment: segment, counterWaited: -1})
		g.before(last, j)
		for _, e := range open {
			g.before(e, j)
		}
		last, open, previous = j, nil, -1
		clear(threads)
		segment++
		return j
	}
	// step adds what thread k does.
	step := func(op, k int, waits int) int {
		e := g.add(event{kind: thread, launch: launch, block: b, op: op, part: k, segment: segment, counterWaited: waits})
		g.before(last, e)
		if before, ok := threads[k]; ok {
			g.before(before, e)
		}
		threads[k] = e
		open = append(open, e)
		return e
	}
	port := func(c int) *channel {
		k := [2]int{x.Rank, c}
		if g.channels[k] == nil {
			g.channels[k] = &channel{}
		}
		return g.channels[k]
	}
	add := func(op, k int, m *model.PlanMove, proxy bool) int {
		i := len(g.moves)
		begin := g.add(event{kind: begins, launch: launch, block: b, op: op, part: k, segment: segment, move: i, counterWaited: -1})
		done := g.add(event{kind: isDone, launch: launch, block: b, op: op, part: k, segment: segment, move: i, counterWaited: -1})
		g.before(begin, done)
		g.moves = append(g.moves, move{m, launch, b, op, k, begin, done, proxy, x.Rank})
		return i
	}
	signals := len(p.Counters)
	for i := range x.Ops {
		o := &x.Ops[i]
		switch o.Verb {
		case model.PlanJoin:
			join(i)
		case model.PlanBarrier:
			k := [3]int{x.Rank, o.Barrier, round[o.Barrier]}
			round[o.Barrier]++
			if _, ok := meetings[k]; !ok {
				meetings[k] = g.add(event{kind: meets, launch: launch, block: -1, op: -1, counterWaited: -1})
			}
			g.before(join(i), meetings[k])
			g.before(meetings[k], join(i))
		case model.PlanSignal:
			for k, c := range o.IDs {
				e := step(i, k, -1)
				if o.Ports != nil {
					s := g.add(event{kind: afar, launch: launch, block: b, op: i, part: k, segment: segment, counterWaited: -1})
					g.before(e, s)
					ch := port(o.Ports[k])
					ch.pushes, ch.effect, ch.done = append(ch.pushes, e), append(ch.effect, s), append(ch.done, s)
					e = s
				}
				g.counters[c].raises = append(g.counters[c].raises, e)
				if o.Relaxed {
					g.counters[c].relaxed[e] = true
				}
			}
		case model.PlanWait:
			for k, c := range o.IDs {
				e := step(i, k, c)
				g.counters[c].takes = append(g.counters[c].takes, e)
				if o.Relaxed {
					g.counters[c].relaxed[e] = true
				}
			}
		case model.PlanRelease:
			for k, s := range o.IDs {
				g.counters[signals+s].raises = append(g.counters[signals+s].raises, step(i, k, -1))
			}
		case model.PlanAcquire:
			for k, s := range o.IDs {
				g.counters[signals+s].takes = append(g.counters[signals+s].takes, step(i, k, signals+s))
			}
		case model.PlanCompute:
			for k := range o.Moves {
				m := add(i, k, &o.Moves[k], false)
				g.before(last, g.moves[m].begin)
				open = append(open, g.moves[m].done)
				if previous >= 0 { // what a thread does it does in order
					a, b := g.elements(previous), g.elements(m)
					if b <= a {
						g.weaklyBefore(g.moves[previous].begin, g.moves[m].begin)
					}
					if a <= b {
						g.weaklyBefore(g.moves[previous].done, g.moves[m].done)
					}
				}
				previous = m
			}
		case model.PlanRequest:
			for k := range o.Moves {
				e := step(i, k, -1)
				m := add(i, k, &o.Moves[k], true)
				g.before(e, g.moves[m].begin)
				done := g.moves[m].done
				if o.IDs != nil {
					s := g.add(event{kind: afar, launch: launch, block: b, op: i, part: k, segment: segment, counterWaited: -1})
					g.before(done, s)
					g.counters[o.IDs[k]].raises = append(g.counters[o.IDs[k]].raises, s)
				}
				if o.Ports[k] >= 0 {
					ch := port(o.Ports[k])
					ch.pushes, ch.effect, ch.done = append(ch.pushes, e), append(ch.effect, g.moves[m].begin), append(ch.done, done)
				}
				if o.Flush {
					g.before(done, step(i, k, -1))
				}
			}
		case model.PlanFlush:
			for k, c := range o.Ports {
				e := step(i, k, -1)
				ch := port(c)
				for j, push := range ch.pushes {
					if g.ordered(push, e) {
						g.before(ch.done[j], e)
					}
				}
			}
		}
	}
	g.before(last, end)
	for _, e := range open {
		g.before(e, end)
	}
}

// elements is how many elements a move has.
func (g *graph) elements(m int) int64 {
	x := g.moves[m].PlanMove
	return x.Bytes() / max(1, x.Grain)
}

// ordered reports whether an event of a thread is before another one by what the threads do
// alone: both are of one threadblock, or of one rank in different launches.
func (g *graph) ordered(a, b int) bool {
	x, y := &g.events[a], &g.events[b]
	if x.launch != y.launch {
		return x.launch < y.launch && g.plans[0].Blocks[x.block].Rank == g.plans[0].Blocks[y.block].Rank
	}
	if x.block != y.block {
		return false
	}
	return x.segment < y.segment || x.segment == y.segment && x.part == y.part && a < b
}

// fifo orders what goes through a channel where the threads order it: what is handed over is after
// all that was handed over before it. Of these the last ones suffice, which are several where
// several threads hand over at once.
func (g *graph) fifo(c *channel) {
	one := g.blocks(c.pushes) == 1
	for j := range c.pushes {
		var last []int
		for i := j - 1; i >= 0; i-- {
			x := &g.events[c.pushes[i]]
			if !g.ordered(c.pushes[i], c.pushes[j]) || slices.ContainsFunc(last, func(l int) bool { return g.ordered(c.pushes[i], c.pushes[l]) }) {
				if len(last) > 0 && one && x.segment < g.events[c.pushes[last[0]]].segment {
					break // as are all before it
				}
				continue
			}
			last = append(last, i)
			g.before(c.done[i], c.effect[j])
		}
	}
}

// packets adds what reads of packets wait for. It returns false if that takes too long.
func (g *graph) packets(ctx context.Context) bool {
	work := verify.Begin(ctx, maxPairs<<4)
	type key struct {
		launch, space int
	}
	reads, writes := map[key][]slot{}, map[key][]slot{}
	for i := range g.moves {
		m := &g.moves[i]
		add := func(to map[key][]slot, s model.PlanSpan) {
			if !s.Packet || s.Size <= 0 {
				return
			}
			k := key{m.launch, g.plans[m.launch].Buffers[s.Buffer].Space}
			to[k] = append(to[k], slot{i, s.Start, s.Start + s.Size})
		}
		for _, s := range m.Dsts {
			add(writes, s)
		}
		if !m.proxy {
			for _, s := range m.Srcs {
				add(reads, s)
			}
		}
	}
	for k, list := range reads {
		for _, r := range list {
			if !work.Go(len(writes[k])) {
				return false
			}
			var of []slot // the parts that others write
			for j, w := range writes[k] {
				if w.start >= r.end || r.start >= w.end {
					continue
				}
				low, high := max(w.start, r.start), min(w.end, r.end)
				if !work.Go(len(writes[k])) {
					return false
				}
				if !g.only(writes[k], k.space, j, low, high) { // it may be another one that is read
					continue
				}
				of = append(of, slot{w.move, low, high})
				a, b := &g.moves[w.move], &g.moves[r.move]
				if r.start <= w.start && w.end <= r.end {
					g.weaklyBefore(a.done, b.done)
				}
				if w.start <= r.start && r.end <= w.end {
					g.weaklyBefore(a.begin, b.begin)
				}
				g.weaklyBefore(a.begin, b.done)
				g.reads[w.move] = append(g.reads[w.move], slot{r.move, w.start, r.start}) // the shift, for aligned
			}
			g.share(r, of)
		}
	}
	return true
}

// share notes a read of which others write a part each, and all together.
func (g *graph) share(r slot, of []slot) {
	if len(of) < 2 {
		return
	}
	slices.SortFunc(of, func(a, b slot) int { return cmp.Compare(a.start, b.start) })
	p, at := parts{read: g.moves[r.move].begin}, r.start
	for _, w := range of {
		if w.start > at {
			return
		}
		at = max(at, w.end)
		p.writes = append(p.writes, g.moves[w.move].begin)
	}
	if at == r.end {
		g.parts = append(g.parts, p)
	}
}

// joint adds that such a read begins after the first of the writes does, if one is first: each of
// its elements waits for an element of one of them.
func (g *graph) joint() {
	added := false
	for i := 0; i < len(g.parts) && g.order != nil; i++ {
		p := &g.parts[i]
		for _, w := range p.writes {
			after := g.from(w, true)
			if !slices.ContainsFunc(p.writes, func(x int) bool { return x != w && !has(after, x) }) {
				g.weaklyBefore(w, p.read)
				added = true
				break
			}
		}
	}
	if added {
		g.sort()
	}
}

// only reports whether packets from low to high are there only after the j-th of some writes has
// written them: no other one writes them, unless it waits for the same packets itself, as one does
// that stores to all ranks what is in scratch of its own, or the same threads write them later.
func (g *graph) only(writes []slot, space, j int, low, high int64) bool {
	for l, x := range writes {
		if l == j || x.start >= high || low >= x.end {
			continue
		}
		m := &g.moves[x.move]
		waits := !m.proxy && slices.ContainsFunc(m.Srcs, func(s model.PlanSpan) bool {
			return s.Packet && g.plans[0].Buffers[s.Buffer].Space == space && s.Start == x.start && s.Size == x.end-x.start
		})
		first := &g.moves[writes[j].move]
		follows := m.block == first.block && m.launch == first.launch && !m.proxy && !first.proxy && x.move > writes[j].move && m.Grain == first.Grain && x.start == writes[j].start
		if !waits && !follows || x.move == writes[j].move {
			return false
		}
	}
	return true
}

// sort finds a topological order.
func (g *graph) sort() {
	in := make([]int32, len(g.events))
	for e := range g.events {
		for _, to := range g.strong[e] {
			in[to]++
		}
		for _, to := range g.weak[e] {
			in[to]++
		}
	}
	order := make([]int32, 0, len(in))
	for e := range in {
		if in[e] == 0 {
			order = append(order, int32(e))
		}
	}
	for i := 0; i < len(order); i++ {
		e := order[i]
		for _, list := range [][]int32{g.strong[e], g.weak[e]} {
			for _, to := range list {
				if in[to]--; in[to] == 0 {
					order = append(order, to)
				}
			}
		}
	}
	g.order = nil
	if len(order) == len(in) {
		g.order = order
	}
	g.cache = map[int][2][]uint64{}
}
