package sweep

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/cmd/oraccl/slurm"
)

// The parts of a job are all its cells, each once.
func TestParts(t *testing.T) {
	cells := someCells(23)
	dir := t.TempDir()
	script, sorted := Job(cells, 5, dir)
	require.Len(t, script.Tasks, 5)
	j, err := slurm.NewJob(dir, script)
	require.NoError(t, err)
	read, err := JobCells(t.Context(), j)
	require.NoError(t, err)
	require.Equal(t, sorted, read)
	var all []Cell
	for i := range 5 {
		part := Part(read, i, 5)
		require.InDelta(t, 23.0/5, len(part), 1)
		all = append(all, part...)
	}
	slices.SortFunc(all, func(a, b Cell) int { return int(a.SizeBytes - b.SizeBytes) })
	require.Equal(t, cells, all)
}

func TestReadCells(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cells.jsonl")
	whole := someCells(2)[0].Text() + "\n"
	for text, want := range map[string]string{
		whole + "{\n": name + ":2: ",
		whole + strings.Replace(whole, `"topology"`, `"topologie"`, 1): name + `:2: json: unknown field "topologie"`,
		strings.Replace(whole, ":", ": ", 1):                           name + ":1: a cell that is not in canonical form",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		_, err := ReadCells(t.Context(), name)
		require.ErrorContains(t, err, want)
	}
	_, err := ReadCells(t.Context(), name+"x")
	require.ErrorContains(t, err, "cells.jsonlx: no such file")
}

// The script that asks a real Slurm is one that bash reads.
func TestSlurmTestIsAScript(t *testing.T) {
	out, err := exec.Command("bash", "-n", "slurm-test.sh").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}
