package fluid

import (
	"context"
	"fmt"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/lp"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// AllReduce returns, according to the solver, the bytes of the buffer that pass in a second
// where each byte is reduced along an in-tree to a root and spread from there along an
// out-tree, with the shares of the roots, and of both kinds of trees in each link, free:
// for each rank, the shares of all roots must be able to flow to it over what links give
// to out-trees, and from it to the roots over what they give to in-trees [without switches
// trees exist then, by Edmonds' theorem]. Of algorithms of other shapes it says nothing.
func AllReduce(ctx context.Context, p *model.Problem) (algbw float64, err error) {
	t, members := p.Topology, p.Members()
	at, adds := t.Reducer()
	switch columns := 2 * len(members) * len(t.Links); {
	case p.Collective.Kind != model.AllReduce:
		return 0, solve.NotServed("serves allreduce, not %v", p.Collective.Kind)
	case len(members) < 2:
		return 0, solve.NotServed("one member alone moves nothing")
	case adds:
		return 0, solve.NotServed("%s adds: trees of ranks are not all that is possible", t.NodeName(at))
	case columns > maxFlowColumns:
		return 0, solve.NotServed("too large: %d columns, want at most %d", columns, maxFlowColumns)
	}
	scale := int64(1)
	for _, l := range t.Links {
		scale = max(scale, l.Bandwidth)
	}
	m := &lp.Model{Sense: lp.Maximise}
	share := make([]int, t.Nodes()) // of each root
	for v := range share {
		share[v] = -1
	}
	for _, r := range members {
		share[r] = m.AddNonNegative("", lp.Int(1))
	}
	out, in := make([]int, len(t.Links)), make([]int, len(t.Links))
	for i, l := range t.Links {
		out[i], in[i] = m.AddNonNegative("", lp.Int(0)), m.AddNonNegative("", lp.Int(0))
		m.AddLE("", lp.Frac(l.Bandwidth, scale), lp.T(out[i], 1), lp.T(in[i], 1))
	}
	// A switch that does not copy sends no more than it receives along out-trees; none
	// adds up, so that along in-trees it receives no more than it sends.
	outgoing, incoming := t.Out(), t.In()
	for v := t.Ranks; v < t.Nodes(); v++ {
		terms := func(given []int, links []int, sign int64) (all []lp.Term) {
			for _, l := range links {
				all = append(all, lp.T(given[l], sign))
			}
			return all
		}
		if !t.Copies(v) {
			m.AddLE("", lp.Int(0), append(terms(out, outgoing[v], 1), terms(out, incoming[v], -1)...)...)
		}
		m.AddLE("", lp.Int(0), append(terms(in, incoming[v], 1), terms(in, outgoing[v], -1)...)...)
	}
	for _, r := range members {
		for _, way := range []struct {
			given []int
			sign  int64 // of what a root adds to what leaves it
		}{{out, 1}, {in, -1}} {
			balance := make([][]lp.Term, t.Nodes()) // what leaves less what enters
			for i, l := range t.Links {
				f := m.AddNonNegative("", lp.Int(0))
				m.AddLE("", lp.Int(0), lp.T(f, 1), lp.T(way.given[i], -1))
				balance[l.Src] = append(balance[l.Src], lp.T(f, 1))
				balance[l.Dst] = append(balance[l.Dst], lp.T(f, -1))
			}
			for v, terms := range balance {
				if v == r {
					continue
				}
				if share[v] >= 0 {
					terms = append(terms, lp.T(share[v], -way.sign))
				}
				m.AddEQ("", lp.Int(0), terms...)
			}
		}
	}
	r, err := highs.Solve(ctx, m, highs.Options{})
	if err != nil {
		return 0, err
	}
	if r.Status != highs.Optimal {
		return 0, fmt.Errorf("fluid: the solver says %s", r.RawStatus)
	}
	return r.Objective * float64(scale), nil
}
