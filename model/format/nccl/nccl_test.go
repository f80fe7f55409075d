package nccl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

// direct has two GPUs below one bridge with NVLinks between them, and a third at another CPU.
const direct = `<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="8 GT/s" link_width="16">
      <pci busid="0000:0A:00.0" class="0x030200" link_speed="16 GT/s" link_width="8">
        <gpu dev="1" sm="70" rank="1" gdr="1"><nvlink target="0000:0b:00.0" count="2" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0000:0b:00.0" class="0x030200" link_speed="" link_width="0">
        <gpu dev="0" sm="70" rank="0" gdr="1"><nvlink target="0000:0a:00.0" count="2" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0000:0c:00.0" class="0x020000" link_speed="8 GT/s" link_width="16"><nic><net name="mlx5_0" dev="0" speed="100000" port="1"/></nic></pci>
    </pci>
    <pci busid="0000:02:00.0" class="0x060400" link_speed="8 GT/s" link_width="16"/>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:0d:00.0" class="0x030200" link_speed="2.5 GT/s" link_width="1"><gpu dev="2" sm="70" rank="2" gdr="1"/></pci>
  </cpu>
  <cpu numaid="2" arch="x86_64" vendor="AuthenticAMD"/>
</system>
`

// read returns the bandwidth from node to node, and the topology.
func read(t *testing.T, s string) (map[[2]string]int64, *model.Topology) {
	t.Helper()
	require.True(t, Is([]byte(s)))
	topology, err := Read("dir/a.xml", []byte(s), -1)
	require.NoError(t, err)
	require.Equal(t, "a.xml", topology.Name)
	links := map[[2]string]int64{}
	for _, l := range topology.Links {
		key := [2]string{topology.NodeName(l.Src), topology.NodeName(l.Dst)}
		require.NotContains(t, links, key)
		links[key] = l.Bandwidth
	}
	return links, topology
}

func TestDirect(t *testing.T) {
	links, topology := read(t, direct)
	require.Equal(t, 3, topology.Ranks)
	require.Equal(t, map[[2]string]int64{
		{"rank 0", "rank 1"}: 40e9, {"rank 1", "rank 0"}: 40e9,
		{"rank 0", "switch pci 0000:01:00.0"}: 12e9, {"switch pci 0000:01:00.0", "rank 0"}: 12e9, // unknown
		{"rank 1", "switch pci 0000:01:00.0"}: 12e9, {"switch pci 0000:01:00.0", "rank 1"}: 12e9, // 8 lanes of 16 GT/s
		{"switch pci 0000:01:00.0", "switch cpu0"}: 12e9, {"switch cpu0", "switch pci 0000:01:00.0"}: 12e9,
		{"rank 2", "switch cpu1"}: 187_500_000, {"switch cpu1", "rank 2"}: 187_500_000,
		{"switch cpu0", "switch cpu1"}: 10e9, {"switch cpu1", "switch cpu0"}: 22e9,
	}, links)
	for _, l := range topology.Links {
		want := DefaultAlpha / 2
		if topology.IsRank(l.Src) && topology.IsRank(l.Dst) {
			want = DefaultAlpha
		}
		require.Equal(t, want, l.Alpha)
	}
}

// swap replaces both NVLinks of direct.
func swap(with string) string {
	s := strings.Replace(direct, `<nvlink target="0000:0b:00.0" count="2" tclass="0x030200"/>`, with, 1)
	return strings.Replace(s, `<nvlink target="0000:0a:00.0" count="2" tclass="0x030200"/>`, with, 1)
}

// TestNVSwitch: links to any number of NVSwitches go to one node.
func TestNVSwitch(t *testing.T) {
	for _, s := range []string{
		swap(`<nvlink target="0000:c1:00.0" count="6" tclass="0x068000"/><nvlink target="0000:c2:00.0" count="6" tclass="0x068000"/>`),
		swap(`<nvlink target="ffff:ff:ff.f" count="12" tclass="0x000000"/>`),
	} {
		links, topology := read(t, strings.ReplaceAll(s, `sm="70"`, `sm="90"`))
		require.Len(t, topology.Switches, 4)
		require.EqualValues(t, 247_200_000_000, links[[2]string{"rank 0", "switch nvswitch"}])
		require.EqualValues(t, 247_200_000_000, links[[2]string{"switch nvswitch", "rank 1"}])
		require.NotContains(t, links, [2]string{"rank 2", "switch nvswitch"})
		require.NotContains(t, links, [2]string{"rank 0", "rank 1"})
	}
}

func TestLinkBandwidths(t *testing.T) {
	between := [2]string{"rank 0", "rank 1"}
	for sm, want := range map[string]int64{"60": 36e9, "70": 40e9, "75": 40e9, "80": 40e9, "86": 24e9, "90": 41_200_000_000, "100": 80_200_000_000} {
		links, _ := read(t, strings.ReplaceAll(direct, `sm="70"`, `sm="`+sm+`"`))
		require.Equal(t, want, links[between], sm)
	}
	for gcn, want := range map[string]int64{"908": 48e9, "910": 72e9, "gfx90a": 72e9, "gfx942": 96e9, "gfx950": 96e9} {
		links, _ := read(t, strings.ReplaceAll(strings.ReplaceAll(direct, "nvlink", "xgmi"), `sm="70"`, `sm="120" gcn="`+gcn+`"`))
		require.Equal(t, want, links[between], gcn)
	}
	links, _ := read(t, swap(`<c2c bw="44712" count="10"/>`))
	require.EqualValues(t, 447_120_000_000, links[[2]string{"rank 0", "switch cpu0"}])
	for _, speed := range []struct {
		text string
		want int64
	}{{"5 GT/s", 6e9}, {"8.0 GT/s PCIe", 12e9}, {"16.0 GT/s PCIe", 24e9}, {"32 GT/s", 48e9}, {"64 GT/s", 96e9}, {"Unknown", 12e9}} {
		links, _ := read(t, strings.Replace(direct, `link_speed="2.5 GT/s" link_width="1"`, `link_speed="`+speed.text+`" link_width="16"`, 1))
		require.Equal(t, speed.want, links[[2]string{"rank 2", "switch cpu1"}], speed.text)
	}
}

func TestMalformed(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"truncated": {direct[:400], "a.xml: line "},
		"twice":     {direct + direct, "one system"},
		"text":      {strings.Replace(direct, "<nic>", "text<nic>", 1), `text "text"`},
		"static":    {strings.ReplaceAll(strings.ReplaceAll(direct, "<gpu", "<x"), "</gpu", "</x"), "no gpu elements"},
		"same bus":  {strings.Replace(direct, "0000:0b:00.0\" class", "0000:0a:00.0\" class", 1), "bus id"},
		"count":     {strings.Replace(direct, `count="2"`, `count="-2"`, 1), "line 5: count of nvlink"},
		"itself":    {strings.Replace(direct, `target="0000:0b`, `target="0000:0A`, 1), "to itself"},
		"deep":      {"<system>" + strings.Repeat("<pci>", 100), "deeper than"},
		"entities":  {`<!DOCTYPE a [<!ENTITY b "c">]>` + strings.Replace(direct, `numaid="0"`, `numaid="&b;"`, 1), "entity"},
	} {
		_, err := Read("a.xml", []byte(test.file), 0)
		require.ErrorContains(t, err, test.want, name)
	}
	require.False(t, Is([]byte(`<algo/>`)))
	require.False(t, Is([]byte(`GPU0 X`)))
}

// TestRanks: without ranks, devices; without either, the order of the file.
func TestRanks(t *testing.T) {
	links, _ := read(t, strings.ReplaceAll(direct, `rank="`, `r="`))
	require.EqualValues(t, 187_500_000, links[[2]string{"rank 2", "switch cpu1"}])
	links, _ = read(t, strings.ReplaceAll(direct, `dev="2" sm="70" rank="2"`, `dev="0" sm="70" rank="0"`))
	require.EqualValues(t, 187_500_000, links[[2]string{"rank 2", "switch cpu1"}])
}

// FuzzRead: whatever a file says, reading it ends in an error or in a valid topology.
func FuzzRead(f *testing.F) {
	f.Add([]byte(direct))
	f.Add([]byte(swap(`<nvlink target="ffff:ff:ff.f" count="12" tclass="0x068000"/><c2c bw="1" count="2"/>`)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if topology, err := Read("f", b, -1); err == nil {
			require.NoError(t, topology.Validate())
		}
	})
}

// TestNotes: what a file has and the topology has not is in its notes, and the reverse.
func TestNotes(t *testing.T) {
	plain := []string{
		"assumed: 700ns between GPUs, half of it to or from a switch: the file has no latencies; --alpha sets it",
		`left out: 1 NIC ("mlx5_0"): the topology is of one machine`,
		`left out: 3 CPU or PCI devices with no GPU below: "pci 0000:0c:00.0", "pci 0000:02:00.0", "cpu2"`,
		"assumed: 8 GT/s, or 16 lanes, or both: the file does not state them for 1 PCI device",
		"bandwidths of PCIe, NVLink and links between CPUs are those that NCCL takes, not measured ones",
	}
	_, topology := read(t, direct)
	require.Equal(t, plain, topology.Notes.Strings())
	topology, err := Read("a.xml", []byte(direct), model.Microsecond)
	require.NoError(t, err)
	require.Equal(t, plain[1:], topology.Notes.Strings(), "with a latency that was asked for")
	for name, test := range map[string]struct{ file, want string }{
		"a GPU elsewhere":    {strings.Replace(direct, `target="0000:0b:00.0"`, `target="0000:0e:00.0"`, 1), `left out: links to 1 device not in the file ("0000:0e:00.0")`},
		"no ranks":           {strings.ReplaceAll(direct, `rank="`, `r="`), "assumed: ranks in the order of their devices: not every GPU has a rank of its own in the file"},
		"no ranks, devices":  {strings.ReplaceAll(strings.ReplaceAll(direct, `rank="`, `r="`), `dev="`, `d="`), "assumed: ranks in the order of the file: not every GPU has a rank of its own in the file"},
		"two NVSwitches":     {swap(`<nvlink target="0000:c1:00.0" count="6" tclass="0x068000"/><nvlink target="0000:c2:00.0" count="6" tclass="0x068000"/>`), "assumed: one switch for the 2 NVSwitches of the file: what a GPU has towards them is shared between its peers"},
		"another element":    {swap(`<tpulink/>`), `left out: elements that are not known here: "tpulink" in "gpu"`},
		"an element astray":  {swap(`<net name="x"/>`), `left out: elements that are not known here: "net" in "gpu"`},
		"old":                {strings.ReplaceAll(direct, `sm="70"`, `sm="35"`), "assumed: as much bandwidth as NCCL takes for 4 NVLinks of an unknown compute capability"},
		"new":                {strings.ReplaceAll(direct, `sm="70"`, `sm="130"`), "assumed: as much bandwidth as NCCL takes for 4 NVLinks of an unknown compute capability"},
		"new xGMI":           {strings.ReplaceAll(strings.ReplaceAll(direct, "nvlink", "xgmi"), `sm="70"`, `sm="1" gcn="gfx1200"`), "assumed: 24 GB/s, as RCCL takes for 4 xGMI links of an unknown architecture"},
		"a CPU":              {strings.Replace(direct, `vendor="GenuineIntel" familyid="6" modelid="143"`, `vendor="other"`, 1), "assumed: 6 GB/s, as NCCL takes from 1 CPU of an unknown model to others"},
		"a speed with a dot": {strings.Replace(direct, `link_speed="2.5 GT/s"`, `link_speed="2.6 GT/s"`, 1), "assumed: 8 GT/s, or 16 lanes, or both: the file does not state them for 2 PCI devices"},
	} {
		topology, err := Read("a.xml", []byte(test.file), -1)
		require.NoError(t, err, name)
		require.Contains(t, topology.Notes.Strings(), test.want, name)
	}
	below := strings.Replace(direct, `<gpu dev="2" sm="70" rank="2" gdr="1"/>`, `<gpu dev="2" sm="70" rank="2" gdr="1"/><pci busid="0000:0f:00.0"/>`, 1)
	_, topology = read(t, below)
	require.Contains(t, topology.Notes.Strings(), "left out: 1 PCI device below GPUs")
}
