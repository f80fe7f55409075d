package cert_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/verify/cert"
)

// TestRefutes has an allgather of 3000 bytes on a ring of 3 ranks with links of 1 GB/s:
// 2000 bytes enter each rank over two links, in 1 µs and no less, at 3 GB/s.
func TestRefutes(t *testing.T) {
	n, err := topo.Parse("ring:3", topo.Options{Alpha: []model.Time{0}, Bandwidth: []int64{1e9}})
	require.NoError(t, err)
	p := &model.Problem{Topology: n, Collective: model.Collective{Kind: model.AllGather}, Size: 3000, Cost: model.Pipelined}
	for claimed, want := range map[int64]bool{1: false, 2_999_999_999: false, 3e9: false, 3_000_000_001: true, 1 << 60: true} {
		// what the certificate itself claims does not matter
		for _, claim := range []model.Time{0, model.Second} {
			c := &model.Certificate{Problem: p, Bound: claim, Witness: model.Ingress{Rank: 1}}
			refuted, bound, err := cert.Refutes(context.Background(), c, claimed)
			require.NoError(t, err)
			require.Equal(t, want, refuted, "%d", claimed)
			require.Equal(t, model.Microsecond, bound)
		}
	}
	for _, claimed := range []int64{0, -1} {
		_, _, err = cert.Refutes(context.Background(), &model.Certificate{Problem: p, Witness: model.Ingress{Rank: 1}}, claimed)
		require.Error(t, err)
	}
	refuted, _, err := cert.Refutes(context.Background(), &model.Certificate{Problem: p, Witness: model.Ingress{Rank: 3}}, 1<<60)
	require.Error(t, err)
	require.False(t, refuted)
}
