package broadcast

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/improve"
)

// ejection makes a broadcast on a grid end sooner: guided ejection search (Nagata and Bräysy, "A powerful route minimization
// heuristic for the vehicle routing problem with time windows", Operations Research Letters 37, 2009). What ends after a
// limit is undone. A job that is to be done, the last that was undone first, is done as soon as its lanes are free; if they
// never are, it takes the place of those jobs that have been in the way of others least often, and random jobs are moved.
type ejection struct {
	*grid
	limit  int32   // slots: no job ends later
	floor  []int32 // by rank: no chunk is there sooner
	rng    *rand.Rand
	work   int // lanes and slots that were looked at
	best   layout
	costs  []int32 // what price returns
	seldom int     // see seldomEarly
	shaken int     // random jobs that are moved at a time
}

// layout is by which lane and when each job is done.
type layout struct{ by, start []int32 }

const (
	// triedLanes is over how many lanes a job may be done at once, of those looked at, and ejectedLanes over how many in
	// place of others.
	triedLanes, ejectedLanes = 256, 512
	// seldomEarly is how many jobs take the place of others from those that have their chunk by then, to one whose
	// source is to get the chunk sooner, too.
	seldomEarly = 400
	// shaken is how many random jobs are moved at a time.
	shaken = 10
	// seldomEarlyPeriod and shakenPeriod are the same in a period: it is full, so that more has to be moved.
	seldomEarlyPeriod, shakenPeriod = 100, 60
)

func newEjection(g *grid) *ejection {
	e := &ejection{grid: g, limit: g.horizon, floor: slices.Repeat([]int32{never}, g.ranks), rng: rand.New(rand.NewPCG(1, 1)),
		seldom: seldomEarly, shaken: shaken}
	if g.period < g.horizon {
		e.seldom, e.shaken = seldomEarlyPeriod, shakenPeriod
	}
	if len(g.pool) == 0 {
		e.limit = g.ends()
	}
	e.floor[g.p.Collective.Root] = 0
	for again := true; again; {
		again = false
		for i := range g.lanes {
			l := &g.lanes[i]
			if at := e.floor[l.from] + l.lasts; at < e.floor[l.to] {
				e.floor[l.to], again = at, true
			}
		}
	}
	return e
}

// layout returns what is done.
func (g *grid) layout() layout { return layout{slices.Clone(g.by), slices.Clone(g.start)} }

// restore does what was done.
func (g *grid) restore(s layout) {
	for x, by := range g.by {
		if by >= 0 && (s.by[x] != by || s.start[x] != g.start[x]) {
			g.undo(int32(x))
		}
	}
	for x, by := range s.by {
		if by >= 0 && g.by[x] < 0 {
			g.do(int32(x), by, s.start[x])
		}
	}
}

// run makes the makespan shorter until it is at most enough slots, there was no progress for as much work as patience, or
// ctx is done, and leaves the best that was found.
func (e *ejection) run(ctx context.Context, patience int, enough int32) {
	if len(e.pool) == 0 {
		e.best = e.layout()
		e.lower(e.limit - 1)
	}
	for steps, until := 0, e.work+patience; e.limit >= enough && e.work < until; steps++ {
		if steps%(every/16) == 0 && ctx.Err() != nil {
			break
		}
		if len(e.pool) == 0 {
			e.best, until = e.layout(), e.work+patience
			e.lower(e.ends() - 1)
			continue
		}
		if x := e.pool[len(e.pool)-1]; !e.insert(x) {
			e.penalty[x]++
			if !e.squeeze(x, e.rng.IntN(e.seldom) == 0) && !e.squeeze(x, true) {
				break // the limit is less than any chunk takes
			}
			for range e.shaken {
				e.shake()
			}
		}
	}
	if e.best.by != nil {
		e.restore(e.best)
	}
	e.limit = e.ends()
}

// lower sets the limit and undoes what ends later.
func (e *ejection) lower(limit int32) {
	e.limit = limit
	for x, by := range e.by {
		if by >= 0 && e.at[x] > limit {
			e.undo(int32(x))
		}
	}
}

// insert does a job as soon as a lane is free, and reports whether that is in time.
func (e *ejection) insert(x int32) bool {
	best, by := min(e.need(x), e.limit)+1, int32(-1)
	into := e.into[x%int32(e.ranks)]
	for i, at, looks := len(into), e.rng.IntN(len(into)), 0; i > 0 && looks < triedLanes; i, at = i-1, at+1 {
		j := into[at%len(into)]
		l := &e.lanes[j]
		from := e.at[e.source(x, l)]
		if from+l.lasts >= best {
			continue
		}
		looks++
		if s := e.opens(l, from, best-1-l.lasts); s >= 0 {
			best, by = s+l.lasts, j
		}
	}
	e.work += triedLanes / 4
	if by < 0 {
		return false
	}
	e.do(x, by, best-e.lanes[by].lasts)
	return true
}

// squeeze does a job in place of those whose penalties are the least together: others that use its lane at that time, and
// those that are made from it before. Where early is set its source may get the chunk later than that, and is undone, too.
// It reports whether there is a time for the job.
//
// It takes as long as there are lanes, times the slots of a period that are looked at, times links of a lane.
func (e *ejection) squeeze(x int32, early bool) bool {
	best, by, start, ties := int32(never), int32(-1), int32(0), 0
	into, need := e.into[x%int32(e.ranks)], e.need(x)
	for i, at, looks := len(into), e.rng.IntN(len(into)), 0; i > 0 && looks < ejectedLanes; i, at = i-1, at+1 {
		j := into[at%len(into)]
		l := &e.lanes[j]
		source := e.source(x, l)
		last := e.limit - l.lasts
		has := min(e.at[source], last+1)
		from := has
		if early {
			from = max(e.floor[l.from], has-e.period)
		}
		if last = min(last, has+e.period-1); from > last {
			continue
		}
		looks++
		e.work += int(last+1-from) / 2
		costs := e.price(l, from, last+1-from)
		for i := range min(len(costs), int(has-from)) {
			costs[i] += e.penalty[source]
		}
		if last+l.lasts > need {
			for y := e.first[x]; y >= 0; y = e.next[y] {
				for i := max(0, e.start[y]-l.lasts+1-from); int(i) < len(costs); i++ {
					costs[i] += e.penalty[y]
				}
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

// price returns, for each of some slots from one on, the penalties of the jobs that use a lane if something starts then.
// What it returns is overwritten by the next call.
func (e *ejection) price(l *lane, from, slots int32) []int32 {
	if cap(e.costs) < int(slots) {
		e.costs = make([]int32, slots)
	}
	costs := e.costs[:slots]
	clear(costs)
	for i, link := range l.links {
		row := int(link) * int(e.period)
		fine, owner := e.fine[row:][:e.period], e.owner[row:][:e.period]
		at := e.in(from + l.off[i])
		if l.width == 1 {
			for rest := costs; len(rest) > 0; at = 0 {
				n := min(len(rest), len(fine)-int(at))
				for k, f := range fine[at:][:n] {
					rest[k] += f
				}
				rest = rest[n:]
			}
			continue
		}
		e.priceWide(costs, fine, owner, at, l.width)
	}
	return costs
}

// priceWide adds the penalties of the jobs that keep a link busy in any of some slots that follow one another, for each
// first slot from one on.
func (e *ejection) priceWide(costs, fine, owner []int32, at, width int32) {
	begins := func(slot int32) int32 { // the penalty of the job that begins there
		before := slot - 1
		if before < 0 {
			before = e.period - 1
		}
		if owner[slot] == owner[before] {
			return 0
		}
		return fine[slot]
	}
	sum, end := int32(0), at // of the jobs that begin after at, up to end
	for range width - 1 {
		end = e.in(end + 1)
		sum += begins(end)
	}
	for k := range costs {
		costs[k] += fine[at] + sum
		if at++; at == e.period {
			at = 0
		}
		if end++; end == e.period {
			end = 0
		}
		sum += begins(end) - begins(at)
	}
}

// force does a job and undoes what is in its way.
func (e *ejection) force(x, by, start int32) {
	l := &e.lanes[by]
	source := e.source(x, l)
	if e.at[source] > start && e.by[source] >= 0 {
		e.undo(source)
	}
	for i, link := range l.links {
		for j := range l.width {
			if y := e.owner[e.index(link, start+l.off[i]+j)]; y >= 0 {
				e.undo(y)
			}
		}
	}
	for y := e.first[x]; y >= 0; {
		next := e.next[y]
		if e.start[y] < start+l.lasts {
			e.undo(y)
		}
		y = next
	}
	e.do(x, by, start)
}

// shake moves a random job to a random lane and time, if that is free and soon enough. Every other time it must not be
// later than it was if something is made from it.
func (e *ejection) shake() {
	x := int32(e.rng.IntN(len(e.at)))
	if e.by[x] < 0 {
		return
	}
	into := e.into[x%int32(e.ranks)]
	j := into[e.rng.IntN(len(into))]
	l := &e.lanes[j]
	from, last := e.at[e.source(x, l)], min(e.need(x), e.limit)
	if e.first[x] >= 0 && e.rng.IntN(2) == 0 {
		last = min(last, e.at[x])
	}
	if last -= l.lasts; from > last {
		return
	}
	e.work++
	was, start := &e.lanes[e.by[x]], e.start[x]
	e.mark(was, start, -1) // its own place counts as free
	at := e.opens(l, from+int32(e.rng.IntN(int(last-from+1))), last)
	if at < 0 {
		at = e.opens(l, from, last)
	}
	e.mark(was, start, x)
	if at >= 0 {
		e.undo(x)
		e.do(x, j, at)
	}
}

// ejecting is a search that makes chunks finer and finer, each time from the layout of the coarser ones.
type ejecting struct {
	g    *grid
	best solve.Result
}

// ejected returns a broadcast that is made shorter from a grid on by ejections, with twice as many chunks each time. It may
// return no schedule.
func ejected(ctx context.Context, p *model.Problem, g *grid, o solve.Options) solve.Result {
	x := &ejecting{g: g, best: solve.Result{Problem: solve.Cut(p, 1), Stop: solve.Done}}
	return x.run(ctx, o)
}

// run searches until chunks are as fine as they may be or the schedule is good enough, and goes on where ctx ended it before.
func (x *ejecting) run(ctx context.Context, o solve.Options) solve.Result {
	done := x.g == nil
	for !done {
		g := x.g
		enough := int32(max(o.Bound, o.Enough) * g.raster.slots / g.raster.unit)
		last := 2*len(g.by) > mostJobs || 2*len(g.owner) > mostSlots
		patience := ejections * max(1, o.Effort)
		if last {
			patience *= 4
		}
		newEjection(g).run(ctx, patience, enough)
		if len(g.pool) > 0 {
			break
		}
		if s := g.schedule(); x.best.Schedule == nil || g.p.Makespan(s) < x.best.Makespan() {
			x.best.Problem, x.best.Schedule, x.best.Note = g.p, s, fmt.Sprintf("%d chunks, by ejections", g.chunks)
		}
		if ctx.Err() != nil {
			break
		}
		if done = last || g.ends() < enough; !done {
			x.g = g.halved()
		}
	}
	best := x.best
	if stop := solve.StopOf(ctx); stop != 0 {
		best.Stop = stop
	}
	if best.Schedule == nil {
		return best
	}
	if !done && best.Stop == solve.TimeLimit {
		best.More = func(ctx context.Context, o solve.Options) (solve.Result, error) {
			if o.TimeLimit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, o.TimeLimit)
				defer cancel()
			}
			return x.run(ctx, o), nil
		}
	}
	best.Schedule = improve.Schedule(ctx, best.Problem, best.Schedule, improve.Options{Effort: -1, Bound: o.Bound})
	return best
}

const (
	// mostJobs is how many jobs a grid has at most.
	mostJobs = 1 << 14
	// mostSlots is how many slots all links have together at most.
	mostSlots = 1 << 24
	// halvings is how many times as long slots are as the shortest of which there are few enough.
	halvings = 8
	// ejections is how much work is done without progress before chunks are made smaller.
	ejections = 1 << 23
)

// started returns the best of a few grids on which all is done, nil if there is none. Where slots would be too many they are longer.
func started(ctx context.Context, p *model.Problem, near *neighbours, r raster) (best *grid) {
	for _, way := range []order{nearFirst, emptyFirst} {
		s := newEager(p, near, way).run(ctx)
		if s == nil {
			continue
		}
		if !r.counts(2 * p.Makespan(s)) {
			return nil
		}
		horizon := 2 * r.up(p.Makespan(s))
		if slots := int(horizon) * len(p.Topology.Links); slots > mostSlots {
			if best != nil {
				return best
			}
			if r.slots = r.slots * mostSlots / model.Time(halvings*slots); r.slots == 0 {
				return nil
			}
			return started(ctx, r.cut(p), near, r)
		}
		g := newGrid(p, r, horizon)
		if g == nil {
			return nil
		}
		if g.follow(s); len(g.pool) == 0 && (best == nil || g.ends() < best.ends()) {
			best = g
		}
	}
	return best
}
