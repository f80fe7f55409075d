package forest

import (
	"context"
	"fmt"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/arborescence"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/lp/highs"
	demand "github.com/oraccl/oraccl/solve/network"
	"github.com/oraccl/oraccl/solve/place"
)

// NewPaths returns the method paths.
func NewPaths() solve.Solver { return paths{} }

type paths struct{}

// Name implements solve.Solver.
func (paths) Name() string { return "paths" }

// About implements solve.Solver.
func (paths) About() solve.About {
	return solve.About{
		Serves:    fmt.Sprintf("alltoall, gather, scatter, and custom collectives in which each chunk goes from one rank to one, such as alltoallv; up to %d members", maxMembers),
		Guarantee: "as `forest`, by paths of the maximum concurrent flow",
		Source:    "`solve/forest`",
		Uses:      solve.UsesSeed | solve.UsesEffort,
	}
}

// Serves implements solve.Solver.
func (paths) Serves(p *model.Problem) error {
	if err := highs.Available(); err != nil {
		return solve.NotServed("%v", err)
	}
	switch p.Collective.Kind {
	case model.AllToAll, model.Gather, model.Scatter:
	case model.Custom:
		if _, err := demand.Pairs(demand.Parts(p)); err != nil {
			return err
		}
	default:
		return solve.NotServed("serves what goes from one rank to one, which %v does not", p.Collective.Kind)
	}
	return servesNetwork(p, true)
}

// Solve implements solve.Solver. Options.Chunks is used: that many equal chunks per pair
// instead of a number by trying.
func (m paths) Solve(ctx context.Context, p *model.Problem, o solve.Options) (solve.Result, error) {
	if err := m.Serves(p); err != nil {
		return solve.Result{}, err
	}
	b, cancel := o.Budget(ctx)
	defer cancel()
	ctx = b.Context()
	if ctx.Err() != nil {
		return solve.Stopped(ctx, p), nil
	}
	c, err := fluid.AllToAll(ctx, p)
	switch {
	case ctx.Err() != nil:
		return solve.Stopped(ctx, p), nil
	case err != nil:
		return solve.Result{}, err
	}
	if c.Algbw <= 0 {
		if err := place.Reachable(p.Topology); err != nil {
			return solve.Result{}, err
		}
	}
	parts := demand.Parts(p)
	pairs, err := demand.Pairs(parts)
	if err != nil {
		return solve.Result{}, err
	}
	f := &forest{blocks: len(pairs)}
	for k, d := range pairs {
		if ctx.Err() != nil {
			return solve.Stopped(ctx, p), nil
		}
		part := 1 / float64(len(p.Members()))
		if x := parts.Chunks[k]; p.Collective.Kind == model.Custom {
			part = float64(max(1, x.Size)) / float64(p.Size)
			f.ends = append(f.ends, x.Offset+x.Size)
		}
		list, err := split(p.Topology, c.Flows[d.Src], int(d.Src), int(d.Dst), c.Algbw*part)
		if err != nil {
			return solve.Result{}, err
		}
		f.down = append(f.down, list)
	}
	return pipelined(ctx, p, o, []flow{f})
}

// wholePaths is how many equal parts the flow of a pair is rounded to.
const wholePaths = 1 << 20

// split takes a flow of rate from s to d out of a flow that leaves s, along paths as short
// as there are, and returns them as trees by their parts of rate.
func split(t *model.Topology, flow []float64, s, d int, rate float64) ([]arborescence.Tree, error) {
	if s == d {
		return []arborescence.Tree{{Root: s, Weight: 1}}, nil
	}
	tiny := rate / wholePaths
	var list []arborescence.Tree
	for left := rate; left > tiny; {
		route := shortest(t, flow, s, d, tiny)
		if route == nil && len(list) > 0 {
			break // what is left is rounding
		}
		if route == nil {
			return nil, fmt.Errorf("forest: the flow from rank %d to rank %d is not there", s, d)
		}
		part := left
		for _, l := range route {
			part = min(part, flow[l])
		}
		for _, l := range route {
			flow[l] -= part
		}
		left -= part
		list = append(list, arborescence.Tree{Root: s, Weight: max(1, int64(part/tiny)), Arcs: hops(t, route)})
	}
	slices.SortStableFunc(list, func(a, b arborescence.Tree) int { return len(a.Arcs) - len(b.Arcs) })
	return list, nil
}

// shortest returns the links of a path with the fewest links among those that carry more
// than tiny, or nil.
func shortest(t *model.Topology, flow []float64, s, d int, tiny float64) []int {
	via := map[int]int{} // by node: the link that leads there
	out := t.Out()
	queue := []int{s}
	for i := 0; i < len(queue); i++ {
		for _, l := range out[queue[i]] {
			v := t.Links[l].Dst
			if _, seen := via[v]; flow[l] <= tiny || seen || v == s {
				continue
			}
			via[v] = l
			queue = append(queue, v)
		}
	}
	if _, reached := via[d]; !reached {
		return nil
	}
	var route []int
	for v := d; v != s; v = t.Links[via[v]].Src {
		route = append(route, via[v])
	}
	slices.Reverse(route)
	return route
}

// hops divides a route at the ranks on its way: each stores what it forwards.
func hops(t *model.Topology, route []int) []arborescence.Arc {
	var arcs []arborescence.Arc
	from := 0
	for i, l := range route {
		if v := t.Links[l].Dst; t.IsRank(v) {
			arcs = append(arcs, arborescence.Arc{From: t.Links[route[from]].Src, To: v, Route: route[from : i+1]})
			from = i + 1
		}
	}
	return arcs
}
