package forest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve"
)

func BenchmarkAllReduce(b *testing.B) {
	for _, name := range []string{"mesh:8x8", "dgx1"} {
		b.Run(name, func(b *testing.B) {
			p := problem(b, name, model.AllReduce)
			b.ReportAllocs()
			for b.Loop() {
				r, err := New().Solve(context.Background(), p, solve.Options{})
				require.NoError(b, err)
				b.ReportMetric(float64(r.Makespan())/1e6, "µs-makespan")
			}
		})
	}
}
