package oneshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
)

// Where links lead out of one rank of a machine and come in at another one, sums are collected at the former and spread from the latter:
// that takes as many latencies as it must, and the slowest link carries the buffer once.
func TestDoors(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	parse := func(name string) *model.Topology {
		tp, err := topo.Parse(name, topo.Options{})
		require.NoError(t, err)
		return tp
	}
	moved := parse("ndv2:2") // the links between machines come in at other ranks
	for i := range moved.Links {
		if l := &moved.Links[i]; l.Src/8 != l.Dst/8 {
			l.Dst = l.Dst/8*8 + 6
		}
	}
	for _, c := range []struct {
		of   *model.Topology
		kib  int64
		most model.Time // picoseconds
	}{
		{parse("ndv2:2"), 1, 4_190_000}, {moved, 1, 4_200_000}, {parse("dgx2:2"), 1, 4_020_000},
	} {
		require.LessOrEqual(t, run(t, "hierarchical", allreduce(c.of, c.kib<<10)), c.most, "%s %d KiB", c.of.Name, c.kib)
	}
}
