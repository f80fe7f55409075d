// Package cayley builds schedules that are optimal by construction on networks with
// enough symmetry: all-to-all, all-gather, reduce-scatter and all-reduce on Cayley
// graphs of abelian groups. Rings, tori with sides of any length and links that may
// differ from dimension to dimension, hypercubes, circulant and complete graphs are
// such. Ranks that all have a link to and one from the same switches are served too:
// everything goes straight to where it must.
//
// The group is recognised from the links: see recognise. Whatever one rank does, all
// do, translated; so a schedule need only be found for one of them, and a link class
// (generator) that is busy in a round is busy at every rank.
//
// All-to-all. What travels by the difference d is the same for all ranks, and takes
// generators that add up to d, in any order, for the group is abelian. So these are
// edges of a bipartite multigraph of differences and generators, and a colouring of
// its edges is a schedule in rounds. By König's theorem (1916) there is one with as
// many colours as the largest degree: the load of the busiest generator, or the
// diameter.
//
// All-gather. Whenever a generator is free it takes a part that is held one step
// before and missing here; which one for which generator is a maximum matching. With
// one chunk per rank on links that are alike this is the breadth-first broadcast with
// balanced ingress of Zhao et al., arXiv:2202.03356, where steps overlap to keep
// every link busy. On other networks of ranks alone the matching is made rank by rank,
// and is a heuristic. Reduce-scatter is its reverse and all-reduce both, one after the
// other where the data of each chunk demand it.
package cayley

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/improve"
	"github.com/oraccl/oraccl/solve/place"
)

// New returns the method.
func New() solve.Solver { return method{} }

type method struct{}

// Name implements solve.Solver.
func (method) Name() string { return "cayley" }

// maxMoves limits the size of what is placed.
const maxMoves = 1 << 22

// About implements solve.Solver.
func (method) About() solve.About {
	return solve.About{
		Serves:    "allgather, reducescatter, allreduce, alltoall; rings, tori, hypercubes, complete graphs and switches, recognised from their links; gatherings elsewhere as a heuristic",
		Guarantee: "alltoall and allgather meet the bound where latency is small",
		Source:    "König's edge colouring; breadth-first broadcast, Zhao et al., arXiv:2202.03356",
		Uses:      solve.UsesSeed | solve.UsesEffort,
	}
}

// Serves implements solve.Solver. It takes the time of recognising the group,
// O(factorisations of the ranks · links).
func (method) Serves(p *model.Problem) error {
	_, _, err := serves(context.Background(), p)
	return err
}

// serves returns the group of p's topology, or what it is a star of, or neither where p is
// served without.
func serves(ctx context.Context, p *model.Problem) (*group, *star, error) {
	switch p.Collective.Kind {
	case model.AllToAll, model.AllGather, model.ReduceScatter, model.AllReduce:
	default:
		return nil, nil, solve.NotServed("serves alltoall, allgather, reducescatter and allreduce, not %v", p.Collective.Kind)
	}
	n := p.Topology.Ranks
	switch {
	case p.Late():
		return nil, nil, solve.NotServed("serves ranks that all arrive at once")
	case len(p.Members()) != n:
		return nil, nil, solve.NotServed("serves a group of all %d ranks, not of %d", n, len(p.Members()))
	}
	chunks := int64(len(p.Chunks))
	if p.Chunks == nil {
		chunks = int64(p.DefaultChunks(1))
	}
	perChunk := int64(n)
	switch p.Collective.Kind {
	case model.AllToAll:
		perChunk = 1 // and more on the way: see below
	case model.AllReduce:
		perChunk = 2 * int64(n)
	}
	if chunks*perChunk > maxMoves {
		return nil, nil, solve.NotServed("would make up to %d transfers, at most %d are placed", chunks*perChunk, maxMoves)
	}
	if x := recogniseStar(p.Topology); x != nil && alike(p) == nil && x.divides(p) {
		return nil, x, nil
	}
	if p.Cost == model.Rounds {
		return nil, nil, solve.NotServed("keeps all links of a rank busy at once, which %v does not allow", p.Cost)
	}
	var g *group
	if n <= maxRanks {
		g = recognise(ctx, p.Topology)
	}
	if g == nil && p.Collective.Kind != model.AllToAll && len(p.Topology.Switches) == 0 && n > 1 && chunks*int64(n) <= maxAnywhere {
		if err := place.Reachable(p.Topology); err != nil {
			return nil, nil, solve.NotServed("%v", err)
		}
		return nil, nil, nil
	}
	if g == nil {
		return nil, nil, solve.NotServed("%s is not recognised as a Cayley graph of an abelian group under its numbering", p.Topology.Name)
	}
	if p.Collective.Kind == model.AllToAll {
		hops := int64(0)
		for _, d := range g.distances() {
			hops += int64(d)
		}
		if hops*(chunks/int64(n)+1) > maxMoves {
			return nil, nil, solve.NotServed("would make up to %d transfers, at most %d are placed", hops*(chunks/int64(n)+1), maxMoves)
		}
	}
	return g, nil, nil
}

// Solve implements solve.Solver. Options.Chunks, Seed and TimeLimit are used; equal seeds
// give equal schedules.
func (method) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	g, x, err := serves(ctx, p)
	if stop := solve.StopOf(ctx); stop != 0 {
		return solve.Result{Problem: solve.Cut(p, o.Chunks), Stop: stop}, nil
	}
	if err != nil {
		return solve.Result{}, err
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	p = solve.Cut(p, o.Chunks)
	if stop := b.Stop(); stop != 0 {
		return solve.Result{Problem: p, Stop: stop}, nil
	}
	if x != nil {
		s, err := x.schedule(p)
		if err != nil {
			return solve.Result{}, err
		}
		return improve.Result(b.Context(), solve.Result{Problem: p, Schedule: s, Stop: solve.Done, Note: x.String()}, o), nil
	}
	s, err := g.schedule(b.Context(), p, o.Enough, rand.New(rand.NewPCG(o.Seed, 0)))
	switch stop := b.Stop(); {
	case err != nil && stop != 0:
		return solve.Result{Problem: p, Stop: stop}, nil
	case err != nil:
		return solve.Result{}, solve.NotServed("%v", err)
	}
	return improve.Result(b.Context(), solve.Result{Problem: p, Schedule: s, Stop: solve.Done, Note: g.String()}, o), nil
}

// String returns "group Z4×Z6, 4 generators".
func (g *group) String() string {
	if g == nil {
		return "no group recognised: rank by rank"
	}
	var sides []string
	for _, a := range g.sides {
		sides = append(sides, fmt.Sprintf("Z%d", a))
	}
	return fmt.Sprintf("group %s, %d generators", strings.Join(sides, "×"), len(g.gens))
}

// schedule returns a schedule of p, or the error of ctx if that ends before. That an all-to-all
// ends by enough is as good as any.
func (g *group) schedule(ctx context.Context, p *model.Problem, enough model.Time, rng *rand.Rand) (*model.Schedule, error) {
	switch p.Collective.Kind {
	case model.AllToAll:
		return g.allToAll(ctx, p, enough)
	case model.AllGather:
		return g.gather(ctx, p, owned(p), rng)
	case model.ReduceScatter:
		return g.scatter(ctx, p, owned(p), rng)
	}
	program := place.NewProgram(p).Until(ctx)
	parts := owned(p)
	reduced, err := g.scatter(ctx, p, parts, rng)
	if err != nil {
		return nil, err
	}
	gathered, err := g.gather(ctx, p, parts, rng)
	if err != nil {
		return nil, err
	}
	program.Append(reduced)
	program.Append(gathered)
	return best(program, 0)
}

// owned returns the chunks of each rank: its shard, or for allreduce one of n equal
// runs of chunks.
func owned(p *model.Problem) [][]int {
	n := p.Topology.Ranks
	parts := make([][]int, n)
	for k := range p.Chunks {
		var owner int
		switch p.Collective.Kind {
		case model.AllGather:
			owner, _ = p.Owner(k)
		case model.ReduceScatter:
			_, owner = p.Owner(k)
		default:
			owner = k * n / len(p.Chunks)
		}
		parts[owner] = append(parts[owner], k)
	}
	return parts
}

// scatter reduces every chunk to the rank that owns it: a gathering on the network
// with its links turned round, read backwards. That network has the same group.
func (g *group) scatter(ctx context.Context, p *model.Problem, parts [][]int, rng *rand.Rand) (*model.Schedule, error) {
	q := *p
	q.Topology = p.Topology.Reversed()
	s, err := recognise(context.WithoutCancel(ctx), q.Topology).gather(ctx, &q, parts, rng)
	if err != nil {
		return nil, err
	}
	return solve.ReverseSchedule(p, s), nil
}

// best places a program in its own order and, unless that ends by least, in that of
// list scheduling too, and returns the schedule that ends first.
func best(program *place.Program, least model.Time) (*model.Schedule, error) {
	s, err := program.PlaceInOrder()
	if err != nil {
		return nil, err
	}
	if solve.End(s.Transfers) <= least {
		return s, nil
	}
	if t, err := program.Place(); err == nil && solve.End(t.Transfers) < solve.End(s.Transfers) {
		s = t
	}
	return s, nil
}
