package topologies

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/join"
	"github.com/oraccl/oraccl/model/machines"
)

// TestRealDumps joins two machines of each of two real dumps, at one switch and in a fat tree.
func TestRealDumps(t *testing.T) {
	dir := os.Getenv("ORACCL_DATA")
	var list []model.Machine
	for _, name := range []string{"ROCm+rccl__topo_8p6l.xml", "azure_nc_a100_v4_4gpu_dump.xml"} {
		file := filepath.Join(dir, "topo", name)
		if _, err := os.Stat(file); err != nil {
			t.Skipf("left out: %s is not here; ORACCL_DATA names the directory of such files", name)
		}
		m, err := Files{Context: t.Context()}.Machine(file, "", "")
		require.NoError(t, err)
		require.NotEmpty(t, m.NICs, name)
		list = append(list, *m, *m)
	}
	for _, o := range []join.Options{{Alpha: -1, Fabric: join.Switch}, {Alpha: -1, Fabric: join.FatTree, PerLeaf: 2, Oversubscription: 2}} {
		c, err := join.Join(list, o)
		require.NoError(t, err)
		require.Equal(t, 24, c.Ranks)
		var sizes []int
		for _, ranks := range machines.Ranks(c) {
			sizes = append(sizes, len(ranks))
		}
		require.Equal(t, []int{8, 8, 4, 4}, sizes)
		require.Nil(t, machines.Rails(c), "the machines are of two sizes")
		notes := strings.Join(c.Notes.Strings(), "\n")
		for _, want := range []string{"assumed: ROCm+rccl__topo_8p6l.xml: 700ns between GPUs", "assumed: azure_nc_a100_v4_4gpu_dump.xml: 1.3us for the link of a NIC", `left out: ROCm+rccl__topo_8p6l.xml: 1 CPU or PCI device with no GPU below`} {
			require.Contains(t, notes, want)
		}
	}
}
