package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/stretchr/testify/require"
)

// shared returns a directory of the data that ORACCL_DATA names: files of other tools, which
// are not part of this repository. Without it the test is left out, and says so.
func shared(t *testing.T, dir string) string {
	t.Helper()
	data := os.Getenv("ORACCL_DATA")
	if data == "" {
		t.Skip("left out: ORACCL_DATA does not name the directory of the shared data")
	}
	return filepath.Join(data, dir)
}

// TestSolversOfOthers: published schedules of other solvers get the verdicts that are known
// of them, with the violation that is to be found.
func TestSolversOfOthers(t *testing.T) {
	dir := shared(t, "solvers")
	for _, test := range []struct{ file, verdict, code, note string }{
		{"Allgather.n8-DGX1-steps2.msccl.json", "proved", "", ""},
		{"Allgather.n8-DGX1-steps3.chunks2.msccl.json", "proved", "", ""},
		{"ReduceScatter.n8-DGX1-steps2.msccl.json", "proved", "", ""},
		{"Allreduce.n8-DGX1-steps4.msccl.json", "proved", "", "8 addresses"},
		{"teccl_mesh_4.json", "refuted", "no-such-link", "mesh:4x4 has no link from rank"},
		{"teccl_ndv2_schedule.json", "refuted", "missing-contribution", "rank 0"},
		{"teccl_ndv2x4_allgather_1MB_slow.json", "proved", "", "allgather of 1000000 B in 32 chunks, 32 ranks"},
		{"teccl_dgx2x2_allgather_1MB_slow.json", "proved", "", "allgather of 1000000 B in 32 chunks, 32 ranks"},
	} {
		var stdout, stderr bytes.Buffer
		status := run([]string{"verify", "--json", filepath.Join(dir, test.file)}, &stdout, &stderr)
		var j report.VerifyJSON
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &j), "%s: %s", test.file, stderr.String())
		require.Equal(t, test.verdict, j.Verdict, "%s: %s", test.file, stdout.String())
		require.Equal(t, map[string]int{"proved": exit.Done, "refuted": exit.Refuted}[test.verdict], status, test.file)
		if test.code != "" {
			require.NotEmpty(t, j.Violations, test.file)
			require.Equal(t, test.code, j.Violations[0].Code, test.file)
		}
		require.Contains(t, stdout.String(), test.note, test.file)
	}
}

// TestNCCLTopologies: files of machines become the topologies that they are of.
func TestNCCLTopologies(t *testing.T) {
	dir := shared(t, "topo")
	type link struct {
		src, dst string
		gbps     float64
	}
	for _, test := range []struct {
		file            string
		ranks, switches int
		links           []link
		fails           string
	}{
		{file: "ROCm+rccl__topo_4p3l.xml", ranks: 4, switches: 6, links: []link{{"rank 0", "rank 3", 24}, {"rank 0", "switch pci 0000:1b:00.0", 24}, {"switch pci 0000:18:00.0", "switch cpu0", 12}}},
		{file: "ROCm+rccl__topo_8p6l.xml", ranks: 8, switches: 10, links: []link{{"rank 0", "rank 7", 24}, {"switch cpu0", "switch cpu1", 16}}},
		{file: "ROCm+rccl__topo_8p_rome.xml", ranks: 8, switches: 10, links: []link{{"rank 0", "rank 3", 24}}},
		{file: "azure_nc_a100_v4_4gpu_dump.xml", ranks: 4, switches: 4, links: []link{{"rank 0", "rank 1", 240}, {"rank 3", "switch cpu3", 12}, {"switch cpu0", "switch cpu3", 16}}},
		{file: "aws+aws-ofi-nccl__p4d-24xl-topo.xml", fails: "has no gpu elements"},
		{file: "dgx1_v100_8gpu_4nic.txt", ranks: 8, links: []link{{"rank 0", "rank 3", 50}, {"rank 3", "rank 7", 25}}},
		{file: "h100_8gpu_nv18.txt", ranks: 8, switches: 1, links: []link{{"rank 5", "switch nvswitch0", 450}}},
		{file: "pcie_2gpu_phb.txt", ranks: 2, switches: 1, links: []link{{"rank 0", "switch phb0", 12}}},
		{file: "wrapped_header_8gpu.txt", ranks: 8, switches: 1, links: []link{{"switch nvswitch0", "rank 7", 450}}},
	} {
		topology, err := loadTopology(t.Context(), filepath.Join(dir, test.file), "", "")
		if test.fails != "" {
			require.ErrorContains(t, err, test.fails, test.file)
			continue
		}
		require.NoError(t, err, test.file)
		require.Equal(t, test.ranks, topology.Ranks, test.file)
		require.Len(t, topology.Switches, test.switches, test.file)
		for _, want := range test.links {
			var sum float64
			for _, l := range topology.Links {
				if topology.NodeName(l.Src) == want.src && topology.NodeName(l.Dst) == want.dst {
					sum += float64(l.Bandwidth) / 1e9
				}
			}
			require.Equal(t, want.gbps, sum, "%s: %s to %s", test.file, want.src, want.dst)
		}
	}
}
