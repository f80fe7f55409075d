// Package forest turns an optimum of the fluid limit into a schedule: trees or paths that
// together fill the links that bind, with chunks pipelined along them. The finer the
// chunks, the closer the makespan is to the fluid bound, until latencies outweigh what
// they save; the number of chunks is chosen by trying.
//
// Method forest serves allgather, broadcast, their reverses and allreduce, and allgathers and
// reducescatters of parts of different sizes. It follows
// ForestColl (Zhao et al., "ForestColl: throughput-optimal collective communications on
// heterogeneous network fabrics", arXiv:2402.06787): the least time by minimum cuts, links
// scaled to hold whole trees, switches removed by splitting off, trees packed by Edmonds'
// theorem. All-reduce goes up a tree to a root and from there down one, without a barrier
// between the two. Where links have mirror images these are spanning trees, from any root and
// with whatever shares (see spanning), and where hops go over single links their times are those of a list schedule,
// forwards and backwards (see shuttled); elsewhere each root has an equal part, and the trees
// that lead to it are those of the reversed network. Where switches add, hops of the trees are sums
// and multicasts of theirs (see joint), whatever the machines are like; trees of the other
// collectives use no such thing. Trees are packed by package arborescence, and the few trees of a broadcast or
// reduce are given times by package broadcast.
//
// Method paths serves what goes from single ranks to single ranks: the maximum concurrent flow, split
// into paths.
package forest

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/broadcast"
	"github.com/oraccl/oraccl/solve/improve"
	"github.com/oraccl/oraccl/solve/lp/highs"
	demand "github.com/oraccl/oraccl/solve/network"
)

// New returns the method forest.
func New() solve.Solver { return method{} }

type method struct{}

// Name implements solve.Solver.
func (method) Name() string { return "forest" }

const (
	// maxMembers limits the packing, which takes about the fourth power of it.
	maxMembers = 64
	// maxReached limits the members of a broadcast or reduce, which has few trees.
	maxReached = 512
	// maxSplits limits the members times the other nodes, which have to be split off; maxReachedSplits those of a
	// broadcast or reduce.
	maxSplits, maxReachedSplits = 1 << 10, 1 << 13
	// maxRegular limits them where a broadcast or reduce is among all ranks: it may need no packing.
	maxRegular = 1 << 16
	// maxMoves limits what is placed; maxFitting where each link has room for all that is to go over it, and maxShuttled where
	// hops go over single links.
	maxMoves, maxFitting, maxShuttled = 1 << 17, 1 << 18, 1 << 18
)

// About implements solve.Solver.
func (method) About() solve.About {
	return solve.About{
		Serves:    fmt.Sprintf("allgather, reducescatter, broadcast, reduce, allreduce, allgatherv, reducescatterv and other custom collectives in which all members get, or one gets the sum of, each part; up to %d members, broadcast and reduce up to %d", maxMembers, maxReached),
		Guarantee: "approaches the fluid limit as chunks get finer (networks without switches; close to it around one switch, and for an allreduce where switches add)",
		Source:    "ForestColl, arXiv:2402.06787; Edmonds, 1973; Johnsson and Ho, 1989",
		Uses:      solve.UsesSeed | solve.UsesEffort,
		Leads:     leads,
	}
}

// leads reports whether the method usually finds the best schedule of p: of broadcasts and reductions, and of allreduces where ranks
// differ in links and those are busy for hundreds of latencies.
func leads(p *model.Problem) bool { return reachesAll(p) || demand.Packs(p) }

// reachesAll reports whether trees of one root are all that p needs.
func reachesAll(p *model.Problem) bool {
	return p.Collective.Kind == model.Broadcast || p.Collective.Kind == model.Reduce
}

// Serves implements solve.Solver.
func (method) Serves(p *model.Problem) error {
	switch kind := p.Collective.Kind; kind {
	case model.AllGather, model.ReduceScatter, model.Broadcast, model.Reduce:
	case model.Custom:
		if !solve.SumsUp(p) {
			if _, _, _, err := demand.Sources(p); err != nil {
				return err
			}
		}
	case model.AllReduce: // whose trees are columns of a linear program
		if err := highs.Available(); err != nil {
			return solve.NotServed("%v", err)
		}
	default:
		return solve.NotServed("serves what all members get, or sum up, and not %v", kind)
	}
	return servesNetwork(p, false)
}

func servesNetwork(p *model.Problem, paths bool) error {
	maxMembers, maxSplits := maxMembers, maxSplits
	if !paths && reachesAll(p) {
		maxMembers, maxSplits = maxReached, maxReachedSplits
		if len(p.Members()) == p.Topology.Ranks {
			maxSplits = maxRegular
		}
	}
	switch n := len(p.Members()); {
	case p.Cost.Synchronous():
		return solve.NotServed("fills links, which %v does not ask for", p.Cost)
	case p.Late():
		return solve.NotServed("serves ranks that all arrive at once")
	case n < 2:
		return solve.NotServed("one member alone moves nothing")
	case n > maxMembers:
		return solve.NotServed("serves at most %d members, not %d", maxMembers, n)
	case !paths && n*(p.Topology.Nodes()-n) > maxSplits:
		return solve.NotServed("serves at most %d members times other nodes, not %d", maxSplits, n*(p.Topology.Nodes()-n))
	case len(p.Chunks) > maxMoves:
		return solve.NotServed("serves at most %d chunks, not %d", maxMoves, len(p.Chunks))
	}
	for _, port := range p.Topology.Ports {
		if port.Capacity < len(port.Links) {
			return solve.NotServed("ports, which limit transfers and not bandwidth")
		}
	}
	return nil
}

// Solve implements solve.Solver. Options.Chunks is used: that many equal chunks per member
// instead of a number by trying.
func (m method) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := m.Serves(p); err != nil {
		return solve.Result{}, err
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	ctx = b.Context()
	if kind := p.Collective.Kind; kind == model.ReduceScatter || kind == model.Reduce || solve.SumsUp(p) {
		q, back, ok := solve.Mirror(p)
		if !ok {
			return solve.Result{}, solve.NotServed("cannot be read backwards")
		}
		inner := o
		// Where ranks outside the group add up what comes to them, that must not come at one time:
		// what is improved backwards does not know that.
		outsiders := slices.Contains(solve.Outsiders(p), true)
		if outsiders {
			inner.Effort = -1
		}
		r, err := m.Solve(ctx, q, inner)
		if err != nil {
			return r, err
		}
		if r = solve.Unmirrored(p, back, r); outsiders {
			if r.More = nil; r.Schedule == nil || len(r.Schedule.Transfers) <= improve.MaxRerouted {
				r = improve.Result(ctx, r, o)
			}
		}
		return r, nil
	}
	if p.Collective.Kind == model.Broadcast && !fixed(p, o) {
		return broadcast.Solve(b, p, o, func(ctx context.Context, g broadcast.Packings) (solve.Result, error) {
			return pipelined(ctx, p, o, flatter(p, g))
		})
	}
	flows, err := grow(ctx, p)
	if err != nil || ctx.Err() != nil {
		return solve.Failed(ctx, p, err)
	}
	list := shuttles(flows)
	if list == nil || p.Collective.Kind == model.Broadcast {
		return pipelined(ctx, p, o, flows)
	}
	r := shuttle(ctx, p, o, list)
	if p.Collective.Kind == model.AllReduce || r.Schedule == nil || r.Stop != solve.Done || float64(r.Makespan()) < float64(o.Bound)*(1+maxLate) {
		return r, nil
	}
	// Latencies count: few chunks, and other ways for some, may be better.
	other, err := pipelined(ctx, p, o, flows)
	if err == nil && other.Schedule != nil && other.Makespan() < r.Makespan() {
		return other, nil
	}
	return r, nil
}

// maxLate is up to which part of a bound an allgather ends later that is not tried again with fewer chunks.
const maxLate = 0.05
