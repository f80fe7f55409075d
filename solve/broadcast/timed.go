//go:build cgo

package broadcast

import (
	"context"
	"math"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// timed looks for a broadcast over the trees with times of a linear program (see program), if latencies are a good part of the
// time: chunks leave the root as the program says and take images of its trees that load links alike at any time. Hops are placed
// in the order that the program gives them, and then as late and as soon as they can be (see justified); the last chunks take
// other ways (see drained).
type timed struct {
	p        *model.Problem
	o        solve.Options
	far      model.Time // when a byte can be at the last member
	width    model.Time // of bins at last
	g        *program
	best     *program // of those that have trees the one that ends first
	solved   bool     // others would hardly end sooner, or there are none
	programs int      // that were solved
}

// newTimed returns a search that has not begun; nil if it would be of no use for p: other methods do where there is at most one switch.
func newTimed(p *model.Problem, o solve.Options) *timed {
	n := len(p.Members())
	if highs.Available() != nil || p.Cost != model.Pipelined || p.Release != nil || len(p.Topology.Ports) > 0 || longestSlot(p.Topology) == 0 || len(p.Topology.Switches) < 2 || n <= fewRanks || n > manyRanks {
		return nil
	}
	x := &timed{p: p, o: o, far: latencyFromRoot(p)}
	if o.Bound < x.far+x.far/leastTimed || o.Bound > mostTimed*x.far {
		return nil
	}
	x.width = binWidth(p.Topology, x.far, o.Bound)
	return x
}

// short reports whether trees are always others: few of them are sent before the end.
func (x *timed) short() bool { return x.o.Bound < shortTimed*x.far }

// run returns the best schedule that is found, if there is one. If the program takes most of the time it makes one of few chunks and
// goes on when it is run again: then there is time for many chunks, too.
func (x *timed) run(b *solve.Budget) (r solve.Result) {
	left, again := b.Left(), x.g != nil
	if !x.solved {
		limit := left / 4 * 3
		switch {
		case left == math.MaxInt64:
			limit = 0
		case again:
			limit = left / 3
		}
		share, done := solve.NewBudget(b.Context(), limit, b.Threads())
		x.solved = x.search(share.Context())
		done()
	}
	many := again || x.short() || b.Left() > left/2
	if x.best != nil {
		var hops []int
		if !again {
			hops = append(hops, fewHops)
		}
		if many {
			hops = append(hops, mostHops)
		}
		r = x.best.sent(b.Context(), x.o, hops)
	}
	r = ended(b, r)
	if !many || !x.solved || r.Schedule == nil {
		found := r
		r.More = func(ctx context.Context, o solve.Options) (solve.Result, error) {
			b, done := o.Budget(ctx)
			defer done()
			return withMore(found, x.run(b)), nil
		}
		r.Stop = solve.TimeLimit
		if b.Stop() != 0 {
			r.Stop = b.Stop()
		}
	}
	return r
}

// search solves programs for broadcasts which end soon after the bound, and reports whether others would hardly end sooner. Bins are
// twice as wide at first where they are narrow: so there are good trees to begin with.
func (x *timed) search(ctx context.Context) bool {
	if x.g == nil {
		first := x.width
		if x.o.Bound < longTimed*x.far {
			first *= 2
		}
		if x.g = newProgram(ctx, x.p, x.far, x.o.Bound+x.o.Bound/200, first); x.g == nil || x.g.sow(ctx, sweeps) != nil {
			if x.g != nil {
				x.g.lp.Close()
			}
			x.g = nil
			return false
		}
	}
	near := nearlyWhole
	if x.short() {
		near = nearlyWholeShort
	}
	for g := x.g; ; x.programs++ {
		done := g.improve(ctx)
		if g.shares == nil {
			return false
		}
		lacks := g.lacks()
		if x.best == nil || g.ends() < x.best.ends() {
			solved := *g
			x.best = &solved
		}
		if !done {
			return false
		}
		if g.whole > 1-near {
			lacks = 0 // what leaves the root first can do so for longer
		}
		if lacks <= 0 && g.width == x.width || x.programs == mostPrograms || g.again(g.end()+max(0, lacks), x.width) != nil {
			g.lp.Close()
			return true
		}
	}
}

// lacks returns how much earlier a program must begin for the whole buffer, about; negative if it has more.
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
	return model.Time(math.Ceil((1 - g.whole) / most))
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
	// coarseTime is how many bins the time to the farthest rank has in what takes longTimed times that time; in what is shorter
	// there are about mostBins in all, of which that time has fineTime at most.
	coarseTime, longTimed, mostBins, fineTime = 6, 3, 50, 30
	// mostPrograms is how often the end of a program is put off.
	mostPrograms = 8
	// sweeps is how often trees are grown for each bin at first.
	sweeps = 42
	// nearlyWhole is the part of the buffer that may leave the root earlier than the program says, and nearlyWholeShort in what
	// takes shortTimed times the time to the farthest rank, in which trees are always others.
	nearlyWhole, nearlyWholeShort, shortTimed = 0.05, 0.005, 2
)

// sent returns the best schedule of about some numbers of hops, ascending: there are no more than are enough.
func (g *program) sent(ctx context.Context, o solve.Options, hops []int) (best solve.Result) {
	chunks := 0
	for _, most := range hops {
		q := *g.p
		grid := g.cut(&q, most)
		if len(q.Chunks) == chunks {
			break
		}
		chunks = len(q.Chunks)
		if r := g.send(ctx, &q, grid, o); r.Schedule != nil && (best.Schedule == nil || r.Makespan() < best.Makespan()) {
			best = r
		}
		if best.Schedule == nil || best.Makespan() <= o.Enough {
			break
		}
	}
	return best
}

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
