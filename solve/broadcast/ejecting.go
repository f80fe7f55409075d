package broadcast

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/improve"
)

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
		enough := g.raster.Slot(max(o.Bound, o.Enough))
		last := 2*g.Jobs() > mostJobs || 2*g.Slots() > mostSlots
		patience := int64(ejections * max(1, o.Effort))
		if last {
			patience *= 4
		}
		g.squeezed(ctx, patience, enough)
		if g.Missing() > 0 {
			break
		}
		if s := g.schedule(); x.best.Schedule == nil || g.p.Makespan(s) < x.best.Makespan() {
			x.best.Problem, x.best.Schedule, x.best.Note = g.p, s, fmt.Sprintf("%d chunks, by ejections", g.chunks)
		}
		if ctx.Err() != nil {
			break
		}
		if done = last || g.Lasts() <= enough; !done {
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
	ejections = 1 << 24
)

// started returns the best of a few grids on which all is done, nil if there is none. Where slots would be too many they are longer.
func started(ctx context.Context, p *model.Problem, near *neighbours, r raster) (best *grid) {
	for _, way := range []order{nearFirst, emptyFirst} {
		s := newEager(p, near, way).run(ctx)
		if s == nil {
			continue
		}
		if !r.Counts(2 * p.Makespan(s)) {
			return nil
		}
		horizon := 2 * r.Up(p.Makespan(s))
		if slots := int(horizon) * len(p.Topology.Links); slots > mostSlots {
			if best != nil {
				return best
			}
			if r.Slots = r.Slots * mostSlots / model.Time(halvings*slots); r.Slots == 0 {
				return nil
			}
			return started(ctx, r.cut(p), near, r)
		}
		g := newGrid(p, r, horizon)
		if g == nil {
			return nil
		}
		if g.follow(s); g.Missing() == 0 && (best == nil || g.Lasts() < best.Lasts()) {
			best = g
		}
	}
	return best
}
