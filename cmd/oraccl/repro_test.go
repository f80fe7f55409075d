package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
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
