package topologies_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/nccl"
	"github.com/oraccl/oraccl/model/format/smi"
	"github.com/oraccl/oraccl/model/join"
)

const dump = `<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
    <pci busid="0000:10:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"><gpu dev="0" sm="80" rank="0" gdr="1"/></pci>
      <pci busid="0000:12:00.0" class="0x020700" link_speed="8 GT/s" link_width="8">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1" latency="1.500000" guid="0x1" maxconn="1" gdr="1"/></nic>
      </pci>
    </pci>
    <pci busid="0000:20:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"><gpu dev="1" sm="80" rank="1" gdr="1"/></pci>
    <nic><net name="eth0" dev="1" speed="100000" port="0" latency="0.000000" guid="0x2" maxconn="1" gdr="0"/></nic>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1"><nic><net name="far" speed="1000"/></nic></cpu>
</system>`

const matrix = "\tGPU0\tGPU1\tmlx5_0\tmlx5_1\tCPU Affinity\nGPU0\t X \tNV4\tPIX\tSYS\t0-19\nGPU1\tNV4\t X \tPIX\tPHB\t0-19\nmlx5_0\tPIX\tPIX\t X \tSYS\t\nmlx5_1\tSYS\tPHB\tSYS\t X \t\n"

// TestDumps: NICs are where dumps have them, and no faster than their PCI links.
func TestDumps(t *testing.T) {
	a, err := nccl.ReadMachine("a.xml", []byte(dump), -1)
	require.NoError(t, err)
	require.Len(t, a.NICs, 2)
	bridge := a.Topology.Ranks + 1
	require.Equal(t, "switch pci 0000:10:00.0", a.Topology.NodeName(bridge))
	require.Equal(t, model.NIC{Name: "mlx5_0", Nodes: []int{bridge}, Bandwidth: 6e9, Alpha: 1500 * model.Nanosecond}, a.NICs[0], "8 lanes of 8 GT/s")
	require.Equal(t, model.NIC{Name: "eth0", Nodes: []int{a.Topology.Ranks}, Bandwidth: 12_500_000_000, Alpha: -1}, a.NICs[1])
	require.Contains(t, fmt.Sprint(a.Topology.Notes.Strings()), "left out: 1 NIC at CPUs without GPUs")
	require.NotContains(t, fmt.Sprint(a.Topology.Notes.Strings()), "of one machine")
	alone, err := nccl.Read("a.xml", []byte(dump), -1)
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(alone.Notes.Strings()), "left out: 3 NICs")

	b, err := smi.ReadMachine("b.txt", []byte(matrix), smi.Options{Alpha: -1})
	require.NoError(t, err)
	require.Equal(t, []model.NIC{{Name: "mlx5_0", Nodes: []int{0, 1}, Alpha: -1}, {Name: "mlx5_1", Nodes: []int{1}, Alpha: -1}}, b.NICs)

	_, err = join.Join([]model.Machine{*a, *b}, join.Options{Alpha: -1, Fabric: join.Switch})
	require.ErrorContains(t, err, "b.txt: the bandwidth of its NICs is not known, want --nic")
	c, err := join.Join([]model.Machine{*a, *b, *a, *b}, join.Options{Bandwidth: 25e9, Alpha: -1, Fabric: join.Switch})
	require.NoError(t, err)
	require.Equal(t, 8, c.Ranks)
	shared := 0
	for _, l := range c.Links {
		if l.Src == 2 && c.NodeName(l.Dst) == "switch m1 nic mlx5_0" {
			shared++
			require.Equal(t, model.Link{Src: 2, Dst: l.Dst, Bandwidth: 25e9}, l)
		}
	}
	require.Equal(t, 1, shared)
	require.Contains(t, fmt.Sprint(c.Notes.Strings()), "the GPUs that are nearest to a NIC share it")
}
