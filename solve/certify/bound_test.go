package certify

import (
	"context"
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/stretchr/testify/require"
)

// TestQuickBound: the quick bound is no worse than the best of all where that is ingress or
// distance.
func TestQuickBound(t *testing.T) {
	for _, name := range []string{"torus:6x6", "mesh:4x6", "line:9", "dgx1", "switch:8", "hypercube:5"} {
		for _, kind := range []model.Kind{model.AllGather, model.Broadcast, model.AllToAll, model.Gather, model.AllReduce} {
			for _, size := range []int64{1 << 10, 1 << 28} {
				tp, err := topo.Parse(name, topo.Options{})
				require.NoError(t, err)
				p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: kind}, Size: size, Cost: model.Pipelined}
				quick, err := QuickBound(context.Background(), p)
				require.NoError(t, err)
				require.NotNil(t, quick)
				best, err := Bound(t.Context(), p)
				require.NoError(t, err)
				require.LessOrEqual(t, quick.Bound, best.Bound)
				if k := best.Witness.Kind(); kind == model.AllGather && (k == "ingress" || k == "distance" && name != "dgx1") {
					require.Equal(t, best.Bound, quick.Bound, "%s %v %d", name, kind, size)
				}
			}
		}
	}
}
