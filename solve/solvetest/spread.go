package solvetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/traffic"
)

// Uneven makes p an uneven collective: members have up to most bytes each, and some none.
func Uneven(t require.TestingT, r *rand.Rand, p *model.Problem, name string, most int64) {
	bytes := make([]int64, p.Topology.Ranks)
	for i := range bytes {
		bytes[i] = r.Int64N(2) * r.Int64N(most)
	}
	bytes[r.IntN(len(bytes))] = most
	c, err := traffic.PerMember(name, p.Members(), 0, bytes)
	require.NoError(t, err)
	p.Collective, p.Size = *c, c.Ends[len(c.Ends)-1]
	require.NoError(t, p.Collective.Normalise(p.Topology.Ranks))
}

// RandomSpread returns an allgather or broadcast on a strongly connected network, with all links
// both ways if balanced.
func RandomSpread(r *rand.Rand, balanced bool) *model.Problem {
	n := 2 + r.IntN(5)
	tp := &model.Topology{Name: "random", Ranks: n}
	for i := range r.IntN(3) {
		tp.Switches = append(tp.Switches, model.Switch{Name: fmt.Sprint("s", i)})
	}
	link := func(u, v int) {
		if u != v {
			bandwidth := 1e9 * (1 + r.Int64N(7))
			tp.Links = append(tp.Links, model.Link{Src: u, Dst: v, Bandwidth: bandwidth})
			if balanced {
				tp.Links = append(tp.Links, model.Link{Src: v, Dst: u, Bandwidth: bandwidth})
			}
		}
	}
	order := r.Perm(tp.Nodes())
	for i, u := range order {
		link(u, order[(i+1)%len(order)])
	}
	for range r.IntN(3 * n) {
		link(r.IntN(tp.Nodes()), r.IntN(tp.Nodes()))
	}
	return &model.Problem{Topology: tp, Collective: model.Collective{Kind: []model.Kind{model.AllGather, model.Broadcast}[r.IntN(2)]}, Size: 1 << 20, Cost: model.Pipelined}
}
