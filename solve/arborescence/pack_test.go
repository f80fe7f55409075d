package arborescence

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/solve/fluid"
	"github.com/oraccl/oraccl/solve/solvetest"
)

// TestPacking: on random networks with switches, whatever their links, trees span, keep to
// their room, and are as many as the fluid limit says where as much enters each node as
// leaves it.
func TestPacking(t *testing.T) {
	lost := 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 11))
		p := solvetest.RandomSpread(r, seed%2 == 0)
		if seed%3 == 0 {
			solvetest.Uneven(t, r, p, "allgatherv", []int64{9, 1 << 30}[seed/3%2])
		}
		limit, err := fluid.Rate(context.Background(), p)
		require.NoError(t, err)
		w, err := scaled(p, limit)
		require.NoError(t, err)
		require.Zero(t, w.missing())
		room, most := make([]int64, len(p.Topology.Links)), int64(0)
		for i, a := range w.Arcs {
			room[i] = a.Room
		}
		byShard, err := Packed(context.Background(), p)
		require.NoError(t, err, "seed %d", seed)
		total := int64(0)
		used := make([]int64, len(room))
		for i, s := range w.sources {
			at := slices.Index(roots(p), s)
			require.GreaterOrEqual(t, at, 0)
			sum := int64(0)
			for _, tr := range byShard[at] {
				require.Equal(t, s, tr.Root)
				sum += tr.Weight
				total += tr.Weight
				spans := []int{tr.Root}
				for _, a := range tr.Arcs {
					require.Contains(t, spans, a.From)
					require.NotContains(t, spans, a.To)
					spans = append(spans, a.To)
					for _, l := range a.Route {
						used[l] += tr.Weight
					}
				}
				slices.Sort(spans)
				require.Equal(t, p.Members(), spans)
			}
			require.Zero(t, sum%w.weights[i], "each source has its share")
		}
		most = w.all()
		unit := int64(1)
		if total != most { // finer ones
			unit = finer
		}
		for l := range used {
			require.LessOrEqual(t, used[l], room[l]*unit, "seed %d, link %d", seed, l)
		}
		if total < most*unit {
			require.NotZero(t, seed%2, "seed %d: %d trees of %d", seed, total, most*unit)
			lost++
		}
	}
	t.Logf("%d of 60 networks whose nodes are not balanced lose to their switches", lost)
}
