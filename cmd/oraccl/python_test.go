package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/manual"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/model"
)

// row returns a row of a table.
func row(t *testing.T, j *report.GapJSON, method string) (string, float64) {
	t.Helper()
	for _, r := range j.Rows {
		if r.Method == method {
			require.Equal(t, "proved", r.Verdict)
			return fmt.Sprintf("%s   %s us   %v", method, report.Micros(r.MakespanPs), model.Gap(*r.Gap)), *r.Gap
		}
	}
	require.Fail(t, "no row", method)
	return "", 0
}

// TestReadmePython runs the Python of the README, and has what it writes in the table of two machines.
func TestReadmePython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("left out: there is no python3")
	}
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	m := regexp.MustCompile("(?s)```python\n(.*?)```.*?```text\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, m)
	cmd := exec.Command(python, "-c", string(m[1]))
	out, err := cmd.Output()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "direct.xml")
	require.NoError(t, os.WriteFile(file, out, 0o644))
	var lines []string
	for _, machine := range []string{"mi300x", "dgxh100"} {
		args := []string{"gap", machine, "--collective", "allgather", "--size", "64MiB", "--methods", "ring", "--schedule", file, "--json", "--max-gap"}
		status, text, stderr := call(append(args, "5%")...)
		require.Zero(t, status, stderr)
		var j report.GapJSON
		require.NoError(t, json.Unmarshal([]byte(text), &j))
		mine, _ := row(t, &j, "direct.xml")
		ring, _ := row(t, &j, "ring")
		lines = append(lines, fmt.Sprintf("%-7s  bound  %s us   %s   %s", machine, report.Micros(j.Bound.ValuePs), mine, ring))
	}
	require.Equal(t, strings.TrimSpace(string(m[2])), strings.Join(lines, "\n"))
}

// TestPublishedInTheTable has schedules that others published as MSCCL-IR in the table of two machines: what
// no runtime executes as it is meant is refuted, whatever its data.
func TestPublishedInTheTable(t *testing.T) {
	dir := shared(t, "msccl")
	wrong := map[string]string{"ring_2_4__58e7b0fd.xml": "shared-connection", "ar_ring_LL128_4_1__51257cb4.xml": "malformed", "ar_1__f578bbcf.xml": "shared-connection"}
	for machine, gap := range map[string]float64{"mi300x": 6.02, "dgxh100": 0.035} {
		files := filepath.Join(dir, "ar_ring_ll_2_1__eb4d0004.xml")
		for name := range wrong {
			files += "," + filepath.Join(dir, name)
		}
		status, text, _ := call("gap", machine, "--collective", "allreduce", "--size", "64MiB", "--methods", "direct", "--schedule", files, "--json")
		require.Equal(t, exit.Refuted, status)
		var j report.GapJSON
		require.NoError(t, json.Unmarshal([]byte(text), &j))
		_, found := row(t, &j, "ar_ring_ll_2_1__eb4d0004.xml")
		require.InEpsilon(t, gap, found, 0.01)
		require.Len(t, j.LeftOut, len(wrong))
		for _, l := range j.LeftOut {
			require.Contains(t, l.Reason, "REFUTED "+wrong[l.Method])
		}
	}
	teccl := "teccl_ndv2x4_allgather_1MB_slow.json"
	status, text, stderr := call("gap", "ndv2:4", "--collective", "allgather", "--size", "1MB", "--methods", "ring", "--schedule", filepath.Join(shared(t, "solvers"), teccl), "--json")
	require.Zero(t, status, stderr)
	var j report.GapJSON
	require.NoError(t, json.Unmarshal([]byte(text), &j))
	_, found := row(t, &j, teccl)
	require.InEpsilon(t, 0.156, found, 0.01)
}

// TestThreeTools: an all-to-all of MSCCL, one that a few lines of Python write, and one of TE-CCL, whose switches come
// first, stand in one table of a machine with links between its GPUs and of one with a switch.
func TestThreeTools(t *testing.T) {
	theirs := filepath.Join(os.Getenv("ORACCL_DATA"), "msccl", "alltoall-8n-512kb-7mb__9646f270.xml")
	if _, err := os.Stat(theirs); err != nil {
		t.Skipf("left out: no %s; ORACCL_DATA names the directory", theirs)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("left out: there is no python3")
	}
	const n = 8
	t.Chdir(t.TempDir())
	out, err := exec.Command(python, "-c", manual.Direct).Output()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("direct.xml", out, 0o600))
	out, err = os.ReadFile(theirs)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("alltoall.xml", out, 0o600))
	for i, x := range []struct {
		first  int    // number of rank 0
		via    string // switches
		epochs int
	}{{0, "", 1}, {1, " via switches 0", n - 1}} {
		var flows []string
		for src := range n {
			for k := 1; k < n; k++ {
				dst := (src + k) % n
				a, b := src+x.first, dst+x.first
				flows = append(flows, fmt.Sprintf("Chunk %d from %d traveled over %d->%d with volume 1.0 in epoch %d%s", dst, a, a, b, (k-1)%x.epochs, x.via))
			}
		}
		b, err := json.Marshal(map[string]any{"1-Epoch_Duration": 1e-4, "3-Epochs_Required": x.epochs, "4-Collective_Finish_Time": 1e-4 * float64(x.epochs), "5-Algo_Bandwidth": 0, "7-Flows": flows})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("teccl.json", b, 0o600))
		c := manual.Comparisons()[i]
		words := strings.Fields(c.Command)
		require.Equal(t, "oraccl", words[0])
		status, text, stderr := call(words[1:]...)
		require.Zero(t, status, "%s%s", stderr, text)
		require.NotEmpty(t, c.Prints, text)
		for _, want := range c.Prints {
			require.Contains(t, normal(text), normal(want), c.Command)
		}
	}
}
