package exact_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/exact"
)

// BenchmarkDGX1 solves collectives on DGX-1 with one chunk per rank, without a schedule
// to start from.
func BenchmarkDGX1(b *testing.B) {
	for _, kind := range []model.Kind{model.AllGather, model.ReduceScatter, model.AllReduce} {
		b.Run(kind.String(), func(b *testing.B) {
			tp, err := topo.Parse("dgx1", topo.Options{})
			require.NoError(b, err)
			p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 8 << 20, Cost: model.Pipelined}
			for b.Loop() {
				r, err := exact.New().Solve(context.Background(), p.WithChunks(8), solve.Options{Threads: 1})
				require.NoError(b, err)
				b.ReportMetric(float64(r.Makespan())/1e6, "makespan-us")
			}
		})
	}
}
