package ejection

import (
	"context"
	"math/rand/v2"
	"slices"
)

// Search makes what is done on a grid last less. What arrives after a limit is undone. A job that is missing, the last that was undone
// first, is done as soon as its machines are free; if they never are, it takes the place of those jobs that have been in the way of
// others least often, and random jobs are moved.
type Search struct {
	*Grid
	Work   int64     // arcs and slots that were looked at
	floor  [][]int32 // by part, direction and rank: see reach
	deep   []int32   // by part and direction
	rng    *rand.Rand
	best   layout
	costs  []int32 // what price returns
	steps  []int32 // by how much more than the one before each costs, by what charge adds
	seldom int     // see seldomEarly
	shaken int     // random jobs that are moved at a time
}

// layout is by which arc and when each job is done.
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
	shaken, shakeWork = 10, 2
	// seldomEarlyPeriod and shakenPeriod are the same in a period: it is full, so that more has to be moved.
	seldomEarlyPeriod, shakenPeriod = 100, 60
)

// NewSearch returns a search on a grid, which it changes.
func NewSearch(g *Grid, rng *rand.Rand) *Search {
	e := &Search{Grid: g, rng: rng, seldom: seldomEarly, shaken: shaken}
	if g.periodic() {
		e.seldom, e.shaken = seldomEarlyPeriod, shakenPeriod
	}
	type key struct{ root, twin, kind, dir int32 }
	type known struct {
		floor []int32
		deep  int32
	}
	seen := map[key]known{}
	for part, root := range g.Roots {
		for dir := range g.dirs {
			k := key{root, g.twin(part), g.Kinds[part], dir}
			x, again := seen[k]
			if !again {
				x.floor, x.deep = g.reach(k.dir, k.root, k.twin, k.kind)
				seen[k] = x
			}
			e.floor, e.deep = append(e.floor, x.floor), append(e.deep, x.deep)
		}
	}
	return e
}

// reach returns the slots in which each rank can have a part at the earliest, after its root, or its twin, can send it to the other one, and the
// most of them; or, where they exchange sums, how many slots before all others send what comes to one of them by then.
func (g *Grid) reach(dir, root, twin, kind int32) (floor []int32, deep int32) {
	if g.held {
		return make([]int32, g.Ranks), 0
	}
	floor = slices.Repeat([]int32{Nowhere}, g.Ranks)
	floor[root] = 0
	exchange := int32(0)
	if twin >= 0 {
		exchange = Nowhere
		for _, a := range g.Arcs[dir][twin] {
			if a.Parent == root {
				exchange = min(exchange, g.Ways[dir][kind][a.Way].Lasts)
			}
		}
		floor[root], floor[twin] = exchange, exchange
	}
	for again := true; again; {
		again = false
		for v, into := range g.Arcs[dir] {
			for i := range into {
				if at := floor[into[i].Parent] + g.Ways[dir][kind][into[i].Way].Lasts; at < floor[v] {
					floor[v], again = at, true
				}
			}
		}
	}
	for _, at := range floor {
		if at < Nowhere { // no rank that is no member
			deep = max(deep, at-exchange)
		}
	}
	floor[root] = 0
	return floor, deep
}

// Run makes the grid last less, until it lasts at most enough slots, an amount of work is done, or ctx is. It leaves the best that was
// found, and reports whether nothing is missing in that.
func (e *Search) Run(ctx context.Context, work int64, enough int32) bool {
	for until := e.Work + work; e.Work <= until && ctx.Err() == nil; {
		if len(e.pool) == 0 {
			e.best = layout{slices.Clone(e.by), slices.Clone(e.start), e.Lasts()}
			if e.best.lasts <= enough {
				break
			}
			e.lower()
			continue
		}
		if x := e.pool[len(e.pool)-1]; !e.insert(x) {
			e.penalty[x]++
			if !e.squeeze(ctx, x, e.rng.IntN(e.seldom) == 0) && !e.squeeze(ctx, x, true) {
				break // the limit is less than any part takes
			}
			for range e.shaken {
				e.shake()
			}
		}
	}
	e.restore()
	return len(e.pool) == 0
}

// Shorten makes the grid last less, by some work at a time. It reports true when all is done in at most enough slots, or when the work was of no use
// as many times in a row as patience says, and false when ctx is done before.
func (e *Search) Shorten(ctx context.Context, work int64, patience int, enough int32) (done bool) {
	for idle := 0; ; idle++ {
		before := e.Lasts()
		switch {
		case e.Missing() == 0 && before <= enough || idle == patience:
			return true
		case ctx.Err() != nil:
			return false
		}
		if e.Run(ctx, work, enough); e.Lasts() < before {
			idle = -1
		}
	}
}

// restore does what was done in the best layout, if there is one.
func (e *Search) restore() {
	if e.best.by == nil {
		return
	}
	for x, by := range e.by {
		if by >= 0 && (e.best.by[x] != by || e.best.start[x] != e.start[x]) {
			e.undo(int32(x))
		}
	}
	for x, by := range e.best.by {
		if by >= 0 && e.by[x] < 0 {
			e.Do(int32(x), by, e.best.start[x])
		}
	}
	e.limit = e.ends()
}

// lower sets the limits, of one direction to one slot less than it takes, or of both if they are one another's images, and undoes what arrives
// later.
func (e *Search) lower() {
	e.limit = e.ends()
	dir := int32(0)
	if e.both {
		dir = int32(e.rng.IntN(2))
	}
	if e.mirrored() {
		last := max(e.limit[0], e.limit[1])
		e.limit = [2]int32{last, last}
		e.limit[1-dir]--
	}
	e.limit[dir]--
	for x, by := range e.by {
		if x := int32(x); by >= 0 && (e.at[x] > e.limit[e.Dir(x)] || e.swaps(x) && e.Horizon-e.start[x] > e.limit[1-e.Dir(x)]) {
			e.undo(x)
		}
	}
}

// insert does a job as soon as an arc is free, and reports whether that is in time.
func (e *Search) insert(x int32) bool {
	dir, into := e.Dir(x), e.arcs(x)
	best, by := min(e.need(x), e.limit[dir])+1, int32(-1)
	for i, at, looks := len(into), e.rng.IntN(len(into)), 0; i > 0 && looks < triedArcs; i, at = i-1, at+1 {
		j := int32(at % len(into))
		w, from := e.way(x, &into[j]), e.ready(x, e.over(x, &into[j]))
		if from+w.Lasts >= best {
			continue
		}
		looks++
		if s := e.opens(dir, w, from, best-1-w.Lasts); s >= 0 {
			best, by = s+w.Lasts, j
		}
	}
	e.Work += triedArcs / 4
	if by < 0 {
		return false
	}
	e.Do(x, by, best-e.way(x, &into[by]).Lasts)
	return true
}

// squeeze does a job in place of those whose penalties are the least together: others that use its machines at that time, and those
// that wait for it before. Where early is set its parent may get the part later than that, and is undone, too; if that is the
// root of an allreduce, those of its sums are that end later. It reports whether there is a time for the job.
//
// It takes as long as there are arcs, times the slots of a period that are looked at, times machines of a hop.
func (e *Search) squeeze(ctx context.Context, x int32, early bool) bool {
	dir, into, need := e.Dir(x), e.arcs(x), e.need(x)
	best, by, start, ties := int32(unmoved-1), int32(-1), int32(0), 0
	for i, at, looks := len(into), e.rng.IntN(len(into)), 0; i > 0 && looks < ejectedArcs; i, at = i-1, at+1 {
		j := int32(at % len(into))
		a := &into[j]
		w, source := e.way(x, a), e.over(x, a)
		last := e.limit[dir] - w.Lasts
		has := min(e.ready(x, source), last+1)
		from := has
		if early {
			from = max(min(has, e.begin(x)+e.floor[x/e.ranks][a.Parent]), has-e.Period)
		}
		if last = min(last, has+e.Period-1); from > last {
			continue
		}
		looks++
		if e.Work += int64(last+1-from) * int64(len(w.Stays)) / 4; ctx.Err() != nil {
			break
		}
		costs := e.price(dir, w, from, last+1-from)
		if has > from {
			e.charge(0, e.at[source]-from, source)
			if e.turns(source) {
				exempt := e.exempt(x, source)
				for y := e.first[e.turned(source)]; y >= 0; y = e.next[y] {
					if y != exempt {
						e.charge(0, e.Horizon-e.start[y]-from, y)
					}
				}
			}
		}
		if last+w.Lasts > need {
			for y := e.first[x]; y >= 0; y = e.next[y] {
				e.charge(e.start[y]-w.Lasts+1-from, last+1-from, y)
			}
		}
		more := int32(0)
		for i, cost := range costs {
			more += e.steps[i]
			if cost += more; cost > best {
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
func (e *Search) begin(x int32) int32 {
	if !e.both {
		return 0
	}
	return max(0, e.Horizon-e.limit[1-e.Dir(x)]+e.deep[e.turned(x)/e.ranks])
}

// charge adds what it costs to undo a job to the costs that price returned, from the one on and before the other: in steps, which are still to
// be added up. So it takes constant time.
func (e *Search) charge(from, before int32, x int32) {
	if from, before = max(0, from), min(before, int32(len(e.steps)-1)); from < before {
		e.steps[from] += e.penalty[x]
		e.steps[before] -= e.penalty[x]
	}
}

// price returns, for each of some slots from one on, the penalties of the jobs that are in the way of a hop that starts then. What
// it returns is overwritten by the next call, and nothing is charged yet.
func (e *Search) price(dir int32, w *Way, from, slots int32) []int32 {
	if cap(e.costs) < int(slots) {
		e.costs, e.steps = make([]int32, slots), make([]int32, slots+1)
	}
	costs := e.costs[:slots]
	e.steps = e.steps[:slots+1]
	clear(costs)
	clear(e.steps)
	for _, v := range w.Stays {
		at := int(v.Machine)*int(e.row) + int(e.in(from+v.Off))
		add(costs, e.fine[dir][at:])
		if v.Width > 1 { // and who begins before the hop is over
			slide(costs, e.begins[dir][at:], int(v.Width))
		}
	}
	for _, b := range w.bars {
		for i := max(0, b[0]-from); i <= min(slots-1, b[1]-from); i++ {
			costs[i] = unmoved
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

// slide adds to each cost the penalties at the slots after its own, until a width.
func slide(costs, penalties []int32, width int) {
	sum := int32(0)
	for _, f := range penalties[1:width] {
		sum += f
	}
	last := len(costs) - 1
	enter, leave := penalties[width:][:last], penalties[1:][:last]
	for i := range last {
		costs[i] += sum
		sum += enter[i] - leave[i]
	}
	costs[last] += sum
}

// force does a job and undoes what is in its way.
func (e *Search) force(x, by, start int32) {
	a := &e.arcs(x)[by]
	w, source, dir := e.way(x, a), e.over(x, a), e.Dir(x)
	if e.turns(source) {
		e.undoWaiting(e.turned(source), e.Horizon-start, e.exempt(x, source))
	}
	if e.at[source] > start && e.by[source] >= 0 {
		e.undo(source)
	}
	for _, v := range w.Stays {
		for at := start + v.Off; at < start+v.Off+v.Width; at++ {
			if y := e.owned(dir, v.Machine, at); y >= 0 {
				e.undo(y)
			}
		}
	}
	e.undoWaiting(x, start+w.Lasts, -1)
	e.Do(x, by, start)
}

// undoWaiting undoes those jobs that wait for one and start before a slot, except for one.
func (e *Search) undoWaiting(x, before, exempt int32) {
	for y := e.first[x]; y >= 0; {
		next := e.next[y]
		if e.start[y] < before && y != exempt {
			e.undo(y)
		}
		y = next
	}
}

// shake moves a random job to a random arc and time, if that is free and soon enough. Every other time it must not be later than it
// was if something waits for it.
func (e *Search) shake() {
	x := int32(e.rng.IntN(len(e.at)))
	if e.by[x] < 0 {
		return
	}
	dir, into := e.Dir(x), e.arcs(x)
	j := int32(e.rng.IntN(len(into)))
	w := e.way(x, &into[j])
	from, last := e.ready(x, e.over(x, &into[j])), min(e.need(x), e.limit[dir])
	if e.first[x] >= 0 && e.rng.IntN(2) == 0 {
		last = min(last, e.at[x])
	}
	if last -= w.Lasts; from > last {
		return
	}
	e.Work += shakeWork
	was, start := e.way(x, &into[e.by[x]]), e.start[x]
	e.free(dir, was, start, true) // its own place
	at := e.opens(dir, w, from+int32(e.rng.IntN(int(last-from+1))), last)
	if at < 0 {
		at = e.opens(dir, w, from, last)
	}
	if at < 0 {
		e.free(dir, was, start, false)
		return
	}
	e.undo(x)
	e.Do(x, j, at)
}
