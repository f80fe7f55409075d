package broadcast

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// problem returns a collective of a GiB on a named network.
func problem(t testing.TB, name string, kind model.Kind) *model.Problem {
	network, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 1 << 30, Cost: model.Pipelined}
}

// serves reports whether p, a broadcast, has several members and no ports that limit transfers.
func serves(p *model.Problem) bool {
	limits := func(port model.Port) bool { return port.Capacity < len(port.Links) }
	return len(p.Members()) > 1 && !slices.ContainsFunc(p.Topology.Ports, limits)
}

// random returns a broadcast on a random network, nil if it is none that is served.
func random(rng *rand.Rand, cost model.CostModel) *model.Problem {
	p := &model.Problem{Topology: solvetest.RandomNetwork(rng), Size: 1 << 16, Cost: cost}
	p.Collective = model.Collective{Kind: model.Broadcast, Root: rng.IntN(p.Topology.Ranks)}
	if !serves(p) {
		return nil
	}
	return p
}

// TestManyRanks: among more ranks and switches than trees can be packed for, a broadcast needs regular trees or is sent on
// at once; where there are no such trees and the buffer is large, it is refused.
func TestManyRanks(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	lines := func() *model.Problem { // each rank reaches the next one only, over a switch of its own
		const n = 91
		p := &model.Problem{Topology: &model.Topology{Name: "line of switches", Ranks: n}, Collective: model.Collective{Kind: model.Broadcast}, Size: 1 << 30, Cost: model.Pipelined}
		for v := range n {
			p.Topology.Switches = append(p.Topology.Switches, model.Switch{Name: "s"})
			for _, l := range [][2]int{{v, n + v}, {n + v, (v + 1) % n}} {
				p.Topology.Links = append(p.Topology.Links, model.Link{Src: l[0], Dst: l[1], Bandwidth: 1e9, Alpha: 1000})
			}
		}
		return p
	}
	small, large := lines(), lines()
	small.Size = 9
	leaves := problem(t, "fattree:96x2", model.Broadcast)
	leaves.Size = 32
	for _, c := range []struct {
		p      *model.Problem
		served bool
	}{{small, true}, {large, false}, {leaves, true}} {
		require.Greater(t, len(c.p.Members()), manyRanks)
		b, done := solve.Options{}.Budget(context.Background())
		r, err := Solve(b, c.p, solve.Options{Effort: -1}, nil)
		done()
		if require.Equal(t, !c.served, errors.Is(err, solve.ErrNotServed), "%s: %v", c.p.Topology.Name, err); c.served {
			require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		}
	}
}
