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

const gb = int64(1e9)

// network builds a topology by name with the given latency; negative keeps its own.
func network(t *testing.T, name string, alpha model.Time, bandwidth int64) *model.Topology {
	var o topo.Options
	if bandwidth > 0 {
		o.Bandwidth = []int64{bandwidth}
	}
	if name == "petersen" {
		return petersen(bandwidth)
	}
	n, err := topo.Parse(name, o)
	require.NoError(t, err)
	if alpha >= 0 {
		for i := range n.Links {
			n.Links[i].Alpha = alpha
		}
	}
	return n
}

// petersen builds the Petersen graph with one link each way for each of its 15 edges.
func petersen(bandwidth int64) *model.Topology {
	t := &model.Topology{Name: "petersen", Ranks: 10}
	edge := func(u, v int) {
		t.Links = append(t.Links, model.Link{Src: u, Dst: v, Bandwidth: bandwidth}, model.Link{Src: v, Dst: u, Bandwidth: bandwidth})
	}
	for i := range 5 {
		edge(i, (i+1)%5)
		edge(i, i+5)
		edge(5+i, 5+(i+2)%5)
	}
	return t
}

// TestThroughput sets the bounds for every cut, without latencies and for large
// buffers, against the optimal throughputs of the literature: the time in units of
// what a shard takes on a link (allgather: ForestColl, arXiv:2402.06787; DGX-1: 7/6,
// also SCCL, PPoPP 2021; alltoall: half the ranks to the other half, or the sum of all
// distances over all links).
func TestThroughput(t *testing.T) {
	for _, c := range []struct {
		name     string
		kind     model.Kind
		num, den int64
		by       string
	}{
		{"dgx1", model.AllGather, 7, 6, "ingress"},
		{"dgx1", model.ReduceScatter, 7, 6, "egress"},
		{"dgx1", model.Scatter, 7, 6, "egress"},
		{"dgx1", model.Gather, 7, 6, "ingress"},
		{"dgx1", model.AllReduce, 14, 6, "volume"},
		{"dgx1", model.AllToAll, 8, 3, "cut"},
		{"ring:6", model.AllGather, 5, 2, "ingress"},
		{"ring:9", model.ReduceScatter, 4, 1, "egress"},
		{"ring:4", model.Scatter, 3, 2, "egress"},
		{"uniring:5", model.AllGather, 4, 1, "ingress"},
		{"full:7", model.AllGather, 1, 1, "ingress"},
		{"full:7", model.AllToAll, 1, 1, "ingress"},
		{"hypercube:3", model.AllGather, 7, 3, "ingress"},
		{"hypercube:4", model.AllGather, 15, 4, "ingress"},
		{"torus:3x3", model.AllGather, 2, 1, "ingress"},
		{"torus:4x4", model.AllGather, 15, 4, "ingress"},
		{"torus:5x5", model.AllGather, 6, 1, "ingress"},
		{"torus:4x4x4", model.AllGather, 21, 2, "ingress"},
		{"mesh:4x4", model.AllGather, 15, 2, "ingress"},
		{"petersen", model.AllGather, 3, 1, "ingress"},
		{"petersen", model.AllToAll, 5, 1, "prices"},
		{"ring:4", model.AllToAll, 2, 1, "cut"},
		{"ring:5", model.AllToAll, 3, 1, "cut"},
		{"ring:6", model.AllToAll, 9, 2, "cut"},
		{"ring:7", model.AllToAll, 6, 1, "cut"},
		{"ring:8", model.AllToAll, 8, 1, "cut"},
		{"hypercube:3", model.AllToAll, 4, 1, "cut"},
		{"hypercube:4", model.AllToAll, 8, 1, "cut"},
		{"hypercube:5", model.AllToAll, 16, 1, "cut"},
		{"hypercube:6", model.AllToAll, 32, 1, "cut"},
		{"mesh:8x8", model.AllToAll, 128, 1, "cut"},
		{"torus:8x8", model.AllToAll, 64, 1, "cut"},
		{"switch:8", model.AllGather, 7, 1, "ingress"},
		{"switch:8", model.AllReduce, 14, 1, "volume"},
		{"ndv2:2", model.AllGather, 8 * 25, 12, ""}, // 8 shards over a link of 12.5 GB/s
		{"ndv2:4", model.AllGather, 24 * 2, 1, ""},
	} {
		t.Run(c.name+"-"+c.kind.String(), func(t *testing.T) {
			bandwidth := 25 * gb
			if c.name == "dgx1" || c.name[:4] == "ndv2" {
				bandwidth = 0
			}
			n := network(t, c.name, 0, bandwidth)
			shards := int64(n.Ranks)
			p := &model.Problem{Topology: n, Collective: model.Collective{Kind: c.kind}, Size: shards * gb, Cost: model.Pipelined}
			if c.name == "ndv2:2" {
				c.num, c.den = 16, 1
			}
			want := 40 * model.Millisecond * model.Time(c.num) / model.Time(c.den)
			got, err := bound.Best(context.Background(), p)
			require.NoError(t, err)
			require.InEpsilon(t, float64(want), float64(got.Estimate), 1e-6, "%v by %s", got.Estimate, got.Witness.Kind())
			require.GreaterOrEqual(t, got.Estimate, want)
			if c.by != "" {
				all, _, err := bound.All(context.Background(), p)
				require.NoError(t, err)
				for _, a := range all {
					if a.Witness.Kind() == c.by {
						require.InEpsilon(t, float64(want), float64(a.Estimate), 1e-6, "%v by %s", a.Estimate, c.by)
						return
					}
				}
				require.Fail(t, "no bound by "+c.by)
			}
		})
	}
}

// TestWithChunks sets bounds for one cut against values that are known to be optimal.
func TestWithChunks(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name   string
		kind   model.Kind
		size   int64
		chunks int // a rank
		cost   model.CostModel
		alpha  model.Time
		rate   int64
		want   float64 // microseconds
		source string
	}{
		{"mesh:8x8", model.AllGather, 64 * mib, 1, model.Blocking, 500_000, 50 << 30, 641.0, "a corner receives 63 chunks over 2 links, 32 on one"},
		{"torus:16x16", model.AllGather, 256 * mib, 1, model.Blocking, 500_000, 50 << 30, 1282.0, "255 chunks over 4 links, 64 on one"},
		// The regression tests of TACOS (Won et al., MICRO 2024; astra-sim/tacos).
		{"mesh:5x5", model.AllGather, 1024 * mib, 1, model.Blocking, 500_000, 50 << 30, 9606.00, "tacos"},
		{"mesh:10x10", model.AllGather, 1024 * mib, 2, model.Blocking, 1000_000, 100 << 30, 5049.00, "tacos"},
		{"mesh:7x12", model.AllGather, 4096 * mib, 3, model.Blocking, 1000_000, 100 << 30, 19966.27, "tacos"},
		{"mesh:3x3x3", model.AllGather, 1024 * mib, 1, model.Blocking, 500_000, 50 << 30, 6671.17, "tacos"},
		{"mesh:3x4x5", model.AllGather, 2048 * mib, 2, model.Blocking, 500_000, 50 << 30, 13353.33, "tacos"},
		{"mesh:4x2x3", model.AllGather, 3072 * mib, 3, model.Blocking, 500_000, 50 << 30, 19178.17, "tacos"},
		{"torus:3x3x3", model.AllGather, 1024 * mib, 1, model.Blocking, 500_000, 50 << 30, 3706.20, "tacos"},
		{"torus:3x4x5", model.AllGather, 2048 * mib, 2, model.Blocking, 500_000, 50 << 30, 6676.67, "tacos"},
		// NDv2 without latencies, 1 GB, all 16 or 32 ranks: the slow link for all chunks of the other
		// chassis, then three links of 50 GB/s from where it ends to the farthest rank.
		{"ndv2:2", model.AllGather, gb, 1, model.Pipelined, 0, 0, 43750, "8 chunks of 5 ms and 3 of 1.25 ms"},
		{"ndv2:4", model.AllGather, gb, 1, model.Pipelined, 0, 0, 61875, "24 chunks of 2.5 ms and 3 of 0.625 ms"},
		{"ndv2:4", model.ReduceScatter, gb, 1, model.Pipelined, 0, 0, 61875, "the same backwards"},
	} {
		t.Run(c.name+"-"+c.kind.String(), func(t *testing.T) {
			n := network(t, c.name, c.alpha, c.rate)
			p := &model.Problem{Topology: n, Collective: model.Collective{Kind: c.kind}, Size: c.size, Cost: c.cost}
			p = p.WithChunks(p.DefaultChunks(c.chunks))
			require.NoError(t, p.Validate())
			got, err := bound.Best(context.Background(), p)
			require.NoError(t, err)
			require.InDelta(t, c.want, float64(got.Estimate)/1e6, 0.01, "%s by %s", c.source, got.Witness.Kind())
		})
	}
}

// TestRounds sets bounds in rounds against the classical ones: one-port broadcast of m
// messages to n ranks takes m-1 + ⌈log2 n⌉ rounds, and so do a reduction, and an
// allreduce once its last rank has arrived (StragglAR).
func TestRounds(t *testing.T) {
	for n := 2; n <= 17; n++ {
		log := 0
		for 1<<log < n {
			log++
		}
		for _, m := range []int{1, 2, 5} {
			full, err := topo.Full(n, topo.Wire{Alpha: 700, Bandwidth: 1e12})
			require.NoError(t, err)
			problem := func(kind model.Kind) *model.Problem {
				p := &model.Problem{Topology: full, Collective: model.Collective{Kind: kind}, Size: 300 * int64(m), Cost: model.Rounds}
				return p.WithChunks(m)
			}
			rounds := func(p *model.Problem) model.Time {
				c, err := bound.Best(context.Background(), p)
				require.NoError(t, err)
				return c.Estimate / 1000
			}
			require.EqualValues(t, m-1+log, rounds(problem(model.Broadcast)), "n=%d m=%d", n, m)
			require.EqualValues(t, m-1+log, rounds(problem(model.Reduce)), "n=%d m=%d", n, m)
			late := problem(model.AllReduce)
			late.Release = make([]model.Time, n)
			late.Release[n/2] = 1_000_000
			require.EqualValues(t, 1000+m-1+log, rounds(late), "n=%d m=%d", n, m)
		}
	}
}

// TestSlots: with chunks of 1 MiB over links of 50 GiB/s and
// 0.5 us (20.03125 us a slot, blocking) the ingress bounds are those that TACOS's
// authors' code reaches; alltoall on a ring of n = 8 needs n²/8 slots (a cut in the
// middle); the fluid all-gather on DGX-1 is 7/6 of a shard's time on one link (the
// cut around a rank), alltoall 8/3 (the cut between the quads).
func TestSlots(t *testing.T) {
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
		require.GreaterOrEqual(t, c.Estimate, want.bound, "%v by %s", p, c.Witness.Kind())
	}
}

// TestAnyCut: what holds for every cut is no more than what holds for one.
func TestAnyCut(t *testing.T) {
	for _, name := range []string{"ring:5", "dgx1", "switch:4", "mesh:3x3", "fattree:2x2"} {
		for _, kind := range model.Kinds() {
			for _, cost := range []model.CostModel{model.Blocking, model.Pipelined, model.Rounds} {
				tp, err := topo.Parse(name, topo.Options{})
				require.NoError(t, err)
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: cost}
				free, err := bound.Best(context.Background(), p)
				require.NoError(t, err)
				for _, k := range []int{1, 3} {
					fixed, err := bound.Best(context.Background(), p.WithChunks(p.DefaultChunks(k)))
					require.NoError(t, err)
					require.LessOrEqual(t, free.Estimate, fixed.Estimate, "%v with %d chunks per rank", p, k)
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
