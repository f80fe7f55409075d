package hop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model/topo"
)

// TestUntil: the hops are those of All, and none where they are not wanted any more.
func TestUntil(t *testing.T) {
	network, err := topo.Parse("fattree:4x4", topo.Options{})
	require.NoError(t, err)
	require.Equal(t, All(network), Until(network, func() bool { return false }))
	asked := 0
	require.Nil(t, Until(network, func() bool { asked++; return asked > 3 }))
	require.Equal(t, 4, asked)
}

// TestPlanes: a machine with many planes has a hop over each of them; of longer ways there are a few.
func TestPlanes(t *testing.T) {
	for name, want := range map[string]int{"gb200:nvl72": 18, "fattree:16x16": maxPaths} {
		network, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		links := map[int]bool{}
		far := 0
		for _, h := range All(network) {
			if h.Src == 0 && h.Dst == network.Ranks-1 {
				links[h.Routes[0][0]], far = true, far+1
			}
		}
		require.Equal(t, want, far, name)
		if name == "gb200:nvl72" {
			require.Len(t, links, want)
		}
	}
}
