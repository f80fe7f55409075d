//go:build cgo

package quotient

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// A machine that has lost a GPU is the root of less: of k machines, one with the share o of all roots takes in and sends (1-o) + (k-1)·o buffers, and all NICs are
// busy as long if that is in the ratio of its NICs. It is the same where a GPU is there and its NIC is not.
func TestRooting(t *testing.T) {
	for _, c := range []struct {
		name string
		k    float64
	}{{"dgxh100:4", 4}, {"dgxa100:4", 4}, {"dgxh100:8", 8}} {
		s := failing(t, c.name, "rank:3", 1<<30, model.Pipelined, 1)
		x, busy := s.findShares()
		require.NotNil(t, x)
		require.InEpsilon(t, (2*c.k-2)*float64(s.p.Size)/(8*c.k-1)/nic(s.p.Topology)*1e12, float64(busy), 0.01, c.name)
		nics := 8*c.k - 1
		want := (7/nics*(2*c.k-2) - 1) / (c.k - 2) / 7 // of each of its seven
		other := (1 - 7*want) / (8*c.k - 8)
		for v, part := range x.of {
			if v < 7 {
				require.InDelta(t, want/other, part, 0.03, c.name)
			} else {
				require.Equal(t, 1.0, part)
			}
		}
	}
	// where symmetries move some ranks, those that they move to each other have as much
	s := failing(t, "dgxh100:8", "rank:3", 1_000_003, model.Pipelined, 1)
	require.Greater(t, s.shops[0].s.g.Order(), 1)
	of, _ := s.findShares()
	g := s.newGenerations(sketches(s.p.Topology)[0], cut{parts: 3, ratio: 1, halved: 1, shares: of}, nil)
	require.NotNil(t, g)
	require.NoError(t, solvetest.Right(g.t.p, g.plan(context.Background()).emit(g.t.p)))

	x, _ := failing(t, "dgxh100:4", "link:0-36", 1<<30, model.Pipelined, 1).findShares()
	require.NotNil(t, x)
	small, sum := 0.0, 0.0
	for v, part := range x.of {
		if sum += part; v < 8 {
			small += part
		}
	}
	require.InDelta(t, (7.0/31*6-1)/2, small/sum, 0.01)
}

// nic returns the bandwidth of the slowest link.
func nic(t *model.Topology) float64 {
	least := t.Links[0].Bandwidth
	for _, l := range t.Links {
		least = min(least, l.Bandwidth)
	}
	return float64(least)
}
