package quotient

import (
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// ejection makes a plan on a grid shorter: guided ejection search (Nagata and Bräysy, "A powerful route minimization heuristic
// for the vehicle routing problem with time windows", Operations Research Letters 37, 2009), as package broadcast does it for the
// chunks of one root. What arrives after a limit is undone. A job that is missing, the last that was undone first, is done as soon
// as its machines are free; if they never are, it takes the place of those jobs that have been in the way of others least often,
// and random jobs are moved.
type ejection struct {
	*grid
	limit [2]int32  // by operation: no job arrives later
	floor [][]int32 // by part, operation and rank: the slots that it takes to get there from the root
	deep  []int32   // by part and operation: the most of them
	rng   *rand.Rand
	work  *counter
	best  layout
	costs []int32 // what price returns
}

// layout is by which arc and when each job is done, and how long all of that lasts.
type layout struct {
	by, start []int32
	lasts     int32
}

const (
	// triedArcs is over how many arcs a job may be done at once, of those looked at, and ejectedArcs over how many in place of
	// others.
	triedArcs, ejectedArcs = 256, 512
	// seldomEarly is how many jobs take the place of others from those that have their part by then, to one whose parent is to
	// get it sooner, too.
	seldomEarly = 400
	// shaken is how many random jobs are moved at a time, and shakeWork how much work one of them is.
	shaken, shakeWork = 30, 8
)

func newEjection(g *grid, rng *rand.Rand, work *counter) *ejection {
	e := &ejection{grid: g, limit: [2]int32{g.horizon, g.horizon}, floor: make([][]int32, 2*len(g.parts)), rng: rng, work: work}
	type key struct {
		root int
		kind int32
		op   model.Op
	}
	known := map[key][]int32{}
	for i := range e.floor {
		if e.deep = append(e.deep, 0); !g.ops[i%2] {
			continue
		}
		pt := &g.parts[i/2]
		k := key{pt.root, pt.kind, model.Op(i % 2)}
		if known[k] == nil {
			known[k] = g.reach(k.op, k.root, k.kind)
		}
		e.floor[i] = known[k]
		for _, at := range known[k] {
			if at < nowhere { // no rank that is no member
				e.deep[i] = max(e.deep[i], at)
			}
		}
	}
	return e
}

// reach returns the slot in which each rank can have a part at the earliest, from its root.
func (g *grid) reach(op model.Op, root int, kind int32) []int32 {
	floor := slices.Repeat([]int32{nowhere}, int(g.ranks))
	floor[root] = 0
	for again := true; again; {
		again = false
		for v, into := range g.into[op] {
			for i := range into {
				if at := floor[into[i].parent] + g.ways[op][kind][into[i].way].lasts; at < floor[v] {
					floor[v], again = at, true
				}
			}
		}
	}
	return floor
}

// run makes the plan shorter until it lasts at most enough slots or the work is done, and reports whether there is one. The best is
// kept.
func (e *ejection) run(enough int32) bool {
	for !e.work.stop() {
		if len(e.pool) == 0 {
			e.best = layout{slices.Clone(e.by), slices.Clone(e.start), e.lasts()}
			if e.best.lasts <= enough {
				break
			}
			e.lower()
			continue
		}
		if x := e.pool[len(e.pool)-1]; !e.insert(x) {
			e.weigh(x)
			if !e.squeeze(x, e.rng.IntN(seldomEarly) == 0) && !e.squeeze(x, true) {
				break // the limit is less than any part takes
			}
			for range shaken {
				e.shake()
			}
		}
	}
	return e.best.by != nil
}

// weigh makes it cost more to undo a job.
func (e *ejection) weigh(x int32) { e.penalty[x]++ }

// lower sets the limits, of copies or of sums to one slot less than they take, and undoes what arrives later.
func (e *ejection) lower() {
	e.limit = e.ends()
	op := e.rng.IntN(2)
	if !e.both {
		op = 0
		if e.limit[op] == 0 {
			op = 1
		}
	}
	e.limit[op]--
	for x, by := range e.by {
		if by >= 0 && e.at[x] > e.limit[e.op(int32(x))] {
			e.undo(int32(x))
		}
	}
}

// insert does a job as soon as an arc is free, and reports whether that is in time.
func (e *ejection) insert(x int32) bool {
	op, into := e.op(x), e.arcs(x)
	best, by := min(e.need(x), e.limit[op])+1, int32(-1)
	for i, at, looks := len(into), e.rng.IntN(len(into)), 0; i > 0 && looks < triedArcs; i, at = i-1, at+1 {
		j := int32(at % len(into))
		b, from := e.booking(x, j), e.has(e.over(x, &into[j]))
		if from+b.lasts >= best {
			continue
		}
		looks++
		if s := e.opens(op, b, from, best-1-b.lasts); s >= 0 {
			best, by = s+b.lasts, j
		}
	}
	e.work.n += triedArcs / 4
	if by < 0 {
		return false
	}
	e.do(x, by, best-e.booking(x, by).lasts)
	return true
}

// squeeze does a job in place of those whose penalties are the least together: others that use its machines at that time, and those
// that wait for it before. Where early is set its parent may get the part later than that, and is undone, too; if that is the
// root of an allreduce, those of its sums are that end later. It reports whether there is a time for the job.
//
// It takes as long as there are arcs, times slots, times the slots for which a hop keeps machines busy.
func (e *ejection) squeeze(x int32, early bool) bool {
	op, into, need := e.op(x), e.arcs(x), e.need(x)
	best, by, start, ties := int32(nowhere), int32(-1), int32(0), 0
	for i, at, looks := len(into), e.rng.IntN(len(into)), 0; i > 0 && looks < ejectedArcs; i, at = i-1, at+1 {
		j := int32(at % len(into))
		a, b := &into[j], e.booking(x, j)
		source, last := e.over(x, a), e.limit[op]-b.lasts
		has := min(e.has(source), last+1)
		from := has
		if early {
			from = min(has, e.begin(x)+e.floor[x/e.ranks][a.parent])
		}
		if from > last {
			continue
		}
		looks++
		if e.work.n += int64(last+1-from) * b.looks / 4; e.work.ctx.Err() != nil {
			break
		}
		costs := e.price(op, b, from, last+1-from)
		switch {
		case has > from && e.isRoot(source):
			for y := e.first[e.turned(source)]; y >= 0; y = e.next[y] {
				e.charge(costs, 0, e.horizon-e.start[y]-from, y)
			}
		case has > from:
			e.charge(costs, 0, has-from, source)
		}
		if last+b.lasts > need {
			for y := e.first[x]; y >= 0; y = e.next[y] {
				e.charge(costs, e.start[y]-b.lasts+1-from, last+1-from, y)
			}
		}
		for i, cost := range costs {
			if cost > best {
				continue
			}
			if cost < best {
				best, ties = cost, 0
			}
			if ties++; ties == 1 || e.rng.IntN(ties) == 0 {
				by, start = j, from+int32(i)
			}
		}
	}
	if by < 0 {
		return false
	}
	e.force(x, by, start)
	return true
}

// begin returns the slot before which no root can have the part of a job.
func (e *ejection) begin(x int32) int32 {
	if !e.both {
		return 0
	}
	return max(0, e.horizon-e.limit[1-e.op(x)]+e.deep[e.turned(x)/e.ranks])
}

// charge adds what it costs to undo a job to some costs, from the one on and before the other.
func (e *ejection) charge(costs []int32, from, before int32, x int32) {
	for i := max(0, from); i < min(before, int32(len(costs))); i++ {
		costs[i] += e.penalty[x]
	}
}

// price returns, for each of some slots from one on, the penalties of the jobs that are in the way of a hop that starts then. What
// it returns is overwritten by the next call.
func (e *ejection) price(op model.Op, b *booking, from, slots int32) []int32 {
	if cap(e.costs) < int(slots) {
		e.costs = make([]int32, slots)
	}
	costs := e.costs[:slots]
	clear(costs)
	for _, v := range b.visits {
		row, at := int(v.machine)*int(e.horizon), int(from+v.off)
		add(costs, e.fine[op][row+at:])
		for later := range int(v.width) - 1 { // and who begins before the hop is over
			add(costs, e.begins[op][row+at+1+later:])
		}
	}
	return costs
}

// add adds the first of some penalties to costs.
func add(costs, penalties []int32) {
	for i, f := range penalties[:len(costs)] {
		costs[i] += f
	}
}

// force does a job and undoes what is in its way.
func (e *ejection) force(x, by, start int32) {
	b, source := e.booking(x, by), e.over(x, &e.arcs(x)[by])
	if e.has(source) > start {
		if e.isRoot(source) {
			e.undoWaiting(e.turned(source), e.horizon-start)
		} else if e.by[source] >= 0 {
			e.undo(source)
		}
	}
	for _, v := range b.visits {
		for at := start + v.off; at < start+v.off+v.width; at++ {
			if y := e.owned(e.op(x), v.machine, at); y >= 0 {
				e.undo(y)
			}
		}
	}
	e.undoWaiting(x, start+b.lasts)
	e.do(x, by, start)
}

// undoWaiting undoes those jobs that wait for one and start before a slot.
func (e *ejection) undoWaiting(x, before int32) {
	for y := e.first[x]; y >= 0; {
		next := e.next[y]
		if e.start[y] < before {
			e.undo(y)
		}
		y = next
	}
}

// shake moves a random job to a random arc and time, if that is free and soon enough. Every other time it must not be later than it
// was if something waits for it.
func (e *ejection) shake() {
	x := int32(e.rng.IntN(len(e.at)))
	if e.by[x] < 0 {
		return
	}
	op, into := e.op(x), e.arcs(x)
	j := int32(e.rng.IntN(len(into)))
	b := e.booking(x, j)
	from, last := e.has(e.over(x, &into[j])), min(e.need(x), e.limit[op])
	if e.first[x] >= 0 && e.rng.IntN(2) == 0 {
		last = min(last, e.at[x])
	}
	if last -= b.lasts; from > last {
		return
	}
	e.work.n += shakeWork
	if at := e.opens(op, b, from+int32(e.rng.IntN(int(last-from+1))), last); at >= 0 {
		e.undo(x)
		e.do(x, j, at)
	}
}

// plan returns the best plan.
func (e *ejection) plan() *plan {
	for x, by := range e.by {
		if by >= 0 {
			e.undo(int32(x))
		}
	}
	for x, by := range e.best.by {
		if by >= 0 {
			e.do(int32(x), by, e.best.start[x])
		}
	}
	return e.grid.plan()
}
