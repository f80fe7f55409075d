package smi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

var defaults = Options{Alpha: DefaultAlpha, Bandwidth: DefaultBandwidth}

// table writes a matrix with a header; every entry that is not given is otherwise.
func table(n int, otherwise string, given map[[2]int]string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\tGPU%d", i)
	}
	b.WriteString("\tmlx5_0\tCPU Affinity\n")
	for i := range n {
		fmt.Fprintf(&b, "GPU%d", i)
		for j := range n {
			e := otherwise
			for _, key := range [][2]int{{i, j}, {j, i}} {
				if given[key] != "" {
					e = given[key]
				}
			}
			if i == j {
				e = " X "
			}
			b.WriteString("\t" + e)
		}
		b.WriteString("\tPIX\t0-19\n")
	}
	b.WriteString("mlx5_0\tPIX\tPIX\t X \n\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n")
	return b.String()
}

// read returns the bandwidth between nodes in 10⁹ bytes per second.
func read(t *testing.T, s string) (map[[2]int]int64, *model.Topology) {
	t.Helper()
	require.True(t, Is([]byte(s)))
	topology, err := Read("dir/a.txt", []byte(s), defaults)
	require.NoError(t, err)
	links := map[[2]int]int64{}
	for _, l := range topology.Links {
		require.NotContains(t, links, [2]int{l.Src, l.Dst})
		links[[2]int{l.Src, l.Dst}] = l.Bandwidth / 1e9
	}
	return links, topology
}

// both has links both ways.
func both(m map[[2]int]int64) map[[2]int]int64 {
	for key, v := range m {
		m[[2]int{key[1], key[0]}] = v
	}
	return m
}

func TestDirect(t *testing.T) {
	links, topology := read(t, table(3, "NV1", map[[2]int]string{{0, 2}: "NV2"}))
	require.Empty(t, topology.Switches)
	require.Equal(t, both(map[[2]int]int64{{0, 1}: 25, {0, 2}: 50, {1, 2}: 25}), links)
	links, _ = read(t, table(4, "NV4", nil)) // four A100: 12 links each
	require.Len(t, links, 12)
	require.EqualValues(t, 100, links[[2]int{0, 3}])
	links, _ = read(t, table(3, "SYS", map[[2]int]string{{0, 1}: "NV2", {1, 2}: "NV2"})) // connected: no PCIe
	require.Equal(t, both(map[[2]int]int64{{0, 1}: 50, {1, 2}: 50}), links)
}

// TestNVSwitch: the number of links to each peer is that of all links, where they are too many.
func TestNVSwitch(t *testing.T) {
	links, topology := read(t, table(8, "NV12", nil))
	require.Len(t, topology.Switches, 1)
	require.Len(t, links, 16)
	require.EqualValues(t, 300, links[[2]int{3, 8}])
	require.EqualValues(t, 300, links[[2]int{8, 3}])
	_, err := Read("a", []byte(table(8, "NV12", map[[2]int]string{{0, 1}: "NV6"})), defaults)
	require.ErrorContains(t, err, "GPU2 would have 84 NVLinks")
}

// TestPCIe: a tree for those that share more, where NVLinks do not connect all.
func TestPCIe(t *testing.T) {
	links, topology := read(t, table(4, "SYS", map[[2]int]string{{0, 1}: "PIX", {2, 3}: "NODE"}))
	require.Equal(t, both(map[[2]int]int64{{0, 4}: 12, {1, 4}: 12, {2, 5}: 12, {3, 5}: 12, {4, 6}: 12, {5, 6}: 12}), links)
	require.Equal(t, "pix0", topology.Switches[0].Name)
	links, _ = read(t, table(4, "SYS", map[[2]int]string{{0, 1}: "NV4", {2, 3}: "NV4"}))
	require.EqualValues(t, 100, links[[2]int{0, 1}])
	require.Equal(t, both(map[[2]int]int64{{0, 1}: 100, {2, 3}: 100, {0, 4}: 12, {1, 4}: 12, {2, 4}: 12, {3, 4}: 12}), links)
}

func TestText(t *testing.T) {
	s := table(2, "NV2", nil)
	for name, text := range map[string]string{
		"colours":        strings.Replace(s, "\tGPU0\tGPU1", "\t\x1b[4mGPU0\tGPU1\x1b[0m", 1),
		"wrapped header": strings.Replace(s, "\tGPU0\tGPU1", "        GPU0\nGPU1", 1),
		"blanks":         strings.ReplaceAll(s, "\t", "    "),
		"another":        s + "\n \tGPU0\tGPU1\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n",
		"carriage":       strings.ReplaceAll(s, "\n", "\r\n"),
	} {
		links, _ := read(t, text)
		require.Equal(t, both(map[[2]int]int64{{0, 1}: 50}), links, name)
	}
	require.False(t, Is([]byte("hello")))
}

// TestNotes: what a text has and the topology has not is in its notes, and the reverse.
func TestNotes(t *testing.T) {
	const alpha = "assumed: 700ns between GPUs, half of it to or from a switch: the matrix has no latencies; --alpha sets it"
	const nvlink = "assumed: 25 GB/s and direction for one NVLink: the matrix has their number alone; --bandwidth sets it"
	const nic = `left out: 1 column or row not of a GPU ("mlx5_0"): the topology is of one machine, without NICs`
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"direct":   {table(3, "NV1", nil), []string{alpha, nvlink, nic}},
		"no names": {strings.Replace(table(3, "NV1", nil), "\nmlx5_0\tPIX\tPIX\t X ", "", 1), []string{alpha, nvlink, "left out: 1 column or row not of a GPU (without names): the topology is of one machine, without NICs"}},
		"PCIe":     {table(2, "SYS", nil), []string{alpha, "assumed: 12 GB/s for each link over PCIe, host bridges and between NUMA nodes: the matrix has distances alone", nic}},
		"both":     {table(3, "SYS", map[[2]int]string{{0, 1}: "NV2", {1, 2}: "NV2"}), []string{alpha, nvlink, "left out: paths over PCIe: NVLinks connect all GPUs", nic}},
		"NVSwitch": {table(8, "NV12", nil), []string{alpha, nvlink, "assumed: NVLinks of 8 GPUs go to an NVSwitch, since no GPU has as many as their numbers add up to", nic}},
		"another":  {table(2, "NV2", nil) + "\nGPU0\tX\tOK\nGPU1\tOK\tX\nGPU0\tX\tNV1\n", []string{alpha, nvlink, nic, "left out: 2 further matrices in the text"}},
	} {
		topology, err := Read("a.txt", []byte(test.text), Options{Alpha: -1})
		require.NoError(t, err, name)
		require.Equal(t, test.want, topology.Notes.Strings(), name)
		given, err := Read("a.txt", []byte(test.text), defaults)
		require.NoError(t, err, name)
		require.True(t, given.Equal(topology), name)
		require.NotContains(t, given.Notes.Strings(), alpha, name)
		require.NotContains(t, given.Notes.Strings(), nvlink, name)
	}
}

func TestMalformed(t *testing.T) {
	s := table(3, "NV1", nil)
	for name, test := range map[string]struct{ text, want string }{
		"no rows":       {"GPU0 GPU1", "no row"},
		"order":         {strings.Replace(s, "\nGPU1", "\nGPU2", 1), "line 3: row of GPU2, want GPU1"},
		"short":         {"GPU0 X NV1\nGPU1 NV1 X\nGPU2 X\n", "line 1: 2 entries for 3 GPUs"},
		"word":          {strings.Replace(s, "GPU1\tNV1\t X \tNV1", "GPU1\tNV1\t X \tfoo", 1), `entry "foo" for GPU2`},
		"one way":       {strings.Replace(s, "GPU1\tNV1", "GPU1\tNV2", 1), "line 3: GPU1 has NV2 to GPU0, which has NV1 back"},
		"diagonal":      {strings.Replace(s, "GPU1\tNV1\t X ", "GPU1\tNV1\tNV1", 1), "want X for the GPU itself"},
		"absurd number": {strings.ReplaceAll(s, "NV1", "NV99999"), "want NV1 to NV1024"},
	} {
		_, err := Read("a.txt", []byte(test.text), defaults)
		require.ErrorContains(t, err, test.want, name)
		require.ErrorContains(t, err, "a.txt: ", name)
	}
}

// FuzzRead: whatever a text says, reading it ends in an error or in a valid topology.
func FuzzRead(f *testing.F) {
	f.Add([]byte(table(3, "NV1", nil)))
	f.Add([]byte(table(4, "SYS", map[[2]int]string{{0, 1}: "PIX", {2, 3}: "NV18"})))
	f.Fuzz(func(t *testing.T, b []byte) {
		if topology, err := Read("f", b, defaults); err == nil {
			require.NoError(t, topology.Validate())
		}
	})
}
