package broadcast

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/lp/highs"
)

// TestShallow: trees span the members from the root, none is faster than the fluid limit, the
// deepest ones reach it, and forests that reach the last rank sooner are there.
func TestShallow(t *testing.T) {
	if err := highs.Available(); err != nil {
		t.Skip(err)
	}
	found := 0
	for _, name := range []string{"dgx1", "dgxh100:2", "torus:4x4", "ring:6"} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		for _, group := range [][]int{nil, {2, 3, 5}} {
			p := &model.Problem{Topology: network, Size: 1 << 20, Collective: model.Collective{Kind: model.Broadcast, Group: group, Root: 3}}
			limit, err := fluid.Rate(context.Background(), p)
			require.NoError(t, err)
			least, _ := limit.TimeOf(p.Space()).Float64()
			all, err := shallow(context.Background(), p)
			require.NoError(t, err)
			if group != nil && len(all) == 0 { // they do not reach each other
				continue
			}
			require.NotEmpty(t, all)
			found++
			slower, sooner := 0.0, 0.0
			for i, f := range all {
				for _, tr := range f.Trees {
					seen := map[int]bool{3: true}
					for _, a := range tr.Arcs {
						require.True(t, seen[a.From] && !seen[a.To])
						seen[a.To] = true
					}
					for _, v := range p.Members() {
						require.True(t, seen[v])
					}
				}
				busy, last := f.Fluid(p)
				require.GreaterOrEqual(t, busy, least*(1-1e-6))
				if i > 0 {
					require.Less(t, busy, slower)
					require.Greater(t, last, sooner)
				}
				slower, sooner = busy, last
			}
			if group == nil {
				require.InEpsilon(t, least, slower, 0.02, name)
			}
		}
	}
	require.GreaterOrEqual(t, found, 5)
}
