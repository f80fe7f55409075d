//go:build cgo

package broadcast

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// timed looks for a broadcast over the trees with times of a linear program (see program), if latencies are a good part of the
// time: chunks leave the root as the program says and take images of its trees that load links alike at any time. Hops are placed
// in the order that the program gives them, and then as late and as soon as they can be (see justified). Ejections make that shorter
// (see squeezing); where there are too many chunks for it, the last ones take other ways (see drained). In a broadcast that takes long
// among many ranks, most of what leaves the root takes the same trees at any time, and chunks are placed in slots (see slots).
type timed struct {
	p            *model.Problem
	o            solve.Options
	far          model.Time // when a byte can be at the last member
	first, width model.Time // of bins, at first and at last
	g            *program
	best         *program // of those that have trees the one that ends first
	solved       bool     // others would hardly end sooner, or there are none
	programs     int      // that were solved in this attempt
	found        solve.Result
	squeezing    *squeezing // of what is to be made shorter
	coarse       bool       // few chunks are not: many are better
	attempts     int        // which have ended
	steady       bool       // what leaves the root long before the end takes the same trees at any time
	placed       int        // hops that were asked for at last, if steady
}

// newTimed returns a search that has not begun; nil if it would be of no use for p: other methods do where there is at most one switch.
func newTimed(p *model.Problem, o solve.Options) *timed {
	n := len(p.Members())
	if highs.Available() != nil || p.Cost != model.Pipelined || p.Release != nil || len(p.Topology.Ports) > 0 || longestSlot(p.Topology) == 0 || len(p.Topology.Switches) < 2 || n <= fewRanks || n > manyRanks {
		return nil
	}
	x := &timed{p: p, o: o, far: latencyFromRoot(p)}
	most := mostTimed * x.far
	if n > maxShallow { // otherwise shallow trees are as good
		x.steady, most = o.Bound > leastSteady*x.far, mostSteady*x.far
	}
	if o.Bound < x.far+x.far/leastTimed || o.Bound > most {
		return nil
	}
	x.width = binWidth(p.Topology, x.far, o.Bound)
	return x
}

// short reports whether trees are always others: few of them are sent before the end.
func (x *timed) short() bool { return x.o.Bound < shortTimed*x.far }

// run returns the best schedule that is found, if there is one. In each of some attempts a program is solved, chunks take images of its trees that
// are chosen at random, and what they make is made shorter; where chunks are too coarse for that there are many, if there is time. It goes on when
// it is run again.
func (x *timed) run(b *solve.Budget) solve.Result {
	if x.steady {
		return x.runSteady(b)
	}
	left, again := b.Left(), x.g != nil
	enough, placed := max(x.o.Bound, x.o.Enough), 0 // chunks
	done := func() bool {
		return x.attempts == len(amples) || x.found.Schedule != nil && x.found.Makespan() <= enough
	}
	for !done() && b.Stop() == 0 {
		if x.squeezing == nil && !x.solved {
			limit := b.Left() / 4 * 3
			switch {
			case left == math.MaxInt64:
				limit = 0
			case again:
				limit = b.Left() / 3
			}
			share, cancel := solve.NewBudget(b.Context(), limit, b.Threads())
			x.solved = x.search(share.Context())
			cancel()
		}
		if x.best == nil {
			break
		}
		if x.squeezing == nil && !x.coarse {
			var r solve.Result
			if r, x.squeezing = x.sent(b.Context(), fewHops, 0); r.Schedule == nil { // it was stopped
				break
			}
			if x.squeezing == nil {
				x.found, x.coarse, placed = sooner(x.found, r), true, len(r.Problem.Chunks)
			}
		}
		if x.coarse {
			if again || x.short() || b.Left() > left/2 { // else there is more time for it later
				r, _ := x.sent(b.Context(), mostHops, placed)
				x.found, x.attempts = sooner(x.found, r), len(amples)
			}
			break
		}
		if x.found = sooner(x.found, x.squeezing.run(b.Context(), enough)); !x.squeezing.done {
			break
		}
		x.attempts, x.squeezing, x.best, x.solved, x.programs = x.attempts+1, nil, nil, false, 0
	}
	r := ended(b, x.found)
	if !done() {
		r = x.unfinished(r)
	}
	return r
}

// unfinished returns a result that goes on when there is more time.
func (x *timed) unfinished(r solve.Result) solve.Result {
	if r.Stop == solve.Done {
		r.Stop = solve.TimeLimit
	}
	r.More = func(ctx context.Context, o solve.Options) (solve.Result, error) {
		b, done := o.Budget(ctx)
		defer done()
		return x.run(b), nil
	}
	return r
}

// runSteady is run where trees are the same for a long time: chunks take them in slots, as many as there is time for; the program has the rest of the
// time. When it is run again, the program is solved better first.
func (x *timed) runSteady(b *solve.Budget) solve.Result {
	most, left := x.o.AtMost(mostSteadyHops), b.Left()
	hops, limit := most, time.Duration(0)
	if left != math.MaxInt64 {
		for hops > fewSteadyHops && time.Duration(hops)*perSteadyHop > left/2 {
			hops /= 2
		}
		hops = max(hops, x.placed)
		limit = max(1, left-time.Duration(hops)*perSteadyHop)
	}
	share, cancel := solve.NewBudget(b.Context(), limit, b.Threads())
	better := x.solveSteady(share.Context())
	cancel()
	if b.Stop() == 0 && x.best != nil && (hops > x.placed || better) {
		if r := x.inSlots(b.Context(), hops); r.Schedule != nil { // else it was stopped, or there are no slots
			x.found, x.placed = sooner(x.found, r), hops
		}
	}
	r := ended(b, x.found)
	if x.best != nil && (!x.solved || x.placed < most) && (x.found.Schedule == nil || x.found.Makespan() > max(x.o.Bound, x.o.Enough)) {
		r = x.unfinished(r)
	}
	return r
}

// solveSteady solves a program whose buffer is as large as it takes to be steady, or goes on with it, and reports whether it is better then.
func (x *timed) solveSteady(ctx context.Context) bool {
	if x.solved {
		return false
	}
	if x.g == nil {
		limit, err := fluid.Rate(ctx, x.p)
		if err != nil {
			return false
		}
		seconds, _ := limit.TimeOf(x.p.Space()).Float64()
		end, p := steadyEnd*x.far, *x.p
		p.Size = max(1, x.p.Size+int64(float64(x.p.Size)*float64(end-x.o.Bound)/(seconds*1e12)))
		g := newProgram(ctx, &p, x.far, end, x.width, true)
		if g == nil {
			return false
		}
		g.reserve(x.reserved(ctx, limit))
		if g.sow(ctx, sweeps) != nil {
			g.lp.Close()
			return false
		}
		x.g = g
	}
	before := x.g.whole
	if x.solved = x.g.improve(ctx, math.Inf(1)); x.solved && !x.g.thorough {
		x.g.thorough = true
		x.solved = x.g.improve(ctx, math.Inf(1))
	}
	if x.solved {
		x.g.lp.Close()
	}
	if x.g.shares == nil {
		return false
	}
	x.best = x.g
	return x.g.whole > before
}

// reserved returns the part of links between switches that a program leaves idle: where all links of a hop are nearly full, slots in which it can take them are
// rare. It is as large as it can be, up to mostReserved, without making the rate of the broadcast less.
func (x *timed) reserved(ctx context.Context, limit fluid.Limit) float64 {
	for part := mostReserved; part > leastReserved; part /= 2 {
		t, p := *x.p.Topology, *x.p
		t.Links = slices.Clone(t.Links)
		for l := range t.Links {
			if betweenSwitches(&t, l) {
				t.Links[l].Bandwidth = int64(float64(t.Links[l].Bandwidth) * (1 - part))
			}
		}
		p.Topology = &t
		if less, err := fluid.Rate(ctx, &p); err == nil && less.TimeOf(p.Space()).Cmp(limit.TimeOf(p.Space())) == 0 {
			return part
		}
	}
	return 0
}

// inSlots returns a schedule of about a number of hops, none if there are no slots or ctx is done before.
func (x *timed) inSlots(ctx context.Context, hops int) (r solve.Result) {
	p := *x.p
	grid := x.best.cut(&p, hops)
	all := x.best.deal(&p, len(p.Chunks))
	if all == nil || !x.best.balance(ctx, all) {
		return r
	}
	s := newSlots(x.best, &p, all, grid)
	if s == nil || !s.place(ctx, x.best.width/tooEarly) {
		return r
	}
	return solve.Result{Problem: &p, Schedule: s.schedule(), Stop: solve.Done, Note: fmt.Sprintf("%d trees with times", len(x.best.trees))}
}

// sent returns a schedule of about a number of hops, and a search that makes it shorter, or where there is none, one whose last chunks take other
// ways. There is no schedule if ctx is done before, or if it has a number of chunks that was placed before.
func (x *timed) sent(ctx context.Context, hops, placed int) (r solve.Result, y *squeezing) {
	p := *x.p
	grid := x.best.cut(&p, hops)
	if len(p.Chunks) == placed {
		return r, nil
	}
	s := x.best.send(ctx, &p, grid)
	if s == nil {
		return r, nil
	}
	r = solve.Result{Problem: &p, Schedule: s.schedule(ctx), Stop: solve.Done, Note: fmt.Sprintf("%d trees with times", len(x.best.trees))}
	if x.squeezes(&p) {
		y = newSqueezing(r)
	}
	if y == nil && r.Schedule != nil {
		if t := s.drainedInTime(ctx, x.o.Bound).schedule(ctx); t != nil {
			r.Schedule = t
		}
	}
	return r, y
}

// squeezes reports whether schedules of p are made shorter: others in finer chunks are shorter, if a chunk lasts a while.
func (x *timed) squeezes(p *model.Problem) bool {
	_, ok := squeezable(p)
	return ok && model.TransferTime(p.Chunks[0].Size, fastestOf(p.Topology)) <= x.far/fineChunks
}

// search solves programs for broadcasts which end soon after the bound, and reports whether others would hardly end sooner. Bins are
// wide at first: such programs are soon solved, and their trees are good to begin with in those of narrower bins. The end is put
// off, or forward, by what a program says. Later attempts begin with the trees of the one before.
func (x *timed) search(ctx context.Context) bool {
	switch {
	case x.g == nil:
		x.first = x.width
		for 2*x.first <= min(x.far/leastBins, ejection.UnitOf(x.p.Topology)) {
			x.first *= 2
		}
		g := newProgram(ctx, x.p, x.far, x.o.Bound+x.o.Bound/200, x.first, false)
		if g == nil {
			return false
		}
		few, sown := *x.p, manySweeps
		g.cut(&few, fewHops)
		if g.ample = -nearlyWhole; x.squeezes(&few) {
			g.ample, g.thorough, sown = amples[0], true, sweeps
		}
		if g.sow(ctx, sown) != nil {
			g.lp.Close()
			return false
		}
		x.g = g
	case x.best == nil && x.attempts > 0:
		if x.g.ample = amples[x.attempts]; x.g.again(x.next(), x.g.width) != nil {
			return true
		}
	}
	for g := x.g; ; x.programs++ {
		enough := math.Inf(1)
		if g.width < x.first && x.attempts == 0 && len(g.hops) > quickHops {
			enough = 1
		}
		done := g.improve(ctx, enough)
		if g.shares == nil {
			return false
		}
		if x.best == nil || g.ends()+2*g.width < x.best.ends()+2*x.best.width { // a byte waits for half a bin at each of some ranks
			solved := *g
			x.best = &solved
		}
		if !done {
			return false
		}
		end, width := x.next(), g.width
		far := max(end-g.end(), g.end()-end) > g.end()/nearEnd
		switch {
		case width > x.width && !far:
			width /= 2
		case !far || x.programs >= mostPrograms:
			g.lp.Close()
			return true
		}
		if g.again(end, width) != nil {
			g.lp.Close()
			return true
		}
	}
}

// next returns when the next program should end: no sooner than the bound, and no sooner than this one if what it lacks leaves the root before.
func (x *timed) next() model.Time {
	least := x.o.Bound
	if x.g.ample < 0 {
		least = x.g.end()
	}
	return max(least, x.g.end()+x.g.lacks())
}

// lacks returns how much earlier a program must begin for what it should send, about; negative if it sends more.
func (g *program) lacks() model.Time {
	sums, most := make([]float64, g.bins()), 0.0
	for j, x := range g.shares {
		sums[g.trees[j].bin] += x
	}
	for bin, x := range sums {
		most = max(most, x/float64(g.lasts(bin)))
	}
	if most == 0 { // no tree is in time
		return g.end()
	}
	return model.Time(math.Ceil((1 + g.ample - g.whole) / most))
}

// ends returns when what a program sends ends, about: what it lacks costs twice its time.
func (g *program) ends() model.Time { return g.end() + 2*max(0, g.lacks()) }

// binWidth returns the width of bins in which trees leave the root: it divides all latencies, if there is a time that does.
func binWidth(t *model.Topology, far, end model.Time) model.Time {
	width := far / coarseTime
	if end < longTimed*far {
		width = max(end/mostBins, far/fineTime)
	}
	if unit := ejection.UnitOf(t); unit > 0 {
		n := max(1, (unit+width/2)/width)
		if end < longTimed*far {
			n += n & 1 // the first bins are twice as wide
		}
		for unit%n != 0 && n < unit {
			n++
		}
		width = unit / n
	}
	return max(1, width)
}

const (
	// leastTimed is by which part of the time to the farthest rank a broadcast takes longer, and mostTimed how many times as long,
	// where it is worth while.
	leastTimed, mostTimed = 4, 5
	// leastSteady is from how many times that time on, and mostSteady up to how many times, trees are the same for a long time, and steadyEnd how many
	// times as long a broadcast takes whose program is solved then.
	leastSteady, mostSteady, steadyEnd = 3, 12, 6
	// fewSteadyHops and mostSteadyHops are how many hops there are about, at least and at most, if chunks take slots.
	fewSteadyHops, mostSteadyHops = 1 << 17, 1 << 20
	// perSteadyHop is how long it takes to place one of them.
	perSteadyHop = 2500 * time.Nanosecond
	// mostReserved is the part of links between switches that is left idle, and leastReserved what is not worth while.
	mostReserved, leastReserved = 0.15, 0.02
	// coarseTime is how many bins the time to the farthest rank has in what takes longTimed times that time; in what is shorter
	// there are about mostBins in all, of which that time has fineTime at most.
	coarseTime, longTimed, mostBins, fineTime = 6, 3, 50, 30
	// leastBins is how many bins the time to the farthest rank has at first at least.
	leastBins = 4
	// mostPrograms is how many programs are solved, about, and nearEnd the part of its end by which one is put off that is nearly right.
	mostPrograms, nearEnd = 16, 300
	// sweeps is how often trees are grown for each bin at first if programs are solved thoroughly, and manySweeps if they are not.
	sweeps, manySweeps = 9, 42
	// nearlyWhole is the part of the buffer that may leave the root earlier than planned in programs that are not solved thoroughly.
	nearlyWhole = 0.05
	// quickHops is up to how many hops programs of narrow bins are solved quickly.
	quickHops = 1 << 11
	// fineChunks is how many chunks pass a link in the time to the farthest rank if they are fine.
	fineChunks = 256
	// shortTimed is up to how many times the time to the farthest rank takes what is short: there trees are always others.
	shortTimed = 2
)

// latencyFromRoot returns the time at which a byte can be at the last member.
func latencyFromRoot(p *model.Problem) model.Time {
	tiny := *p
	tiny.Size = 1
	return model.Time(quickest(&tiny) * 1e12)
}

// cut cuts the buffer of p, for about as many hops as most, and returns the grid on which they begin: a chunk takes as long on the
// fastest links, nearly, and it divides all latencies, so that hops over several links leave no gaps that are too short. Where
// there is none, it is 1.
func (g *program) cut(p *model.Problem, most int) (grid model.Time) {
	unit, fastest := ejection.UnitOf(p.Topology), fastestOf(p.Topology)
	p.Chunks, grid = solve.Evenly(p.Space(), int64(max(1, most/g.others))), 1
	slots := min(unit/max(1, model.TransferTime(p.Chunks[0].Size, fastest)), mostOfUnit)
	least := math.Inf(1)
	for n := max(1, slots/8); n <= slots; n++ {
		if unit%n != 0 {
			continue
		}
		size := int64(float64(unit/n) * float64(fastest) / 1e12)
		for size > 0 && model.TransferTime(size, fastest) > unit/n {
			size--
		}
		if size == 0 {
			continue
		}
		idle := float64(unit/n)*float64(fastest)/1e12/float64(size) - 1
		if cost := idle + coarseness*float64(slots)/float64(n); cost < least {
			least, grid, p.Chunks = cost, unit/n, solve.OfSize(p.Space(), size)
		}
	}
	return grid
}

const (
	// fewHops and mostHops are about how many hops there are at first and at last.
	fewHops, mostHops = 1 << 16, 3 << 18
	// mostOfUnit is in how many slots the longest time that divides all latencies is divided at most, and coarseness how much idle
	// time they are worth.
	mostOfUnit, coarseness = 1500, 0.001
)

// amples is how much more than the buffer a program sends, as a part of it, in each attempt: it leaves room for what is placed, but ends later.
var amples = []float64{0, 0.01, 0.02, 0.03}
