// Package flows schedules what goes from single ranks to single ranks, in any sizes: all-to-alls
// with a matrix of bytes, gathers and scatters, halos, permutations.
//
// Around one switch the optimum is known. By König's theorem ("Über Graphen und ihre Anwendung auf
// Determinantentheorie und Mengenlehre", Mathematische Annalen 77, 1916) the edges of a bipartite
// multigraph have a colouring with as many colours as its largest degree; with bytes for parallel
// edges, that is Birkhoff's decomposition into permutations, and the schedule of an open shop
// with interruptions (Gonzalez and Sahni, "Open shop scheduling to minimize finish time", Journal
// of the ACM 23, 1976): all ranks send to different ones for as long as the least of them needs,
// and so on. The makespan is the larger of the greatest sums of a row and of a column, and the
// latency. See birkhoff.
//
// On other networks each piece of a shard gets a way, as if it were the last one, at prices that rise
// steeply with the loads of the links, again and again in the light of the others (McMurchie and Ebeling,
// "PathFinder", FPGA 1995); so the links that bind have about the same load. Then time
// goes from event to event, and of the pieces that could start the one goes first that has the
// most loaded link before it. Where a fabric joins machines this is what FAST does in two
// stages (Lei et al., "FAST: an efficient scheduler for all-to-all GPU communication",
// arXiv:2505.09764): mates even out what each NIC has to send and to receive. How fine the pieces are is
// found by trying.
//
// Where there are few pieces, the way of each is chosen with its times, forwards or backwards in time: see
// insertion. So what goes far goes first, and what goes near fills the links at the end. That comes first,
// since it is better where it serves; but among few ranks that exchange much, fine pieces come first, several times with other draws.
package flows

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/improve"
	"github.com/oraccl/oraccl/solve/network"
)

// New returns the method.
func New() solve.Solver { return method{} }

type method struct{}

// Name implements solve.Solver.
func (method) Name() string { return "flows" }

// Limits of what is served.
const (
	maxRanks       = 512
	maxHops        = 1 << 17 // estimated as pairs of ranks and links
	maxTransfers   = 1 << 17 // beyond which no finer cut is tried
	maxPieces      = 1 << 20
	maxQuick       = 1 << 18 // steps of one search for ways from each rank to each other: below, ways for fine pieces are found in little time
	finest         = 64      // pieces of the largest shard
	finestQuick    = 256     // the same, where that is quick
	maxRepeated    = 1 << 14 // transfers with which ways are looked for again
	repeats        = 5       // how often
	manyLatencies  = 20      // of a link
	idleRoutes     = 2       // as many cuts in turn that gain little end the search for ways
	finestInserted = 256     // the same, put in one after the other
)

// About implements solve.Solver.
func (method) About() solve.About {
	return solve.About{
		Serves:    fmt.Sprintf("alltoall, gather, scatter, and custom collectives in which each chunk goes from one rank to one, such as alltoallv; up to %d ranks, blocking and pipelined", maxRanks),
		Guarantee: "optimal up to a picosecond a piece on one switch with equal links, pipelined and with a free cut; else none",
		Source:    "König 1916; Gonzalez and Sahni 1976; FAST, arXiv:2505.09764",
		Uses:      solve.UsesSeed | solve.UsesEffort,
	}
}

// Serves implements solve.Solver.
func (method) Serves(p *model.Problem) error {
	switch {
	case p.Cost.Synchronous():
		return solve.NotServed("fills links, which %v does not ask for", p.Cost)
	case p.Late():
		return solve.NotServed("serves ranks that all arrive at once")
	case p.Topology.Ranks > maxRanks:
		return solve.NotServed("serves at most %d ranks, not %d", maxRanks, p.Topology.Ranks)
	case len(p.Topology.Links) > maxHops:
		return solve.NotServed("serves at most %d links, not %d", maxHops, len(p.Topology.Links))
	case len(p.Chunks) > maxPieces:
		return solve.NotServed("serves at most %d chunks, not %d", maxPieces, len(p.Chunks))
	}
	switch p.Collective.Kind {
	case model.AllToAll, model.Gather, model.Scatter:
	case model.Custom:
		if _, err := network.Pairs(network.Parts(p)); err != nil {
			return err
		}
	default:
		return solve.NotServed("serves what goes from one rank to one, which %v does not", p.Collective.Kind)
	}
	return network.Connected(p)
}

// Solve implements solve.Solver. Options.Chunks is used: that many pieces of the largest shard
// instead of a number by trying.
func (m method) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := m.Serves(p); err != nil {
		return solve.Result{}, err
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	best := solve.Result{Problem: solve.Cut(p, o.Chunks), Stop: solve.Done}
	makespan := model.MaxTime
	offer := func(q *model.Problem, s *model.Schedule, note string) {
		if t := solve.End(s.Transfers); t < makespan {
			makespan, best.Problem, best.Schedule, best.Note = t, q, s, note
			if o.Progress != nil {
				o.Progress(solve.Progress{Incumbent: t, Note: note})
			}
		}
	}
	floor := max(o.Bound, o.Enough)
	given := p.Chunks != nil || o.Chunks > 0
	quick := !given && o.Effort >= 0 && o.Bound > 0 && quickly(p, o.Bound)
	routed := model.MaxTime // with the best number of pieces so far
	repeated := 0           // the largest number of pieces with few transfers
	route := func(k int, seed uint64) (moved int, err error) {
		q := solve.Cut(p, k)
		s, err := plan(q, seed, o.Bound, b.Spent)
		if s == nil || err != nil {
			return 0, err
		}
		most := improve.MaxJustified
		if quick {
			most = maxRepeated
		}
		if len(s.Transfers) <= most && o.Effort >= 0 {
			s = improve.Schedule(b.Context(), q, s, improve.Options{Effort: -1, Bound: o.Bound, Stop: b.Spent})
		}
		routed = min(routed, solve.End(s.Transfers))
		if len(s.Transfers) <= maxRepeated {
			repeated = max(repeated, k)
		}
		offer(q, s, fmt.Sprintf("pieces of at most %s", model.FormatBytes(largest(q))))
		return len(s.Transfers), nil
	}
	least := max(1, o.Chunks)
	moved, err := route(least, o.Seed)
	if err != nil {
		return best, err
	}
	exact := false
	if !given && makespan > floor {
		if q, s, slots := birkhoff(p, b.Spent); s != nil {
			exact = true // finer pieces save the time of rounding at most
			offer(q, s, fmt.Sprintf("%d permutations", slots))
		}
	}
	// finer chooses ways for finer and finer pieces, as long as one of some cuts in turn gains something.
	finer := func(finest, patience int) error {
		for k, idle := 2*least, 0; k <= finest && moved > 0 && moved <= maxTransfers && makespan > floor && idle < patience && !b.Spent(); k *= 2 {
			if len(solve.Cut(p, k).Chunks) > maxTransfers {
				break
			}
			before := routed
			if moved, err = route(k, o.Seed); err != nil {
				return err
			}
			if idle++; routed < before-before/1000 {
				idle = 0
			}
		}
		return nil
	}
	if quick && !exact {
		if err := finer(finestQuick, 1+idleRoutes); err != nil {
			return best, err
		}
		for n := uint64(1); n <= repeats && repeated > 1 && makespan > floor && !b.Spent(); n++ {
			if _, err := route(repeated, o.Seed+n); err != nil {
				return best, err
			}
		}
		if best.Schedule != nil && makespan > floor && !b.Spent() && len(best.Schedule.Transfers) > maxRepeated {
			offer(best.Problem, improve.Schedule(b.Context(), best.Problem, best.Schedule, improve.Options{Effort: -1, Bound: o.Bound, Stop: b.Spent}), best.Note)
		}
	}
	if !exact && o.Effort >= 0 && makespan > floor {
		if err := insertAll(b, p, o, floor, offer); err != nil {
			return best, err
		}
	}
	if !given && !exact && !quick {
		if err := finer(finest, idleRoutes); err != nil {
			return best, err
		}
	}
	if makespan > floor && b.Spent() {
		best.Stop = b.Stop()
	}
	return best, nil
}

// quickly reports whether ways for fine pieces are found in little time, and are worth more than insertions: what goes between all
// ranks, of which there are few, takes many latencies by a bound.
func quickly(p *model.Problem, bound model.Time) bool {
	t := p.Topology
	longest := model.Time(0)
	for i := range t.Links {
		longest = max(longest, t.Links[i].Alpha)
	}
	return !p.Collective.Kind.Rooted() && t.Ranks*t.Ranks*(t.Ranks*t.Ranks+len(t.Links)) <= maxQuick && bound > manyLatencies*longest
}

// insertAll offers what insertions find, with finer and finer pieces until twice that gains little.
func insertAll(b *solve.Budget, p *model.Problem, o solve.Options, floor model.Time, offer func(*model.Problem, *model.Schedule, string)) error {
	least, idle := model.MaxTime, 0
	for k := max(1, o.Chunks); k <= finestInserted && idle < 2 && !b.Spent(); k *= 2 {
		q := solve.Cut(p, k)
		list, err := network.Pairs(q)
		if err != nil {
			return err
		}
		given := p.Chunks != nil || o.Chunks > 0
		if n := moving(list); n > mostMoving {
			break
		} else if n < leastMoving && k < finestInserted && !given {
			continue
		}
		s, end, err := inserted(q, o.Seed, floor, b.Spent)
		if err != nil {
			return err
		}
		if s != nil {
			offer(q, s, fmt.Sprintf("pieces of at most %s, put in one after the other", model.FormatBytes(largest(q))))
		}
		if given || end <= floor {
			break
		}
		if idle++; end < least-least/1000 {
			idle = 0
		}
		least = min(least, end)
	}
	return nil
}

// largest returns the bytes of the largest chunk.
func largest(p *model.Problem) int64 {
	return slices.MaxFunc(p.Chunks, func(a, b model.Chunk) int { return int(min(max(a.Size-b.Size, -1), 1)) }).Size
}
