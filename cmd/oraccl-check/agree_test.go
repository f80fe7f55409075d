package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
)

// agree insists that what solve/bound says that a witness yields is, to the
// picosecond, what verify/cert computes, which shares no code with it.
func agree(t *testing.T, p *model.Problem, kinds map[string]int) {
	all, _, err := bound.All(context.Background(), p)
	require.NoError(t, err)
	for _, c := range all {
		yield, err := cert.Yield(context.Background(), &model.Certificate{Problem: p, Witness: c.Witness})
		require.NoError(t, err, "%v: %#v", p, c.Witness)
		if yield == model.MaxTime {
			continue // there is no schedule at all, which bound need not see
		}
		_, covers := c.Witness.(model.Coverage)
		if _, timed := c.Witness.(model.TimedPrices); timed || covers && p.Chunks != nil { // whole numbers yield a little more; the checker takes the smallest chunk of those that count
			require.GreaterOrEqual(t, yield, c.Estimate, "%v on %+v: %#v", p, p.Topology, c.Witness)
		} else {
			require.Equal(t, yield, c.Estimate, "%v on %+v: %#v", p, p.Topology, c.Witness)
		}
		require.Equal(t, verify.Proved, cert.Check(context.Background(), &model.Certificate{Problem: p, Witness: c.Witness, Bound: c.Estimate}).Outcome)
		kinds[c.Witness.Kind()]++
	}
	again, _, err := bound.All(context.Background(), p)
	require.NoError(t, err)
	require.Equal(t, all, again, "not deterministic")
}

func TestAgree(t *testing.T) {
	kinds := map[string]int{}
	for _, p := range solvetest.Problems(t) {
		agree(t, p, kinds)
	}
	for seed := range uint64(400) {
		agree(t, random(rand.New(rand.NewPCG(seed, 1))), kinds)
	}
	for _, kind := range []string{"cut", "ingress", "egress", "volume", "prices", "distance", "doubling", "broadcast", "combine"} {
		require.Positive(t, kinds[kind], "never a bound of kind %s", kind)
	}
}

// random returns a random problem on a random network, with links of all speeds,
// switches, ports, late ranks, groups, and collectives of all kinds.
func random(r *rand.Rand) *model.Problem {
	for {
		n := 2 + r.IntN(6)
		t := &model.Topology{Name: "random", Ranks: n}
		for i := range r.IntN(3) {
			t.Switches = append(t.Switches, model.Switch{Name: fmt.Sprint(i), Copies: r.IntN(4) == 0})
		}
		order := r.Perm(t.Nodes())
		link := func(u, v int) {
			if u != v {
				t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(r.IntN(2000)), Bandwidth: 1e9 * (1 + r.Int64N(9))})
			}
		}
		for i, u := range order {
			link(u, order[(i+1)%len(order)])
		}
		for range r.IntN(3 * n) {
			link(r.IntN(t.Nodes()), r.IntN(t.Nodes()))
		}
		if links := t.Out()[r.IntN(t.Nodes())]; r.IntN(3) == 0 && len(links) > 0 {
			t.Ports = append(t.Ports, model.Port{Links: links, Capacity: 1 + r.IntN(2)})
		}
		p := &model.Problem{Topology: t, Size: int64(n*n) + r.Int64N(1000), Cost: model.CostModel(1 + r.IntN(3))}
		kinds := append(model.Kinds(), model.Custom)
		p.Collective = model.Collective{Kind: kinds[r.IntN(len(kinds))]}
		if p.Collective.Kind == model.Custom {
			p.Collective = custom(r, n)
		} else if r.IntN(3) == 0 {
			p.Collective.Group = r.Perm(n)[:1+r.IntN(n)]
			if p.Collective.Kind.Rooted() {
				p.Collective.Root = p.Collective.Group[0]
			}
		}
		if r.IntN(3) == 0 {
			p.Release = make([]model.Time, n)
			p.Release[r.IntN(n)] = model.Time(r.IntN(5000))
		}
		if r.IntN(3) > 0 {
			p = p.WithChunks(p.DefaultChunks(1 + r.IntN(3)))
		}
		if p.Validate() == nil {
			return p
		}
	}
}

// custom returns a collective with conditions of any kind, which may be out of reach.
func custom(r *rand.Rand, n int) model.Collective {
	c := model.Collective{Kind: model.Custom, Chunks: 1 + r.IntN(4), Op: model.Operator(r.IntN(4))}
	value := func() model.Value {
		var terms []model.Term
		for _, a := range r.Perm(n)[:1+r.IntN(n)] {
			terms = append(terms, model.Term{Rank: a, Count: 1 + r.IntN(2)})
		}
		return model.Multiset(terms...)
	}
	for k := range c.Chunks {
		for a := range n {
			switch r.IntN(4) {
			case 0:
				c.Pre = append(c.Pre, model.Condition{Rank: a, Chunk: k, Value: model.Unit(a)})
			case 1:
				c.Pre = append(c.Pre, model.Condition{Rank: a, Chunk: k, Value: value()})
			}
			if r.IntN(3) == 0 {
				c.Post = append(c.Post, model.Condition{Rank: a, Chunk: k, Value: value()})
			}
		}
	}
	return c
}
