package tacos_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/solvetest"
	"github.com/oraccl/oraccl/solve/tacos"
)

func TestConformance(t *testing.T) {
	solvetest.Run(t, tacos.New(), solvetest.Config{Serves: 250})
}

// TestPublished: the collective times of the authors' implementation (v1.3.0) on
// homogeneous networks, all-gather of one chunk of 1 MiB a rank, which are the
// ingress bounds on meshes, and the bounds that sound synthesis can reach.
func TestPublished(t *testing.T) {
	for _, want := range []struct {
		topology string
		most     model.Time
	}{
		{"mesh:8x8", 641 * model.Microsecond},
		{"torus:4x4x4", 220343750},
		{"torus:8x8", 340531250},
		{"torus:16x16", 1302031250},
	} {
		tp, err := topo.Parse(want.topology, topo.Options{})
		require.NoError(t, err)
		p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: int64(tp.Ranks) << 20, Cost: model.Blocking}
		r, err := tacos.New().Solve(context.Background(), p, solve.Options{Seed: 1})
		require.NoError(t, err)
		require.LessOrEqual(t, r.Makespan(), want.most, want.topology)
	}
}

func BenchmarkAllGather(b *testing.B) {
	for _, name := range []string{"torus:16x16", "torus:32x32"} {
		b.Run(name, func(b *testing.B) {
			tp, err := topo.Parse(name, topo.Options{})
			require.NoError(b, err)
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: int64(tp.Ranks) << 20, Cost: model.Blocking}
			b.ReportAllocs()
			for b.Loop() {
				r, err := tacos.New().Solve(context.Background(), p, solve.Options{Seed: 1, Threads: 1})
				require.NoError(b, err)
				b.ReportMetric(float64(r.Makespan())/1e6, "makespan-us")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(r.Schedule.Transfers)), "ns/transfer")
			}
		})
	}
}
