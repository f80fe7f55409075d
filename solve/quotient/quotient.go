// Package quotient schedules collectives on the quotient of a network by a group of its
// symmetries.
//
// Let a group of symmetries move every link. Move one hop of one chunk by all its elements:
// the copies take each link of the orbits on the hop's way once, all at one time. So each
// orbit of links, or of ports, is a machine that serves one hop at a time, and the hops of
// the chunks of one rank of each orbit are the jobs of a small shop. A schedule of that
// shop, moved by the group, is a schedule of the whole, in which nothing collides. Two
// DGX H100 have 16 ranks, 64 links and 4 machines; 128 of them still have 4. What an edge
// colouring does for bipartite multigraphs the group does here, for every hop is a
// permutation of ports.
//
// Package symmetry finds the groups, from the links alone. Where a group fixes a link or a
// port, a hop takes it once for each copy that would meet another, one after the other.
//
// An allgather or broadcast builds trees and times together, forward in time: see gathering. A
// reduce-scatter or reduce is that read backwards, on the same network if each of its links has one that leads back: see solve.Mirror;
// else on the network with its links turned round, and timed again. An all-to-all or scatter chooses paths: see conveying, and an all-to-all ways with their times: see inserting; a gather
// is a scatter read backwards where links have one that leads back, else it chooses paths, too. An allreduce
// is both, the gatherings with what the sums leave free, and each again with the other as it is;
// or trees that balance the loads of all machines over both, list-scheduled: see balance. Where latencies count, a root and a neighbour
// exchange sums in the end: see plan.mutual. Among groups of ranks with few or slow
// links between them, all three also try trees that go to each group once: see sketch; where no symmetry moves all ranks, as after a failure,
// an allreduce follows such trees in generations: see generations. Where
// ways differ in latency, hops of gatherings and allreduces begin with slots in some: see slots. Large gatherings may go round a ring, small
// ones may be made in rounds of one latency: see rounded. Where latencies count and there are no switches, allreduces begin with what a
// linear program says: see package meeting. Among many ranks hops take each other's place in slots: see package ejection. Each
// part is tried with several rules and deadlines, and jobs are moved to the end and back. Hops of gatherings, and of allreduces in
// which latencies count, are taken out of the best plans and put back elsewhere, and their parts are halved: see grafting. How
// many chunks per rank should have, and of what sizes, is found by trying, after what fits where ways differ in latency: see
// fitting.
//
// The idea is that of the symmetric schedules of Cayley graphs (package cayley) and of
// SyCCL's sketches (SIGCOMM 2025), without their conditions on the network.
package quotient

import (
	"context"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/network"
)

// New returns the method.
func New() solve.Solver { return method{} }

type method struct{}

// Name implements solve.Solver.
func (method) Name() string { return "quotient" }

// About implements solve.Solver.
func (method) About() solve.About {
	return solve.About{
		Serves:    "all standard collectives, up to 1024 ranks; late ranks where nothing is reduced",
		Guarantee: "none; sound, same schedule for the same seed",
		Source:    "`solve/quotient`",
		Uses:      solve.UsesSeed | solve.UsesEffort,
		Leads:     leads,
	}
}

// maxLed is up to how many ranks finer cuts and balanced trees are worth most of the time.
const maxLed = 64

// fewUneven is among how many ranks it leads where direct links are uneven, if latencies count, whatever the buffer; among more, up to
// maxLed, patterns need time (see package meeting), and are worth it where the buffer has more than someBytes.
const fewUneven, someBytes = 16, 1 << 18

// leads reports whether the method usually finds the best schedule of p.
func leads(p *model.Problem) bool {
	switch p.Collective.Kind {
	case model.AllReduce:
		few := p.Topology.Ranks <= fewUneven || p.Topology.Ranks <= maxLed && p.Size > someBytes
		if network.Uneven(p) && !(few && network.Latent(p)) || network.Packs(p) {
			return false
		}
		fallthrough
	case model.AllGather, model.ReduceScatter:
		return p.Topology.Ranks <= maxLed || p.Collective.Kind == model.AllReduce && p.Topology.Ranks <= maxRanks && fills(p)
	}
	return false
}

// Limits of what is served.
const (
	maxRanks     = 1024
	maxLinks     = 1 << 18
	maxTransfers = 1 << 22
	fewTransfers = 1 << 20 // beyond which a member has one chunk if there are more than manyMoved jobs: Z3 takes 20 s for them
	manyMoved    = 1 << 14 // copies of fewer jobs are alike, and soon proved
	provedAs     = 3       // of more transfers, one takes about as long to be made and proved by all engines as this many to be replayed
)

// Serves implements solve.Solver, in O(ranks).
func (method) Serves(p *model.Problem) error {
	switch p.Collective.Kind {
	case model.Custom:
		return solve.NotServed("does not serve custom collectives")
	}
	switch n := p.Topology.Ranks; {
	case n > maxRanks:
		return solve.NotServed("serves up to %d ranks, not %d", maxRanks, n)
	case len(p.Topology.Links) > maxLinks:
		return solve.NotServed("serves up to %d links, not %d", maxLinks, len(p.Topology.Links))
	case p.Late() && (p.Collective.Reduces() || p.Cost.Synchronous()):
		return solve.NotServed("serves late ranks in collectives without reductions, in time and not in rounds")
	case len(p.Members()) < 2:
		return solve.NotServed("serves two members or more")
	}
	if n := transfers(p, p.Chunks, 1); n > maxTransfers {
		return solve.NotServed("would make %d transfers, at most %d are made", n, maxTransfers)
	}
	return nil
}

// transfers returns how many transfers p takes with some chunks, or k of them a member.
func transfers(p *model.Problem, chunks []model.Chunk, k int) int64 {
	n := int64(len(chunks))
	if chunks == nil {
		n = int64(p.DefaultChunks(k))
	}
	switch each := int64(len(p.Members()) - 1); p.Collective.Kind {
	case model.AllReduce:
		return n * each * 2
	case model.AllToAll, model.Gather, model.Scatter:
		return n // and more where chunks pass other ranks
	default:
		return n * each
	}
}

// Solve implements solve.Solver. Options.Chunks, Seed, Tries and Effort are used; equal ones
// give equal schedules unless a limit ends the search.
func (m method) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := m.Serves(p); err != nil {
		return solve.Result{}, err
	}
	if o.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit)
		defer cancel()
	}
	if o.Chunks > 0 {
		p = solve.Cut(p, o.Chunks)
	}
	switch p.Collective.Kind {
	case model.ReduceScatter, model.Reduce, model.Gather:
		if q, back, ok := solve.Mirror(p); ok && back != nil {
			r, err := newSearch(ctx, q, o).run()
			if err != nil {
				return r, err
			}
			return solve.Unmirrored(p, back, r), nil
		}
	}
	return newSearch(ctx, p, o).run()
}
