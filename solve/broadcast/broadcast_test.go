package broadcast

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// problem returns a collective of a GiB on a named network.
func problem(t testing.TB, name string, kind model.Kind) *model.Problem {
	network, err := topo.Parse(name, topo.Options{})
	require.NoError(t, err)
	return &model.Problem{Topology: network, Collective: model.Collective{Kind: kind}, Size: 1 << 30, Cost: model.Pipelined}
}

// serves reports whether p, a broadcast, has several members and no ports that limit transfers.
func serves(p *model.Problem) bool {
	limits := func(port model.Port) bool { return port.Capacity < len(port.Links) }
	return len(p.Members()) > 1 && !slices.ContainsFunc(p.Topology.Ports, limits)
}
