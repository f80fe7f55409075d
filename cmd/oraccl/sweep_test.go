package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep"
	"github.com/oraccl/oraccl/cmd/oraccl/sweep/compute"
)

const gridOf200 = `topologies: [ring:4, mesh:2x3, "full:5", switch:4, ring:1]
collectives: [allgather, allreduce]
sizes: 1KiB..256KiB*4
chunks: 1
methods: [tacos, ring, direct, rhd]
tries: 4
`

// sweepIn writes a grid into a new directory, and returns its cells, and a function that
// makes the command that sweeps it.
func sweepIn(t *testing.T, text string) ([]sweep.Cell, func(dir string, flags ...string) *exec.Cmd) {
	t.Helper()
	work := t.TempDir()
	require.NoError(t, os.WriteFile(work+"/grid.yaml", []byte(text), 0o644))
	g, err := sweep.ReadGrid("grid.yaml", strings.NewReader(text))
	require.NoError(t, err)
	cells, err := g.Expand(t.Context(), compute.Names())
	require.NoError(t, err)
	return cells, func(dir string, flags ...string) *exec.Cmd {
		cmd := exec.Command("oraccl", append([]string{"sweep", "grid.yaml", "--no-times", "--dir", dir}, flags...)...)
		cmd.Dir = work
		return cmd
	}
}

// onDisk counts the cells that are kept in a directory.
func onDisk(t *testing.T, dir string) int {
	t.Helper()
	found, err := filepath.Glob(dir + "/cells/*/*.json")
	require.NoError(t, err)
	return len(found)
}

// until waits for a condition that will come.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "waited two minutes for %s", what)
	}
}

// hold claims cells as another process would, until the function that it returns is
// called.
func hold(t *testing.T, dir string, cells []sweep.Cell) func() {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir+"/claims", 0o755))
	var files []*os.File
	for i := range cells {
		f, err := os.OpenFile(filepath.Join(dir, "claims", cells[i].Key()), os.O_CREATE|os.O_RDWR, 0o644)
		require.NoError(t, err)
		require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
		files = append(files, f)
	}
	return func() {
		for _, f := range files {
			_ = f.Close()
		}
	}
}

// TestSweepKilledTwice kills a sweep of 200 cells twice, and compares the table with that
// of an undisturbed one. Cells that the test claims are out of the killed one's reach, so
// that it cannot end before the kill, however quick it is.
func TestSweepKilledTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	cells, command := sweepIn(t, gridOf200)
	require.Len(t, cells, 200)
	calm, killed := t.TempDir(), t.TempDir()
	out, err := command(calm, "-j", "1").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "200 cells: 140 proved, 20 unsupported, 40 failed, 0 refuted; 200 computed now, 0 kept from before\n")

	for _, stop := range []struct{ at, before int }{{30, 90}, {110, 160}} {
		free := hold(t, killed, cells[stop.before:])
		cmd := command(killed, "-j", "2")
		require.NoError(t, cmd.Start())
		until(t, "cells on disk", func() bool { return onDisk(t, killed) >= stop.at })
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		free()
		require.Less(t, onDisk(t, killed), 200)
		require.NoFileExists(t, killed+"/table.csv")
	}

	// What a bad disk makes of a file, and what a writer leaves that was killed.
	found, err := filepath.Glob(killed + "/cells/*/*.json")
	require.NoError(t, err)
	for i, cut := range []int64{0, 20, 300} {
		require.NoError(t, os.Truncate(found[i], cut))
	}
	require.NoError(t, os.WriteFile(filepath.Dir(found[3])+"/.new-1", []byte("{"), 0o644))

	kept := onDisk(t, killed) - 3
	out, err = command(killed, "-j", "2").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `^200 cells: .* `+strconv.Itoa(200-kept)+` computed now, `+strconv.Itoa(kept)+` kept from before\n`, string(out))
	for _, name := range []string{"/table.csv", "/table.jsonl"} {
		want, err := os.ReadFile(calm + name)
		require.NoError(t, err)
		got, err := os.ReadFile(killed + name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s differs", name)
	}
	left, err := filepath.Glob(killed + "/claims/*")
	require.NoError(t, err)
	require.Empty(t, left, "claims of cells that are done")

	// The grid grows: only what is new is computed.
	out, err = command(killed, "--methods", "tacos,ring,direct,rhd,bruck").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "; 50 computed now, 200 kept from before\n")
}

// TestSweepProofsKilled kills a sweep with proofs, spoils some of what it kept, and goes on: the
// dossier is that of an undisturbed one, byte for byte, and accepted.
func TestSweepProofsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it takes long")
	}
	cells, command := sweepIn(t, "topologies: [ring:4, mesh:2x3, switch:4]\ncollectives: [allgather, allreduce]\nsizes: [1KiB, 64KiB]\nchunks: [auto, 1]\nmethods: [tacos, ring, rhd]\ntries: 4\n")
	require.Len(t, cells, 72)
	for i := range cells {
		cells[i].Proofs = true
	}
	calm, killed := t.TempDir(), t.TempDir()
	out, err := command(calm, "--proofs", "-j", "1").CombinedOutput()
	require.NoError(t, err, "%s", out)

	free := hold(t, killed, cells[40:])
	cmd := command(killed, "--proofs", "-j", "2")
	require.NoError(t, cmd.Start())
	until(t, "cells on disk", func() bool { return onDisk(t, killed) >= 20 })
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	free()
	require.NoDirExists(t, killed+"/proofs")

	// What a bad disk makes of evidence; and what is left of a dossier that was being written.
	for _, kind := range []string{"schedules", "certificates"} {
		found, err := filepath.Glob(killed + "/" + kind + "/*/*.json")
		require.NoError(t, err)
		require.NoError(t, os.Truncate(found[0], 100))
		b, err := os.ReadFile(found[1])
		require.NoError(t, err)
		b[len(b)/2] ^= 1
		require.NoError(t, os.WriteFile(found[1], b, 0o644))
		require.NoError(t, os.Remove(found[2]))
	}
	require.NoError(t, os.Mkdir(killed+"/proofs.new", 0o755))
	require.NoError(t, os.WriteFile(killed+"/proofs.new/schedule-1.json", []byte("{"), 0o644))

	out, err = command(killed, "--proofs", "-j", "2").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoDirExists(t, killed+"/proofs.new")
	sameTree(t, calm+"/proofs", killed+"/proofs")
	status, stdout, stderr := call("check", killed)
	require.Zero(t, status, "%s%s", stdout, stderr)
	require.Contains(t, stdout, "and all 72 rows of the table; ")

	// In parts, as tasks of Slurm compute it.
	parts := t.TempDir()
	out, err = command(parts, "--proofs", "--on", "slurm", "--submit=false", "--tasks", "3").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for i := range 3 {
		cmd := exec.Command("oraccl", "sweep", "cells", parts+"/slurm/1/cells.jsonl", strconv.Itoa(i)+"/3", "--dir", parts)
		cmd.Dir = command(parts).Dir
		out, err = cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	out, err = command(parts, "--proofs").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "; 0 computed now, 72 kept from before\n")
	sameTree(t, calm+"/proofs", parts+"/proofs")
}

// sameTree compares two directories, byte for byte.
func sameTree(t *testing.T, want, got string) {
	t.Helper()
	wants, err := os.ReadDir(want)
	require.NoError(t, err)
	gots, err := os.ReadDir(got)
	require.NoError(t, err)
	require.Len(t, gots, len(wants))
	for _, e := range wants {
		a, err := os.ReadFile(filepath.Join(want, e.Name()))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(got, e.Name()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(a, b), "%s differs", e.Name())
	}
}

// TestSweepInterrupted interrupts a sweep in the middle of a cell.
func TestSweepInterrupted(t *testing.T) {
	_, command := sweepIn(t, "topologies: [mesh:3x4]\ncollectives: alltoall\nchunks: 1\nmethods: [direct, exact]\ntime_limit: 10m\n")
	dir := t.TempDir()
	cmd := command(dir, "-j", "1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	until(t, "a cell on disk", func() bool { return onDisk(t, dir) == 1 })
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, cmd.Wait())
	require.Equal(t, exit.Unknown, cmd.ProcessState.ExitCode())
	require.Equal(t, "oraccl: interrupted: 1 of 2 cells are kept in "+dir+"; the same command goes on from there\n", out.String())
	require.NoFileExists(t, dir+"/table.csv")
	require.Equal(t, 1, onDisk(t, dir))
}

// TestSweepTwice runs two sweeps on one directory at once.
func TestSweepTwice(t *testing.T) {
	cells, command := sweepIn(t, gridOf200)
	dir := t.TempDir()
	free := hold(t, dir, cells[:1])
	a, b := command(dir), command(dir)
	var ab, bb bytes.Buffer
	a.Stdout, b.Stdout = &ab, &bb
	require.NoError(t, a.Start())
	require.NoError(t, b.Start())
	until(t, "the others", func() bool { return onDisk(t, dir) == 199 })
	free()
	require.NoError(t, a.Wait())
	require.NoError(t, b.Wait())
	require.Contains(t, ab.String(), "200 cells: 140 proved")
	require.Contains(t, bb.String(), "200 cells: 140 proved")
}
