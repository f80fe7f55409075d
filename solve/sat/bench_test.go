package sat

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/sat/cadical"
)

// BenchmarkDecide takes the instances that SCCL's own encoding was measured on with Z3, in
// chunks, steps and rounds: from 18 s for the third to not in 120 s for the last four.
func BenchmarkDecide(b *testing.B) {
	for _, c := range []struct {
		topology              string
		kind                  model.Kind
		chunks, steps, rounds int
		want                  cadical.Answer
	}{
		{"dgx1", model.AllGather, 3, 2, 4, cadical.Unsatisfiable},
		{"dgx1", model.AllGather, 5, 2, 6, cadical.Unsatisfiable},
		{"dgx1", model.AllGather, 6, 3, 7, cadical.Satisfiable},
		{"dgx1", model.AllToAll, 3, 2, 8, cadical.Satisfiable},
		{"hypercube:4", model.AllGather, 1, 4, 4, cadical.Satisfiable},
		{"torus:4x4", model.AllGather, 1, 4, 4, cadical.Satisfiable},
		{"hypercube:3", model.AllToAll, 1, 0, 3, cadical.Unsatisfiable},
		{"ring:8", model.AllToAll, 1, 0, 8, cadical.Satisfiable},
		{"hypercube:3", model.AllToAll, 1, 0, 4, cadical.Satisfiable},
		{"torus:3x3", model.AllToAll, 1, 0, 3, cadical.Satisfiable},
		{"hypercube:3", model.AllReduce, 1, 0, 5, cadical.Satisfiable},
	} {
		b.Run(fmt.Sprintf("topo=%s/collective=%v/chunks=%d/steps=%d/rounds=%d", c.topology, c.kind, c.chunks, c.steps, c.rounds), func(b *testing.B) {
			top, err := parse(c.topology)
			require.NoError(b, err)
			p := &model.Problem{Topology: top, Collective: model.Collective{Kind: c.kind}, Size: 1 << 20, Cost: model.LinkRounds}
			p = p.WithChunks(p.DefaultChunks(c.chunks))
			for b.Loop() {
				d, err := (&Question{Problem: p, Horizon: c.rounds, Steps: c.steps}).Decide(context.Background(), Limits{})
				require.NoError(b, err)
				require.Equal(b, c.want, d.Answer)
			}
		})
	}
}
