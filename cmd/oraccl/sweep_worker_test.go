package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
)

// children returns the processes that a process has started.
func children(t *testing.T, parent int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var found []int
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			require.NoError(t, err)
			found = append(found, pid)
		}
	}
	return found
}

// A cell whose process is killed, as a system does that is out of memory, is a row; the
// sweep goes on, and computes it again when asked to.
func TestSweepWorkerKilled(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skipf("processes are found by /proc: %v", err)
	}
	cells, command := sweepIn(t, "topologies: ring:4\ncollectives: allgather\nchunks: 1\nmethods: [ring, direct]\n")
	dir := t.TempDir()
	free := hold(t, dir, cells[1:])
	cmd := command(dir, "-j", "1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	until(t, "the first cell", func() bool { return onDisk(t, dir) == 1 })
	workers := children(t, cmd.Process.Pid)
	require.Len(t, workers, 1)
	require.NoError(t, syscall.Kill(workers[0], syscall.SIGKILL))
	until(t, "its end", func() bool { return len(children(t, cmd.Process.Pid)) == 0 })
	free()
	require.NoError(t, cmd.Wait(), "%s", out.String())
	require.Contains(t, out.String(), "2 cells: 1 proved, 0 unsupported, 1 failed, 0 refuted; 2 computed now")
	require.Contains(t, out.String(), "1 failed: the process that computed it died: signal: killed (direct)")

	said, err := command(dir, "--retry").CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "2 cells: 2 proved, 0 unsupported, 0 failed, 0 refuted; 1 computed now, 1 kept from before")
}

// A signal to all processes at once, as Slurm sends it, is an interruption and no row.
func TestSweepAllInterrupted(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skipf("processes are found by /proc: %v", err)
	}
	_, command := sweepIn(t, "topologies: [mesh:3x4]\ncollectives: alltoall\nchunks: 1\nmethods: [direct, exact]\ntime_limit: 10m\n")
	dir := t.TempDir()
	cmd := command(dir, "-j", "1")
	require.NoError(t, cmd.Start())
	until(t, "the first cell", func() bool { return onDisk(t, dir) == 1 })
	workers := children(t, cmd.Process.Pid)
	require.Len(t, workers, 1)
	for range 2 {
		require.NoError(t, syscall.Kill(workers[0], syscall.SIGTERM))
	}
	time.Sleep(100 * time.Millisecond)
	require.Equal(t, workers, children(t, cmd.Process.Pid))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.Equal(t, exit.Unknown, cmd.ProcessState.ExitCode())
	require.Equal(t, 1, onDisk(t, dir))
}

// Workers end when the sweep is killed.
func TestSweepWorkersEnd(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skipf("processes are found by /proc: %v", err)
	}
	_, command := sweepIn(t, "topologies: [mesh:3x4]\ncollectives: alltoall\nchunks: 1\nmethods: [direct, exact]\ntime_limit: 10m\n")
	dir := t.TempDir()
	cmd := command(dir, "-j", "1")
	require.NoError(t, cmd.Start())
	until(t, "the first cell", func() bool { return onDisk(t, dir) == 1 })
	workers := children(t, cmd.Process.Pid)
	require.Len(t, workers, 1)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	until(t, "the end of "+fmt.Sprint(workers), func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", workers[0]))
		return err != nil || strings.Contains(string(b), ") Z ")
	})
}
