package broadcast

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/ejection"
)

// squeezing makes a schedule shorter by ejections, from where its transfers are: what chunks lose that are placed one after the other on links
// that are nearly full.
type squeezing struct {
	found  solve.Result // which is made shorter
	search *ejection.Search
	grid   *grid
	done   bool
}

const (
	// mostSqueezed is how many transfers are made shorter at most.
	mostSqueezed = 1 << 17
	// squeezes is how much work is done at a time, and idleSqueezes how often without progress at the end.
	squeezes, idleSqueezes = 1 << 21, 32
	// alikeSlots is by which part of their number there may be fewer slots for the sake of whole picoseconds.
	alikeSlots = 64
	// forWriting is the part of the time that is left for what is found to be written.
	forWriting = 16
	// mostLonger is by which part of its time a schedule is longer at most if its transfers begin with slots.
	mostLonger = 16
)

// squeezable returns the slots in which schedules of p are made shorter, and reports whether there are any, for few enough transfers.
func squeezable(p *model.Problem) (r raster, ok bool) {
	if r, ok = rasterOf(p); !ok || len(p.Chunks)*(len(p.Members())-1) > mostSqueezed {
		return r, false
	}
	for n := r.Slots; n > r.Slots-r.Slots/alikeSlots; n-- {
		if r.Unit%n == 0 { // transfers may begin with slots of whole picoseconds, a little longer than chunks last
			r.Slots = n
			break
		}
	}
	return r, true
}

// newSqueezing returns a search that has not begun; nil if there is no schedule, if it has too many transfers or slots, or takes much longer
// where transfers begin with slots.
func newSqueezing(found solve.Result) *squeezing {
	if found.Schedule == nil {
		return nil
	}
	r, ok := squeezable(found.Problem)
	if !ok {
		return nil
	}
	horizon := r.Up(found.Makespan() + found.Makespan()/mostLonger)
	if int(horizon)*len(found.Problem.Topology.Links) > mostSlots {
		return nil
	}
	g := newGridOver(found.Schedule.Routes, found.Problem, r, horizon)
	if g == nil || !g.take(found.Schedule) {
		return nil
	}
	return &squeezing{found: found, grid: g, search: ejection.NewSearch(g.Grid, rand.New(rand.NewPCG(1, 1)))}
}

// run goes on until what is found takes at most enough, until nothing was better for a while, or until a little before ctx is done, so that there is
// time to write it, and returns the best.
func (x *squeezing) run(ctx context.Context, enough model.Time) solve.Result {
	if end, limited := ctx.Deadline(); limited {
		share, cancel := context.WithDeadline(ctx, end.Add(-time.Until(end)/forWriting))
		defer cancel()
		ctx = share
	}
	first := x.grid.Lasts()
	if x.done = x.done || x.search.Shorten(ctx, squeezes, idleSqueezes, x.grid.raster.Slot(enough)); x.grid.Lasts() < first {
		if s := x.grid.schedule(); x.found.Problem.Makespan(s) < x.found.Makespan() {
			x.found.Schedule = s
		}
	}
	return x.found
}

// take does jobs as a schedule of the same chunks does them, over the routes that it takes, in their order, each in the first slot that is no
// sooner, and reports whether all are done.
func (g *grid) take(s *model.Schedule) bool {
	order := slices.Clone(s.Transfers)
	slices.SortStableFunc(order, func(a, b model.Transfer) int { return cmp.Compare(a.Start, b.Start) })
	for _, t := range order {
		x, route := g.Job(int(t.Chunk), 0, t.Dst), s.Routes[t.Route]
		by := int32(slices.IndexFunc(g.into[t.Dst], func(a ejection.Arc) bool { return slices.Equal(g.lanes[a.Way].route, route) }))
		if by < 0 || !g.Wanted(x) {
			return false
		}
		from := max(g.Has(g.Job(int(t.Chunk), 0, t.Src)), g.raster.Up(t.Start))
		at := g.Opens(x, by, from, g.Horizon-g.lanes[g.into[t.Dst][by].Way].Lasts)
		if at < 0 {
			return false
		}
		g.Do(x, by, at)
	}
	return g.Missing() == 0
}
