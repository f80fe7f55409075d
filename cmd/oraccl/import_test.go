package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

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
		var j verifyJSON
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &j), "%s: %s", test.file, stderr.String())
		require.Equal(t, test.verdict, j.Verdict, "%s: %s", test.file, stdout.String())
		require.Equal(t, map[string]int{"proved": exitDone, "refuted": exitRefuted}[test.verdict], status, test.file)
		if test.code != "" {
			require.NotEmpty(t, j.Violations, test.file)
			require.Equal(t, test.code, j.Violations[0].Code, test.file)
		}
		require.Contains(t, stdout.String(), test.note, test.file)
	}
}
