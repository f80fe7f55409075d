package cert_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/cert"
)

// TestFastLinks: sums of bandwidths do not overflow. With links of the greatest bandwidth, and more
// of them beside each, no witness yields more than before.
func TestFastLinks(t *testing.T) {
	crossings := 0
	for _, e := range entries() {
		if e.witness.Kind() == (model.Crossing{}).Kind() {
			crossings++
		}
		p := *e.problem
		fast := *p.Topology
		fast.Links = nil
		for range 4 {
			for _, l := range p.Topology.Links {
				l.Bandwidth = math.MaxInt64
				fast.Links = append(fast.Links, l)
			}
		}
		p.Topology = &fast
		if p.Validate() != nil {
			continue // a link that adds or turns has no other beside it
		}
		y, err := cert.Yield(context.Background(), &model.Certificate{Problem: &p, Witness: e.witness})
		if err != nil {
			t.Logf("%s: %v", e.name, err)
			continue
		}
		require.LessOrEqual(t, y, e.bound*model.Nanosecond, e.name)
	}
	require.NotZero(t, crossings)
}
