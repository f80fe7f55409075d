package oneshot_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/oneshot"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// network returns a random network in which every rank reaches every other: parallel links,
// switches, ports that links share, links of all speeds and latencies.
func network(r *rand.Rand) *model.Topology {
	t := &model.Topology{Name: "random", Ranks: 2 + r.IntN(7)}
	for range r.IntN(3) {
		t.Switches = append(t.Switches, model.Switch{Copies: r.IntN(2) == 0})
	}
	link := func(u, v int) {
		if u != v {
			t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: model.Time(r.IntN(4) * r.IntN(50)), Bandwidth: int64(1e12) / int64(1+r.IntN(5))})
		}
	}
	order := r.Perm(t.Nodes())
	for i, u := range order {
		link(u, order[(i+1)%len(order)])
	}
	for range r.IntN(4 * t.Nodes()) {
		link(r.IntN(t.Nodes()), r.IntN(t.Nodes()))
	}
	for range r.IntN(3) {
		v := r.IntN(t.Nodes())
		links := slices.Clone([][]int{t.Out()[v], t.In()[v]}[r.IntN(2)])
		r.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
		if len(links) > 0 {
			t.Ports = append(t.Ports, model.Port{Links: links[:1+r.IntN(len(links))], Capacity: 1 + r.IntN(2)})
		}
	}
	return t
}

// On any network, for any group and cut, what the methods find is right.
func TestRandom(t *testing.T) {
	seeds, served := 120, map[string]int{}
	if testing.Short() {
		seeds = 30
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := allreduce(network(r), 1+r.Int64N(300))
		p.Cost = []model.CostModel{model.Blocking, model.Pipelined}[r.IntN(2)]
		p.Collective.Op = model.Operator(r.IntN(4))
		if r.IntN(3) == 0 {
			p.Collective.Group = r.Perm(p.Topology.Ranks)[:1+r.IntN(p.Topology.Ranks)]
		}
		if r.IntN(2) == 0 {
			p = p.WithChunks(1 + r.IntN(int(min(9, p.Size))))
		}
		require.NoError(t, p.Validate())
		for _, m := range oneshot.All() {
			got, err := m.Solve(context.Background(), p, solve.Options{})
			if errors.Is(err, solve.ErrNotServed) {
				continue
			}
			require.NoError(t, err, "seed %d, %s", seed, m.Name())
			require.NoError(t, solvetest.Right(got.Problem, got.Schedule), "seed %d, %s: %v", seed, m.Name(), got.Problem)
			served[m.Name()]++
		}
	}
	require.Greater(t, served["oneshot"], seeds/3)
	require.Greater(t, served["mixed"], seeds*5/6)
	require.Greater(t, served["hierarchical"], seeds/3)
}
