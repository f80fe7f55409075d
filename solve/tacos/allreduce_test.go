package tacos

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// allReduceOn returns an allreduce of 64 MiB under the blocking cost model, with 0.5 us a
// link and bandwidths in GiB/s where rates are given, cut into this many chunks per member; 0:
// the cut is free.
func allReduceOn(t testing.TB, name string, chunks int, rates ...int64) *model.Problem {
	t.Helper()
	o := topo.Options{}
	for _, r := range rates {
		o.Bandwidth, o.Alpha = append(o.Bandwidth, r<<30), []model.Time{500 * model.Nanosecond}
	}
	tp, err := topo.Parse(name, o)
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 64 << 20, Cost: model.Blocking}
	if chunks > 0 {
		p = p.WithChunks(p.DefaultChunks(chunks))
	}
	return p
}

// TestNearTheBound: how many times the bound that is certified for its cut an allreduce
// takes, in thousandths. Two halves, one after the other, take up to 1780.
func TestNearTheBound(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	for _, want := range []struct {
		topology string
		rates    []int64
		chunks   int
		at       int64
	}{
		{"mesh:8x8", []int64{50}, 1, 1180},
		{"mesh:8x8", []int64{50, 75}, 1, 1220},
		{"mesh:8x8", []int64{50}, 4, 1110},
		{"mesh:10x10", []int64{50, 100}, 1, 1210},
		{"torus:8x8", []int64{50}, 1, 1000},
		{"hypercube:5", []int64{50}, 0, 1000},
		{"dgx1", nil, 0, 1000},
		{"dragonfly:2x2x2", nil, 1, 1006},
		{"dragonfly:4x4x2", nil, 1, 1025},
	} {
		t.Run(fmt.Sprint(want.topology, want.rates, want.chunks), func(t *testing.T) {
			p := allReduceOn(t, want.topology, want.chunks, want.rates...)
			r, err := New().Solve(context.Background(), p, solve.Options{Seed: 1, Tries: 2})
			require.NoError(t, err)
			if len(r.Schedule.Transfers) < 10000 {
				require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
			}
			c, err := bound.Best(context.Background(), r.Problem)
			require.NoError(t, err)
			require.LessOrEqual(t, 1000*int64(r.Makespan()), int64(c.Estimate)*want.at+1000)
		})
	}
}

// TestFineCut: chunks are so fine on meshes that links are busy nearly all the time.
func TestFineCut(t *testing.T) {
	for name, limit := range map[string]float64{"mesh:4x4": 1.001, "mesh:8x8": 1.008} {
		p := allReduceOn(t, name, 0, 50)
		p.Cost = model.Pipelined
		c, err := bound.Quick(context.Background(), p)
		require.NoError(t, err)
		r, err := New().Solve(context.Background(), p, solve.Options{Seed: 1, Tries: 1})
		require.NoError(t, err)
		require.LessOrEqual(t, float64(r.Makespan()), limit*float64(c.Estimate), name)
	}
}

// TestChained: rings alone keep the links of a dragonfly's ranks busy.
func TestChained(t *testing.T) {
	p := allReduceOn(t, "dragonfly:4x4x4", 0)
	p.Cost = model.Pipelined
	never := func() bool { return false }
	alone := func(p *model.Problem) *candidate {
		syn, err := newSynthesis(solve.Cut(p, 1), never)
		require.NoError(t, err)
		return chained(p, syn, solve.Options{Seed: 1}, never)
	}
	c := alone(p)
	require.NotNil(t, c)
	b, err := bound.Quick(context.Background(), p)
	require.NoError(t, err)
	require.LessOrEqual(t, float64(c.makespan), 1.004*float64(b.Estimate))
	require.Nil(t, alone(allReduceOn(t, "mesh:4x4", 0)))
}

// TestLeads: tacos comes first on meshes where latencies count little.
func TestLeads(t *testing.T) {
	for name, want := range map[string]bool{"mesh:8x8": true, "line:4": true, "torus:8x8": false, "mi250": false, "fattree:4x4": false} {
		p := allReduceOn(t, name, 0)
		require.Equal(t, want, New().About().Leads(p), name)
		p.Size = 4096
		require.False(t, New().About().Leads(p), name)
	}
}

// TestFreeCut: the number of chunks is chosen where it is free, and only there.
func TestFreeCut(t *testing.T) {
	r, err := New().Solve(context.Background(), allReduceOn(t, "mesh:5x5", 0, 50), solve.Options{})
	require.NoError(t, err)
	require.Greater(t, len(r.Problem.Chunks), 25)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
	r, err = New().Solve(context.Background(), allReduceOn(t, "mesh:5x5", 0, 50), solve.Options{Chunks: 1})
	require.NoError(t, err)
	require.Len(t, r.Problem.Chunks, 25)
	r, err = New().Solve(context.Background(), allReduceOn(t, "mesh:5x5", 1, 50), solve.Options{})
	require.NoError(t, err)
	require.Len(t, r.Problem.Chunks, 25)
	tiny := allReduceOn(t, "ring:3", 0, 50)
	tiny.Size = 4
	r, err = New().Solve(context.Background(), tiny, solve.Options{})
	require.NoError(t, err)
	require.NoError(t, solvetest.Right(r.Problem, r.Schedule))
}

// BenchmarkAllReduce: heterogeneous meshes, one chunk per rank, one try.
func BenchmarkAllReduce(b *testing.B) {
	for _, name := range []string{"mesh:16x16", "mesh:16x32", "mesh:32x32", "mesh:32x64"} {
		b.Run(name, func(b *testing.B) {
			p := allReduceOn(b, name, 1, 50, 75)
			b.ReportAllocs()
			for range b.N {
				r, err := New().Solve(context.Background(), p, solve.Options{Seed: 1, Tries: 1})
				require.NoError(b, err)
				b.ReportMetric(float64(r.Makespan())/1e6, "makespan_us")
			}
		})
	}
}
