package quotient

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// raster divides a unit of time, which divides all latencies, into slots.
type raster struct{ unit, slots model.Time }

// time returns when a slot begins.
func (r raster) time(slot int32) model.Time { return (model.Time(slot)*r.unit + r.slots - 1) / r.slots }

// up returns how many slots a time takes.
func (r raster) up(t model.Time) int32 { return int32((t*r.slots + r.unit - 1) / r.unit) }

// slot returns the slot in which a time is.
func (r raster) slot(t model.Time) int32 { return int32(t * r.slots / r.unit) }

// grid is a plan in slots of time: a hop for each rank and each part that is to get there, or to be summed up from there; some of
// them may be missing, and are in the pool. A rank may send on what it lacks: then it must get it before it first does so.
//
// Sums are read backwards: their slots count from the horizon, so that each hop waits for the one between its parent and the root,
// as copies do. The root of an allreduce sends on what it has when all of its sums have ended that are there.
//
// A job is a part, an operation and a rank, the child of the hop, numbered (2*part+operation)*ranks + rank.
type grid struct {
	s           *shop
	parts       []part
	raster      raster
	ranks       int32
	horizon     int32
	ops         [2]bool    // by operation: whether there are such jobs
	both        bool       // sums and copies
	into        [2][][]arc // by operation and child
	ways        [2][][]booking
	busy        [2][]uint64 // by operation, machine and slot, as that counts them: a bit
	fine        [2][]int32  // and the penalty of the job that keeps it busy, or 0
	begins      [2][]int32  // the same where that job begins to
	owner       []int32     // by machine and slot, as copies count them: that job, or -1
	words       int         // of busy, for a machine
	penalty     []int32     // by job: what it costs to undo it
	at          []int32     // by job: the slot from which on its rank has the part, or is to have it; nowhere if it has no use for it
	start, by   []int32     // by job: the slot in which it starts, and the number of its arc; -1
	first       []int32     // by job: those that wait for it, as a list; -1
	next, prev  []int32
	pool, place []int32 // jobs that are missing, and by job where in the pool it is, or -1
}

// nowhere is later than any slot.
const nowhere = math.MaxInt32 / 2

// arc is a hop to a child from a parent or, of a sum, from the child to it.
type arc struct{ parent, step, way int32 }

// booking is how hops of a kind of parts take a way, in slots.
type booking struct {
	visits []stay
	lasts  int32
	looks  int64 // at slots, for each slot in which a hop may start
}

// stay is when a machine is busy, from the start of a hop on.
type stay struct{ machine, off, width int32 }

// newGrid returns a grid of the jobs of a plan, each in the slots of its time or later, if those are free. It returns nil if
// machines have several lanes, hops have to wait for late ranks, or there would be more than mostSlots.
func newGrid(x *plan, r raster) *grid {
	if float64(x.end)*float64(r.slots)/float64(r.unit)*float64(len(x.s.lanes)) > mostSlots {
		return nil
	}
	for _, n := range x.s.lanes {
		if n != 1 {
			return nil
		}
	}
	g := &grid{s: x.s, parts: x.parts, raster: r, ranks: int32(x.s.t.Ranks)}
	for i := range x.jobs {
		g.ops[x.jobs[i].op] = true
	}
	g.both = g.ops[model.Copy] && g.ops[model.Reduction]
	spare := r.up(x.end/spareTime) + 2 // for hops that find no room in time
	g.horizon = r.up(x.end) + 2*spare
	parents := x.s.parents()
	for op := range 2 {
		g.ways[op] = g.bookings(op == int(model.Reduction))
		g.into[op] = make([][]arc, g.ranks)
		for v := range g.ranks {
			for _, p := range parents[op][v] {
				from := p.rank
				if op == int(model.Reduction) {
					from = v
				}
				st := &x.s.out[x.s.class[from]][p.step]
				if st.wait > 0 {
					return nil
				}
				g.into[op][v] = append(g.into[op][v], arc{p.rank, p.step, st.way})
			}
		}
	}
	g.words = int(g.horizon)/64 + 2
	slots := len(x.s.lanes) * int(g.horizon)
	for op := range 2 {
		g.busy[op], g.fine[op], g.begins[op] = make([]uint64, len(x.s.lanes)*g.words), make([]int32, slots), make([]int32, slots)
	}
	jobs := 2 * len(x.parts) * int(g.ranks)
	none := slices.Repeat([]int32{-1}, jobs)
	g.owner = slices.Repeat([]int32{-1}, slots)
	g.at, g.penalty = slices.Repeat([]int32{nowhere}, jobs), slices.Repeat([]int32{1}, jobs)
	g.start, g.by, g.place = none, slices.Clone(none), slices.Clone(none)
	g.first, g.next, g.prev = slices.Clone(none), slices.Clone(none), slices.Clone(none)
	g.follow(x, spare)
	return g
}

const (
	// spareTime is one of as many parts of a plan's time by which its grid is longer, before and after.
	spareTime = 33
	// mostSlots is how many slots all machines have together at most.
	mostSlots = 1 << 21
)

// bookings returns how each kind of parts takes each way, read backwards for sums.
func (g *grid) bookings(backwards bool) (list [][]booking) {
	for kind := range len(g.s.ways[0].times) {
		var ways []booking
		for w := range g.s.ways {
			tm := &g.s.ways[w].times[kind]
			b := booking{lasts: g.raster.up(tm.lasts)}
			for i, v := range g.s.ways[w].visits {
				from := g.raster.slot(tm.spans[i].From)
				b.visits = append(b.visits, stay{v.machine, from, max(1, g.raster.up(tm.spans[i].To-tm.spans[i].From))})
				b.lasts = max(b.lasts, from+b.visits[i].width)
				b.looks += int64(b.visits[i].width)
			}
			for i := range b.visits {
				if v := &b.visits[i]; backwards {
					v.off = b.lasts - v.off - v.width
				}
			}
			ways = append(ways, b)
		}
		list = append(list, ways)
	}
	return list
}

// follow does the jobs of a plan: sums from the last to the first, then copies from the first on.
func (g *grid) follow(x *plan, spare int32) {
	begin := g.horizon - spare - g.raster.up(x.end)
	if !g.both {
		begin = 0
	}
	slot := func(j *job) int32 {
		if j.op == model.Reduction {
			return max(0, g.horizon-begin-g.raster.up(j.end))
		}
		return begin + g.raster.slot(j.start)
	}
	order := x.order(func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.op, a.op), cmp.Compare(slot(a), slot(b)))
	})
	for _, i := range order {
		j := &x.jobs[i]
		k := g.job(j)
		g.put(k)
		for n, a := range g.into[j.op][j.child()] {
			if a.parent != j.src+j.dst-j.child() || a.step != j.step {
				continue
			}
			b := g.booking(k, int32(n))
			if from := g.has(g.over(k, &a)); from < nowhere {
				if at := g.opens(j.op, b, max(from, slot(j)), g.horizon-b.lasts); at >= 0 {
					g.do(k, int32(n), at)
				}
			}
			break
		}
	}
}

// job returns the number of a job of a plan.
func (g *grid) job(j *job) int32 { return (2*j.part+int32(j.op))*g.ranks + j.child() }

// rank, op and part return those of a job.
func (g *grid) rank(x int32) int32  { return x % g.ranks }
func (g *grid) op(x int32) model.Op { return model.Op(x / g.ranks & 1) }
func (g *grid) part(x int32) *part  { return &g.parts[x/g.ranks>>1] }

// arcs returns those over which a job can be done.
func (g *grid) arcs(x int32) []arc { return g.into[g.op(x)][g.rank(x)] }

// over returns the job for which another one waits over an arc.
func (g *grid) over(x int32, a *arc) int32 { return x - g.rank(x) + a.parent }

// booking returns how a job takes an arc.
func (g *grid) booking(x, by int32) *booking {
	return &g.ways[g.op(x)][g.part(x).kind][g.arcs(x)[by].way]
}

// isRoot reports whether a job's rank is the root of its part.
func (g *grid) isRoot(x int32) bool { return int(g.rank(x)) == g.part(x).root }

// turned returns the job of the same part and rank with the other operation.
func (g *grid) turned(x int32) int32 { return x + g.ranks*(1-2*(x/g.ranks&1)) }

// has returns the slot from which on a job's rank has its part, or is to have it.
func (g *grid) has(x int32) int32 {
	if !g.isRoot(x) {
		return g.at[x]
	}
	if need := g.need(g.turned(x)); need < nowhere { // of an allreduce
		return g.horizon - need
	}
	return 0
}

// need returns the slot in which a job must be done for those that wait for it.
func (g *grid) need(x int32) int32 {
	least := int32(nowhere)
	for y := g.first[x]; y >= 0; y = g.next[y] {
		least = min(least, g.start[y])
	}
	return least
}

// put puts a job into the pool.
func (g *grid) put(x int32) {
	g.place[x] = int32(len(g.pool))
	g.pool = append(g.pool, x)
}

// get takes a job out of the pool.
func (g *grid) get(x int32) {
	i, last := g.place[x], g.pool[len(g.pool)-1]
	g.pool[i], g.place[last] = last, i
	g.pool, g.place[x] = g.pool[:len(g.pool)-1], -1
}

// taken returns in which of 64 slots from one on a machine is busy.
func (g *grid) taken(op model.Op, machine, slot int32) uint64 {
	i := int(machine)*g.words + int(slot>>6)
	low := uint(slot & 63)
	return g.busy[op][i]>>low | g.busy[op][i+1]<<1<<(63-low)
}

// opens returns the first slot, no earlier than one and no later than another, in which a hop can start, or -1.
func (g *grid) opens(op model.Op, b *booking, from, last int32) int32 {
	for ; from <= last; from += 64 {
		free := ^uint64(0) >> uint(max(0, 63-(last-from))) // the other slots may be beyond the horizon
		for _, v := range b.visits {
			for at := from + v.off; at < from+v.off+v.width && free != 0; at++ {
				free &^= g.taken(op, v.machine, at)
			}
		}
		if free != 0 {
			return from + int32(bits.TrailingZeros64(free))
		}
	}
	return -1
}

// do does a job of the pool over an arc that is free.
func (g *grid) do(x, by, start int32) {
	g.get(x)
	b := g.booking(x, by)
	g.mark(g.op(x), b, start, x)
	g.by[x], g.start[x], g.at[x] = by, start, start+b.lasts
	from := g.over(x, &g.arcs(x)[by])
	g.prev[x], g.next[x] = -1, g.first[from]
	if g.first[from] >= 0 {
		g.prev[g.first[from]] = x
	}
	g.first[from] = x
	if g.place[from] >= 0 { // then it is to have the part
		g.at[from] = min(g.at[from], start)
	}
}

// undo puts a job back into the pool. What waits for it stays.
func (g *grid) undo(x int32) {
	g.mark(g.op(x), g.booking(x, g.by[x]), g.start[x], -1)
	from := g.over(x, &g.arcs(x)[g.by[x]])
	if g.prev[x] >= 0 {
		g.next[g.prev[x]] = g.next[x]
	} else {
		g.first[from] = g.next[x]
	}
	if g.next[x] >= 0 {
		g.prev[g.next[x]] = g.prev[x]
	}
	if g.place[from] >= 0 {
		g.at[from] = g.need(from)
	}
	g.by[x], g.start[x], g.at[x] = -1, -1, g.need(x)
	g.put(x)
}

// mark has a job keep the machines of a hop busy, or nobody, if it is -1.
func (g *grid) mark(op model.Op, b *booking, start, x int32) {
	fine := int32(0)
	if x >= 0 {
		fine = g.penalty[x]
	}
	for _, v := range b.visits {
		row, last := int(v.machine)*int(g.horizon), start+v.off+v.width-1
		for at := start + v.off; at <= last; at++ {
			both := [2]int32{at, at}
			both[1-op] = g.horizon - 1 - at
			for op, at := range both {
				word, bit := &g.busy[op][int(v.machine)*g.words+int(at>>6)], uint64(1)<<(at&63)
				if *word |= bit; x < 0 {
					*word &^= bit
				}
				g.fine[op][row+int(at)] = fine
			}
			g.owner[row+int(both[model.Copy])] = x
		}
		g.begins[op][row+int(start+v.off)] = fine
		g.begins[1-op][row+int(g.horizon-1-last)] = fine
	}
}

// owned returns the job that keeps a machine busy in a slot, or -1.
func (g *grid) owned(op model.Op, machine, slot int32) int32 {
	if op == model.Reduction {
		slot = g.horizon - 1 - slot
	}
	return g.owner[int(machine)*int(g.horizon)+int(slot)]
}

// ends returns the slot in which the last job of each operation ends that is done.
func (g *grid) ends() (last [2]int32) {
	for x, by := range g.by {
		if by >= 0 {
			op := g.op(int32(x))
			last[op] = max(last[op], g.at[x])
		}
	}
	return last
}

// lasts returns in how many slots all is done that is.
func (g *grid) lasts() int32 {
	last := g.ends()
	if g.both {
		return last[0] + last[1] - g.horizon
	}
	return max(last[0], last[1])
}

// plan returns the jobs that are done as a plan.
func (g *grid) plan() *plan {
	x := &plan{s: g.s, parts: g.parts}
	for k, by := range g.by {
		if by < 0 {
			continue
		}
		k := int32(k)
		a := &g.arcs(k)[by]
		j := job{part: k / g.ranks >> 1, src: a.parent, dst: g.rank(k), step: a.step, op: g.op(k), start: g.raster.time(g.start[k])}
		if j.op == model.Reduction {
			j.src, j.dst = j.dst, j.src
			j.start = g.raster.time(g.horizon - g.at[k])
		}
		x.jobs = append(x.jobs, j)
	}
	x.settle()
	x.shift()
	return x
}

// settle has jobs that begin with slots end when they do, and starts them as early as it can, in order, if they do not hold then.
func (x *plan) settle() {
	x.end = 0
	for i := range x.jobs {
		j := &x.jobs[i]
		j.end = j.start + x.s.at(x.s.step(j).way, &x.parts[j.part]).lasts
		x.end = max(x.end, j.end)
	}
	if !x.holds() { // offsets that are no slots
		x.early(x.waits(), nil)
	}
}

// holds reports whether jobs wait for what they need, and never meet on a machine.
func (x *plan) holds() bool {
	busy, waits := x.s.books(), x.waits()
	for _, i := range x.order(func(a, b *job) int { return cmp.Compare(a.start, b.start) }) {
		for _, k := range waits[i] {
			if x.jobs[k].end > x.jobs[i].start {
				return false
			}
		}
		if !x.take(busy, &x.jobs[i]) {
			return false
		}
	}
	return true
}

// unitOf returns the longest time that divides all latencies, or 0 if there is none or it is longer than mostUnit.
func unitOf(t *model.Topology) model.Time {
	all := model.Time(0)
	for _, l := range t.Links {
		for rest := l.Alpha; rest != 0; { // Euclid's algorithm
			all, rest = rest, all%rest
		}
	}
	if all > mostUnit {
		return 0
	}
	return all
}

// mostUnit is the longest unit, in picoseconds: with mostSlots of them times stay within 64 bits.
const mostUnit = 1 << 36
