package fluid

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

func problem(t testing.TB, name string, kind model.Kind) *model.Problem {
	tp, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: model.Pipelined}
}

var kinds = []model.Kind{model.AllGather, model.ReduceScatter, model.Broadcast, model.Reduce}

// TestTwoRoutes: cuts in whole numbers and linear programs give the same rate, exactly.
func TestTwoRoutes(t *testing.T) {
	for _, name := range []string{"ring:5", "uniring:4", "mesh:3x4", "torus:3x3", "hypercube:3", "full:6", "switch:8", "fattree:2x4", "dragonfly:3x2x2",
		"dgx1", "ndv2:2", "dgx2", "dgxa100", "dgxh100", "mi250", "mi300x", "line:4"} {
		for _, kind := range kinds {
			t.Run(fmt.Sprint(name, kind), func(t *testing.T) { agree(t, problem(t, name, kind)) })
		}
	}
}

func agree(t *testing.T, p *model.Problem) {
	cuts, err := Rate(context.Background(), p)
	require.NoError(t, err)
	programs, off, err := RateByLP(context.Background(), p)
	require.NoError(t, err)
	require.Zero(t, cuts.TimeOf(p.Size).Cmp(programs.TimeOf(p.Size)), "%v by cuts, %v by linear programs: %+v", cuts, programs, p.Topology)
	require.Less(t, off, 1e-6)
}

// TestRandom does it on random networks, where all sets of nodes are tried as well.
func TestRandom(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 5))
		n := 2 + r.IntN(5)
		tp := &model.Topology{Name: "random", Ranks: n}
		if r.IntN(2) == 0 {
			tp.Switches = []model.Switch{{Name: "s"}}
		}
		order := r.Perm(tp.Nodes())
		link := func(u, v int) {
			if u != v {
				tp.Links = append(tp.Links, model.Link{Src: u, Dst: v, Bandwidth: 1e9 * (1 + r.Int64N(7))})
			}
		}
		for i, u := range order {
			link(u, order[(i+1)%len(order)])
		}
		for range r.IntN(4 * n) {
			link(r.IntN(tp.Nodes()), r.IntN(tp.Nodes()))
		}
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kinds[seed%4]}, Size: 1000, Cost: model.Pipelined}
		agree(t, p)
		rate, err := Rate(context.Background(), p)
		require.NoError(t, err)
		require.Zero(t, rate.TimeOf(1).Cmp(exhaustive(t, p)), "seed %d", seed)
	}
}

// exhaustive tries all sets of nodes.
func exhaustive(t *testing.T, p *model.Problem) *big.Rat {
	in, err := newInstance(p)
	require.NoError(t, err)
	most := new(big.Rat)
	for bits := range 1 << in.t.Nodes() {
		side, all := make([]bool, in.t.Nodes()), true
		for v := range side {
			side[v] = bits>>v&1 == 1
		}
		for _, d := range in.sinks {
			all = all && side[d]
		}
		if l, err := in.limit(side); !all && err == nil && l.Shares > 0 && l.TimeOf(1).Cmp(most) > 0 {
			most = l.TimeOf(1)
		}
	}
	return most
}

// TestKnown: rates in closed form.
func TestKnown(t *testing.T) {
	for name, c := range map[string]struct {
		kind  model.Kind
		links float64 // bytes per second of the buffer, in links' bandwidths
	}{
		"ring:8":      {model.AllGather, 8. / 7 * 2},
		"full:5":      {model.AllGather, 5. / 4 * 4},
		"hypercube:4": {model.AllGather, 16. / 15 * 4},
		"torus:4x4":   {model.ReduceScatter, 16. / 15 * 4},
		"line:4":      {model.Broadcast, 1},
	} {
		p := problem(t, name, c.kind)
		l, err := Rate(context.Background(), p)
		require.NoError(t, err)
		got, _ := l.Algbw().Float64()
		require.InEpsilon(t, c.links*float64(p.Topology.Links[0].Bandwidth), got, 1e-12, name)
	}
}

func TestAllToAll(t *testing.T) {
	// n times the degree over the sum of the distances from a rank
	for name, links := range map[string]float64{"ring:4": 2, "ring:8": 1, "hypercube:3": 2, "full:4": 4, "torus:3x3": 3} {
		p := problem(t, name, model.AllToAll)
		c, err := AllToAll(context.Background(), p)
		require.NoError(t, err)
		bound, _ := c.Bound.Float64()
		require.InEpsilon(t, c.Algbw, bound, 1e-5, name)
		require.InEpsilon(t, links*float64(p.Topology.Links[0].Bandwidth), bound, 1e-12, name)
	}
}

// TestAllReduce: by trees, an allreduce is at least as fast as a reducescatter and an
// allgather one after the other, and on symmetric networks exactly as fast.
func TestAllReduce(t *testing.T) {
	for name, better := range map[string]float64{"ring:4": 1, "ring:5": 1, "hypercube:3": 1, "full:4": 1, "torus:3x3": 1, "dgx1": 1, "switch:4": 1} {
		p := problem(t, name, model.AllReduce)
		x, err := AllReduce(context.Background(), p)
		require.NoError(t, err)
		two := new(big.Rat)
		for _, kind := range []model.Kind{model.ReduceScatter, model.AllGather} {
			l, err := Rate(context.Background(), problem(t, name, kind))
			require.NoError(t, err)
			two.Add(two, l.TimeOf(1))
		}
		halves, _ := two.Inv(two).Float64()
		require.InEpsilon(t, better, x/halves, 1e-6, name)
	}
}

func TestNotServed(t *testing.T) {
	p := problem(t, "ring:4", model.AllToAll)
	_, err := Rate(context.Background(), p)
	require.ErrorIs(t, err, solve.ErrNotServed)
	islands := &model.Topology{Name: "islands", Ranks: 2, Links: []model.Link{{Src: 0, Dst: 1, Bandwidth: 1}}}
	_, err = Rate(context.Background(), &model.Problem{Topology: islands, Collective: model.Collective{Kind: model.AllGather}, Size: 2, Cost: model.Pipelined})
	require.ErrorContains(t, err, "no link leads")
}

func BenchmarkRate(b *testing.B) {
	for _, name := range []string{"dgx1", "ndv2:4", "mi250", "torus:8x8x8", "torus:32x32"} {
		b.Run(name, func(b *testing.B) {
			p := problem(b, name, model.AllGather)
			for b.Loop() {
				_, err := Rate(context.Background(), p)
				require.NoError(b, err)
			}
		})
	}
}
