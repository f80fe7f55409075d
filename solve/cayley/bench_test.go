package cayley

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/bound"
)

func benchmark(b *testing.B, kind model.Kind) {
	for _, name := range []string{"ring:64", "torus:8x8", "torus:4x4x4", "hypercube:6", "full:64"} {
		b.Run("topo="+name, func(b *testing.B) {
			p := problem(b, name, kind, model.Pipelined, 1)
			var r solve.Result
			for b.Loop() {
				var err error
				r, err = New().Solve(context.Background(), p, solve.Options{})
				require.NoError(b, err)
			}
			c, err := bound.Best(context.Background(), p)
			require.NoError(b, err)
			b.ReportMetric(float64(r.Makespan())/float64(c.Estimate), "makespan/bound")
		})
	}
}

func BenchmarkAllToAll64(b *testing.B)  { benchmark(b, model.AllToAll) }
func BenchmarkAllGather64(b *testing.B) { benchmark(b, model.AllGather) }
func BenchmarkAllReduce64(b *testing.B) { benchmark(b, model.AllReduce) }
