package classic

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// What is counted before a schedule is made is what it has.
func TestTransfers(t *testing.T) {
	counted := 0
	for _, s := range All() {
		m := s.(*method)
		for kind := range m.builders {
			for _, name := range []string{"full:2", "full:3", "full:5", "full:8", "full:12", "torus:4x2"} {
				tp, err := topo.Parse(name, topo.Options{})
				require.NoError(t, err)
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: 1 << 12, Cost: model.Pipelined}
				if kind == model.Custom || m.Serves(p) != nil {
					continue
				}
				r, err := m.Solve(context.Background(), p, solve.Options{})
				require.NoError(t, err)
				require.EqualValues(t, m.transfers(p), len(r.Schedule.Transfers), "%s of %v on %s", m.name, kind, name)
				require.Equal(t, m.transfers(p), m.transfers(r.Problem))
				counted++
			}
		}
	}
	require.Greater(t, counted, 150)
}
