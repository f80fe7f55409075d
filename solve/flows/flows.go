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
//
// Over switches a piece keeps several links busy, one after the other, and waits at none, so that gaps are left which are too short for
// others. Pieces that fit slots leave none: ejections make such a schedule shorter (Nagata and Bräysy, 2009; see squeezing). They come first
// among few ranks that exchange much, and last elsewhere.
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
	s := &search{Budget: b, p: p, o: o, best: solve.Result{Problem: solve.Cut(p, o.Chunks), Stop: solve.Done}, makespan: model.MaxTime,
		floor: max(o.Bound, o.Enough), routed: model.MaxTime, given: p.Chunks != nil || o.Chunks > 0}
	err := s.run()
	if s.open() && b.Spent() {
		s.best.Stop = b.Stop()
	}
	return s.best, err
}

// search is a search for the best schedule in pieces.
type search struct {
	*solve.Budget
	p        *model.Problem
	o        solve.Options
	best     solve.Result
	makespan model.Time // of the best
	floor    model.Time // of what is good enough
	given    bool       // the number of pieces is
	routed   model.Time // what pieces whose ways are chosen before their times take at least, so far
	repeated int        // the largest number of pieces of a shard with few transfers
}

// offer keeps a schedule if it is the best.
func (s *search) offer(q *model.Problem, x *model.Schedule, note string) {
	if t := solve.End(x.Transfers); t < s.makespan {
		s.makespan, s.best.Problem, s.best.Schedule, s.best.Note = t, q, x, note
		if s.o.Progress != nil {
			s.o.Progress(solve.Progress{Incumbent: t, Note: note})
		}
	}
}

// open reports whether a better schedule is worth while.
func (s *search) open() bool { return s.makespan > s.floor }

// run searches until a schedule is good enough, or the time is spent.
func (s *search) run() error {
	quick := !s.given && s.o.Effort >= 0 && s.o.Bound > 0 && quickly(s.p, s.o.Bound)
	justified := improve.MaxJustified
	if quick {
		justified = maxRepeated
	}
	moved, err := s.route(max(1, s.o.Chunks), s.o.Seed, justified)
	if err != nil {
		return err
	}
	if !s.given && s.open() {
		if q, x, slots := birkhoff(s.p, s.Spent); x != nil { // finer pieces save the time of rounding at most
			s.offer(q, x, fmt.Sprintf("%d permutations", slots))
			return nil
		}
	}
	if s.o.Effort < 0 {
		if s.given {
			return nil
		}
		return s.finer(finest, idleRoutes, moved, justified)
	}
	if quick {
		if err := s.squeeze(2); err != nil {
			return err
		}
		if err := s.finer(finestQuick, 1+idleRoutes, moved, justified); err != nil {
			return err
		}
		if err := s.again(justified); err != nil {
			return err
		}
	}
	if err := s.insert(); err != nil || quick || s.given {
		return err
	}
	if err := s.finer(finest, idleRoutes, moved, justified); err != nil {
		return err
	}
	return s.squeeze(1)
}

// route chooses ways for a number of pieces, and then times, and returns how many transfers there are. Up to some they are justified.
func (s *search) route(k int, seed uint64, justified int) (moved int, err error) {
	q := solve.Cut(s.p, k)
	x, err := plan(q, seed, s.o.Bound, s.Spent)
	if x == nil || err != nil {
		return 0, err
	}
	if len(x.Transfers) <= justified && s.o.Effort >= 0 {
		x = improve.Schedule(s.Context(), q, x, improve.Options{Effort: -1, Bound: s.o.Bound, Stop: s.Spent})
	}
	s.routed = min(s.routed, solve.End(x.Transfers))
	if len(x.Transfers) <= maxRepeated {
		s.repeated = max(s.repeated, k)
	}
	s.offer(q, x, fmt.Sprintf("pieces of at most %s", model.FormatBytes(largest(q))))
	return len(x.Transfers), nil
}

// finer chooses ways for finer and finer pieces, as long as one of some cuts in turn gains something. The coarsest take some transfers.
func (s *search) finer(finest, patience, moved, justified int) (err error) {
	for k, idle := 2, 0; k <= finest && moved > 0 && moved <= maxTransfers && s.open() && idle < patience && !s.Spent(); k *= 2 {
		if len(solve.Cut(s.p, k).Chunks) > maxTransfers {
			break
		}
		before := s.routed
		if moved, err = s.route(k, s.o.Seed, justified); err != nil {
			return err
		}
		if idle++; s.routed < before-before/1000 {
			idle = 0
		}
	}
	return nil
}

// again chooses ways for the finest of few pieces with other draws, and justifies the best schedule if that is of more pieces, whose ways were chosen
// before their times.
func (s *search) again(justified int) error {
	for n := uint64(1); n <= repeats && s.repeated > 1 && s.open() && !s.Spent(); n++ {
		if _, err := s.route(s.repeated, s.o.Seed+n, justified); err != nil {
			return err
		}
	}
	if x := s.best; x.Schedule != nil && s.makespan == s.routed && s.open() && !s.Spent() && len(x.Schedule.Transfers) > maxRepeated {
		s.offer(x.Problem, improve.Schedule(s.Context(), x.Problem, x.Schedule, improve.Options{Effort: -1, Bound: s.o.Bound, Stop: s.Spent}), x.Note)
	}
	return nil
}

// insert puts pieces in one after the other, finer and finer ones until twice that gains little.
func (s *search) insert() error {
	least, idle := model.MaxTime, 0
	for k := max(1, s.o.Chunks); k <= finestInserted && idle < 2 && s.open() && !s.Spent(); k *= 2 {
		q := solve.Cut(s.p, k)
		list, err := network.Pairs(q)
		if err != nil {
			return err
		}
		if n := moving(list); n > mostMoving {
			break
		} else if n < leastMoving && k < finestInserted && !s.given {
			continue
		}
		x, end, err := inserted(q, s.o.Seed, s.floor, s.Spent)
		if err != nil {
			return err
		}
		if x != nil {
			s.offer(q, x, fmt.Sprintf("pieces of at most %s, put in one after the other", model.FormatBytes(largest(q))))
		}
		if s.given || end <= s.floor {
			break
		}
		if idle++; end < least-least/1000 {
			idle = 0
		}
		least = min(least, end)
	}
	return nil
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

// largest returns the bytes of the largest chunk.
func largest(p *model.Problem) int64 {
	return slices.MaxFunc(p.Chunks, func(a, b model.Chunk) int { return int(min(max(a.Size-b.Size, -1), 1)) }).Size
}
