package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/bound"
	"github.com/oraccl/oraccl/verify/cert"
)

// TestSlower holds what certify.Uncertain stands on: what a witness found on a network yields
// there it yields on every slower one, too, whatever links are slower. In rounds it may yield less, where
// another count of rounds becomes the larger one; there schedules are what is monotone.
func TestSlower(t *testing.T) {
	kinds, rounds := map[string]int{}, 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 7))
		p := random(r)
		slow := *p
		topology := *p.Topology
		topology.Links = slices.Clone(topology.Links)
		each := r.IntN(3)
		for i := range topology.Links {
			if each > 0 && r.IntN(2) == 0 {
				continue
			}
			l := &topology.Links[i]
			if each != 1 {
				l.Alpha += model.Time(r.IntN(1500))
			}
			if each != 2 {
				l.Bandwidth -= r.Int64N(l.Bandwidth)
			}
		}
		slow.Topology = &topology
		all, _, err := bound.All(context.Background(), p)
		require.NoError(t, err)
		for _, c := range all {
			here, err := cert.Yield(t.Context(), &model.Certificate{Problem: p, Witness: c.Witness})
			require.NoError(t, err)
			there, err := cert.Yield(t.Context(), &model.Certificate{Problem: &slow, Witness: c.Witness})
			require.NoError(t, err)
			if p.Cost.Synchronous() {
				rounds++
				continue
			}
			kinds[c.Witness.Kind()]++
			require.GreaterOrEqual(t, there, here, "seed %d: %v: %#v", seed, p, c.Witness)
		}
	}
	for _, kind := range []string{"cut", "ingress", "egress", "volume", "prices", "distance", "coverage", "partition", "crossing"} {
		require.Positive(t, kinds[kind], "never a bound of kind %s", kind)
	}
	require.Positive(t, rounds)
}
