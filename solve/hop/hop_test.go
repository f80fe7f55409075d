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
