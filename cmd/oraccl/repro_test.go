package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/repro"
	"github.com/oraccl/oraccl/testdata/published"
)

// TestReproInterrupted: what is finished when the run is interrupted is kept, and the same
// command goes on from there.
func TestReproInterrupted(t *testing.T) {
	dir := t.TempDir()
	const head = "collective,chunks,steps,rounds,claim,sccl_s,value,source,where,certainty,reason\n"
	tables := map[string]string{
		"sccl/bounds.csv": "collective,quantity,value,source,where,certainty,reason\nallgather,least steps,2,a paper,p,certain,\n",
		// The second point takes many seconds.
		"sccl/dgx1.csv": head + "allgather,2,2,3,none,-,exists,a paper,p,certain,\nalltoall,6,2,16,none,-,exists,a paper,p,certain,\n",
	}
	write := func() {
		for name, text := range tables {
			name = filepath.Join(dir, "tables", name)
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		}
	}
	write()
	kept := func() []string {
		files, err := filepath.Glob(filepath.Join(dir, "out", "sccl", "kept", "*.json"))
		require.NoError(t, err)
		return files
	}
	command := func() *exec.Cmd {
		c := exec.Command("oraccl", "repro", "sccl", "--published", "tables", "-o", "out")
		c.Dir = dir
		return c
	}
	cmd := command()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return len(kept()) > 0 }, 30*time.Second, 10*time.Millisecond, "nothing kept")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var ended *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &ended)
	require.Equal(t, exit.Unknown, ended.ExitCode(), stderr.String())
	require.Contains(t, stderr.String(), "interrupted in sccl; what is finished is kept in out")
	require.Len(t, kept(), 1)
	require.NoFileExists(t, filepath.Join(dir, "out", "sccl", "report.md"))
	before, err := os.Stat(kept()[0])
	require.NoError(t, err)

	tables["sccl/dgx1.csv"] = head + "allgather,2,2,3,none,-,exists,a paper,p,certain,\n"
	write()
	out, err := command().CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "sccl: 2 rows: 2 agrees")
	require.FileExists(t, filepath.Join(dir, "out", "sccl", "report.md"))
	after, err := os.Stat(kept()[0])
	require.NoError(t, err)
	require.Equal(t, before.Sys().(*syscall.Stat_t).Ino, after.Sys().(*syscall.Stat_t).Ino, "computed again")
}

// TestPublishedTables: every table is read by the experiment of its paper, so that each of
// its lines is well formed, and no paper's tables are without an experiment.
func TestPublishedTables(t *testing.T) {
	entries, err := published.Tables.ReadDir(".")
	require.NoError(t, err)
	var papers []string
	for _, e := range entries {
		papers = append(papers, e.Name())
	}
	require.ElementsMatch(t, experimentNames(), papers)
	for name, columns := range map[string][]string{
		"stragglar/simulation.csv":  {"ranks:int", "quantity:rounds|speedup|rhd|direct", "value:number"},
		"stragglar/theorem.csv":     {"ranks:int", "quantity:rounds|beta", "value:number"},
		"stragglar/claims.csv":      {"id", "quantity", "by:model|machine", "value:number"},
		"tacos/tests.csv":           {"topology", "bandwidth", "alpha", "chunks:int", "mib:int", "value:number"},
		"tacos/code.csv":            {"topology", "bandwidth", "npus:int", "least_s:number", "most_s:number", "value:number"},
		"tacos/claims.csv":          {"topology", "bandwidth", "achieved:number", "value:number"},
		"tacos/paper.csv":           {"collective", "network", "npus", "quantity", "value:number"},
		"sccl/dgx1.csv":             {"collective", "chunks:int", "steps:int", "rounds:int", "claim:search|latency|bandwidth|none", "sccl_s", "value:exists|impossible"},
		"sccl/bounds.csv":           {"collective", "quantity:rounds a chunk|least steps|Pareto-optimal points", "value"},
		"teccl/output_provided.csv": {"topology", "chassis", "collective", "variant:fast|slow|fast-early-stop", "size", "epoch_us:number", "epochs:int", "solver_s:number", "value:number"},
		"teccl/figure5a.csv":        {"topology", "chassis", "collective", "size", "value:number"},
		"forestcoll/allgather.csv":  {"network", "value:number"},
	} {
		all, err := repro.Load(published.Tables, name, columns...)
		require.NoError(t, err)
		if strings.HasPrefix(name, "teccl/output") { // the time is that of the epochs
			for _, p := range all {
				epochs := p.Float("epoch_us") * float64(p.Int("epochs"))
				require.InDelta(t, epochs, p.Number, 1e-6*p.Number, "%s:%d", p.File, p.Line)
			}
			best, err := bestOfVariants(all)
			require.NoError(t, err)
			require.Len(t, best, 5*11)
		}
	}
}

// TestForestcollNetworks: nodes and links are those of the authors' topologies.py.
func TestForestcollNetworks(t *testing.T) {
	for name, want := range map[string][3]int{ // ranks, switches, links
		"a100:1":  {8, 1, 16},
		"a100:2":  {16, 2 + 16 + 2, 2*16 + 2*32},
		"mi250:1": {16, 0, 56},
		"mi250:2": {32, 1, 2*56 + 64},
	} {
		n, err := forestcollNetwork(name)
		require.NoError(t, err)
		require.Equal(t, want, [3]int{n.Ranks, len(n.Switches), len(n.Links)}, name)
	}
	for _, name := range []string{"a100", "a100:0", "a100:17", "h100:2", "mi250:x"} {
		_, err := forestcollNetwork(name)
		require.ErrorContains(t, err, "want a100:N or mi250:N", name)
	}
	// A die of an MI250 has links of 350 GB/s in all, by AMD's count of 7.
	n, err := forestcollNetwork("mi250:1")
	require.NoError(t, err)
	for r, links := range n.Out() {
		sum := int64(0)
		for _, l := range links {
			sum += n.Links[l].Bandwidth
		}
		require.LessOrEqual(t, sum, int64(350e9), "die %d", r)
	}
}

// TestReproUndecided: what no answer came of within the limit is said, and is not kept, so
// that another run may decide it.
func TestReproUndecided(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"bounds.csv": "collective,quantity,value,source,where,certainty,reason\nallgather,least steps,2,a paper,p,certain,\n",
		"dgx1.csv":   "collective,chunks,steps,rounds,claim,sccl_s,value,source,where,certainty,reason\nalltoall,6,2,16,none,-,exists,a paper,p,certain,\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "tables", "sccl"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tables", "sccl", name), []byte(text), 0o644))
	}
	cmd := exec.Command("oraccl", "repro", "sccl", "--published", "tables", "-o", "out", "--time-limit", "50ms")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "sccl: 2 rows: 1 agrees, 1 not comparable")
	report, err := os.ReadFile(filepath.Join(dir, "out", "sccl", "report.md"))
	require.NoError(t, err)
	require.Contains(t, string(report), "not decided: no answer within 50ms")
	kept, err := filepath.Glob(filepath.Join(dir, "out", "sccl", "kept", "*.json"))
	require.NoError(t, err)
	require.Empty(t, kept)
}
