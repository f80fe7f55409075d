package tacos_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/tacos"
)

func TestConformance(t *testing.T) {
	solvetest.Run(t, tacos.New(), solvetest.Config{Serves: 250})
}

// network returns a topology by its name, with the bandwidths of its dimensions in
// GiB/s behind a semicolon: "mesh:5x5;50,75".
func network(t testing.TB, name string) *model.Topology {
	t.Helper()
	name, list, _ := strings.Cut(name, ";")
	o := topo.Options{}
	for rate := range strings.SplitSeq(list, ",") {
		if rate != "" {
			b, err := model.ParseRate(rate + "GiB/s")
			require.NoError(t, err)
			o.Bandwidth = append(o.Bandwidth, b)
		}
	}
	tp, err := topo.Parse(name, o)
	require.NoError(t, err)
	return tp
}

func allGather(t testing.TB, name string, size int64, chunks int) *model.Problem {
	t.Helper()
	p := &model.Problem{Topology: network(t, name), Collective: model.Collective{Kind: model.AllGather}, Size: size, Cost: model.Blocking}
	return p.WithChunks(p.DefaultChunks(chunks))
}

// TestPublished: allgather under the blocking cost model, with 0.5 us a link, and 50
// GiB/s where nothing else is said. The times are those that the authors' own
// implementation (v1.3.0) reports on the same networks, in picoseconds. On
// heterogeneous meshes it cannot keep to what it reports: it lets transfers carry what
// was not there when they began. Ours can, and is within a fiftieth of the lower bound, on
// tori of 1024 within a two hundredth.
func TestPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, want := range []struct {
		topology string
		size     int64 // bytes; 0: 1 MiB a rank
		chunks   int   // a rank
		reported model.Time
	}{
		{"mesh:8x8", 0, 1, 641_000_000},
		{"mesh:12x12", 0, 1, 1_442_300_000},
		{"mesh:16x16", 0, 1, 2_564_000_000},
		{"torus:8x8", 0, 1, 340_531_250},
		{"torus:16x16", 0, 1, 1_302_031_250},
		{"torus:4x4x4", 0, 1, 220_343_750},
		{"torus:6x6x6", 0, 1, 741_156_250},
		{"mesh:8x8;50,75", 0, 1, 513_800_000},
		{"mesh:16x16;50,75", 0, 1, 2_063_300_000},
		{"mesh:5x5;50,75", 1 << 30, 1, 8_005_000_000},
		{"mesh:8x5;80,35", 1 << 30, 2, 8_595_000_000},
		{"mesh:7x10;16,73", 4 << 30, 3, 44_612_000_000},
		{"mesh:8x8;50,75", 1 << 30, 1, 7_936_000_000},
		{"mesh:10x10;50,75", 1 << 30, 1, 8_020_000_000},
		{"mesh:8x8;50,100", 1 << 30, 1, 6_584_000_000},
	} {
		tp := network(t, want.topology)
		if want.size == 0 {
			want.size = int64(tp.Ranks) << 20
		}
		p := allGather(t, want.topology, want.size, want.chunks)
		r, err := tacos.New().Solve(context.Background(), p, solve.Options{Seed: 1})
		require.NoError(t, err)
		// To a nanosecond: their chunks need not be whole bytes.
		require.LessOrEqual(t, r.Makespan(), want.reported+model.Nanosecond, want.topology)
		c, err := bound.Best(context.Background(), r.Problem)
		require.NoError(t, err)
		most := 1.02
		if strings.HasPrefix(want.topology, "torus") && tp.Ranks >= 1024 {
			most = 1.005
		}
		require.GreaterOrEqual(t, r.Makespan(), c.Estimate, want.topology)
		require.LessOrEqual(t, float64(r.Makespan()), most*float64(c.Estimate), "%s: %s bound", want.topology, c.Witness.Kind())
		t.Logf("%s: %v, %.4f of the %s bound", want.topology, r.Makespan(), float64(r.Makespan())/float64(c.Estimate), c.Witness.Kind())
		if len(r.Schedule.Transfers) < 20000 {
			require.NoError(t, solvetest.Right(r.Problem, r.Schedule), want.topology)
		}
	}
}

// TestIngress: what every rank must receive needs ⌈chunks/links⌉ steps on a torus, and
// no more are used; likewise over a switch, where it takes a maximum matching.
func TestIngress(t *testing.T) {
	for _, want := range []struct {
		topology string
		kind     model.Kind
		steps    int
	}{
		{"torus:4x4", model.AllGather, 4},
		{"torus:8x8", model.AllGather, 16},
		{"torus:16x16", model.AllGather, 64},
		{"torus:4x4x4", model.ReduceScatter, 11},
		{"hypercube:6", model.AllGather, 11},
		{"switch:9", model.AllGather, 8},
		{"switch:16", model.ReduceScatter, 15},
		{"switch:16", model.AllToAll, 15},
		{"full:8", model.AllToAll, 1},
		{"dgx1", model.AllGather, 2},
	} {
		for _, cost := range []model.CostModel{model.Blocking, model.Rounds} {
			if cost == model.Rounds && !strings.HasPrefix(want.topology, "switch") {
				continue
			}
			tp := network(t, want.topology)
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: want.kind}, Size: int64(tp.Ranks) << 20, Cost: cost}
			r, err := tacos.New().Solve(context.Background(), p, solve.Options{})
			require.NoError(t, err)
			step := tp.Duration(r.Schedule.Routes[r.Schedule.Transfers[0].Route], 1<<20)
			if strings.HasPrefix(want.topology, "switch") && cost == model.Blocking {
				step -= tp.Links[0].Alpha // links behind one another overlap
				require.LessOrEqual(t, r.Makespan(), step.Mul(int64(want.steps))+tp.Links[0].Alpha, "%s %v", want.topology, cost)
				continue
			}
			require.Equal(t, step.Mul(int64(want.steps)), r.Makespan(), "%s %v", want.topology, cost)
		}
	}
}

// TestOverlap: on a mesh the links of corners are the scarce ones, those out of them
// while chunks are reduced, those into them while they are spread. With several chunks
// per rank both are used at once.
func TestOverlap(t *testing.T) {
	p := &model.Problem{Topology: network(t, "mesh:8x8"), Collective: model.Collective{Kind: model.AllReduce}, Size: 64 << 20, Cost: model.Blocking}
	p = p.WithChunks(p.DefaultChunks(4))
	r, err := tacos.New().Solve(context.Background(), p, solve.Options{})
	require.NoError(t, err)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	half := allGather(t, "mesh:8x8", 64<<20, 4)
	g, err := tacos.New().Solve(context.Background(), half, solve.Options{})
	require.NoError(t, err)
	require.Less(t, r.Makespan(), 2*g.Makespan()*9/10)
}

// TestThreads: the number of threads makes no difference, the seed does.
func TestThreads(t *testing.T) {
	for _, kind := range model.Kinds() {
		p := &model.Problem{Topology: network(t, "mesh:3x4;50,75"), Collective: model.Collective{Kind: kind}, Size: 12 << 20, Cost: model.Pipelined}
		var first *model.Schedule
		for _, threads := range []int{1, 2, 5} {
			r, err := tacos.New().Solve(context.Background(), p, solve.Options{Seed: 7, Threads: threads})
			require.NoError(t, err)
			if first == nil {
				first = r.Schedule
			}
			require.Equal(t, first, r.Schedule, "%v with %d threads", kind, threads)
		}
		if kind.Rooted() {
			continue // few choices
		}
		r, err := tacos.New().Solve(context.Background(), p, solve.Options{Seed: 8})
		require.NoError(t, err)
		require.NotEqual(t, first.Transfers, r.Schedule.Transfers, kind)
	}
}

// TestAnyCut: an allreduce is cut as the problem says, whatever the number of ranks.
func TestAnyCut(t *testing.T) {
	for chunks := 1; chunks <= 9; chunks++ {
		p := &model.Problem{Topology: network(t, "ring:5"), Collective: model.Collective{Kind: model.AllReduce}, Size: 99991, Cost: model.Pipelined}
		p = p.WithChunks(chunks)
		r, err := tacos.New().Solve(context.Background(), p, solve.Options{})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
		require.Len(t, r.Schedule.Transfers, 2*4*chunks)
	}
}

// TestRootInTheMiddle: of the members that could be the root of a single chunk, one in
// the middle is found.
func TestRootInTheMiddle(t *testing.T) {
	p := &model.Problem{Topology: network(t, "line:7"), Collective: model.Collective{Kind: model.AllReduce}, Size: 1 << 20, Cost: model.Blocking}
	p = p.WithChunks(1)
	r, err := tacos.New().Solve(context.Background(), p, solve.Options{})
	require.NoError(t, err)
	require.Equal(t, 6*p.Topology.Duration([]int{0}, 1<<20), r.Makespan())
}

// TestLimits: what is not there yet when the time is over is no error.
func TestLimits(t *testing.T) {
	p := allGather(t, "torus:16x16", 256<<20, 1)
	r, err := tacos.New().Solve(context.Background(), p, solve.Options{TimeLimit: 1})
	require.NoError(t, err)
	require.Equal(t, solve.TimeLimit, r.Stop)
	require.Nil(t, r.Schedule)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err = tacos.New().Solve(ctx, p, solve.Options{})
	require.NoError(t, err)
	require.Equal(t, solve.Interrupted, r.Stop)
	p.Size, p.Chunks = 1<<40, nil
	_, err = tacos.New().Solve(context.Background(), p, solve.Options{Chunks: 1 << 12})
	require.ErrorIs(t, err, solve.ErrNotServed)
}

// TestProgress: the incumbent only ever gets better.
func TestProgress(t *testing.T) {
	p := &model.Problem{Topology: network(t, "torus:4x4"), Collective: model.Collective{Kind: model.AllToAll}, Size: 16 << 20, Cost: model.Blocking}
	var last model.Time
	r, err := tacos.New().Solve(context.Background(), p, solve.Options{Progress: func(s solve.Progress) {
		if last > 0 {
			require.Less(t, s.Incumbent, last)
		}
		last = s.Incumbent
	}})
	require.NoError(t, err)
	require.Equal(t, last, r.Makespan())
}

func BenchmarkSolve(b *testing.B) {
	for _, c := range []struct {
		topology string
		kind     model.Kind
	}{
		{"torus:16x16", model.AllGather}, {"torus:32x32", model.AllGather}, {"mesh:16x16;50,75", model.AllGather},
		{"mesh:16x16;50,75", model.AllReduce}, {"torus:8x8", model.AllToAll}, {"switch:64", model.AllGather}, {"fattree:8x8", model.AllGather},
	} {
		b.Run(fmt.Sprintf("solver=tacos/topo=%s/collective=%v", c.topology, c.kind), func(b *testing.B) {
			tp := network(b, c.topology)
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: c.kind}, Size: int64(tp.Ranks) << 20, Cost: model.Blocking}
			b.ReportAllocs()
			var r solve.Result
			var err error
			for b.Loop() {
				r, err = tacos.New().Solve(context.Background(), p, solve.Options{Seed: 1, Threads: 1})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(r.Makespan())/1e6, "makespan-us")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(r.Schedule.Transfers)), "ns/transfer")
		})
	}
}

// BenchmarkStream makes large allgathers that nobody keeps.
func BenchmarkStream(b *testing.B) {
	for _, name := range []string{"torus:32x32", "torus:64x64", "mesh:32x32;50,75"} {
		b.Run("solver=tacos/topo="+name, func(b *testing.B) {
			tp := network(b, name)
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: int64(tp.Ranks) << 20, Cost: model.Blocking}
			b.ReportAllocs()
			var st *solve.Stream
			for b.Loop() {
				var err error
				st, err = tacos.New().(solve.Streamer).Stream(context.Background(), p, solve.Options{Seed: 1})
				require.NoError(b, err)
				_, err = st.Run(context.Background(), func([]model.Transfer) bool { return true })
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(st.Transfers), "ns/transfer")
		})
	}
}

// TestRepaired: where the first schedules are far from what is possible, repairs bring them
// near it. limit is what was reached when this was written, of which the bound is below a
// twentieth; the first schedules were 6 to 28 % above.
func TestRepaired(t *testing.T) {
	for _, want := range []struct {
		topology string
		kind     model.Kind
		limit    model.Time
	}{
		{"mi250", model.AllToAll, 117_000_000},           // bound 116.04 us
		{"dragonfly:2x2x2", model.AllToAll, 315_000_000}, // 314.00
		{"fattree:4x4x2", model.AllToAll, 237_000_000},   // 236.38
		{"fattree:4x4", model.AllToAll, 148_500_000},     // 147.48: by shifts
		{"mesh:4x4", model.AllToAll, 158_000_000},        // 156.75
	} {
		p := &model.Problem{Topology: network(t, want.topology), Collective: model.Collective{Kind: want.kind}, Size: 8 << 20, Cost: model.Pipelined}
		r, err := tacos.New().Solve(context.Background(), p, solve.Options{Seed: 1, Effort: 4})
		require.NoError(t, err)
		require.NoError(t, solvetest.Right(r.Problem, r.Schedule), want.topology)
		require.LessOrEqual(t, r.Makespan(), want.limit, "%s %v", want.topology, want.kind)
	}
}
