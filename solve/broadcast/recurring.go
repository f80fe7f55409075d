package broadcast

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
	"github.com/oraccl/oraccl/solve/fluid"
)

// recurring looks for a broadcast in many chunks that repeats a period of a few of them, as in modulo scheduling (Rau, MICRO
// 1994): a grid of one period is made shorter by ejections, repeated, and made shorter at its begin and its end. How many
// chunks a period has and how much room there is in it is chosen by trying.
type recurring struct {
	p    *model.Problem // cut
	near *neighbours
	all  *grid   // of all chunks: nothing is done
	item float64 // slots that a chunk takes in the fluid limit
	best *grid
	ends int32 // of the best before it was made shorter at its begin and its end
}

const (
	// mostRecurring is how many chunks a broadcast has that recurs and takes longRecurring times the latency to the farthest rank
	// in the fluid limit, and mostRecurringJobs how many jobs at most, about.
	mostRecurring, mostRecurringJobs = 1 << 10, 1 << 18
	// longRecurring is up to how many times that latency a broadcast takes that recurs, and longestRecurring up to how many
	// among few ranks: where it is longer, latencies hardly count.
	longRecurring, longestRecurring = 10, 100
	// recurs is the work without progress after which a period is given up, or taken.
	recurs = 1 << 23
	// quicklyTried is how many jobs a period has whose layout is found in a second, about.
	quicklyTried = 768
	// behindRecurring is the part of the best makespan by which periods end later, one after the other, that are worth no more
	// work.
	behindRecurring = 20
)

// ejectedRecurring makes a broadcast that recurs shorter by ejections, for which a quarter of the time remains.
func ejectedRecurring(b *solve.Budget, p *model.Problem, near *neighbours, o solve.Options) solve.Result {
	most, done := solve.NewBudget(b.Context(), b.Left()/4*3, b.Threads())
	g := recurred(most.Context(), p, near, max(o.Bound, o.Enough))
	done()
	return ejected(b.Context(), p, g, o)
}

// recurred returns the best grid on which all is done that ctx leaves time for, nil if there is none, or the first that is soon
// enough.
func recurred(ctx context.Context, p *model.Problem, near *neighbours, enough model.Time) *grid {
	x := newRecurring(ctx, p, near)
	if x == nil {
		return nil
	}
	for _, a := range x.attempts() {
		if ctx.Err() != nil || x.best != nil && x.best.raster.Time(x.best.Lasts()) <= enough {
			break
		}
		x.try(ctx, a)
	}
	return x.best
}

// newRecurring returns a search before its first attempt, nil where there are no slots for it.
func newRecurring(ctx context.Context, p *model.Problem, near *neighbours) *recurring {
	limit, err := fluid.Rate(ctx, p)
	if err != nil {
		return nil
	}
	whole, _ := limit.TimeOf(p.Space()).Float64()
	chunks := mostRecurring * max(1, whole*1e12/(longRecurring*float64(near.farthest())))
	r := paced(p, int64(min(chunks, float64(mostRecurringJobs/p.Topology.Ranks))))
	if r.Slots == 0 {
		return nil
	}
	x := &recurring{p: r.cut(p), near: near}
	seconds, _ := limit.TimeOf(x.p.Chunks[0].Size).Float64()
	x.item = seconds * 1e12 * float64(r.Slots) / float64(r.Unit)
	longest := model.Time(whole*1e12) + near.farthest()
	if !r.Counts(4 * longest) {
		return nil
	}
	horizon := 4 * r.Up(longest)
	if int(horizon)*len(p.Topology.Links) > mostSlots {
		return nil
	}
	if x.all = newGrid(x.p, r, horizon); x.all == nil {
		return nil
	}
	return x
}

// attempt is a number of chunks in a period of some slots.
type attempt struct {
	chunks int
	period int32
}

// attempts returns the periods that are tried: first those that are hardly longer than in the fluid limit.
func (x *recurring) attempts() (list []attempt) {
	widest := int32(1)
	for i := range x.all.lanes {
		widest = max(widest, x.all.lanes[i].width)
	}
	add := func(n int, room float64) {
		a := attempt{n, max(widest, int32(math.Ceil(x.item*float64(n)*(1+room)-alike)))}
		periods := (len(x.p.Chunks) + n - 1) / n
		if n <= len(x.p.Chunks) && periods*int(a.period) <= int(x.all.Horizon) && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	for _, n := range []int{14, 10, 8, 16, 20} {
		add(n, 0)
	}
	large := func(a attempt) int { return a.chunks * x.all.Ranks / quicklyTried }
	slices.SortStableFunc(list, func(a, b attempt) int {
		return cmp.Or(cmp.Compare(x.waste(a), x.waste(b)), cmp.Compare(large(a), large(b)))
	})
	add(40, 1.0/8)
	add(16, 1.0/2)
	return list
}

// waste returns by how many hundredths a period is longer than in the fluid limit.
func (x *recurring) waste(a attempt) int {
	return int(100*(float64(a.period)/(x.item*float64(a.chunks))-1) + alike)
}

// farthest returns the longest latency between two ranks.
func (x *neighbours) farthest() (far model.Time) {
	for _, circles := range x.circles {
		for _, c := range circles {
			far = max(far, c.latency)
		}
	}
	return far
}

// lasts returns how many times the latency to the farthest rank a broadcast takes in the fluid limit; infinitely many where it
// cannot recur.
func (x *neighbours) lasts(ctx context.Context, p *model.Problem) float64 {
	if !ejectable(p) || len(p.Members()) > manyRanks || ejection.UnitOf(p.Topology) == 0 {
		return math.Inf(1)
	}
	limit, err := fluid.Rate(ctx, p)
	if err != nil {
		return math.Inf(1)
	}
	whole, _ := limit.TimeOf(p.Space()).Float64()
	return whole * 1e12 / float64(x.farthest())
}

// try looks for the layout of a period, and keeps what is made of it if that is the best.
func (x *recurring) try(ctx context.Context, a attempt) {
	few := *x.p
	few.Chunks = x.p.Chunks[:a.chunks]
	s := newEager(&few, x.near, emptyFirst).run(ctx)
	if s == nil {
		return
	}
	g := x.all.empty(3*x.all.raster.Up(few.Makespan(s)), a.chunks, a.period)
	g.follow(s)
	g.squeezed(ctx, recurs, 0)
	if g.Missing() > 0 {
		return
	}
	h := g.repeated(len(x.p.Chunks))
	if h == nil {
		return
	}
	ends := h.Lasts()
	if x.best != nil && ends > x.ends+x.ends/behindRecurring {
		return
	}
	h.squeezed(ctx, recurs, 0)
	if x.best == nil || h.Lasts() < x.best.Lasts() {
		x.best, x.ends = h, ends
	}
}

// repeated returns the grid of a number of chunks in which one of a period is repeated, nil if that has too many slots.
func (g *grid) repeated(chunks int) *grid {
	periods := int32((chunks + g.chunks - 1) / g.chunks)
	horizon := int(periods-1)*int(g.Period) + int(g.Lasts())
	if horizon*len(g.p.Topology.Links) > mostSlots {
		return nil
	}
	h := g.empty(int32(horizon), chunks, 0)
	for _, x := range g.done() {
		for i := range periods {
			if k := x.Part + int(i)*g.chunks; k < chunks {
				h.Do(h.Job(k, 0, x.Rank), x.By, x.Start+i*g.Period)
			}
		}
	}
	return h
}
