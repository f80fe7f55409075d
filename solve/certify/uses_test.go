package certify

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
)

// TestUses: an option that a method does not name in About.Uses changes nothing.
func TestUses(t *testing.T) {
	options := map[solve.Uses]func(o *solve.Options){
		solve.UsesSeed:   func(o *solve.Options) { o.Seed = 12345 },
		solve.UsesTries:  func(o *solve.Options) { o.Tries = 3 },
		solve.UsesEffort: func(o *solve.Options) { o.Effort = -1 },
		solve.UsesUnwind: func(o *solve.Options) { o.Unwind = 2 },
	}
	compared := 0
	for _, name := range []string{"ring:4", "switch:6", "torus:2x3", "hypercube:3"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		for _, kind := range []model.Kind{model.AllGather, model.AllReduce, model.AllToAll, model.Broadcast} {
			for _, late := range []bool{false, true} {
				p := &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 1 << 20, Cost: model.Pipelined}
				if late {
					p.Cost, p.Release = model.Rounds, make([]model.Time, network.Ranks)
					p.Release[1] = model.Millisecond
				}
				require.NoError(t, p.Validate())
				for _, m := range Methods() {
					if m.About().Uses&solve.UsesEffort != 0 || m.About().WarmStart || m.About().Uses == solve.UsesSeed || m.Serves(p) != nil {
						continue // those that make use of most options take long, and may
					}
					first, err := m.Solve(context.Background(), p, solve.Options{Seed: 1})
					if errors.Is(err, solve.ErrNotServed) {
						continue // found out on the way, such as an exchange over one link
					}
					require.NoError(t, err, "%s %v", m.Name(), p)
					for use, set := range options {
						if m.About().Uses&use != 0 {
							continue
						}
						o := solve.Options{Seed: 1}
						set(&o)
						again, err := m.Solve(context.Background(), p, o)
						require.NoError(t, err, "%s %v", m.Name(), p)
						require.Equal(t, first.Schedule, again.Schedule, "%s %v: option %d", m.Name(), p, use)
						compared++
					}
				}
			}
		}
	}
	require.Greater(t, compared, 100)
}
