package certify

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve/hop"
	"github.com/oraccl/oraccl/verify/hops"
)

// TestHopsAgree: the methods and the verifiers, which share no code, find the same bundles and the
// same hops in the same order.
func TestHopsAgree(t *testing.T) {
	over := 0
	for _, name := range []string{"ring:5", "full:4", "dgx1", "switch:6", "fattree:2x3x2", "dragonfly:3x2x2", "mi300x", "ndv2:2", "torus:3x3", "rfs:2x2x2"} {
		x, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		ours := hop.Bundles(x)
		theirs, of := hops.Bundles(x)
		require.Len(t, theirs, len(ours), name)
		for b := range ours {
			require.Equal(t, ours[b].Links[0], theirs[b].Link, name)
			require.Len(t, ours[b].Links, theirs[b].Links, name)
			require.True(t, slices.Equal(ours[b].Ports, theirs[b].Ports), name)
			for _, l := range ours[b].Links {
				require.Equal(t, b, of[l], name)
			}
		}
		want, ok := hop.AllBundled(x, ours, math.MaxInt)
		require.True(t, ok)
		var got []hop.Bundled
		require.NoError(t, hops.Search(x, theirs, hops.Visitor{Look: func(bool) error { return nil }, Found: func(src, dst int, path []int) error {
			got = append(got, hop.Bundled{Src: src, Dst: dst, Bundles: slices.Clone(path)})
			over = max(over, len(path))
			return nil
		}}))
		require.Equal(t, want, got, name)
	}
	require.Greater(t, over, 2)
}
