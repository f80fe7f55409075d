// Package improve makes schedules shorter: transfers that end late, and some that are in their
// way, are taken out with all that depends on them, and what is then missing is brought again,
// over any hops, as early as links and ports are free (ruin and recreate: Schrimpf et al.,
// "Record breaking optimization results using the ruin and recreate principle", Journal of
// Computational Physics 159, 2000). What comes out stays if it is not worse, or at the beginning
// not much worse. Between repairs all transfers move as late as they can and back again
// (forward-backward improvement: Li and Willis, "An iterative scheduling technique for
// resource-constrained project scheduling", European Journal of Operational Research 56, 1992;
// justification: Valls, Ballestín and Quintanilla, "Justification and RCPSP: a technique that
// pays", European Journal of Operational Research 165, 2005).
package improve

import (
	"context"
	"fmt"
	"sync"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
)

const (
	// MaxRerouted is how many transfers a schedule has at most whose transfers are given other
	// ways.
	MaxRerouted = 1 << 15
	// MaxJustified is how many transfers a schedule has at most that are moved in time.
	MaxJustified = 1 << 17
	// looks and maxLooks are how often a repair looks at a hop, about: times for each
	// transfer, and at most.
	looks, maxLooks = 1 << 9, 1 << 19
	// ruins is how many moves are taken out at most at a time, besides what depends on them.
	ruins = 6
	// perJustification is how many repairs there are to one justification, about.
	perJustification = 20
)

// Options are how an improvement is made.
type Options struct {
	// Seed makes random choices; equal seeds give equal schedules, unless Stop cuts them short.
	Seed uint64
	// Effort is how many times the usual work goes into other routes. 0: once; negative: none.
	Effort int
	// Threads is how many goroutines work at a time. 0: one.
	Threads int
	// Bound is a time before which no schedule ends. 0: not known.
	Bound model.Time
	// Stop is asked now and then whether it is time to stop. nil: never.
	Stop func() bool
}

// Reroutes reports whether transfers of a problem can be given other ways: what rounds with late
// ranks are like depends on when they begin, and reductions wait for late ranks.
func Reroutes(p *model.Problem) bool {
	if p.Late() && (p.Cost.Synchronous() || p.Collective.Reduces()) {
		return false
	}
	return p.Collective.Kind != model.Custom || !p.Collective.Reduces()
}

// Schedule returns a schedule of p that is not longer than s: s itself where it finds no shorter
// one. s must be feasible and right, whatever method it is from, and it is not changed. If it has
// times, and no more than MaxJustified transfers, these are first moved in time, on the routes
// that they have. No more than MaxRerouted transfers are then given other routes too, where that
// is possible (see Reroutes); a negative effort leaves that out.
//
// A schedule in which switches add or copy is returned as it is: what is moved here is one
// transfer at a time. It ends early, with the best so far, when ctx is done or o.Stop reports true.
func Schedule(ctx context.Context, p *model.Problem, s *model.Schedule, o Options) *model.Schedule {
	if o.Stop == nil {
		o.Stop = func() bool { return false }
	}
	given := o.Stop
	o.Stop = func() bool { return ctx.Err() != nil || given() }
	if len(s.Transfers) > MaxJustified || o.Stop() {
		return s
	}
	if _, joined := p.Joined(s); joined {
		return s
	}
	best := justified(p, s, o.Bound, o.Stop)
	if o.Effort < 0 || s.Form == model.Ordered || len(s.Transfers) == 0 || len(s.Transfers) > MaxRerouted || p.Makespan(best) <= o.Bound || !Reroutes(p) || o.Stop() {
		return best
	}
	if t := Several(network.New(p, false), []*model.Schedule{best}, o)[0]; t != nil {
		if t = justified(p, t, o.Bound, o.Stop); p.Makespan(t) < p.Makespan(best) {
			best = t
		}
	}
	return best
}

// Several gives the transfers of schedules other routes, of each on its own, and returns for each
// a shorter one, or nil where it finds none, or if there is none to begin with. n must not be
// mirrored.
func Several(n *network.Network, list []*model.Schedule, o Options) []*model.Schedule {
	better := make([]*model.Schedule, len(list))
	if o.Stop == nil {
		o.Stop = func() bool { return false }
	}
	var wg sync.WaitGroup
	threads := min(max(1, o.Threads), len(list))
	for w := range threads {
		wg.Go(func() {
			for i := w; i < len(list); i += threads {
				if list[i] == nil || o.Stop() {
					continue
				}
				patterns, err := patternsOf(n.Problem, list[i])
				if err != nil {
					continue
				}
				r := newRepair(n, patterns, o.Seed+uint64(i))
				if !r.read(list[i]) {
					continue
				}
				budget := min(maxLooks, looks*len(list[i].Transfers)) / len(patterns) * max(1, o.Effort)
				bound := o.Bound
				if n.Problem.Cost.Synchronous() { // lengths are rounds there
					bound = 0
				}
				if r.better(bound, budget, o.Stop) || r.length() < solve.End(list[i].Transfers) {
					better[i] = r.write()
				}
			}
		})
	}
	wg.Wait()
	return better
}

// Result returns r with its schedule improved as o asks for, until ctx is done, which has the
// deadline that o sets. Methods call it at the end of Solve. It leaves r as it is where a limit
// ended the method already, or where o.Effort is negative.
func Result(ctx context.Context, r solve.Result, o solve.Options) solve.Result {
	if r.Schedule == nil || o.Effort < 0 || r.Stop == solve.TimeLimit || r.Stop == solve.Interrupted {
		return r
	}
	s := Schedule(ctx, r.Problem, r.Schedule, Options{Seed: o.Seed, Effort: o.Effort, Bound: o.Bound})
	if stop := solve.StopOf(ctx); stop != 0 && r.Problem.Makespan(s) > o.Bound {
		r.Stop = stop
	}
	if s == r.Schedule {
		return r
	}
	before := r.Makespan()
	if r.Schedule = s; r.Note != "" {
		r.Note += ", "
	}
	r.Note += fmt.Sprintf("improved from %v", before)
	if r.Stop == solve.Optimal { // in a model that does not know all schedules
		r.Stop = solve.Done
	}
	return r
}
