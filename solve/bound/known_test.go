package bound_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/bound"
)

// TestKnown: bounds that are known. With chunks of 1 MiB over links of 50 GiB/s and
// 0.5 us (20.03125 us a slot, blocking) the ingress bounds are those that TACOS's
// authors' code reaches; alltoall on a ring of n = 8 needs n²/8 slots (a cut in the
// middle); the fluid all-gather on DGX-1 is 7/6 of a shard's time on one link (the
// cut around a rank), alltoall 8/3 (the cut between the quads).
func TestKnown(t *testing.T) {
	const slot = 20031250
	for _, want := range []struct {
		topology string
		kind     model.Kind
		cost     model.CostModel
		chunks   int // a rank; 0: every cut
		perRank  int64
		bound    model.Time
	}{
		{"mesh:8x8", model.AllGather, model.Blocking, 1, 1 << 20, 32 * slot},
		{"torus:8x8", model.AllGather, model.Blocking, 1, 1 << 20, 16 * slot},
		{"torus:16x16", model.AllGather, model.Blocking, 1, 1 << 20, 64 * slot},
		{"torus:4x4x4", model.AllGather, model.Blocking, 1, 1 << 20, 11 * slot},
		{"ring:8", model.AllToAll, model.Blocking, 1, 1 << 20, 8 * slot},
		{"ring:8", model.AllGather, model.Blocking, 1, 1 << 20, 4 * slot},
		{"hypercube:3", model.AllGather, model.Blocking, 1, 1 << 20, 3 * slot},
		{"full:8", model.AllGather, model.Blocking, 1, 1 << 20, slot},
		{"dgx1", model.AllGather, model.Pipelined, 0, 150e6, 150e6*7*40/6 + 700000},
		{"dgx1", model.AllReduce, model.Pipelined, 0, 150e6, 2*150e6*7*40/6 + 700000},
		{"switch:8", model.AllGather, model.Rounds, 1, 1 << 20, 7 * slot},
	} {
		tp, err := topo.Parse(want.topology, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: want.kind}, Size: want.perRank * int64(tp.Ranks), Cost: want.cost}
		if want.chunks > 0 {
			p = p.WithChunks(p.DefaultChunks(want.chunks))
		}
		c, err := bound.Best(context.Background(), p)
		require.NoError(t, err)
		require.GreaterOrEqual(t, c.Bound, want.bound, "%v by %s", p, c.Witness.Kind())
	}
}

// TestAnyCut: what holds for every cut is no more than what holds for one.
func TestAnyCut(t *testing.T) {
	for _, name := range []string{"ring:5", "dgx1", "switch:4", "mesh:3x3", "ndv2:2"} {
		for _, kind := range model.Kinds() {
			for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds} {
				tp, err := topo.Parse(name, topo.Options{})
				require.NoError(t, err)
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: cost}
				free, err := bound.Best(context.Background(), p)
				require.NoError(t, err)
				for _, k := range []int{1, 2, 5} {
					fixed, err := bound.Best(context.Background(), p.WithChunks(p.DefaultChunks(k)))
					require.NoError(t, err)
					require.LessOrEqual(t, free.Bound, fixed.Bound, "%v with %d chunks a rank", p, k)
				}
			}
		}
	}
}

func BenchmarkBest(b *testing.B) {
	for _, name := range []string{"dgx1", "torus:8x8", "torus:16x16"} {
		for _, kind := range []model.Kind{model.AllGather, model.AllReduce} {
			b.Run(fmt.Sprintf("topo=%s/collective=%v", name, kind), func(b *testing.B) {
				tp, err := topo.Parse(name, topo.Options{})
				require.NoError(b, err)
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1 << 30, Cost: model.Pipelined}
				for b.Loop() {
					_, err := bound.Best(context.Background(), p)
					require.NoError(b, err)
				}
			})
		}
	}
}
