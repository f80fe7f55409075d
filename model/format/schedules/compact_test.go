package schedules

import (
	"testing"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/stretchr/testify/require"
)

// TestLeastBytes: no schedule has fewer transfers, of at least 50 bytes each in JSON.
func TestLeastBytes(t *testing.T) {
	tp, err := topo.Parse("ring:4", topo.Options{})
	require.NoError(t, err)
	p := &model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllGather}, Size: 4000, Cost: model.Pipelined}
	for kind, want := range map[model.Kind]int64{model.AllGather: 12, model.ReduceScatter: 12, model.AllReduce: 6, model.Broadcast: 3, model.Reduce: 3, model.AllToAll: 0} {
		q := *p
		q.Collective.Kind = kind
		require.Equal(t, want, leastTransfers(&q), "%v", kind)
		require.Equal(t, want*50, LeastBytes("s.json", &q), "%v", kind)
		require.Zero(t, LeastBytes("s.oraccl", &q))
	}
	require.Equal(t, int64(48), leastTransfers(&model.Problem{Topology: tp, Collective: model.Collective{Kind: model.AllReduce}, Size: 4000, Chunks: p.Cut(8)}))
}
